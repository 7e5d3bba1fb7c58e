"""What docs/family/README.md says of the whole family is what its CSV files hold, which compare.py wrote."""

import re
from collections.abc import Callable
from statistics import fmean

import pytest
from scipy.stats import spearmanr

from support.evidence import DOCS, Row, rows, words

FOLDER = DOCS / "family"
THREE_SEEDS = ("none", "dot", "bahdanau", "multihead", "transformer")


def page() -> str:
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def arms() -> dict[str, Row]:
    """By name, the best first."""
    ranked = sorted(rows("family/arms.csv"), key=lambda row: -row["bleu"])  # type: ignore[operator]
    return {str(row["arm"]): row for row in ranked}


def mean(runs: list[Row], key: str) -> float:
    """Over the seeds of an arm."""
    return fmean(row[key] for row in runs)  # type: ignore[misc]


def by_seed(runs: list[Row]) -> list[float]:
    """BLEU of an arm's runs, in the order of their seeds."""
    return [row["bleu"] for row in sorted(runs, key=lambda row: row["seed"])]  # type: ignore[arg-type,return-value,misc]


def scores(runs: list[Row]) -> str:
    return " | ".join(f"{mean(runs, key):.1f}" for key in runs[0] if key.startswith("bleu "))


def aer(runs: list[Row]) -> str:
    return "–" if runs[0]["aer_shift_0"] is None else f"{mean(runs, 'aer_shift_0'):.2f}"


def equal_updates() -> list[str]:
    lines = []
    for name, arm in arms().items():
        runs = rows("family/comparison.csv", arm=name)
        whole = f"{arm['bleu']:.1f} | {arm['bleu low']:.1f} to {arm['bleu high']:.1f}"
        cost = f"{runs[0]['parameters'] / 1e6:.2f} | {runs[0]['flops_per_token'] / 1e6:.1f}"  # type: ignore[operator]
        lines.append(f"| `{name}` | {len(runs)} | {whole} | {scores(runs)} | {aer(runs)} | {cost} |")
    return lines


def one_rate() -> list[str]:
    lines = []
    for untuned in sorted(rows("family/one_rate.csv"), key=lambda row: str(row["arm"])):
        name = untuned["arm"]
        (rate,) = [row["learning_rate"] for row in rows("tuning_cosine.csv", attention=name, chosen="True")]
        (tuned,) = rows("family/comparison.csv", arm=name, seed=1)
        lines.append(f"| `{name}` | {rate} | {tuned['bleu']:.1f} | {untuned['bleu']:.1f} |")
    return lines


def equal_parameters() -> list[str]:
    return [
        f"| `{row['arm']}` | {row['bleu']:.1f} | {scores([row])} | {aer([row])} | {row['parameters']:,} "
        f"| {row['flops_per_token'] / 1e6:.1f} |"  # type: ignore[operator]
        for row in rows("family/equal_parameters.csv")
    ]


def extrapolation() -> list[str]:
    return [
        f"| `{row['arm']}` | {row['bleu']:.1f} | {scores([row])} | {row['length_ratio']:.2f} | {aer([row])} |"
        for row in rows("family/extrapolation.csv")
    ]


REMEMBER = ("bahdanau", "coverage", "location_sensitive")
"""Arms with the additive score; all but the first know where they looked before"""


def long_sentences(name: str, file: str) -> list[Row]:
    """The buckets over 40 words of an arm's run of seed 1."""
    return [row for row in rows(f"family/{file}", arm=name, seed=1) if row["lo"] > 40]  # type: ignore[operator]


def repetitions() -> list[str]:
    lines = []
    for most, file in ((60, "lengths.csv"), (30, "extrapolation_lengths.csv")):
        for name in REMEMBER:
            found = long_sentences(name, file)
            cells = [
                "–" if place >= len(found) else f"{found[place][key]:.2f}"
                for key in ("repeated_trigrams", "never_looked_at")
                for place in range(3)
            ]
            lines.append(f"| `{name}` | {most} | {' | '.join(cells)} |")
    return lines


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("Equal updates", equal_updates),
        ("What one learning rate for all would have said", one_rate),
        ("Equal parameters", equal_parameters),
        ("Lengths it never saw", extrapolation),
        ("Said twice, never looked at", repetitions),
    ],
)
def test_a_table_is_its_file(title: str, lines: Callable[[], list[str]]) -> None:
    (section,) = [text for text in re.split(r"^## ", page(), flags=re.M) if text.startswith(title + "\n")]
    shown = [line for line in section.splitlines() if line.startswith("|")]
    assert shown[2:] == lines()  # behind the names of the columns and a ruler
    assert len({line.count("|") for line in shown}) == 1
    assert len(shown) > 4


