"""Which lines of the source addresses in programs and libraries are, for those who want no more."""

from __future__ import annotations

from pathlib import Path

from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.resolver import Module, resolve
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = "lines of sections"


class Address(NamedTuple):
    """A place in a program or library as its file has it.

    Attributes:
        module: path of the file.
        offset: the address in it.
        build_id: of the file that ran, in hexadecimal digits; "" where it is not known.
    """

    module: str
    offset: int
    build_id: str = ""


class SourceLine(NamedTuple):
    """A line of the source."""

    file: str
    line: int


def resolve_lines(
    addresses: Iterable[Address], ended: float = 0
) -> tuple[dict[Address, SourceLine], tuple[Unavailable, ...]]:
    """Return the lines of the addresses that have one, and why others have none.

    Args:
        addresses: where to look.
        ended: when the program ended, 0 if just now.
    """
    by_module: dict[Module, list[Address]] = {}
    for address in sorted(set(addresses)):
        module = Module(address.module, address.build_id, ended)
        by_module.setdefault(module, []).append(address)
    if not by_module:
        return {}, ()
    resolution = resolve(
        {module: [one.offset for one in wanted] for module, wanted in by_module.items()}
    )
    lines: dict[Address, SourceLine] = {}
    missing = []
    for module, wanted in by_module.items():
        if module in resolution.unavailable:
            missing.append(resolution.unavailable[module]._replace(event=_NAME))
            continue
        frames = resolution.frames[module]
        n = 0
        for address in wanted:
            innermost = frames.at(address.offset)[0]
            if innermost.file and innermost.line:
                lines[address] = SourceLine(innermost.file, innermost.line)
            else:
                n += 1
        if n:
            what = f"{n} start{'s' if n > 1 else ''} in {printable(Path(module.path).name)}"
            missing.append(
                Unavailable(
                    _NAME, f"{what}: it has no line numbers of them", "compile that with -g"
                )
            )
    return lines, tuple(dict.fromkeys(missing))
