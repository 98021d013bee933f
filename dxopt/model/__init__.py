"""What a problem is made of: prior, loss, objective, problem, and the mechanism that answers it."""
