"""Claims about mechanisms of which the files have no matrix, kernels on lines and products, proven again."""