def test_the_arms_of_equal_updates_have_equal_budgets_and_the_seeds_that_are_said() -> None:
    runs = rows("family/comparison.csv")
    assert len({row["updates"] for row in runs}) == len({row["target_tokens"] for row in runs}) == 1
    assert {row["status"] for row in runs} == {"finished"}
    seeds = {name: sorted(row["seed"] for row in runs if row["arm"] == name) for name in arms()}  # type: ignore[type-var]
    assert seeds == {name: [1, 2, 3] if name in THREE_SEEDS else [1] for name in arms()}
    assert len(seeds) == 13


def test_what_was_printed_is_quoted() -> None:
    quoted = re.findall(r"^```text\n(.*?)^```$", page(), flags=re.M | re.S)
    for block, name in zip(quoted, ("three_seeds.txt", "comparison.txt"), strict=True):
        assert words(block) in words((FOLDER / name).read_text(encoding="utf-8"))


def test_sentences_are_the_tables() -> None:
    text = words(page())
    runs = {name: rows("family/comparison.csv", arm=name) for name in arms()}
    longest = {name: mean(runs[name], "bleu 51-60") for name in runs}
    (low, high, fixed) = re.findall(r"look back lie between (\d+) and (\d+) BLEU, the fixed vector's at (\d+)", text)[0]
    looks = [value for name, value in longest.items() if name != "none"]
    assert (low, high, fixed) == (f"{min(looks):.0f}", f"{max(looks):.0f}", f"{longest['none']:.0f}")
    for below, dot, multihead in zip(*(by_seed(runs[name]) for name in ("bahdanau", "dot", "multihead")), strict=True):
        assert below < min(dot, multihead)
    scores_, errors = zip(
        *[(mean(found, "bleu"), mean(found, "aer_shift_0")) for name, found in runs.items() if name != "none"],
        strict=True,
    )
    assert f"rank correlation with BLEU is {spearmanr(scores_, errors).statistic:.2f}".replace("-", "−") in text
    seeds = re.findall(r"seeds differ most\*\*: ([\d.]+), ([\d.]+) and ([\d.]+) BLEU", text)[0]
    assert seeds == tuple(f"{row['bleu']:.1f}" for row in sorted(runs["transformer"], key=lambda row: row["seed"]))  # type: ignore[arg-type,return-value]
    spread = {name: max(found) - min(found) for name, found in ((n, [r["bleu"] for r in runs[n]]) for n in THREE_SEEDS)}  # type: ignore[type-var,operator]
    assert max(spread, key=lambda name: spread[name]) == "transformer"
    for name, rate, bleu in re.findall(r"`(\w+)` (?:has )?(\d\.\d+) and (\d+\.\d)", text):
        assert (rate, bleu) == (aer(runs[name]), f"{mean(runs[name], 'bleu'):.1f}")
    (place,) = re.findall(r"Its ([\d.]+) BLEU at an alignment error rate of", text)
    assert place == f"{runs['location'][0]['bleu']:.1f}"
    rising = [name for name, found in runs.items() if max(row["rise"] for row in found) >= 1]  # type: ignore[type-var,operator]
    assert {"transformer", "local_p"} <= set(rising)


def test_sentences_under_the_other_tables_are_theirs() -> None:
    text = words(page())
    (own, lower), (attends, worse) = (
        [rows(f"family/{name}.csv", arm=arm, seed=1)[0] for name in ("comparison", "one_rate")]
        for arm in ("none", "transformer")
    )
    (alike,) = rows("family/equal_parameters.csv", arm="none", seed=1)
    found = re.findall(r"had `none` ([\d.]+) BLEU lower, .*? the Transformer ([\d.]+) lower", text)
    assert found == [(f"{own['bleu'] - lower['bleu']:.1f}", f"{attends['bleu'] - worse['bleu']:.1f}")]  # type: ignore[operator]
    more = alike["parameters"] - own["parameters"]  # type: ignore[operator]
    assert f"With {more:,} parameters more" in text
    assert f"{own['bleu']:.1f}" == f"{alike['bleu']:.1f}" == "35.3"
    assert "the fixed vector has 35.3 BLEU as before" in text
    three = {str(row["arm"]): row for row in rows("family/equal_parameters.csv")}
    assert sorted(three, key=lambda name: -three[name]["bleu"]) == [name for name in arms() if name in three]  # type: ignore[operator]
    assert three["bahdanau"]["bleu"] > arms()["bahdanau"]["bleu high"]  # type: ignore[operator]
    assert (
        1.015 < three["bahdanau"]["parameters"] / rows("family/comparison.csv", arm="bahdanau")[0]["parameters"] < 1.025
    )  # type: ignore[operator]


def test_what_is_said_of_the_tuning_is_its_file() -> None:
    """Four arms were tuned by an earlier version; the others' trainings are the very ones of the table."""
    differ = {}
    for name in arms():
        (tuned,) = rows("tuning_cosine.csv", attention=name, chosen="True")
        (run,) = rows("family/comparison.csv", arm=name, seed=1)
        differ[name] = abs(tuned["validation_perplexity"] - run["validation_perplexity"])  # type: ignore[operator]
    assert {name for name, difference in differ.items() if difference > 1e-6} == {"none", "dot", "general", "bahdanau"}
    assert 0.02 < max(differ.values()) < 0.03
    assert "by up to 0.03" in words(page())


