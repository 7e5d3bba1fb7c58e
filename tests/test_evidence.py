"""What the README says of its experiments is what docs/ holds: the files that compare.py wrote from the trainings."""

import csv
import io
import math
import re
from itertools import pairwise
from statistics import fmean, stdev

import pytest
from rich.console import Console
from scipy import stats

from lookback.report.tables.difference_table import arm_table
from lookback.report.tables.table import cost_table, score_table
from support.evidence import DOCS, Row, rows, words
from support.running import PROJECT

ARMS = ("none", "dot", "general", "bahdanau")
FAMILY = (
    *("location", "concat", "local_m", "local_p", "scaled_dot"),
    *("multihead", "coverage", "location_sensitive", "transformer"),
)
"""The arms beside them that docs/family compares"""
README = (PROJECT / "README.md").read_text(encoding="utf-8")
TEXT = (DOCS / "comparison.txt").read_text(encoding="utf-8")
START = README[README.index("## Start") : README.index("## The comparison")]
SECTION = README[README.index("## The comparison") : README.index("## Your own text")]
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def printed(table: object) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_readme_quotes_what_was_printed() -> None:
    """Each part of each block as a whole, in its order."""
    blocks = BLOCK.findall(SECTION)
    assert len(blocks) >= 2
    places = []
    for part in (part for block in blocks for part in lines(block).strip("\n").split("\n\n")):
        assert part in lines(TEXT), part
        places.append(lines(TEXT).index(part))
    assert places == sorted(places)


def test_what_was_printed_is_of_the_same_runs_as_the_tables() -> None:
    """The texts are made again from the CSV, by the code that prints them."""
    runs, arms = rows("comparison.csv"), rows("arms.csv")
    for table in (score_table(runs, ""), cost_table(runs), arm_table(arms)):
        for line in printed(table).splitlines():
            assert words(line) in words(TEXT), line
    for row in (row for row in rows("differences.csv") if row["n"]):
        mark = "*" if row["significant"] == "True" else "†" if row["models_differ"] == "True" else ""
        assert f"{row['difference']:+.1f} ({row['low']:.1f} to {row['high']:.1f}){mark}" in words(TEXT)


def test_what_the_sentence_says_of_p_is_in_the_table() -> None:
    ((buckets, largest),) = re.findall(r"each of (\d+) buckets, largest Holm-corrected p = ([\d.]+)", words(TEXT))
    starred = [row for row in rows("differences.csv") if row["words"] != "all" and row["significant"] == "True"]
    assert (len(starred), f"{max(row['p_holm'] for row in starred):.3f}") == (int(buckets), largest)  # type: ignore[type-var]


def test_what_would_be_there_by_chance_is_in_its_file() -> None:
    (said,) = re.findall(r"By chance `none` would have ([\d,\s]+and \d+) %", SECTION)
    found = [f"{100 * row['chance']:.0f}" for row in rows("recall.csv", arm="none", lo=51)]  # type: ignore[operator]
    assert re.findall(r"\d+", said) == found


def test_every_arm_has_three_seeds_and_the_same_budget() -> None:
    runs = rows("comparison.csv")
    for name in ARMS:
        assert sorted(row["seed"] for row in runs if row["attention"] == name) == [1, 2, 3]  # type: ignore[type-var]
    assert len(runs) == 3 * len(ARMS)
    assert len({row["updates"] for row in runs}) == len({row["target_tokens"] for row in runs}) == 1
    assert {row["status"] for row in runs} == {"finished"}


@pytest.mark.parametrize("name", [*ARMS, *FAMILY])
def test_an_arms_learning_rate_is_the_one_that_validation_chose_and_no_edge(name: str) -> None:
    group = "model" if name == "transformer" else "attention"
    (rate,) = re.findall(r"^learning_rate: ([\d.]+)", (PROJECT / "conf" / group / f"{name}.yaml").read_text(), re.M)
    grid = tried(name)
    best = min(grid, key=lambda rate: grid[rate]["validation_perplexity"])  # type: ignore[arg-type, return-value]
    assert best == float(rate)
    assert [rate for rate, row in grid.items() if row["chosen"] == "True"] == [best]
    assert min(grid) < best < max(grid)
    ratios = {round(high / low, 6) for low, high in pairwise(sorted(grid))}
    assert ratios == {2.0}


