"""What depends on which CPU this is, as if on others, whatever it is.

The tests marked `cpu` run once more in a pytest of their own, where libpfm4 is told to take an AMD
Zen 4, an Intel server's CPU and a hybrid one (LIBPFM_FORCE_PMU); in the place of what sysfs says of
PMUs stands a hybrid laptop's, in a mount namespace. The kernel counts what it counted before:
nothing, on a virtual machine without a PMU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from libpfm_tables import FORCED
from outcomes import read
from turns import SHARED, shared

ROOT = Path(__file__).parents[2]
PMUS = "bus/event_source"
LEAST = 150
"""So many tests at least are marked: fewer, and the marks have been lost."""


def within_sysfs_of(tree: Path) -> list[str]:
    """Return the words before a command that show it a recorded machine's PMUs."""
    rights = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    words = ["unshare", *rights, "sh", "-c",
             f'mount --bind {tree / PMUS} /sys/{PMUS} && exec "$@"', "sh"]  # fmt: skip
    done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no mount namespace ({done.stderr.strip()}): run as root")
    return words


@pytest.mark.parametrize(
    ("pmu", "tree"),
    [("amd64_fam19h_zen4", ""), ("icx", ""), ("adl_glc", "sysfs-hybrid")],
    ids=["zen4", "icx", "hybrid"],
)
def test_as_if_on(
    pmu: str, tree: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    around = within_sysfs_of(ROOT / "tests" / "golden" / tree) if tree else []
    outcomes = tmp_path / "outcomes.json"
    # What a worker is told of its run is not for the run in here.
    env = {key: text for key, text in os.environ.items() if not key.startswith("PYTEST_")}
    base = shared(tmp_path_factory.getbasetemp())
    done = subprocess.run(
        [*around, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "cpu",
         f"--outcomes={outcomes}", f"--basetemp={tmp_path / 'base'}", "tests"],
        cwd=ROOT, env=env | {FORCED: pmu, SHARED: str(base)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
    run = read(outcomes)
    assert run is not None
    assert run.counts["passed"] >= LEAST
