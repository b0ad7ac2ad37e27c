"""HOW a model is fitted: one file a solver, each declares what a model must offer."""
