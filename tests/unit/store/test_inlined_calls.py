"""Inlined code charged to its callers: as if the stacks had been recorded without it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import stack_samples
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from stack_samples import Event, Frame, Sample, Thread

from gnomon.cli import main
from gnomon.errors import RunDirectoryError
from gnomon.model.tables import REGIONS, SAMPLES
from gnomon.store import inlined_calls, run_directory
from gnomon.view.session import Session

# Sums of such weights are exact.
CLOCK = Event(weight=1 / 1024)
THREADS = (Thread(0, 100, 100), Thread(1, 200, 200))
FRAMES = [
    Frame(name, file, line, "app", is_inlined)
    for name, file in (("main", "a.c"), ("f", "a.c"), ("g", "b.h"))
    for line in (1, 2)
    for is_inlined in (False, True)
]
REPORTS = (
    *(["profile", "--by", by] for by in ("function", "module", "file", "line", "rank", "thread")),
    ["tree"], ["tree", "--bottom-up"], ["tree", "--by", "thread"], ["callers", "f"],
    ["hotspots", "--by", "line"],
)  # fmt: skip


def folded(sample: Sample) -> Sample:
    """Return a sample whose stack has no inlined frames but the first, which has no caller."""
    stack = tuple(frame for at, frame in enumerate(sample.stack) if not at or not frame.is_inlined)
    return sample._replace(stack=stack)


def write(path: Path, samples: Sequence[Sample]) -> Path:
    return stack_samples.write(path, samples, threads=THREADS, events=(CLOCK,))


def rows(path: Path, words: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a report in an order that does not depend on numbers of paths."""
    out = folder / "report.json"
    assert main(["report", str(path), *words, "-o", str(out)]) in (0, 1)
    listed: list[dict[str, Any]] = json.loads(out.read_text())["rows"]
    if words[0] in ("tree", "callers"):
        chains: list[tuple[Any, ...]] = []
        for row in listed:
            above = chains[row["parent"]] if row["parent"] >= 0 else ()
            chains.append((*above, row["name"], row.get("relation", "")))
        listed = [
            {**row, "chain": str(chain), "number": 0, "parent": 0}
            for row, chain in zip(listed, chains, strict=True)
        ]
    return sorted(listed, key=json.dumps)


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(FRAMES), max_size=6), st.integers(0, 1)).map(
            lambda one: Sample(tuple(one[0]), one[1])
        ),
        min_size=1, max_size=30,
    )
)  # fmt: skip
@examples(6)
def test_reports_are_those_of_stacks_without_inlined_frames(samples: list[Sample]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = write(folder / "run", [*samples, Sample((FRAMES[0], FRAMES[5]))])
        other = write(folder / "other", [folded(one) for one in samples] + [Sample((FRAMES[0],))])
        left = {frame.function for one in samples for frame in folded(one).stack}
        for words in REPORTS:
            if words[0] == "callers" and "f" not in left:
                continue  # it was inlined everywhere
            charged = [*words, "--inlined", "caller"]
            assert rows(run, charged, folder) == rows(other, words, folder), words


@pytest.fixture
def run(tmp_path: Path) -> Path:
    main_, inner, outer = FRAMES[0], FRAMES[5], FRAMES[6]
    samples = [Sample((main_, inner, outer))] * 3 + [Sample((main_, inner))] * 2
    return write(tmp_path / "run", samples)


def test_origin_is_the_usual_place(run: Path, tmp_path: Path) -> None:
    words = ["profile", "--by", "line"]
    assert rows(run, words, tmp_path) == rows(run, [*words, "--inlined", "origin"], tmp_path)
    lines = {
        (row["function"], row["line"]): row["self"]
        for row in rows(run, words, tmp_path)
        if row["file"]
    }
    assert lines == {("main", 1): 0, ("f", 1): 2 / 1024, ("f", 2): 3 / 1024}


def test_the_text_says_what_is_charged_to_whom(run: Path, capsys: Any) -> None:
    for part in (["profile", "--by", "function"], ["tree"], ["callers", "f"], ["hotspots"]):
        assert main(["report", str(run), *part, "--inlined", "caller"]) == 0
        assert "inlined code charged to callers" in " ".join(capsys.readouterr().out.split())
        assert main(["report", str(run), *part]) == 0
        assert "charged to callers" not in capsys.readouterr().out


def test_samples_are_on_the_paths_that_are_left(run: Path) -> None:
    charged = inlined_calls.at_callers(run_directory.find(str(run)))
    paths = dict(charged.query("SELECT path, parent FROM paths"))
    assert {row["path"] for row in charged.rows(SAMPLES)} <= paths.keys()
    assert len(paths) == 3
    assert len(charged.rows(REGIONS)) == 4


def test_runs_that_do_not_tell_are_refused(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path / "run", [Sample((Frame("main", "a.c", 1), Frame("f", "a.c", 2)))])
    assert main(["report", str(path), "tree", "--inlined", "caller"]) == 2
    assert "does not say which calls were inlined" in capsys.readouterr().err
    assert main(["report", str(path), "tree", "--inlined", "origin"]) == 0


def test_a_run_without_inlined_code_is_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "run", [Sample((FRAMES[0], FRAMES[4]))])
    opened = run_directory.find(str(path))
    assert inlined_calls.at_callers(opened) is opened


def test_a_full_disk_is_told(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = run_directory.find(str(run))
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    with pytest.raises(RunDirectoryError, match="TMPDIR"):
        inlined_calls.at_callers(opened)


def test_the_view_has_each_run_both_ways(run: Path, tmp_path: Path) -> None:
    samples = [Sample((FRAMES[0], FRAMES[6]))] * 3 + [Sample((FRAMES[0],))] * 2
    other = write(tmp_path / "other", samples)
    session = Session()
    session.open([str(run), str(other)], combined=True)
    trees = {}
    for number in ("1", "1.caller", "2", "2.caller", "3.caller"):
        opened = session.run(number)
        tree, values = opened.tree("region"), opened.values("region", 0)
        trees[number] = [
            (tree.text(tree.name, node), int(tree.parent[node]), total, own)
            for node, (total, own) in enumerate(
                zip(values.inclusive.tolist(), values.exclusive.tolist(), strict=True)
            )
        ]
    assert trees["1.caller"] == trees["2"] == trees["2.caller"]
    assert [row[0] for row in trees["1"]] != [row[0] for row in trees["2"]]
    assert trees["3.caller"][0][2] == 2 * trees["2"][0][2]
    assert [row[0] for row in trees["3.caller"]][1:] == [row[0] for row in trees["2"]][1:]
    session.close("1")
    assert [one.id for one in session.runs()] == ["2"]
    session.end()