@pytest.mark.parametrize("attention", ARMS)
def test_the_rates_that_were_tried_are_in_the_readme(attention: str) -> None:
    (quoted,) = re.findall(rf"^  \| `{attention}` \| ([^|]*) \|$", SECTION, re.M)
    grid = tried(attention)
    each = {rate: f"{rate:g}: {row['validation_perplexity']:.3f}" for rate, row in sorted(grid.items())}
    assert quoted == " · ".join(
        f"**{text}**" if grid[rate]["chosen"] == "True" else text for rate, text in each.items()
    )


def tried(name: str) -> dict[float, Row]:
    """By learning rate, what its training came to."""
    return {float(row["learning_rate"]): row for row in rows("tuning_cosine.csv", attention=name)}  # type: ignore[arg-type]


def test_times_and_scores_in_sentences_are_the_tables() -> None:
    """Sentences that name an arm's minutes, and what the first command of the README comes to."""
    runs = rows("comparison.csv")
    found = re.findall(r"`(\w+)` (\d+) to (\d+) minutes", SECTION)
    assert {name for name, _, _ in found} == {"none", "bahdanau"}
    for name, low, high in found:
        minutes = [row["seconds"] / 60 for row in runs if row["attention"] == name]  # type: ignore[operator]
        assert int(low) == math.floor(min(minutes))
        assert int(high) == math.ceil(max(minutes))


def test_the_first_commands_output_is_its_run() -> None:
    (run,) = rows("comparison.csv", attention="bahdanau", seed=1)
    ((score, worst),) = re.findall(r"test BLEU ([\d.]+) \(seed 1\), worst length bucket ([\d.]+)", START)
    buckets = {key.removeprefix("bleu "): value for key, value in run.items() if key.startswith("bleu ") and value}
    assert (score, worst) == (f"{run['bleu']:.1f}", f"{min(buckets.values()):.1f}")  # type: ignore[type-var]
    assert run["bleu"] >= 98  # type: ignore[operator]
    (block,) = BLOCK.findall(START)
    quoted = {line.split()[0]: line.split() for line in block.splitlines()}
    for bucket, value in buckets.items():
        assert quoted[bucket][1:3] == [str(run[f"n {bucket}"]), f"{value:.1f}"]
    assert f"BLEU {run['bleu']:.2f}  chrF {run['chrf']:.2f}  TER {run['ter']:.2f}" in block
    assert f"perplexity {run['perplexity']:.3f}" in block
    assert f"alignment error rate {run['aer_shift_0']:.3f}" in block
    assert f"{abs(run['rise']):.1f} in the last fifth" in block  # type: ignore[arg-type]


def test_what_the_other_schedule_gives_is_in_its_file() -> None:
    said = re.findall(r"`(\w+)` ([\d.]+) \(here ([\d.]+)\)", SECTION)
    assert {name for name, _, _ in said} == set(ARMS)

    def lowest(file: str, name: str) -> str:
        return f"{min(row['validation_perplexity'] for row in rows(file, attention=name)):.3f}"  # type: ignore[type-var]

    for name, luong, here in said:
        assert (luong, here) == (lowest("tuning_luong.csv", name), lowest("tuning_cosine.csv", name))


def test_where_words_are_lost_is_in_its_file() -> None:
    said = re.findall(r"`(\w+)` has ([\d, ]+ and \d+) % of the words of the five fifths", SECTION)
    assert {name for name, _ in said} == {"none", "bahdanau"}
    for name, shares in said:
        found = [f"{100 * row['recall']:.0f}" for row in rows("recall.csv", arm=name, lo=51)]  # type: ignore[operator]
        assert re.findall(r"\d+", shares) == found


def under_two_nats(**having: str | float) -> int:
    """The update from which the entropy of the look stays under 2 nats on the built-in corpus, interpolated."""
    points = rows("entropy.csv", corpus="grammar", **having)
    curve: list[tuple[float, float]] = [(row["update"], row["entropy"]) for row in points]  # type: ignore[misc]
    (u0, e0), (u1, e1) = [pair for pair in pairwise(curve) if pair[0][1] >= 2 > pair[1][1]][-1]
    return round(u0 + (e0 - 2) / (e0 - e1) * (u1 - u0))


