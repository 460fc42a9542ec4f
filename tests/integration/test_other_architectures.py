"""arm64 and POWER on this machine: a libpfm4 that has their tables is told to take their CPUs.

The distribution's package has the tables of one architecture, so that it is built from its source
with all of them. What an arm64 machine's sysfs says of its PMUs is recorded. Counting on them is
tried by `make test-guest`, in emulated machines.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import libpfm_source
import pytest
from as_if import ROOT, run_cpu_tests, within_sysfs_of
from commands import gnomon
from outcomes import read
from turns import made_once

pytestmark = pytest.mark.long

ALL_TABLES = "GNOMON_LIBPFM_ALL"
PMUS = [("arm_n1", "Arm Neoverse N1"), ("arm_a64fx", "Fujitsu A64FX"), ("power9", "IBM POWER9"),
        ("power10", "IBM POWER10")]  # fmt: skip


@pytest.fixture(scope="module")
def library_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an LD_LIBRARY_PATH on which libpfm4 with all tables comes first."""
    built = made_once(tmp_path_factory.getbasetemp(), "libpfm4", libpfm_source.build)
    return os.pathsep.join(filter(None, [str(built / "lib"), os.environ.get("LD_LIBRARY_PATH")]))


@pytest.mark.parametrize(("pmu", "title"), PMUS, ids=[pmu for pmu, _ in PMUS])
def test_commands_take_its_presets(pmu: str, title: str, library_path: str) -> None:
    env = os.environ | {"LD_LIBRARY_PATH": library_path, "LIBPFM_FORCE_PMU": pmu, "COLUMNS": "80"}
    done = gnomon("presets", "--detail", env=env)
    assert done.returncode == 0
    assert title in " ".join(done.stdout.split())
    assert [n for n in done.stdout.splitlines() if len(n) > 80 and len(n.split()) > 1] == []
    done = gnomon("events", "--component", "cpu", env=env)
    assert f"{pmu}::" in done.stdout


@pytest.mark.parametrize(
    ("pmu", "tree"), [("arm_n1", ""), ("arm_n1", "sysfs-arm64"), ("power9", ""), ("power10", "")]
)
def test_as_if_on(
    pmu: str,
    tree: str,
    library_path: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    around = within_sysfs_of(tree) if tree else []
    base = tmp_path_factory.getbasetemp()
    run_cpu_tests(pmu, tmp_path, base, around, LD_LIBRARY_PATH=library_path)


def test_every_native_event_of_every_family(library_path: str, tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.json"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         f"--outcomes={outcomes}", "tests/unit/counters/test_preset_data.py"],
        cwd=ROOT, env=os.environ | {"LD_LIBRARY_PATH": library_path, ALL_TABLES: "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
    ended = read(outcomes)
    assert ended is not None
    assert "skipped" not in ended.counts
