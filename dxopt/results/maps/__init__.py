"""Mechanisms on maps, as pictures and as GeoJSON."""
