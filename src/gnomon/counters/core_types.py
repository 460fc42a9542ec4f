"""The kinds of CPU cores of this machine: what the kernel and libpfm4 call their PMUs.

Most machines have one kind; hybrid CPUs have two or three, each with a PMU of its own.
Source: native/counters/core_types.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gnomon import _core
from gnomon.counters.sysfs_pmu import DEVICES, SYSFS, Encoding, Pmu
from gnomon.named_tuple import NamedTuple


class Core(NamedTuple):
    """One kind of core.

    Attributes:
        pmu: the kernel's PMU of it; None where the kernel shows none (most virtual machines).
        models: libpfm4's names of it, the most particular first; () where libpfm4 is missing or
            does not know it.
        is_alone: every core is of this kind.
    """

    pmu: Pmu | None
    models: tuple[str, ...]
    is_alone: bool = True

    @property
    def name(self) -> str:
        """The kernel's name of its PMU, "cpu" where it shows none."""
        return self.pmu.name if self.pmu is not None else "cpu"


def cores(sysfs: Path | str = SYSFS, models: Mapping[str, str] | None = None) -> tuple[Core, ...]:
    """Return each kind of core, at least one.

    Args:
        sysfs: where sysfs is mounted, or a recorded tree.
        models: libpfm4's name for each of the kernel's PMUs; by default libpfm4 is asked what
            it finds on this machine.
    """
    words = None if models is None else models_text(models)
    return tuple(
        Core(Pmu(name, kind, f"{sysfs}/{DEVICES}/{name}") if name else None, found, is_alone)
        for name, kind, found, is_alone in _core.cores(sysfs, words)
    )


def models_text(models: Mapping[str, str]) -> str:
    """Return libpfm4's names for the kernel's PMUs as C takes them."""
    return ",".join(f"{pmu}={model}" for pmu, model in models.items())


def encode(event: str, core: Core) -> Encoding | None:
    """Return libpfm4's encoding of an event on a kind of core, None if it knows no such event.

    Args:
        event: libpfm4's name, without the PMU or with it.
        core: the only kind of core of a machine.
    """
    found = _core.core_encoding(event, core.models)
    return None if found is None else Encoding(*found)
