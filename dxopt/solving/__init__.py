"""From a problem to candidates for its answer: routes, formulations, reductions, programs, solvers."""
