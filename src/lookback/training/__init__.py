"""Training: the Lightning module, its callbacks, and the functions that fit and test it."""