def test_what_is_said_of_unseen_lengths_is_the_table() -> None:
    text = words(page())
    arms = {str(row["arm"]): row for row in rows("family/extrapolation.csv")}
    looks = {name: row for name, row in arms.items() if name != "none"}
    assert min(row[f"bleu {bucket}"] for row in looks.values() for bucket in ("1-10", "11-20", "21-30")) >= 94.95  # type: ignore[operator,type-var]
    longest = {name: f"{row['bleu >60']:.1f}" for name, row in arms.items()}
    fell = sorted(float(longest[name]) for name in looks if name not in ("location_sensitive", "local_m"))
    said = re.findall(
        r"nothing: ([\d.]+) BLEU over 60 words; `local_m` keeps ([\d.]+)\. .*? fall to between ([\d.]+)", text
    )
    assert said == [(longest["location_sensitive"], longest["local_m"], f"{fell[0]}")]
    assert f"and {fell[-1]} BLEU over 60 words, the fixed vector to {longest['none']}." in text
    rotary, sinusoidal, learned = (
        arms[f"transformer, positions={name}"] for name in ("rotary", "sinusoidal", "learned")
    )
    near = [f"{row['bleu 31-40']:.1f}" for row in (rotary, sinusoidal, learned)]
    assert f"{near[0]} BLEU against {near[1]} (sinusoidal) and {near[2]} (learned)" in text
    far = [f"{row['bleu >60']:.1f}" for row in (rotary, sinusoidal, learned)]
    assert f"least over 60: {far[0]} against {far[1]} and {far[2]}." in text
    short = [name for name, row in arms.items() if row["length_ratio"] < 0.95]  # type: ignore[operator]
    assert len(short) > len(arms) / 2
    lengths = {str(row["arm"]): row for row in rows("family/extrapolation_lengths.csv", lo=61)}
    said = re.findall(
        r"`dot` has ([\d.]+) BLEU, and ([\d.]+) without .*?; learned positions ([\d.]+), and ([\d.]+)\.", text
    )
    expected = [
        f"{lengths[name][key]:.1f}"
        for name in ("dot", learned["arm"])
        for key in ("bleu", "bleu_no_bp")  # type: ignore[index]
    ]
    assert said == [tuple(expected)]
    cut = [f"{arms[name]['truncated']:,}" for name in ("location", "general")]
    assert f"`location` and `general` run on: {cut[0]} and {cut[1]} of 3,000 translations" in text
    assert f"the ratio of {arms['location']['length_ratio']:.2f} is that limit's" in text
    assert f"{arms['none']['target_tokens']:,} target tokens" in text
    assert len({(row["updates"], row["target_tokens"], row["seed"], row["status"]) for row in arms.values()}) == 1
    worst = max(looks.values(), key=lambda row: row["aer_shift_0"])  # type: ignore[arg-type,return-value]
    assert worst["arm"] == "location_sensitive"
    assert f"worst alignment error rate, {aer([worst])}: " in text


def test_what_is_said_of_repetitions_is_the_table() -> None:
    text = words(page())

    def values(name: str, file: str, key: str) -> list[str]:
        return [f"{row[key]:.2f}" for row in long_sentences(name, file)]

    for key in ("repeated_trigrams", "never_looked_at"):
        ours, theirs = (values(name, "lengths.csv", key) for name in ("coverage", "bahdanau"))
        assert f"{ours[0]} and {ours[1]} %" in text
        assert f"{theirs[0]} and {theirs[1]} %" in text
        ours, theirs = (values(name, "extrapolation_lengths.csv", key) for name in ("coverage", "bahdanau"))
        assert f"{ours[2]} % against {theirs[2]}" in text
    ours, theirs = (long_sentences(name, "extrapolation_lengths.csv")[2] for name in ("coverage", "bahdanau"))
    assert f"{ours['bleu']:.1f} BLEU against {theirs['bleu']:.1f}" in text
    assert ours["bleu"] < theirs["bleu"]  # type: ignore[operator]
    assert f"{ours['bleu_no_bp']:.1f} against {theirs['bleu_no_bp']:.1f} without the brevity penalty" in text
    assert f"(length ratio {theirs['length_ratio']:.2f} against {ours['length_ratio']:.2f})" in text
    seeds = rows("family/lengths.csv", arm="bahdanau", lo=51)
    spreads = [sorted(f"{row[key]:.2f}" for row in seeds) for key in ("repeated_trigrams", "never_looked_at")]
    assert len(seeds) == 3
    assert f"have {spreads[0][0]} to {spreads[0][2]} and {spreads[1][0]} to {spreads[1][2]} %" in text
    assert f"{ours['repeated']:.1f} % of its words against {theirs['repeated']:.1f}" in text
