"""Sentences of unequal length in batches."""
