"""Outputs of any systems, plain files: sacrebleu's own numbers, and one clear line for what does not fit."""

import csv
import gzip
import random
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest, Result

import lookback
from lookback.common.errors import InputError
from lookback.report.evidence.contrasts import CountedRuns
from lookback.report.evidence.group import grouped
from lookback.report.evidence.headline import headline
from lookback.report.outputs import EvaluationSet, compare_outputs, output_runs
from lookback.runs import Run, read_predictions, read_results, read_run

WORDS = list("abcdefghijklmnopqr.")
ERRORS = {"bad": 0.5, "good": 0.1, "better": 0.09}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """240 sentences of 1 to 40 words, and three systems that get a share of them wrong; one writes nothing once."""
    folder, draw = tmp_path_factory.mktemp("outputs"), random.Random(3)
    references = [" ".join(draw.choices(WORDS, k=draw.randint(1, 40))) for _ in range(240)]
    (folder / "source.txt").write_text("\n".join(text.upper() for text in references) + "\n")
    (folder / "reference.txt").write_text("\n".join(references) + "\n")
    for name, share in ERRORS.items():
        lines = [
            " ".join(draw.choice(WORDS) if draw.random() < share else word for word in text.split())
            for text in references
        ]
        if name == "bad":
            lines[7] = ""
        data = ("\n".join(lines) + "\n").encode()
        (folder / f"{name}.txt").write_bytes(data)
        with gzip.open(folder / f"{name}.gz", "wb") as file:
            file.write(data)
    return folder


def lines(path: Path) -> list[str]:
    return path.read_text().removesuffix("\n").split("\n")


