"""The tests marked `cpu`, run once more in a pytest of their own, as if on another machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from libpfm_tables import FORCED
from outcomes import Outcomes, read
from turns import SHARED, shared

ROOT = Path(__file__).parents[2]
PMUS = "bus/event_source"
LEAST = 150
"""So many tests at least are marked: fewer, and the marks have been lost."""


def within_sysfs_of(tree: str) -> list[str]:
    """Return the words before a command that show it a recorded machine's PMUs.

    They stand in the place of this machine's, in a mount namespace.
    """
    rights = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    recorded = ROOT / "tests" / "golden" / tree / PMUS
    words = ["unshare", *rights, "sh", "-c",
             f'mount --bind "{recorded}" /sys/{PMUS} && exec "$@"', "sh"]  # fmt: skip
    done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no mount namespace ({done.stderr.strip()}): run as root")
    return words


def marked_files() -> list[str]:
    """Return the test files in which something is marked `cpu`: to collect all takes seconds."""
    return [
        str(path)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "mark.cpu" in path.read_text()
    ]


def run_cpu_tests(
    pmu: str, folder: Path, base: Path, around: Sequence[str] = (), **variables: str
) -> Outcomes:
    """Return what came of them; fail with what they said if one did not pass.

    Args:
        pmu: which one libpfm4 is told to take.
        folder: a temporary folder for this run.
        base: the temporary folder of the run that this one belongs to.
        around: words before the command.
        variables: more for the environment.
    """
    outcomes = folder / "outcomes.json"
    # What a worker is told of its run is not for the run in here.
    env = {key: text for key, text in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [*around, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "cpu",
         f"--outcomes={outcomes}", f"--basetemp={folder / 'base'}", *marked_files()],
        cwd=ROOT, env=env | {FORCED: pmu, SHARED: str(shared(base))} | variables,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.fail(done.stdout[-6000:])
    ended = read(outcomes)
    assert ended is not None
    assert ended.counts["passed"] >= LEAST
    return ended
