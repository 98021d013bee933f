"""The documents of dxopt, and what makes the site of them."""