@pytest.mark.parametrize("tokenize", ["13a", "none"])
def test_scores_are_sacrebleus(files: Path, tmp_path: Path, tokenize: str) -> None:
    systems = {name: files / f"{name}.txt" for name in ERRORS}
    test_set = EvaluationSet(files / "source.txt", files / "reference.txt", bleu_tokenize=tokenize)
    runs = output_runs(systems, test_set, tmp_path)
    references = [lines(files / "reference.txt")]
    assert [(run.arm, run.attention) for run in runs] == [(name, None) for name in ERRORS]
    for run, path in zip(runs, systems.values(), strict=True):
        hypotheses = lines(path)
        assert run.results is not None
        assert run.seed is None
        assert run.results["bleu"] == pytest.approx(
            sacrebleu.corpus_bleu(hypotheses, references, tokenize=tokenize).score, abs=1e-9
        )
        assert run.results["chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, references).score, abs=1e-9)
        assert run.results["ter"] == pytest.approx(sacrebleu.corpus_ter(hypotheses, references).score, abs=1e-9)
        for bucket in run.results["by_length"]:
            chosen = [
                i
                for i, text in enumerate(lines(files / "source.txt"))
                if bucket["lo"] <= len(text.split()) <= (bucket["hi"] or 10**9)
            ]
            assert bucket["n"] == len(chosen)
            if chosen:
                expected = sacrebleu.corpus_bleu(
                    [hypotheses[i] for i in chosen], [[references[0][i] for i in chosen]], tokenize=tokenize
                ).score
                assert bucket["bleu"] == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def compared(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compared")
    systems = {name: files / f"{name}.gz" for name in ERRORS}
    paths = lookback.compare(systems, files / "source.txt", files / "reference.txt", out, baseline="good")
    assert out / "report.html" in paths
    return out


def theirs(files: Path, test: str) -> list[Result]:
    """What sacrebleu's own paired test says of good, bad and better."""
    named = [(name, lines(files / f"{name}.txt")) for name in ("good", "bad", "better")]
    metrics = {"BLEU": BLEU(references=[lines(files / "reference.txt")])}
    return PairedTest(named, metrics, references=None, test_type=test, n_samples=2000)()[1]["BLEU"]


def test_p_is_that_of_sacrebleus_paired_ar(files: Path, compared: Path) -> None:
    """Two Monte-Carlo answers to one question, of 1,000 and 2,000 draws: up to four of their standard errors."""
    with (compared / "differences.csv").open(newline="") as file:
        whole = {row["arm"]: row for row in csv.DictReader(file) if row["words"] == "all"}
    good, *others = theirs(files, "ar")
    for name, other in zip(("bad", "better"), others, strict=True):
        p = other.p_value
        assert p is not None
        assert float(whole[name]["difference"]) == pytest.approx(other.score - good.score, abs=1e-6)
        error = 4 * np.sqrt(max(p, 0.002) * (1 - p) * (1 / 1000 + 1 / 2000))
        assert float(whole[name]["p"]) == pytest.approx(p, abs=error)


def test_intervals_are_as_wide_as_those_of_sacrebleus_paired_bs(files: Path, compared: Path) -> None:
    with (compared / "arms.csv").open(newline="") as file:
        arms = {row["arm"]: row for row in csv.DictReader(file)}
    for name, score in zip(("good", "bad", "better"), theirs(files, "bs"), strict=True):
        low, high = float(arms[name]["bleu low"]), float(arms[name]["bleu high"])
        assert (high - low) / 2 == pytest.approx(score.ci, rel=0.15)
        assert (high + low) / 2 == pytest.approx(score.mean, abs=0.5)


def test_the_first_system_is_the_baseline(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems = {name: files / f"{name}.txt" for name in ("bad", "good")}
    lookback.compare(systems, files / "source.txt", files / "reference.txt", tmp_path)
    said = " ".join(capsys.readouterr().out.split())
    assert "BLEU more than bad, paired" in said
    assert "good scores" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("good.txt", "one\ntwo\n"), r"systems\.good=.*good\.txt: 2 lines, expected 240, as in .*source\.txt"),
        (("reference.txt", "one\n"), r"reference=.*reference\.txt: 1 lines, expected 240"),
        (("source.txt", None), r"source\.txt"),
        (("good.txt", ""), r"good\.txt.*(no lines|empty)"),
    ],
)
def test_files_that_do_not_fit_are_one_clear_line(
    files: Path, tmp_path: Path, change: tuple[str, str | None], said: str
) -> None:
    for path in files.glob("*.txt"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    name, text = change
    if text is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(text)
    systems = {name: tmp_path / f"{name}.txt" for name in ERRORS}
    with pytest.raises(InputError, match=said) as caught:
        output_runs(systems, EvaluationSet(tmp_path / "source.txt", tmp_path / "reference.txt"), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["source", "reference"])
def test_an_empty_line_is_named_with_its_place(files: Path, tmp_path: Path, name: str) -> None:
    changed = tmp_path / f"{name}.txt"
    texts = lines(files / f"{name}.txt")
    texts[4] = "  "
    changed.write_text("\n".join(texts) + "\n")
    given = {"source": files / "source.txt", "reference": files / "reference.txt", name: changed}
    with pytest.raises(InputError, match=rf"{name}: .*{name}\.txt:5: an empty line; expected a sentence"):
        output_runs({"good": files / "good.txt"}, EvaluationSet(**given), tmp_path)


def test_no_system_is_refused(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"systems=\{\}: expected a name and a file"):
        output_runs({}, EvaluationSet(files / "source.txt", files / "reference.txt"), tmp_path)


def test_a_run_and_its_own_output_stand_in_one_table(finished: Path, tmp_path: Path) -> None:
    record = read_results(finished / "test" / "results.json")
    run = Run(finished, "bahdanau", "bahdanau", 1, "finished", None, record, {"encoder": {"cell": "gru"}})
    predictions = read_predictions(finished / "test" / "predictions.jsonl")
    for name in ("source", "reference", "hypothesis"):
        texts = [getattr(prediction, name) for prediction in predictions]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    test_set = EvaluationSet(tmp_path / "source.txt", tmp_path / "reference.txt", bleu_tokenize="none")
    (same,) = output_runs({"same": tmp_path / "hypothesis.txt"}, test_set, tmp_path / "out")
    assert same.results is not None
    for record_ in (same.results, record):
        for bucket in record_["by_length"]:
            # a plain file does not say which of its sentences were cut off, nor where the system looked
            bucket["truncated"], bucket["never_looked_at"] = 0, None
    for key in ("data_fingerprint", "signature", "bleu", "chrf", "ter", "by_length"):
        assert same.results[key] == record[key]  # type: ignore[literal-required]
    (group,) = grouped([run, same], tmp_path, None)
    assert {each.arm for each in group.runs} == {"bahdanau", "same"}  # no setting of the run is in a name or a note
    assert list(group.notes) == []
    (contrast,) = group.evidence.contrasts
    assert {contrast.arm, contrast.baseline} == {"bahdanau", "same"}
    assert contrast.difference.whole["difference"] == 0


@pytest.mark.parametrize("name", ["../outside", "a/b", "..", "", " ", "a\x07b", "a\\b", "c:"])
def test_a_name_that_is_no_folders_is_refused(files: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "inside"
    with pytest.raises(InputError, match=r"^systems\..*: expected a name without") as caught:
        output_runs({name: files / "good.txt"}, EvaluationSet(files / "source.txt", files / "reference.txt"), out)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def linked(files: Path, tmp_path: Path) -> tuple[EvaluationSet, Path]:
    """Gold links word for word, the last word of each sentence only possible; and a system that links all but them."""
    lengths = [len(text.split()) for text in lines(files / "source.txt")]
    gold, found = tmp_path / "gold.txt", tmp_path / "found.txt"
    gold.write_text(
        "".join(" ".join([*(f"{i}-{i}" for i in range(n - 1)), f"{n - 1}p{n - 1}"]) + "\n" for n in lengths)
    )
    found.write_text("".join(" ".join(f"{i}-{i}" for i in range(1, n)) + "\n" for n in lengths))
    return EvaluationSet(files / "source.txt", files / "reference.txt", gold), found


def test_given_links_have_an_error_rate_and_gold_ones_a_recall_by_position(files: Path, tmp_path: Path) -> None:
    test_set, found = linked(files, tmp_path)
    systems = {name: files / f"{name}.txt" for name in ("good", "bad")}
    good, bad = output_runs(systems, test_set, tmp_path / "out", {"good": found})
    lengths = [len(text.split()) for text in lines(files / "source.txt")]
    sure, possible = sum(n - 1 for n in lengths), sum(lengths)
    both = sum(max(n - 2, 0) for n in lengths)  # sure and found: neither the first word nor the last
    links = sum(n - 1 for n in lengths)
    assert good.results is not None
    assert bad.results is not None
    assert good.results["aer"] is not None
    quality = good.results["aer"]["shift_0"]
    assert quality["aer"] == pytest.approx(1 - (both + links) / (links + sure))
    assert (quality["precision"], quality["recall"]) == (1.0, pytest.approx(both / sure))
    assert good.results["aer"]["shift_-1"] == {"aer": None, "precision": None, "recall": None}
    assert bad.results["aer"] is None
    assert possible > links
    first = [(run.results["position_recall"] or [])[2]["recall"][0] for run in (good, bad)]
    assert 0.85 < (first[0] or 0) < 0.95  # a tenth of the words is wrong
    assert 0.5 < (first[1] or 0) < 0.75  # half of them is, and some are right by chance


@pytest.mark.parametrize(
    ("alignments", "gold", "said"),
    [
        ({"god": "found.txt"}, True, r"alignments\.god: no system has this name; did you mean good\?"),
        ({"good": "found.txt"}, False, r"alignments: nothing to compare with; expected gold=FILE"),
        ({"good": "short.txt"}, True, r"short\.txt: has 1 lines for 240 pairs"),
        ({"good": "wrong.txt"}, True, r"wrong\.txt:1: '0=0' is no link, expected i-j"),
        ({"good": "absent.txt"}, True, r"absent\.txt"),
    ],
)
def test_links_that_do_not_fit_are_one_clear_line(
    files: Path, tmp_path: Path, alignments: dict[str, str], gold: bool, said: str
) -> None:
    test_set, _ = linked(files, tmp_path)
    (tmp_path / "short.txt").write_text("0-0\n")
    (tmp_path / "wrong.txt").write_text("0=0\n" * 240)
    test_set = test_set if gold else EvaluationSet(test_set.source, test_set.reference)
    given = {name: tmp_path / path for name, path in alignments.items()}
    with pytest.raises(InputError, match=said) as caught:
        output_runs({"good": files / "good.txt"}, test_set, tmp_path / "out", given)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("tokenize", "said"), [("13", "did you mean 13a"), ("xyz", "expected one of")])
def test_a_tokenizer_that_sacrebleu_has_not_is_refused(files: Path, tmp_path: Path, tokenize: str, said: str) -> None:
    systems = {"good": files / "good.txt"}
    with pytest.raises(InputError, match=f"bleu_tokenize={tokenize}: no tokenizer of sacrebleu's.*{said}"):
        lookback.compare(systems, files / "source.txt", files / "reference.txt", tmp_path / "out", tokenize)
    assert not (tmp_path / "out").exists()


def test_the_page_alone_has_its_systems_beside_it(files: Path, tmp_path: Path) -> None:
    systems = {name: files / f"{name}.txt" for name in ("good", "bad")}
    page = tmp_path / "page.html"
    assert lookback.compare(systems, files / "source.txt", files / "reference.txt", page) == [page]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "systems"]


