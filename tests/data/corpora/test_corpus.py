import subprocess
import sys

import lookback.data
from lookback.data import Corpus, TextCorpus


def test_text_is_a_corpus() -> None:
    none = {"source": None, "target": None}
    assert isinstance(TextCorpus(none, none, none, 60, "13a", None), Corpus)


def test_every_public_name_is_there() -> None:
    for name in lookback.data.__all__:
        assert getattr(lookback.data, name) is not None


def test_tokenizers_and_corpora_do_not_wait_for_torch() -> None:
    code = (
        "import sys, lookback.data; lookback.data.Tokenizer, lookback.data.TextCorpus; "
        "print([name for name in ('torch', 'lightning', 'datasets') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
