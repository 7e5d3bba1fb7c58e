"""Makes the default corpus again: to be run, and its files committed, after a change to the grammar."""

from lookback.data.grammar.corpus import GrammarCorpus

print(GrammarCorpus().make_ready())
