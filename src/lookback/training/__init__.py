"""Training: the Lightning module, its callbacks, and what fits and tests it."""
