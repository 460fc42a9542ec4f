"""What a run keeps of the machine and the environment that it was made in."""

from __future__ import annotations

import os

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gnomon.counters.component import Component

# Variables that change how programs run; others may hold secrets and are not kept.
_KEPT_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND",
    "OMP_SCHEDULE", "OPENBLAS_NUM_THREADS", "SLURM_JOB_ID", "SLURM_NTASKS",
)  # fmt: skip


class Host(NamedTuple):
    """Where a measurement was made, in the words of run.json."""

    name: str
    cpu_model: str
    cpus: int
    kernel: str


def this_host() -> Host:
    """Return the machine we are on."""
    system = os.uname()
    model = ""
    try:
        with open("/proc/cpuinfo", errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key.strip() in ("model name", "cpu", "Model"):
                    model = value.strip()
                    break
    except OSError:
        pass
    return Host(
        system.nodename, model or system.machine, os.cpu_count() or 1,
        f"{system.sysname} {system.release}",
    )  # fmt: skip


def kept_environment() -> dict[str, str]:
    """Return the variables that change how programs run, and hold no secrets."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def component_states() -> list[dict[str, Any]]:
    """Return every source of events and whether it can be used, as run.json has them."""
    from gnomon.counters.components import COMPONENTS

    return [_component(source) for source in COMPONENTS]


def _component(source: Component) -> dict[str, Any]:
    state = source.availability()
    return {
        "name": source.name,
        "available": state.available,
        "reason": state.reason,
        "remedy": state.remedy,
        "errno": state.errno,
    }
