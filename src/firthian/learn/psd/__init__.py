"""PSDVec: weighted low-rank positive semidefinite factorization of PMI."""
