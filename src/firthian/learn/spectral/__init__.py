"""Association matrices and their factorizations."""
