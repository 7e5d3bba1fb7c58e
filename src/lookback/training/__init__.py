"""Training: the Lightning module and its callbacks, run directories, and the commands that tie everything together."""
