"""test/alignments.npz read back, whole or refused in one line."""

import numpy as np
import pytest

from lookback.common.errors import InputError
from lookback.runs.alignments import read_alignments, write_alignments
from support.made_runs import leave_heads


@pytest.fixture
def path(make_run):
    return make_run("run", "dot", lengths=[3, 2, 12, 11, 13]) / "test" / "alignments.npz"


def changed(path, **arrays):
    """The file with some arrays replaced, or left out where they are None."""
    with np.load(path) as file:
        whole = {name: file[name] for name in file.files} | arrays
    np.savez_compressed(path, **{name: array for name, array in whole.items() if array is not None})
    return path


def test_words_weights_and_links_are_those_of_the_file(path):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    read = read_alignments(path)
    assert [sentence.id for sentence in read.sentences] == arrays["ids"].tolist() == [0, 1, 2, 3]
    assert read.epochs == (0.5, 1, 1.5, 2, 2.5, 3)
    assert read.updates == (1000, 2000, 3000, 4000, 5000, 6000)
    assert read.has_gold
    for index, sentence in enumerate(read.sentences):
        assert " ".join(sentence.source) == arrays["source"][index]
        assert " ".join(sentence.target) == arrays["target"][index]
        start, rows, columns = (arrays[name][index] for name in ("offsets", "rows", "columns"))
        expected = arrays["weights"][:, start : start + rows * columns].reshape(6, rows, columns)
        np.testing.assert_array_equal(sentence.weights, expected)
        for name in ("sure", "possible"):
            links = [tuple(link[1:]) for link in arrays[name].tolist() if link[0] == index]
            assert list(getattr(sentence, name)) == links
    assert read.sentences[0].sure == ((0, 0), (1, 1), (2, 2))
    assert read.sentences[0].possible == ((0, 1),)


def test_the_looks_of_layers_and_heads_are_read_where_there_are_several(path, tmp_path):
    assert read_alignments(path).looks == ()
    assert read_alignments(path).sentences[0].looks is None
    leave_heads(path.parent.parent, {"head 1": 0.5, "head 2": 0.25, "head 3": 0.75})
    read = read_alignments(path)
    assert read.looks == ("head 1", "head 2", "head 3")
    for sentence in read.sentences:
        rolled = [np.roll(sentence.weights[-1], head, axis=1) for head in range(3)]
        np.testing.assert_array_equal(sentence.looks, rolled)
    write_alignments(tmp_path / "again.npz", read)
    again = read_alignments(tmp_path / "again.npz")
    assert again.looks == read.looks
    for sentence, other in zip(again.sentences, read.sentences, strict=True):
        np.testing.assert_array_equal(sentence.looks, other.looks)


def test_looks_that_do_not_fit_are_refused(path):
    leave_heads(path.parent.parent, {"head 1": 0.5, "head 2": 0.25})
    with np.load(path) as file:
        weights = file["look_weights"]
    for arrays, said in (
        ({"looks": np.array(["head 1"])}, r"look_weights has shape \(2, \d+\), expected \(1, "),
        ({"looks": None}, r"look_weights has shape \(2, \d+\), expected \(0, "),
        ({"look_weights": None}, r"look_weights has shape \(0, \d+\), expected \(2, "),
        ({"look_weights": weights + 1}, "look_weights from 1"),
    ):
        with np.load(path) as file:
            whole = dict(file)
        with pytest.raises(InputError, match=said):
            read_alignments(changed(path, **arrays))
        np.savez_compressed(path, **whole)


def test_a_file_of_version_0_1_has_neither_updates_nor_gold(path):
    read = read_alignments(
        changed(path, updates=None, sure=None, possible=None, has_gold=None, epochs=np.arange(1, 7)),
    )
    assert (read.epochs, read.updates, read.has_gold) == ((1, 2, 3, 4, 5, 6), None, False)
    assert read.sentences[0].sure == read.sentences[0].possible == ()


def test_a_source_without_words_has_its_end_mark_alone(path):
    read = read_alignments(
        changed(
            path,
            **{name: np.array([0]) for name in ("ids", "offsets")},
            **{name: np.array([1]) for name in ("rows", "columns")},
            **{name: np.array([""]) for name in ("source", "target")},
            **{name: np.zeros((0, 3), int) for name in ("sure", "possible")},
            weights=np.ones((6, 1), np.float16),
        )
    )
    assert (read.sentences[0].source, read.sentences[0].weights.shape) == ((), (6, 1, 1))


def test_a_word_may_hold_any_other_white_space(path):
    with np.load(path) as file:
        source = file["source"]
    source[0] = "a\u00a0b \u3000 c\u2028"
    assert read_alignments(changed(path, source=source)).sentences[0].source == ("a\u00a0b", "\u3000", "c\u2028")


def test_what_a_diverged_model_left_is_read(path):
    with np.load(path) as file:
        weights = np.full_like(file["weights"], np.nan)
    assert np.isnan(read_alignments(changed(path, weights=weights)).sentences[0].weights).all()


def test_what_a_diverged_model_of_several_heads_left_is_read(path):
    leave_heads(path.parent.parent, {"head 1": 0.5, "head 2": 0.25})
    with np.load(path) as file:
        weights = np.full_like(file["look_weights"], np.nan)
    assert np.isnan(read_alignments(changed(path, look_weights=weights)).sentences[0].looks).all()


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"weights": None}, "weights"),
        ({"rows": np.array([4, 3, 13])}, r"rows has shape \(3,\), expected \(4,\)"),
        ({"weights": np.zeros((6, 5), np.float16)}, "weights has shape"),
        ({"weights": np.zeros((0, 338), np.float16), "epochs": np.zeros(0)}, "no moment"),
        ({"weights": np.full((6, 338), 2, np.float16)}, "weights from 2.0 to 2.0, expected 0 to 1"),
        ({"offsets": np.array([0, 0, 0, 0])}, "offsets"),
        ({"updates": np.array([1])}, "updates has shape"),
        ({"source": np.array(["a b c d"] * 4)}, "sentence 0 has 4 rows and 4 columns"),
        ({"sure": np.array([[9, 0, 0]])}, "sure links a sentence"),
        ({"sure": np.array([[0, -1, 0]])}, "sure holds a number that is not finite or under 0"),
        ({"possible": np.array([[1, 2, 0]])}, "possible links a word that sentence 1 does not have"),
        ({"possible": np.array([[1, 2]])}, "possible has shape"),
        ({"source": np.array([{}] * 4)}, "allow_pickle"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(path, arrays, said):
    with pytest.raises(InputError, match=said) as error:
        read_alignments(changed(path, **arrays))
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_half_a_file_is_refused(path):
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(InputError, match=r"expected an alignments\.npz"):
        read_alignments(path)
