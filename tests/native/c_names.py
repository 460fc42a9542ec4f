"""The same names given to C and to Python, and what each makes of them made comparable."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from building import sanitized

from gnomon.counters import presets
from gnomon.counters.component import Event
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.components.kernel import KernelComponent
from gnomon.counters.components.tsc import TscComponent
from gnomon.counters.libpfm import libpfm_pmus
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.sysfs_pmu import SYSFS
from gnomon.errors import EventError, UsageError
from gnomon.model.value import Domain

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
COMPONENTS = ("cpu", "kernel", "tsc")
HARDWARE, TRACEPOINT, KERNEL_ONLY, EVERY_MODE, PRESET = 1, 2, 4, 8, 16
DOMAINS = {
    Domain.ALL: 0,
    Domain.USER: 1,
    Domain.KERNEL: 2,
    Domain.HYPERVISOR: 4,
    Domain.USER_KERNEL: 3,
}
MODIFIERS = ("", ":u", ":k", ":uk", ":ukh", ":uG", ":HI")

Resolved = dict[str, Any]


class Machine(NamedTuple):
    """Where a machine's trees are, and what libpfm4 calls its PMUs; None for this one."""

    sysfs: Path = Path(SYSFS)
    tracefs: Path | None = None
    models: dict[str, str] | None = None


@cache
def built(target: str = "print_events") -> Path:
    """Return the C program that says what names resolve to, or another one.

    The sanitizers watch it, as hostile input is given to it.
    """
    folder = sanitized(target)
    return folder / "native" / "tests" / target


def in_c(program: Path, machine: Machine, names: Iterable[str], **variables: str) -> list[Resolved]:
    models = ",".join(f"{k}={v}" for k, v in (machine.models or {}).items())
    tracefs = str(machine.tracefs) if machine.tracefs else ""
    done = subprocess.run(
        [program, str(machine.sysfs), tracefs, models],
        input="".join(f"{name}\n" for name in names).encode(),
        env=os.environ | {"LIBPFM_ENCODE_INACTIVE": "1"} | variables,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return [json.loads(line) for line in done.stdout.decode(errors="replace").splitlines()]


def in_python(machine: Machine, names: Iterable[str]) -> Iterator[tuple[str, tuple[Event, ...]]]:
    """Yield each name with its events, () where Python refuses it."""
    cpu = CpuComponent(machine.sysfs, machine.models)
    kernel = KernelComponent(machine.tracefs)
    sources = (kernel, TscComponent(machine.sysfs), cpu)
    for name in names:
        try:
            events = presets.find(name, cpu).events
            for source in sources:
                events = events or source.resolve(name)
        except (EventError, UsageError):
            events = ()
        yield name, events


def plain(event: Event) -> Resolved:
    """Return what the C program would say of an event."""
    spec: PerfSpec = event.spec
    flags = (
        HARDWARE * spec.hardware
        | TRACEPOINT * spec.tracepoint
        | KERNEL_ONLY * spec.kernel_only
        | EVERY_MODE * spec.every_mode
    )
    # The msr PMU refuses to leave anything out, so that in C no set's domain is put on it.
    if event.info.component == "tsc":
        flags |= EVERY_MODE
    every_mode = bool(flags & EVERY_MODE)
    return {
        "name": event.name,
        "unit": event.info.unit,
        "component": event.info.component,
        "flags": flags,
        "domain": 0 if every_mode else DOMAINS[event.domain],
        "scale": event.unit_factor,
        "terms": [[t.factor, *t.encoding] for t in spec.terms],
        "formula": [] if spec.formula is None else words(spec.formula.postfix()),
        "value": None if spec.formula is None else value_of(spec),
    }


def value_of(spec: PerfSpec) -> object:
    """Return what the formula comes to of the counts that the C program takes."""
    assert spec.formula is not None
    value = spec.formula.evaluate([1000 * i * i + 7 for i in range(len(spec.terms))], 0.5)
    # C has doubles where Python has whole numbers, and nothing is lost below 2**53.
    return value if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)


def words(postfix: str) -> list[str | float]:
    return [
        word if word[0] in "Ns+-*/" else float(word)
        for word in postfix.removesuffix("|").split("|")
    ]


def of_c(event: Resolved) -> Resolved:
    """Return the same of what the C program said."""
    flags = event["flags"] & (HARDWARE | TRACEPOINT | KERNEL_ONLY | EVERY_MODE)
    formula = words(event["formula"]) if event["formula"] else []
    # ukh asks for all, as no modifier does.
    domain = 0 if event["domain"] == 7 else event["domain"]
    known = {key: event[key] for key in ("name", "unit", "scale", "terms", "value")}
    return known | {
        "component": COMPONENTS[event["component"]],
        "flags": flags,
        "domain": domain,
        "formula": formula,
    }


def compare(program: Path, machine: Machine, names: Iterable[str], **variables: str) -> int:
    """Compare both on every name; return how many of them have events."""
    names = list(dict.fromkeys(names))
    libpfm_pmus()  # starts libpfm4 so that it encodes for CPUs that are not here
    said = in_c(program, machine, names, **variables)
    assert len(said) == len(names)
    found = 0
    for (name, events), answer in zip(in_python(machine, names), said, strict=True):
        assert [of_c(one) for one in answer["events"]] == [plain(one) for one in events], name
        assert (answer["error"] == 0) == bool(events), name
        if answer["error"]:
            assert name.partition("@")[0][:60] in answer["message"]
            assert ": " in answer["message"], name
        found += bool(events)
    return found


def modified(names: Iterable[str]) -> list[str]:
    """Return each name, and each with one of the modifiers, in turn."""
    made = []
    for at, name in enumerate(names):
        suffix = MODIFIERS[at % len(MODIFIERS)]
        made += [name, name + (suffix.removeprefix(":") if name.endswith("/") else suffix)]
    return made
