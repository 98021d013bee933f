"""Composition: joint privacy of several independent releases about one secret."""