def test_when_an_attention_begins_to_look_is_in_its_file() -> None:
    part = words(SECTION[SECTION.index("**First values by layer width**") : SECTION.index("`docs/entropy.csv`")])
    now, before = re.findall(r"from(?: update)? (\d+)(?: for `bahdanau`)? \((\d+)(?: at a rate of 0.002)?\)", part)
    rest = re.findall(r"(\d+)(?: for `dot`)? and (\d+)", part)
    arms = (("bahdanau", 0.004), ("bahdanau", 0.002), ("dot", 0.004), ("general", 0.004))
    for said, others, first in ((now, rest[0], "by width"), (before, rest[1], "as before")):
        found = [under_two_nats(attention=name, learning_rate=rate, first_values=first) for name, rate in arms]
        assert [int(number) for number in (*said, *others)] == found
    ((wide, small, dot, general),) = re.findall(
        r"the entropy is ([\d.]+) nats for `bahdanau` \(([\d.]+) with the small first values\), ([\d.]+) for `dot`, "
        r"([\d.]+) for `general`",
        part,
    )
    for said, name, first in (
        (wide, "bahdanau", "by width"),
        (small, "bahdanau", "as before"),
        (dot, "dot", "by width"),
        (general, "general", "by width"),
    ):
        last = rows("entropy.csv", corpus="hansards", attention=name, first_values=first)[-1]
        assert (last["update"], said) == (300, f"{last['entropy']:.1f}")


@pytest.mark.parametrize("attention", ARMS)
def test_the_sweep_of_one_query_state_is_in_its_file(attention: str) -> None:
    (run,) = rows("equal_query.csv", attention=attention)
    assert run["seed"] == 1
    (part,) = re.findall(r"\*\*The query differs with the scorer\*\*.*?docs/equal_query\.csv", SECTION, re.DOTALL)
    ((score, current),) = re.findall(rf"`{attention}`\s+([\d.]+)(?: BLEU)?(?: \(current: ([\d.]+)\))?", part)
    assert score == f"{run['bleu']:.1f}"
    if current:
        (own,) = rows("comparison.csv", attention=attention, seed=1)
        assert current == f"{own['bleu']:.1f}"


def test_the_papers_objective_is_in_its_file() -> None:
    ((sentences, tokens),) = re.findall(r"seed 1 of `dot` has ([\d.]+) BLEU, against ([\d.]+)", SECTION)
    runs = {row["loss.normalize"]: row for row in rows("normalize.csv", attention="dot", seed=1)}
    assert (sentences, tokens) == (f"{runs['sentences']['bleu']:.1f}", f"{runs['tokens']['bleu']:.1f}")


def test_twice_the_budget_is_in_its_file() -> None:
    ((twice, once, updates),) = re.findall(
        r"gives `none` ([\d.]+) BLEU instead of ([\d.]+) \(seed 1, ([\d,]+) updates", SECTION
    )
    short, long = sorted(rows("twice.csv", attention="none", seed=1), key=lambda row: row["updates"])  # type: ignore[arg-type,return-value]
    assert (twice, once) == (f"{long['bleu']:.1f}", f"{short['bleu']:.1f}")
    assert updates == f"{int(long['updates']):,}"  # type: ignore[arg-type]
    assert long["updates"] == 2 * short["updates"]  # type: ignore[operator]


