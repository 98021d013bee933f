"""Whether a dual proves the bound that is claimed: weak duality, in integers, for multipliers, lines and products."""
