"""The built-in corpus: a synchronous grammar of English and French, written for this project.

In reading order: ``lexicon`` (the words), ``inflection`` (their forms), ``rules`` (the grammar), ``notation`` (how its
lines are read), ``lengths`` and ``derive`` (sentences of a given length), ``orthography`` (elision, contraction),
``corpus`` (splits, cache). ``ready`` holds the default corpus, generated, under a hash of the grammar's source; after a
change of the grammar, ``python -m lookback.data.grammar`` generates it again.
"""

from lookback.data.grammar.corpus import GrammarCorpus
from lookback.data.grammar.derive import AgreeingPair, Dependent, Deriver, Pair

__all__ = ["AgreeingPair", "Dependent", "Deriver", "GrammarCorpus", "Pair"]