@pytest.mark.parametrize("attention", ["none", "dot", "bahdanau"])
def test_what_bfloat16_costs_is_in_its_files(attention: str) -> None:
    """Three seeds of each, the same seed in both: the paired difference and its interval."""
    (whole,) = rows("precision_differences.csv", arm=f"{attention}, precision=bf16-mixed", words="all")
    runs = {(row["trainer.precision"], row["seed"]): row for row in rows("precision.csv", attention=attention)}
    assert sorted(runs) == [(precision, seed) for precision in ("32-true", "bf16-mixed") for seed in (1, 2, 3)]  # type: ignore[type-var]
    assert len({(row["updates"], row["target_tokens"], row["signature"]) for row in runs.values()}) == 1
    cells = [
        f"{whole['baseline bleu']:.1f} · {whole['bleu']:.1f} · "
        f"{whole['difference']:+.1f} ({whole['low']:+.1f} to {whole['high']:+.1f})"
    ]
    for measure in ("perplexity", "aer_shift_0"):
        wide, narrow = (
            [runs[precision, seed][measure] for seed in (1, 2, 3)] for precision in ("32-true", "bf16-mixed")
        )
        if None in wide:
            cells.append("–")
            continue
        differences = [after - before for before, after in zip(wide, narrow, strict=True)]  # type: ignore[operator]
        half = stats.t.ppf(0.975, 2) * stdev(differences) / math.sqrt(3)
        mean = fmean(differences)
        assert mean - half < 0 < mean + half  # no difference of what has no resampled sentences
        cells.append(
            f"{fmean(wide):.3f} · {fmean(narrow):.3f} · {mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"  # type: ignore[type-var]
        )
    assert f"| `{attention}` | {' | '.join(cells)} |" in SECTION


def test_what_bfloat16_costs_on_multi30k_is_in_its_files() -> None:
    runs = rows("precision_multi30k.csv")
    assert sorted((row["trainer.precision"], row["seed"]) for row in runs) == [  # type: ignore[type-var]
        (precision, seed) for precision in ("32-true", "bf16-mixed") for seed in (1, 2, 3)
    ]
    assert len({(row["updates"], row["target_tokens"], row["signature"]) for row in runs}) == 1
    (whole,) = rows("precision_multi30k_differences.csv", words="all")
    assert whole["significant"] == "True"
    said = words(SECTION)
    assert (
        f"{whole['baseline bleu']:.1f} · {whole['bleu']:.1f} · {whole['difference']:+.1f} "
        f"({whole['low']:+.1f} to {whole['high']:+.1f}), p = {whole['p']:.3f}"
    ) in said
    others = rows("precision_differences.csv", words="all")
    ps = sorted(float(row["p"]) for row in [whole, *others])  # type: ignore[arg-type]
    assert whole["p"] == ps[0]
    assert f"as one of these four comparisons {len(ps) * ps[0]:.3f}" in said
    wide, narrow = (
        fmean(row["perplexity"] for row in runs if row["trainer.precision"] == precision)  # type: ignore[misc]
        for precision in ("32-true", "bf16-mixed")
    )
    assert f"perplexity of {wide:.2f} · {narrow:.2f}" in said


def test_no_bucket_tells_the_precisions_apart() -> None:
    differences = rows("precision_differences.csv")
    buckets = [row for row in differences if row["words"] != "all" and row["n"]]
    assert f"nor is one in any of {len(buckets)} length buckets" in words(SECTION)
    assert {row["significant"] for row in differences} == {"False"}


def test_how_many_words_fit_is_in_its_files() -> None:
    part = words(SECTION[SECTION.index("**How many words fit**") :])
    sizes, runs = rows("capacity_fit.csv"), {2 * row["encoder.hidden_size"]: row for row in rows("capacity_runs.csv")}  # type: ignore[operator]
    found = [row for row in sizes if row["words"]]
    said = re.findall(r"([\d.]+) words in (\d+) numbers", part)
    assert said == [(f"{row['words']:.1f}", f"{row['numbers']:.0f}") for row in found]
    ((beyond, rising, every, least, most, rises, short, early),) = re.findall(
        r"with (\d+) numbers it is over 50 at all lengths.*?; (\d+) of the (\d+) were still improving when they ended, "
        r"after ([\d,]+) to ([\d,]+) updates \(validation BLEU rose by ([\d., ]+) in the last fifth\), and the one "
        r"with (\d+) numbers ended after ([\d,]+) updates",
        part,
    )
    (open_,) = [row for row in sizes if not row["words"]]
    assert float(beyond) == open_["numbers"]
    assert min(value for key, value in open_.items() if key.startswith("bleu ") and value is not None) > 50  # type: ignore[type-var,operator]
    stopped = [row for row in runs.values() if row["rise"] < 1]  # type: ignore[operator]
    assert (int(rising), int(every)) == (len(runs) - len(stopped), len(runs))
    assert [float(rise) for rise in rises.split(", ")] == [
        round(runs[row["numbers"]]["rise"], 1)  # type: ignore[call-overload,arg-type]
        for row in sizes
        if runs[row["numbers"]] not in stopped
    ]
    updates = sorted(int(row["updates"]) for row in runs.values() if row not in stopped)  # type: ignore[arg-type]
    assert [f"{updates[0]:,}", f"{updates[-1]:,}"] == [least, most]
    ((row,),) = [stopped]
    assert (2 * row["encoder.hidden_size"], row["updates"]) == (int(short), int(early.replace(",", "")))  # type: ignore[operator]


