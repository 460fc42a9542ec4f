"""What depends on which CPU this is, as if on others, whatever it is: on one, and all in the long.

libpfm4 is told to take an AMD Zen 4, an Intel server's CPU and a hybrid one (LIBPFM_FORCE_PMU); in
the place of what sysfs says of PMUs stands a hybrid laptop's. The kernel counts what it counted
before: nothing, on a virtual machine without a PMU. test_other_architectures.py has arm64, POWER.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from as_if import run_cpu_tests, within_sysfs_of


@pytest.mark.parametrize(
    ("pmu", "tree"),
    [
        pytest.param("amd64_fam19h_zen4", "", id="zen4"),
        pytest.param("icx", "", id="icx", marks=pytest.mark.long),
        pytest.param("adl_glc", "sysfs-hybrid", id="hybrid", marks=pytest.mark.long),
    ],
)
def test_as_if_on(
    pmu: str, tree: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    around = within_sysfs_of(tree) if tree else []
    run_cpu_tests(pmu, tmp_path, tmp_path_factory.getbasetemp(), around)
