"""Preparation of text before training: filtering, encoding, and a cache of the results."""
