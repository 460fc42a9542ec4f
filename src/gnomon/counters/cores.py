"""The kinds of CPU cores of this machine: what the kernel and libpfm4 call their PMUs.

Most machines have one kind; hybrid CPUs have two or three, each with a PMU of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gnomon import _core
from gnomon.counters.pmu import SYSFS, Encoding, Pmu, core_pmus

if TYPE_CHECKING:
    from gnomon.counters.libpfm import LibpfmPmu

_RAW = 4
# What libpfm4 knows of every CPU of a vendor, beside the model's own table.
_ARCHITECTURAL = ("ix86arch",)


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
    pmus = core_pmus(sysfs)
    if models is not None:
        given = tuple(Core(p, _known(models.get(p.name)), len(pmus) == 1) for p in pmus)
        return given or (Core(None, tuple(models.values())),)
    from gnomon.counters.libpfm import libpfm_pmus

    found = [pmu for pmu in libpfm_pmus() if pmu.is_present and pmu.is_core]
    found.sort(key=lambda pmu: pmu.name in _ARCHITECTURAL)
    if len(pmus) < 2:
        return (Core(pmus[0] if pmus else None, tuple(pmu.name for pmu in found)),)
    return tuple(Core(pmu, _models_of(pmu, found), is_alone=False) for pmu in pmus)


def encode(event: str, core: Core) -> Encoding | None:
    """Return what libpfm4 makes of an event on one kind of core, None if it knows no such event.

    Args:
        event: libpfm4's name, without the PMU or with it.
        core: the kind of core.
    """
    names = [event] if "::" in event else [f"{model}::{event}" for model in core.models]
    for name in names:
        try:
            kind, config, config1, config2, exclude, _ = _core.pfm_encode(name)
        except (_core.PfmError, ImportError):
            continue
        if kind == _RAW and core.pmu is not None and not core.is_alone:
            kind = core.pmu.type
        return Encoding(kind, config, config1, config2, exclude=exclude)
    return None


def _known(model: str | None) -> tuple[str, ...]:
    return () if model is None else (model,)


def _models_of(pmu: Pmu, found: Iterable[LibpfmPmu]) -> tuple[str, ...]:
    """Return which of libpfm4's PMUs is one of the kernel's: it encodes for the kernel's number."""
    models = []
    for candidate in found:
        event = next(candidate.events(), None)
        encoding = None if event is None else encode(event.name, Core(pmu, ()))
        if encoding is not None and encoding.type == pmu.type:
            models.append(candidate.name)
    return tuple(models)
