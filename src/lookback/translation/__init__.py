"""A trained run in use: it translates, aligns and scores."""

from lookback.translation.translator import Translation, Translator

load = Translator.load

__all__ = ["Translation", "Translator", "load"]
