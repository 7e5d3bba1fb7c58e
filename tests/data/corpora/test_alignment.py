import gzip
from pathlib import Path

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.errors import InputError
from lookback.data import TextCorpus, read_pair
from lookback.data.corpora.gold_alignment import with_alignment

PAIRS = {"source": ["a b c", "", "d e"], "target": ["x y", "z", "u v w"]}


def aligned(folder: Path, content: str, base: int = 0) -> Dataset:
    path = folder / "gold"
    path.write_text(content)
    return with_alignment(Dataset.from_dict(PAIRS), path, base)


def test_links_are_sorted_counted_from_0_and_possible_ones_apart(tmp_path: Path) -> None:
    rows = aligned(tmp_path, "2-1 0p1 0-0 0-0 2p1\n\n1p2 0-0\n")
    assert rows["alignment"][:] == [[[0, 0], [2, 1]], [], [[0, 0]]]
    assert rows["possible"][:] == [[[0, 1]], [], [[1, 2]]]
    assert aligned(tmp_path, "3-2 1p2 1-1\n\n2p3 1-1\n", base=1).to_dict() == rows.to_dict()
    assert rows.features["alignment"].feature.feature.dtype == "int32"
    assert rows.column_names == ["source", "target", "alignment", "possible"]


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "gold.gz"
    path.write_bytes(gzip.compress(b"0-0\n\n0-0\n"))
    assert with_alignment(Dataset.from_dict(PAIRS), path, 0)["alignment"][0] == [[0, 0]]


@pytest.mark.parametrize(
    ("content", "base", "message"),
    [
        ("0-0\n\n0-0 4-0\n", 0, "gold:3: 4-0 names source word 4 of 2, expected 0 to 1; "
                                "counting from 1 does not fit either"),
        ("1-1 3p2\n\n2-3\n", 0, "gold:1: 3p2 names source word 3 of 3, expected 0 to 2; "
                                "alignment_base=1 fits every line"),
        ("1-1 2-0\n\n1-1\n", 1, "gold:1: 2-0 names target word 0 of 2, expected 1 to 2; "
                                "alignment_base=0 fits every line"),
        ("0-0\n\n0-0\n", 1, "gold:1: 0-0 names source word 0 of 3, expected 1 to 3; "
                            "alignment_base=0 fits every line"),
        ("0-0\n0-0\n\n", 0, "gold:2: 0-0 names source word 0 of 0, expected no link there; "
                            "counting from 1 does not fit either"),
        ("0-0\n\n1-0 1-1 2-0\n", 0, "gold:3: 2-0 names source word 2 of 2, expected 0 to 1; "
                                     "i-j turned round to j-i fits every line: is it of the other direction?"),
        ("1-1\n\n2-1 3p2\n", 0, "gold:3: 2-1 names source word 2 of 2, expected 0 to 1; "
                                 "i-j turned round to j-i fits every line, with alignment_base=1: "
                                 "is it of the other direction?"),
        ("0-0\n\n0:1\n", 0, "gold:3: '0:1' is no link, expected i-j (sure) or ipj (possible), words by their number"),
        ("0-0 1-\n\n\n", 0, "gold:1: '1-' is no link"),
        ("-1-0\n\n\n", 0, "gold:1: '-1-0' is no link"),
        ("٣-0\n\n\n", 0, "gold:1: '٣-0' is no link"),
        ("0-0\n\n", 0, "gold: has 2 lines for 3 pairs, expected a line a pair"),
        ("0-0\n\n\n\n", 0, "gold: has 4 lines for 3 pairs, expected a line a pair"),
    ],
)  # fmt: skip
def test_refused(content: str, base: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        aligned(tmp_path, content, base)
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_another_base(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such file"):
        with_alignment(Dataset.from_dict(PAIRS), tmp_path / "none", 0)
    with pytest.raises(ValueError, match="alignment_base=2: expected 0 or 1"):
        aligned(tmp_path, "\n\n\n", base=2)


@given(st.data(), st.sampled_from([0, 1]))
def test_whatever_fits_comes_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, base: int) -> None:
    lengths = data.draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=5))
    gold = [
        data.draw(st.dictionaries(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)), st.booleans()))
        for n, m in lengths
    ]
    path = tmp_path_factory.mktemp("gold") / "gold"
    path.write_text(
        "".join(
            " ".join(f"{i + base}{'-' if sure else 'p'}{j + base}" for (i, j), sure in links.items()) + "\n"
            for links in gold
        )
    )
    texts = {"source": ["w " * n for n, _ in lengths], "target": ["w " * m for _, m in lengths]}
    rows = with_alignment(Dataset.from_dict(texts), path, base)
    for name, wanted in (("alignment", True), ("possible", False)):
        expected = [sorted(list(link) for link, sure in links.items() if sure == wanted) for links in gold]
        assert rows[name][:] == expected


def test_real_gold_alignment(tiny: Path) -> None:
    files = {"source": str(tiny / "aer.en"), "target": str(tiny / "aer.fr")}
    corpus = TextCorpus(files, files, {**files, "alignment": str(tiny / "aer.en-fr.talp")}, None, "none", None)
    rows = corpus.load("test")
    links = (tiny / "aer.en-fr.talp").read_text().split()
    assert sum(map(len, rows["alignment"])) == sum("-" in link for link in links)
    assert sum(map(len, rows["possible"])) == sum("p" in link for link in links)
    assert rows["source"][:] == read_pair(tiny / "aer.en", tiny / "aer.fr")["source"][:]
    assert rows[1]["alignment"] == [[0, 8], [1, 9], [4, 10]]
    assert corpus.load("validation").column_names == ["source", "target"]
    swapped = TextCorpus(
        files, files, {"source": files["target"], "target": files["source"], "alignment": str(tiny / "aer.en-fr.talp")},
        None, "none", None,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"aer.en-fr.talp:\d+: .* names"):
        swapped.load("test")
