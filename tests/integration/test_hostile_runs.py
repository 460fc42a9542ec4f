"""A real run directory, mutated at random: every command says what is wrong, and none fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hostile_runs
import pytest
from commands import GNOMON, run
from hypothesis import given, settings
from hypothesis import strategies as st

PROGRAM = Path(hostile_runs.__file__)
SEEDS, AT_ONCE, COMMANDS = 1000, 10, 2
BATCHES = 25 if settings.get_current_profile_name() == "fuzz" else 2


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a run with threads and one with lines, both of two repetitions."""
    folder = tmp_path_factory.mktemp("runs")
    for name, how in (("threads", ("--per", "thread")), ("lines", ("--pmu", "emulated"))):
        done = run(
            GNOMON, "count", "-r", "2", *how, "--run", name, "-o", "/dev/null", "--",
            "sh", "-c", "ls / | sort", cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return {name: folder / f"{name}.gnomon" for name in ("threads", "lines")}


def examined(source: Path, first: int, end: int, commands: int) -> str:
    """Return what went wrong with mutations of some seeds, a crash of the process too."""
    done = subprocess.run(
        [sys.executable, PROGRAM, source, str(first), str(end), str(commands)],
        capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    crashed = "" if done.returncode == 0 else f"status {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout + crashed


@pytest.mark.parametrize("of", ["threads", "lines"])
def test_some_mutations_crash_nothing(measured: dict[str, Path], of: str) -> None:
    assert examined(measured[of], 0, 20, 3) == ""


@given(batch=st.integers(0, SEEDS // AT_ONCE - 1), of=st.sampled_from(["threads", "lines"]))
@settings(max_examples=BATCHES, deadline=None)
def test_any_mutation_crashes_nothing(measured: dict[str, Path], batch: int, of: str) -> None:
    """Of a thousand seeds of each run, and with `make fuzz` 250 of them in each round."""
    first = 1000 + batch * AT_ONCE
    assert examined(measured[of], first, first + AT_ONCE, COMMANDS) == ""
