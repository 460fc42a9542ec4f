"""Which capabilities observe a run: --with, --without, and options of each."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from commands import gnomon
from run_programs import compiled, section_values

from gnomon.store import run_directory

SECTION = r"""
#include "libhpm.h"
int main(void)
{
	hpmInit(0, "one");
	hpmStart(1, "part");
	hpmStop(1);
	hpmTerminate(0);
	return 0;
}
"""


def metrics(path: Path) -> dict[str, float]:
    """Return the values of the command by metric."""
    return dict(
        run_directory.find(str(path)).query(
            "SELECT m.name, p.inclusive FROM profile p JOIN metrics m USING (metric) "
            "WHERE location = 0 AND path = 0"
        )
    )


def used(path: Path) -> list[str]:
    """Return the names of the capabilities that observed a run."""
    head = run_directory.find(str(path)).head
    return [each["name"] for each in head["capabilities"] if each["used"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--with", "counters", "--without", "counters"), "--with counters and --without counters"),
        (("--without", "nothing"), "--without nothing: no such name; known names: counters"),
        (("--emulated-cache", "L9"), "--emulated-cache L9: write level=size,ways,line"),
        (
            ("--emulated-cache", "D1=1K,2,64", "--without", "emulated"),
            "--emulated-cache and --with",
        ),
        (("--counters-event", "no-such-event"), "no-such-event"),
        (("--counters-event", "page-faults", "--with", "emulated"), "count the emulator, not the"),
    ],
)
def test_what_cannot_be_is_told_before_the_program_runs(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = gnomon("run", *words, "--", "touch", "ran", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_events_are_those_that_were_asked_for(tmp_path: Path) -> None:
    words = ("--counters-event", "page-faults", "--counters-event", "minor-faults,task-clock")
    done = gnomon("run", "--name", "r", *words, "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = metrics(tmp_path / "r")
    assert {"page-faults", "minor-faults", "task-clock"} <= values.keys()
    assert "context-switches" not in values
    assert used(tmp_path / "r") == ["counters", "sections", "samples", "mpi"]


def test_without_counters_the_times_are_there(tmp_path: Path) -> None:
    done = gnomon("run", "--name", "r", "--without", "counters", "--", "sh", "-c", "exit 3",
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 3, done.stderr
    values = metrics(tmp_path / "r")
    assert {"wall time", "ru_minflt"} <= values.keys()
    assert "task-clock" not in values
    assert used(tmp_path / "r") == ["sections", "samples", "mpi"]


def test_without_all_of_them_the_program_runs_all_the_same(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    done = gnomon("run", "--name", "r", "--without", "counters,sections,samples", "--", "sh", "-c",
                  f"echo $GNOMON_WITHOUT > {seen}; exit 5", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 5, done.stderr
    assert seen.read_text() == "counters,sections,samples\n"
    assert metrics(tmp_path / "r")["wall time"] > 0


def test_an_option_asks_for_its_capability(tmp_path: Path) -> None:
    done = gnomon("run", "--name", "r", "--emulated-cache", "D1=16K,4,64", "--", "true",
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert used(tmp_path / "r") == ["sections", "mpi", "emulated"]
    assert "D1 16 KiB 4-way" in "".join(run_directory.find(str(tmp_path / "r")).head["warnings"])


def test_the_environment_is_the_users_but_for_what_is_added(tmp_path: Path) -> None:
    own = {**os.environ, "GNOMON_RUN_DIR": "stale", "LD_PRELOAD": "", "A": "1"}
    done = gnomon("run", "--name", "r", "--", "env", "-0", cwd=tmp_path, env=own)
    assert done.returncode == 0, done.stderr
    entries = done.stdout.split("\0")[:-1]
    names = [entry.partition("=")[0] for entry in entries]
    assert len(names) == len(set(names))
    seen = dict(entry.split("=", 1) for entry in entries)
    assert seen.pop("GNOMON_RUN_DIR") == str(tmp_path / "r.gnomon.raw")
    seen.pop("GNOMON_PER_THREAD", None)
    # In which Python programs read their own functions (docs/python-programs.md), and MPI's names.
    libraries = [Path(path).name for path in seen.pop("LD_PRELOAD").split(":")]
    assert libraries == ["libgnomon_mpi.so", "libgnomon_sampling.so"]
    seen.pop("GNOMON_MPI_WRAPPERS")
    assert re.fullmatch(r"python\.\d+\.socket", seen.pop("GNOMON_PYTHON_SOCKET"))
    del own["GNOMON_RUN_DIR"], own["LD_PRELOAD"]
    assert seen == own


def test_help_lists_each_capability_with_its_options() -> None:
    said = " ".join(gnomon("run", "--help").stdout.split())
    assert "also use these capabilities, separated by commas: io, emulated" in said
    assert "do not use these capabilities: counters, sections, samples" in said
    assert "on an emulated PMU (--with emulated, or any of its options) --emulated-event" in said


def test_without_sections_a_program_writes_its_own_output(tmp_path: Path) -> None:
    program = compiled(tmp_path, SECTION)
    done = gnomon("run", "--name", "r", "--without", "sections", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not section_values(tmp_path / "r.gnomon", "wall time")
    assert (tmp_path / "one.hpm").exists()