def test_the_finding_is_the_tables() -> None:
    """What the README opens with."""
    opening = words(README[: README.index("## Start")])
    ((short, long, least),) = re.findall(
        r"falls from (\d+) at 1 to 10 words to (\d+) at 51 to 60; with any of three attentions it is (\d+) or more",
        opening,
    )

    def mean(name: str, key: str) -> float:
        return fmean(row[key] for row in rows("comparison.csv", attention=name))  # type: ignore[misc]

    assert (short, long) == (f"{mean('none', 'bleu 1-10'):.0f}", f"{mean('none', 'bleu 51-60'):.0f}")
    assert int(least) == math.floor(min(mean(name, "bleu 51-60") for name in ARMS if name != "none"))
    assert "At this budget `none` still improves" in opening
    assert "none" in TEXT[TEXT.index("At this budget:") :].split(" still improving")[0]


def test_how_soon_commands_start() -> None:
    with (PROJECT / "benchmarks" / "results" / "start.csv").open(encoding="utf-8", newline="") as file:
        now = [row for row in csv.DictReader(file) if row["version"] != "before"]
    seconds = {row["case"]: f"{float(row['clock_seconds']):.1f}" for row in now}
    said = words(README)
    assert f"its first batch after {seconds['first batch']} s" in said
    assert f"with an empty cache after {seconds['first batch, empty cache']} s" in said
    assert f"a line is translated after {seconds['one line translated']} s" in said
    assert f"`--help` answers after {seconds['train.py --help']} s" in said
    assert f"To import torch alone takes {seconds['import torch']} s" in said


def test_how_fast_a_step_is_where_products_are_in_bfloat16() -> None:
    results = PROJECT / "benchmarks" / "results"
    with (results / "amd_epyc" / "train.csv").open(encoding="utf-8", newline="") as file:
        found_rows = list(csv.DictReader(file))
    steps = {
        (row["precision"], row["length"], row["threads"], row["system"]): row
        for row in found_rows
        if row["attention"] == "bahdanau"
        and row["clock"] == ("wall" if (row["precision"], row["length"]) == ("float32", "25") else "cpu")
    }
    (block,) = [block for block in BLOCK.findall(README) if "--precision bfloat16" in block]
    found = [line.split() for line in block.splitlines() if line.startswith("bahdanau ")]
    cases = sorted({key[:3] for key in steps}, key=lambda case: (case[0] != "float32", *map(int, case[1:])))
    expected = []
    for case in cases:
        ours = steps[*case, "lookback"]
        systems = [f"{float(steps[*case, name]['ms']):,.0f}" for name in ("lookback", "joeynmt", "opennmt", "limit")]
        expected.append(
            ["bahdanau", *case, *systems, f"{float(ours['against_peers']):.2f}", f"{float(ours['of_limit']):.0%}"]
        )
    assert found == expected
    for system, said in (("lookback", "1.52 times as fast"), ("limit", "1.67 times"), ("not fused", "it is 1.72")):
        one, two = (float(steps["float32", "25", threads, system]["ms"]) for threads in ("1", "2"))
        assert f"{one / two:.2f}" in said
        assert said in words(README)

    with (results / "parts.csv").open(encoding="utf-8", newline="") as file:
        parts = {(row["precision"], row["length"], row["part"]): row for row in csv.DictReader(file)}
    (block,) = [block for block in BLOCK.findall(README) if "benchmarks/parts.py" in block]
    found = [line.split() for line in block.splitlines() if line.startswith(("float32 ", "bfloat16 "))]
    expected = []
    for case in dict.fromkeys(key[:2] for key in parts):
        cells = [
            part
            for name in ("encoder", "decoder", "loss")
            for part in (
                f"{float(parts[*case, name]['ms']):,.0f}",
                "/",
                f"{float(parts[*case, name]['limit_ms']):,.0f}",
            )
        ]
        expected.append([*case, *cells, f"{float(parts[*case, 'optimizer']['ms']):,.0f}"])
    assert found == expected


