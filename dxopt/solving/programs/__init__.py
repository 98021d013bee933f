"""The programs that formulations write and solvers read."""
