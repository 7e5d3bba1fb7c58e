"""How sure a score is, and whether two differ."""
