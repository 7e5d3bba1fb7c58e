"""Batches of sentences of unequal length, from memory or from a stream."""
