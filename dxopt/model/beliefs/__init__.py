"""Beliefs about secrets that must not be told apart, and the notions of privacy that are made of them."""
