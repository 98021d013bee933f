"""Every kind of mechanism: kernels, products, remaps, and those of the literature."""
