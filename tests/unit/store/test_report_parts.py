"""The parts of a report: how they are asked for, and the JSON and CSV of each."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import stack_samples
from held_runs import held
from job_run import job_run
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from made_runs import made_run
from repeated_runs import repeated_run
from stack_samples import Frame, Sample

from gnomon.cli import main
from gnomon.store.reports.report_parts import PARTS, TableRows

TASKS = [
    ("process", "app", 0, {"task-clock": [10.0, 12.0]}),
    ("process", "app", 1, {"task-clock": [30.0, 32.0]}),
    ("thread", "worker", 0, {"task-clock": [10.0, 12.0]}),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run `app` of several processes and executions; `lines` beside it has functions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    made_run(
        tmp_path,
        [("app", "f", "a.c", 3, (6, 6, 1, 0)), ("app", "g", "b.c", 4, (1, 2, 3, 4))],
        name="lines",
    )
    main_ = Frame("main", "a.c", 9)
    stacks = [(main_,), (main_, Frame("f", "a.c", 3)), (main_, Frame("f", "a.c", 4))]
    stack_samples.write(tmp_path / "sampled", [Sample(stack) for stack in stacks])
    return repeated_run(
        tmp_path, "app", {"wall time": [2e9, 4e9], "task-clock": [40.0, 44.0]}, tasks=TASKS
    )


@pytest.mark.usefixtures("run")
def test_what_was_typed_before_parts_had_names_is_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for before, now in (
        (["app"], ["app", "values"]),
        (["app", "--per", "process"], ["app", "values", "--by", "process"]),
        (["app", "--per", "thread", "--json"], ["app", "--by", "thread", "--json"]),
        (["app", "--per", "file"], ["app", "hotspots", "--by", "file"]),
        (["lines", "--per", "line"], ["lines", "hotspots", "--by", "line"]),
        (["lines", "profile", "--per", "line"], ["lines", "profile", "--by", "line"]),
        (["sampled", "--per", "function"], ["sampled", "profile", "--by", "function"]),
        (["sampled", "--per", "line", "--json"], ["sampled", "profile", "--by", "line", "--json"]),
        (["sampled", "--per", "line", "--file", "a.c"], ["sampled", "source", "a.c"]),
        (["lines", "--per", "line", "--file", "a.c"], ["lines", "source", "a.c"]),
    ):
        said = []
        for words in (before, now):
            status = main(["report", *words])
            said.append((status, capsys.readouterr()))
        assert said[0] == said[1], before
        assert said[0][1].err == ""


def test_every_part_meets_the_schema(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(printed)
    check = Draft202012Validator(printed)
    for name in (str(run), str(job_run(tmp_path, "job")), "lines", "sampled"):
        opened = held(name)
        there = {part.name for part in PARTS if part.is_in(opened)}
        assert {"values", "profile", "run", "locations", "regions", "metrics"} <= there
        assert ({"hotspots", "source"} <= there) == (name in ("lines", "sampled"))
        for part in PARTS:
            if part.name not in there:
                continue
            argument = {"": [], "FILE": ["a.c"], "NAME": ["f"]}[part.argument]
            words = [name, part.name, *argument]
            for at, by in enumerate(part.by or ("",)):
                asked = [*words, *(["--by", by] if by else []), "--json"]
                assert main(["report", *asked]) in (0, 1)
                document = json.loads(capsys.readouterr().out)
                check.validate(document)
                assert (document["version"], document["part"]) == (2, part.name)
                assert document["by"] == (by or None)
                if document["rows"] and at == 0:
                    file = tmp_path / "x.csv"
                    assert main(["report", *asked[:-1], "-o", str(file)]) == 0
                    assert len(list(csv.reader(file.read_text().splitlines()))) == 1 + len(
                        document["rows"]
                    )


def test_help_lists_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "app", "profile", "--help"])
    text = capsys.readouterr().out
    for part in PARTS:
        first = text.index(f"  {part.name}")
        listed = text[first:].partition("--by ")[2] if part.by else ""
        assert part.title in text[first:]
        assert " ".join(listed.split()).startswith(", ".join(part.by))


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (
            ["app", "regions", "--per", "line"],
            2,
            "--per does not apply to regions; it means hotspots --by line",
        ),
        (["app", "profile", "--per", "core"], 2, "--per does not apply to profile"),
        (["app", "profile", "--threshold", "101"], 2, "--threshold 101: must be 0 to 100"),
        (["app", "tree", "--depth", "-1"], 2, "--depth -1: must be 0 (for all) or more"),
        (["app", "run", "--bottom-up"], 2, "--bottom-up does not apply to run; it applies to tree"),
        (["app", "--per", "line", "--by", "file"], 2, "--per line means hotspots --by line; leave"),
        (["app", "metrics", "--by", "rank"], 2, "type gnomon report RUN profile --by rank"),
        (
            ["app", "--by", "rank"],
            2,
            "--by rank does not apply to values; type gnomon report RUN profile --by rank",
        ),
        (
            ["app", "metrics", "--by", "colour"],
            2,
            "--by does not apply to metrics; it applies to values, hotspots, profile, tree, "
            "waits, mpi and io",
        ),
        (["app", "profile", "--by", "ranks"], 2, "profile has no such rows; did you mean rank?"),
        (["app", "hotspots", "--by", "x"], 2, "no such rows; it is function, file or line"),
        (
            ["app", "--sort", "x"],
            2,
            "--sort does not apply to values; it applies to hotspots and source",
        ),
        (["app", "run", "--top", "0"], 2, "--top does not apply to run; it applies to hotspots, "),
        (
            ["app", "profil"],
            2,
            "'profil': app.gnomon has no such part; did you mean profile? It "
            "has values, profile, run, locations, regions, metrics",
        ),
        (
            ["nosuch", "profil"],
            2,
            "'profil': gnomon report has no such part; did you mean "
            "profile? It has values, hotspots, source, profile, tree, callers, ",
        ),
        (["app", "run", "x"], 2, "'x': run takes no argument"),
        (
            ["app", "source"],
            2,
            "source: its file is missing; type gnomon report app.gnomon source FILE",
        ),
        (["app", "source", "x.c", "y"], 2, "'y': unexpected; see gnomon report"),
        (["app", "profile", "-e", "a,b"], 2, "a profile by region is of one event"),
        (["app", "profile", "-e", "cycles"], 2, "this run has no regions with that event"),
        (["app", "regions", "--top", "-1"], 2, "0 (for all) or more"),
    ],
)
@pytest.mark.usefixtures("run")
def test_mistakes_are_one_line(
    words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *words]) == status
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_key_means_the_same_in_every_part() -> None:
    """Whatever its type or the rows that have it; numbers come with their unit and how."""
    meanings: dict[str, set[str]] = {}
    for part in PARTS:
        if isinstance(part, TableRows):  # by its own columns
            continue
        names = {key.name for key in part.keys}
        assert {"metric", "unit", "how"} <= names or "numbers" in {key.type for key in part.keys} \
            or part.name == "run"  # fmt: skip
        for key in part.keys:
            meanings.setdefault(key.name, set()).add(key.text)
    values = {"self", "total", "sum", "min", "mean", "max", "calls", "locations", "of", "unit"}
    assert {name for name in values if len(meanings[name]) != 1} == set()
