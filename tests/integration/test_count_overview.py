"""The short report of `gnomon count`, and what `--all` adds."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from commands import GNOMON, counted, emulated, gnomon, run_bytes, values

SHORT = ("wall time", "CPU time", "CPUs utilised", "peak memory", "page faults", "context switches")
LONG = ("cpu-migrations", "io:::write_bytes", "page_fault_rate", "(getrusage)", "ru_minflt")


def rows(text: str) -> dict[str, str]:
    """Return what stands beside each name of the first block, by the name."""
    block = text.partition("\n\n")[2].partition("\n\n")[0]
    return {m[1]: m[2] for m in re.finditer(r"^  (\S.*?)  +(\S.*)$", block, re.M)}


def test_a_short_report_has_what_is_asked_first() -> None:
    text = gnomon("count", "--", "true").stderr
    assert tuple(rows(text)) == SHORT
    assert not any(word in text for word in LONG)
    assert "utilisation " not in text
    assert re.search(r"^more with --all: \d+ counters, \d+ metrics, resource usage$", text, re.M)


def test_all_adds_the_rest() -> None:
    text = gnomon("count", "--all", "--", "true").stderr
    assert all(word in text for word in LONG)
    assert "more with --all" not in text


def test_events_that_were_chosen_are_all_shown() -> None:
    text = gnomon("count", "-e", "cpu-migrations,minor-faults", "--", "true").stderr
    counters = text.partition("counters\n")[2]
    assert re.search(r"^  cpu-migrations +\d+  counted$", counters, re.M)
    assert re.search(r"^  minor-faults +\d+  counted$", counters, re.M)
    assert "page faults" not in rows(text)


def test_repetitions_leave_out_the_same(tmp_path: Path) -> None:
    text = gnomon("count", "-r", "2", "--", "true").stderr
    names = re.findall(r"^  ([a-z][\w: -]*?)  +\S", text.partition("max\n")[2], re.M)
    assert {"wall time", "task-clock", "page-faults", "cpus_utilised"} <= set(names)
    assert "cpu-migrations" not in names
    whole = counted(tmp_path, "-r", "2", "--", "true")
    assert "cpu-migrations" in {spread["name"] for spread in whole["spread"]}


def test_documents_and_runs_keep_everything(tmp_path: Path) -> None:
    document = counted(tmp_path, "--name", tmp_path / "kept", "--", "true")
    assert {"cpu-migrations", "io:::write_bytes"} <= set(values(document))
    assert document["rusage"]
    told = gnomon("report", tmp_path / "kept").stdout
    assert "cpu-migrations" in told


@pytest.mark.usefixtures("valgrind")
def test_emulated_tables_lead_with_what_costs_most(tmp_path: Path) -> None:
    leading = ["PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_L3_TCM", "PAPI_BR_MSP"]
    document = emulated(tmp_path, "--name", tmp_path / "kept", "--", "true")
    assert [counter["event"] for counter in document["counters"]][:4] == leading
    short = [name.removeprefix("PAPI_") for name in leading]
    for text in (
        gnomon("count", "--pmu", "emulated", "--", "true").stderr.partition("functions")[2],
        gnomon("report", tmp_path / "kept", "--per", "function").stdout,
    ):
        assert re.search(rf"^ +{' +'.join(short)}$", text, re.M)
        assert max(map(len, text.splitlines()[1:])) <= 80  # the first has the path


def test_the_program_is_the_same_under_a_short_report() -> None:
    done = run_bytes(GNOMON, "count", "--", "sh", "-c", "printf 'a\\0b'; exit 3")
    assert (done.returncode, done.stdout) == (3, b"a\0b")


@pytest.mark.parametrize(("per", "kind"), [("thread", "thread"), ("process", "process"),
                                           ("cpu", "cpu"), ("core", "core")])  # fmt: skip
def test_csv_has_the_rows_of_each_place(tmp_path: Path, per: str, kind: str) -> None:
    done = gnomon("count", "--per", per, "-e", "task-clock", "-n", "-o", "x.csv", "--",
                  "sh", "-c", "/bin/true; exit 0", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == "task-clock"]
    (whole,) = (int(row["value"]) for row in rows if row["kind"] == "event")
    parts = [row for row in rows if row["kind"] == kind]
    assert {row["unit"] for row in parts} == {"ns"}
    assert all(row["label"] for row in parts)
    known = [int(row["value"]) for row in parts if row["value"]]
    assert len(known) < len(parts) or sum(known) == pytest.approx(whole, rel=0.01)
