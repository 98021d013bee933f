"""What programs need: stopping, processes, registries, arrays in files, logged progress."""
