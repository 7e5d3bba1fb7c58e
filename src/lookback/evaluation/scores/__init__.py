"""Scores of translations: what is counted in a sentence, and what the sums of counts are worth."""
