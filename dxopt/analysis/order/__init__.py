"""The order of mechanisms: what they are worth to any adversary, and which is better for every prior and loss."""
