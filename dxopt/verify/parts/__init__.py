"""Answers that rest on several results, proven again."""
