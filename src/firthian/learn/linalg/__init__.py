"""Linear algebra shared by the families: operators, tall matrices, eigenvectors."""
