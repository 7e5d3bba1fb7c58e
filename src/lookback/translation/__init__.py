"""Translates, aligns and scores text with a trained run."""

from lookback.translation.translator import Translation, Translator

load = Translator.load

__all__ = ["Translation", "Translator", "load"]
