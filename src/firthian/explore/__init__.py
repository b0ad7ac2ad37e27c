"""Looking at vectors: plots, projections, a page in the browser."""
