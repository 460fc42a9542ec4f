"""Whether libpfm4 has the tables that a test asks it for."""

from __future__ import annotations

import os

import pytest

from gnomon.counters.libpfm import libpfm_pmus

FORCED = "LIBPFM_FORCE_PMU"
"""The variable that tells libpfm4 which PMU to take. It then hides the tables that follow."""


def needs_tables(*pmus: str) -> pytest.MarkDecorator:
    """Return a mark: skipped where libpfm4 does not know all of these PMUs, with the remedy."""
    lacking = set(pmus) - {pmu.name for pmu in libpfm_pmus()}
    forced = os.environ.get(FORCED)
    if forced is not None:
        why = f"{FORCED}={forced} hides tables of libpfm4: run without it"
    else:
        why = "libpfm4 with its tables of x86 is not installed: apt-get install libpfm4"
    return pytest.mark.skipif(bool(lacking), reason=f"{', '.join(sorted(lacking))}: {why}")
