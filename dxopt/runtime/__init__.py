"""Services of programs: stopping, processes, registries, arrays in files, logged progress."""