def test_a_comparison_of_other_systems_is_left_as_it_is(files: Path, tmp_path: Path) -> None:
    texts = files / "source.txt", files / "reference.txt"
    lookback.compare({"one": files / "good.txt", "two": files / "bad.txt"}, *texts, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"holds a comparison of other runs \(systems/two"):
        lookback.compare({"one": files / "better.txt"}, *texts, tmp_path)
    changed = {"one": files / "better.txt", "two": files / "bad.txt"}
    with pytest.raises(InputError, match="baseline=tow: no arm has this name; did you mean two"):
        lookback.compare(changed, *texts, tmp_path, baseline="tow")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_plain_files_are_called_systems_and_no_trainings(compared: Path) -> None:
    said = " ".join((compared / "comparison.txt").read_text().split())
    assert "these systems differ on this test set" in said
    assert "The intervals are over sentences alone." in said
    for word in ("seed:", "trained", "attention", "Budgets"):
        assert word not in said, word


def test_a_system_is_compared_with_each_seed_of_a_run(make_run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    runs = [read_run(make_run(f"run{seed}", "dot", seed, slope=0.004)) for seed in (1, 2, 3)]
    predictions = read_predictions(runs[0].directory / "test" / "predictions.jsonl")
    for name in ("source", "reference"):
        (tmp_path / name).write_text("\n".join(getattr(one, name) for one in predictions) + "\n")
    test_set = EvaluationSet(tmp_path / "source", tmp_path / "reference", bleu_tokenize="none")
    (system,) = output_runs({"joey": tmp_path / "reference"}, test_set, tmp_path / "out")
    about = CountedRuns([*runs, system]).evidence("joey")
    # joey is one output: nothing is known of its trainings
    assert [(one.arm, one.baseline, one.difference.seeds) for one in about.contrasts] == [("dot", "joey", 1)]
    assert not about.contrasts[0].difference.whole["significant"]
    assert about.contrasts[0].difference.whole["models_differ"]
    assert "joey is one output: what other trainings of it would do is not known." in headline(about)
    scores = [run.bleu for run in runs]
    assert about.contrasts[0].difference.whole["difference"] == pytest.approx(np.mean(scores) - 100)


def test_a_system_has_a_name_of_its_own(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\n")
    run = Run(finished, "bahdanau", "bahdanau", 1, "finished", None, None, {})
    test_set = EvaluationSet(tmp_path / "text", tmp_path / "text")
    with pytest.raises(InputError, match=r"systems\.bahdanau: the run .* has this name too; expected another one"):
        compare_outputs({"bahdanau": tmp_path / "text"}, test_set, tmp_path / "out", runs=[run])


def test_names_that_are_no_table_are_refused(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"systems='good': expected a name and a file for each"):
        lookback.compare("good", files / "source.txt", files / "reference.txt", tmp_path)  # type: ignore[arg-type]


def test_nobody_says_how_often_another_system_was_cut_off(compared: Path) -> None:
    with (compared / "comparison.csv").open(newline="") as file:
        assert {row["truncated"] for row in csv.DictReader(file)} == {""}


def test_files_that_do_not_belong_together_are_not_called_untrained(files: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("x\n" * 240)
    (tmp_path / "another.txt").write_text("y\n" * 240)
    systems = {name: tmp_path / f"{name}.txt" for name in ("other", "another")}
    lookback.compare(systems, files / "source.txt", files / "reference.txt", tmp_path / "out")
    said = " ".join((tmp_path / "out" / "comparison.txt").read_text().split())
    assert "Every system scores under 1 BLEU: are these the source, the reference and the outputs" in said
