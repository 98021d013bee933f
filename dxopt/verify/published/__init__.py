"""Files that were published, tied to the mechanism that their sidecar names."""
