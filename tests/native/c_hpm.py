"""What is measured, in the form that print_hpm reads: libhpm's C is compared with Python."""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from gnomon.model.value import Domain, How, Scope, Value

HOWS = list(How)
MODES = {
    Domain.ALL: 7,
    Domain.USER: 1,
    Domain.KERNEL: 2,
    Domain.HYPERVISOR: 4,
    Domain.USER_KERNEL: 3,
}
IS_DERIVED, IS_NODE_WIDE = 1, 2
UNAVAILABLE = -1
TIMES = ("wall", "cycle", "user", "system", "start", "stop", "overhead", "init")


def ran(
    program: Path, mode: str, lines: Iterable[str] = (), argument: str = "", **variables: str
) -> list[str]:
    """Return the lines that print_hpm prints."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HPM_", "OMPI_", "PMI"))}
    done = subprocess.run(
        [program, mode, argument],
        input="".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"),
        env=kept | variables,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode("utf-8", "surrogateescape").split("\n")[:-1]


def hexed(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").hex() or "-"


def number(value: float | None) -> str:
    return "nan" if value is None or math.isnan(value) else float(value).hex()


def item(
    *,
    section: int = 0,
    calls: int = 1,
    exclusive: bool = False,
    continues: bool = False,
    usage: bool = False,
    task: int = -1,
    label: str = "",
    group: str = "",
    description: str = "",
    xml: str = "",
    file: str = "",
    line: int = 0,
    parent: int = 0,
    parent_label: str = "",
    thread: int = 0,
    process: int = 0,
) -> str:
    flags = (exclusive, continues, usage)
    fields = (section, calls, *map(int, flags), task, *map(hexed, (label, group, description, xml)),
              hexed(file), line, parent, hexed(parent_label), thread, process)  # fmt: skip
    return "\t".join(["item", *map(str, fields)])


def times(**seconds: float | None) -> str:
    return "\t".join(["times", *(number(seconds.get(name)) for name in TIMES)])


def event(
    name: str,
    value: float | None,
    *,
    component: str = "cpu",
    unit: str = "",
    description: str = "",
    reason: str = "",
    enabled_s: float = 1.0,
    running_s: float = 1.0,
    how: int = 0,
    modes: int = 7,
    flags: int = 0,
) -> str:
    texts = map(hexed, (name, component, unit, description, reason))
    numbers = map(number, (value, enabled_s, running_s))
    return "\t".join(["event", *texts, *numbers, str(how), str(modes), str(flags)])


def counted(value: Value) -> str:
    """Return the line of a value as Python has it."""
    flags = IS_DERIVED * value.is_derived + IS_NODE_WIDE * (value.scope is Scope.NODE)
    return event(
        value.event,
        value.value,
        component=value.component,
        unit=value.unit,
        enabled_s=value.enabled_ns / 1e9,
        running_s=value.running_ns / 1e9,
        how=UNAVAILABLE if value.value is None else HOWS.index(value.how),
        modes=MODES[value.domain],
        flags=flags,
    )


def refused(name: str) -> str:
    return event(name, None, enabled_s=0.0, running_s=0.0, how=UNAVAILABLE, reason="not here")


def constants(numbers: Mapping[str, float], how: int = 0) -> list[str]:
    return [f"constant\t{name}\t{number(value)}\t{how}" for name, value in numbers.items()]
