"""What measuring itself counts is not in the counts of sections."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
from pathlib import Path

import pytest
from commands import HPMCOUNT, gnomon, run
from run_programs import compiled, section_values

from gnomon.store import viz

READ = "syscalls:sys_enter_read"
# Each start and stop reads counters: system calls that the kernel counts exactly.
PAIRS = 300
READS = 7
SOURCE = rf"""
#include <signal.h>
#include <unistd.h>
#include "libhpm.h"
static void own(int n)
{{
	char byte;
	while (n--)
		read(-1, &byte, 1);
}}
int main(int argc, char **argv)
{{
	hpmInit(0, "costs");
	/* What opens a thread's counters is in a section around it. */
	hpmTstart(7, "first");
	hpmTstop(7);
	hpmStart(1, "all");
	hpmTstart(2, "around");
	for (int i = 0; i < {PAIRS}; i++) {{
		hpmTstart(3, "empty");
		hpmTstop(3);
		hpmTstart(4, "reads");
		own({READS});
		hpmTstart(5, "within");
		own(1);
		hpmTstop(5);
		hpmTstop(4);
	}}
	hpmTstop(2);
	for (int i = 0; i < {PAIRS}; i++) {{
		hpmStart(6, "empty all");
		hpmStop(6);
	}}
	hpmStop(1);
	if (argc > 1)
		raise(SIGKILL);
	hpmTerminate(0);
	return 0;
}}
"""
INCLUSIVE = {
    "first": 0, "all": (READS + 1) * PAIRS, "around": (READS + 1) * PAIRS, "empty": 0,
    "reads": (READS + 1) * PAIRS, "within": PAIRS, "empty all": 0,
}  # fmt: skip
EXCLUSIVE = INCLUSIVE | {"all": 0, "around": 0, "reads": READS * PAIRS}


def measured(folder: Path, program: Path, *words: str, **variables: str) -> list[dict[str, str]]:
    """Return the rows of the program's CSV file."""
    done = subprocess.run(
        [str(program), *words], cwd=folder, check=False, capture_output=True, text=True,
        env=os.environ | {"HPM_CSV_OUTPUT": "1", "HPM_ASC_OUTPUT": "1", "HPM_VIZ_OUTPUT": "1"}
        | variables,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (-signal.SIGKILL if words else 0, "")
    if words:
        assert gnomon("repair", "costs.hpmraw", cwd=folder).returncode == 0
    with (folder / "costs.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("words", [(), ("killed",)], ids=["ends", "killed"])
def test_reads_of_counters_are_not_the_programs(tmp_path: Path, words: tuple[str, ...]) -> None:
    program = compiled(tmp_path, SOURCE)
    rows = measured(
        tmp_path, program, *words, GNOMON_EVENTS=f"{READ},page-faults", HPM_EXCLUSIVE_VALUES="yes"
    )
    events = [row for row in rows if row["name"] == READ]
    for exclusive, wanted in (("no", INCLUSIVE), ("yes", EXCLUSIVE)):
        found = {row["label"]: row["value"] for row in events if row["exclusive"] == exclusive}
        known = wanted if not words else {name: wanted[name] for name in found}
        assert {name: float(value) for name, value in found.items()} == known
    assert all(row["description"].endswith("less what starts and stops of sections count")
               for row in events)  # fmt: skip
    faults = [row for row in rows if row["name"] == "page-faults"]
    assert not any("less what" in row["description"] for row in faults)
    lines = (tmp_path / "costs.hpm").read_text().splitlines()
    assert all(line.endswith("counted; less measuring") for line in lines if f"  {READ}  " in line)
    metrics = next(one for one in viz.read_viz(tmp_path / "costs.viz").tables if "formula" in
                   [column.name for column in one.schema.columns])  # fmt: skip
    (about,) = (one["description"] for one in metrics.dicts() if one["name"] == READ)
    assert "less what starts and stops of sections count" in str(about)


def test_gnomon_run_has_the_same(tmp_path: Path) -> None:
    program = compiled(tmp_path, SOURCE)
    done = gnomon("run", "--name", "r", "--", program, cwd=tmp_path,
                  env=os.environ | {"GNOMON_EVENTS": READ})  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = section_values(tmp_path / "r.gnomon", READ)
    assert {name: values[0][1:3] for name, values in found.items()} == {
        name: (value, EXCLUSIVE[name]) for name, value in INCLUSIVE.items()
    }


def test_user_time_is_no_more_than_the_cpu_time_that_was_counted(tmp_path: Path) -> None:
    many = SOURCE.replace(f"i < {PAIRS}", f"i < {100 * PAIRS}")
    rows = measured(tmp_path, compiled(tmp_path, many), GNOMON_EVENTS="task-clock")
    found = {(row["label"], row["name"]): float(row["value"]) for row in rows
             if row["kind"] in ("time", "event") and row["value"]}  # fmt: skip
    for label, name in found:
        if name == "user":
            used = found[(label, "user")] + found[(label, "system")]
            assert 0.01 <= used <= found[(label, "task-clock")] / 1e9 * (1 + 1e-9), label
    assert ("empty all", "user") not in found


def test_hpmcount_does_not_know_the_user_time_of_a_moment(tmp_path: Path) -> None:
    done = run(HPMCOUNT, "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    above = done.stdout.partition("counters")[0]
    assert "wall time" in above
    assert "user time" not in above
