"""`gnomon hardware`: what the machine is made of, and what tells so."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gnomon.cli.lists.hardware_report import SECTIONS
from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.counters.hardware import Hardware

# Sections whose keys of the JSON have other names.
_KEYS = {
    "frequency": ("frequencies",),
    "vectors": ("processor",),
    "caches": ("caches", "caches_unknown"),
    "picture": ("topology", "caches"),
    "numa": ("nodes",),
    "memory": ("memory", "limits"),
    "virtual": ("hypervisor", "hypervisor_signature", "container"),
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon hardware`."""
    p = Parser(
        prog="gnomon hardware",
        description="Show the hardware of this machine: processor, frequencies, topology, caches, "
        "TLBs, NUMA nodes, pages, hypervisor, PMUs and devices, each with the source of the "
        "information. Facts without a source are shown as unknown.",
        epilog="sections: "
        + ", ".join(SECTIONS)
        + "\n\nexamples:\n  gnomon hardware caches tlbs\n  gnomon hardware --json",
    )
    # With `choices` argparse would refuse an empty list.
    p.add_argument("sections", nargs="*", metavar="SECTION", help="only these sections")
    p.add_argument(
        "-a", "--all", action="store_true", help="every CPU and every cache, however many"
    )
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the hardware and return 0."""
    for name in arguments.sections:
        if name not in SECTIONS:
            from gnomon.counters.name_suggestions import nearest

            close = nearest(name, list(SECTIONS))
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(SECTIONS)}"
            raise UsageError(f"no hardware section '{name}'; {hint}")
    from gnomon.counters.hardware import hardware

    machine = hardware()
    if arguments.json:
        return _print_json(machine, arguments.sections)
    from gnomon.cli.terminal.two_column_text import section, terminal_columns

    width = terminal_columns()
    for name, write in SECTIONS.items():
        if not arguments.sections or name in arguments.sections:
            print(section(name, write(machine, width, arguments.all), width))
    return 0


def _print_json(machine: Hardware, sections: list[str]) -> int:
    import json

    from gnomon.cli.terminal.to_json import to_jsonable

    whole = to_jsonable(machine)
    if not sections or "hwloc" in sections:
        from gnomon.counters.hardware.hwloc import hwloc

        whole["hwloc"] = to_jsonable(hwloc())
    keys = {key for name in sections for key in _KEYS.get(name, (name,))}
    print(json.dumps({k: v for k, v in whole.items() if not keys or k in keys}, indent=2))
    return 0
