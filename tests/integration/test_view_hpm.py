"""What real programs leave, as the view shows it: against the report and the CSV of the run."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from commands import GNOMON, gnomon
from hpm_files import hpmcount, rows
from hpm_programs import run
from python_programs import GETPPID, python

from gnomon.view.node_calls import node_calls
from gnomon.view.open_run import OpenRun
from gnomon.view.session import Session

VIZ = {"HPM_VIZ_OUTPUT": "yes"}


def metric(opened: OpenRun, name: str) -> int:
    return next(one.metric for one in opened.data.metrics if one.name == name)


def shown(opened: OpenRun, name: str) -> dict[str, tuple[float, float]]:
    """Return inclusive and exclusive values of every section by its name."""
    tree = opened.tree("region")
    values = opened.values("region", metric(opened, name))
    return {
        tree.text(tree.name, at): (values.inclusive[at], values.exclusive[at])
        for at in range(1, tree.n)
    }


def told(file: Path, name: str) -> dict[str, dict[str, float]]:
    """Return the same of the CSV: by label, then by whether it is exclusive."""
    found: dict[str, dict[str, float]] = {}
    for row in rows(file):
        if row["name"] == name and row["label"]:
            found.setdefault(row["label"], {})[row["exclusive"]] = float(row["value"])
    return found


def test_sections_of_a_python_program_are_those_of_its_csv(tmp_path: Path) -> None:
    text = """
for turn in range(3):
    with hpm.section("outer"):
        for _ in range(10): os.getppid()
        with hpm.section("inner"):
            for _ in range(4): os.getppid()
"""
    python(tmp_path, text, HPM_VIZ_OUTPUT="yes")
    (opened,) = Session().open([str(tmp_path / "prog.viz")])
    found = shown(opened, GETPPID)
    assert found == {"outer": (42, 30), "inner": (12, 12)}
    csv = told(tmp_path / "prog.csv", GETPPID)
    assert {label: (both["no"], both["yes"]) for label, both in csv.items()} == found
    tree = opened.tree("region")
    assert [tree.text(tree.name, at) for at in range(tree.n)][1:] == ["outer", "inner"]
    assert tree.parent.tolist()[1:] == [0, 1]
    assert dict(zip([tree.text(tree.name, at) for at in range(tree.n)],
                    node_calls(opened, "region").tolist(), strict=True))["inner"] == 3  # fmt: skip
    assert opened.source_files() == [str(tmp_path / "prog.py")]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_a_killed_program_had_measured_is_shown(tmp_path: Path, end: str) -> None:
    text = f"""
for turn in range(3):
    with hpm.section("whole"):
        for _ in range(10): os.getppid()
with hpm.section("lost"):
    {end}
"""
    python(tmp_path, text, status=-signal.SIGKILL, HPM_VIZ_OUTPUT="yes")
    run(GNOMON, "repair", "prog.hpmraw", folder=tmp_path, **VIZ)
    (opened,) = Session().open([str(tmp_path / "prog.viz")])
    assert shown(opened, GETPPID)["whole"] == (30, 30)


def test_a_command_of_hpmcount_is_shown(tmp_path: Path) -> None:
    done = hpmcount("-o", "out", "-e", "page-faults,task-clock", "/bin/true", cwd=tmp_path,
                    HPM_CSV_OUTPUT="1", **VIZ)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (opened,) = Session().open([str(tmp_path / "out.viz")])
    csv = {row["name"]: float(row["value"]) for row in rows(tmp_path / "out.csv")
           if row["kind"] == "event" and row["value"]}  # fmt: skip
    assert csv
    for name, value in csv.items():
        assert opened.values("region", metric(opened, name)).inclusive[0] == value


def test_a_run_of_gnomon_count_has_the_values_of_its_report(tmp_path: Path) -> None:
    # Of a program as short and small as `true` its times and peak are not always known.
    program = (sys.executable, "-c", "bytes(1 << 25); sum(range(10**7))")
    done = gnomon("count", "-r", "2", "--name", "run", "--", *program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (opened,) = Session().open([str(tmp_path / "run")])
    assert opened.data.repetitions == 2
    for one in opened.data.metrics:
        single = [
            opened.values("region", one.metric, opened.location(place.location)).inclusive[0]
            for place in opened.data.locations
            if place.kind == "command"
        ]
        if not one.is_derived:
            whole = opened.values("region", one.metric).inclusive[0]
            assert whole == pytest.approx(sum(single) / 2)
