"""One file each: from a problem to a program, and from its solution back."""
