"""Attention: how a decoder reads the source."""