def test_how_fast_a_search_is_where_products_are_in_bfloat16() -> None:
    with (PROJECT / "benchmarks" / "results" / "amd_epyc" / "decode.csv").open(encoding="utf-8", newline="") as file:
        rows_found = [row for row in csv.DictReader(file) if row["attention"] == "bahdanau"]
    searches = {(row["beam"], row["batch"], row["system"]): row for row in rows_found}
    (block,) = [block for block in BLOCK.findall(README) if "--batches 1 32 --beams 1 5" in block]
    found = [line.split() for line in block.splitlines() if line.startswith(("greedy ", "beam 5 "))]
    expected = []
    for batch, beam in (("1", "1"), ("1", "5"), ("32", "1"), ("32", "5")):
        ours = searches[beam, batch, "lookback"]
        names = ("lookback", "joeynmt", "opennmt", "limit")
        systems = [f"{float(searches[beam, batch, name]['ms']):,.0f}" for name in names]
        ratios = [f"{float(ours['against_peers']):.2f}", f"{float(ours['of_limit']):.0%}"]
        expected.append([*(["greedy"] if beam == "1" else ["beam", beam]), batch, *systems, *ratios])
    assert found == expected


def test_how_fast_a_transformer_is_beside_the_toolkits() -> None:
    (block,) = [block for block in BLOCK.findall(README) if "--attentions transformer" in block]
    found = [line.split() for line in block.splitlines() if line.startswith(("a step ", "greedy ", "beam 5 "))]
    rows_of: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for name in ("train", "decode"):
        path = PROJECT / "benchmarks" / "results" / "amd_epyc" / f"{name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["attention"] != "bahdanau":
                    task = {"1": "greedy", "5": "beam 5"}[row["beam"]] if name == "decode" else "a step"
                    rows_of.setdefault((task, row["attention"]), {})[row["system"]] = row
    expected = []
    for (task, attention), systems in rows_of.items():
        ours = systems["lookback"]
        names = [name for name in ("lookback", "joeynmt", "opennmt", "limit") if name in systems]
        ratio = [f"{float(ours['against_peers']):.2f}"] if ours["against_peers"] else []
        times = [f"{float(systems[name]['ms']):,.0f}" for name in names]
        expected.append([*task.split(), attention, *times, *ratio, f"{float(ours['of_limit']):.0%}"])
    assert sorted(found) == sorted(expected)
    sizes = {
        row["parameters"]
        for systems in rows_of.values()
        for row in systems.values()
        if row["attention"] == "transformer"
    }
    assert {f"{float(size) / 1e6:.2f}" for size in sizes if size} == {"9.63"}


def test_how_fast_a_file_is_translated() -> None:
    with (PROJECT / "benchmarks" / "results" / "translate_file.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    (block,) = [block for block in BLOCK.findall(README) if "benchmarks/translate_file.py" in block]
    table = [line.split() for line in block.splitlines() if line.startswith(("greedy ", "beam 5 "))]
    names = {"lookback": "lookback", "joeynmt": "JoeyNMT", "opennmt": "OpenNMT-py"}
    columns = ("words", "cpu_seconds", "start_cpu_seconds")
    for rate in ("sentences", "words"):
        for part in ("", "_without_start"):
            columns += (f"{rate}_per_second{part}", f"{rate}_against_peers{part}")
    expected = []
    for row in found:
        cells = [f"{float(row[column]):.2f}" if "against" in column else row[column] for column in columns]
        if row["system"] != "lookback":  # a ratio to a peer is ours
            cells = [cell for column, cell in zip(columns, cells, strict=True) if "against" not in column]
        search = {"greedy": ["greedy"], "beam": ["beam", "5"]}[row["search"]]
        expected.append([*search, names[row["system"]], *cells])
    assert table == expected
    assert {row["sentences"] for row in found} == {"3000"}
