"""What mechanisms and priors are worth: utility, leakage, inference, regularity."""
