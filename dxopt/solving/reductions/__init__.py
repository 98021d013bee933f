"""One file each: from a program to a smaller one, and from its solution back."""
