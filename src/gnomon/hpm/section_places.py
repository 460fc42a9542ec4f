"""Where sections start in the source, for those that have told no place.

libhpm leaves the address of each section's first start beside its items (native/hpm/run_folder.c).
The debug information of the program or library says which line that is; binutils' addr2line reads
it, or one that takes the same words.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from gnomon.errors import GnomonError
from gnomon.model.value import Unavailable
from gnomon.units import printable

_BEGIN = "gnomon places 1\n"
_BYTES_MAX = 64 << 20
_LINE = re.compile(r"([0-9]{1,9}) ([0-9a-f]{1,16}) (/.*)")
# "(discriminator 3)" may follow, and what is not known is "??" and "?" or 0.
_ANSWER = re.compile(r"(.+):([0-9]{1,9})(?: \(.*\))?")
_TOOLS = ("addr2line", "eu-addr2line", "llvm-addr2line")
_SECONDS_MAX = 60
_NAME = "lines of sections"


class Address(NamedTuple):
    """A place in a program or library as its file has it."""

    module: str
    offset: int


class Place(NamedTuple):
    """A line of the source."""

    file: str
    line: int


def read(path: Path) -> dict[int, Address]:
    """Return the address of each section by its number.

    A line that is cut off or damaged is left out: its section has no place.

    Raises:
        GnomonError: it is no such file.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise GnomonError(f"{path}: it is no plain file")
    with path.open("rb") as file:
        text = os.fsdecode(file.read(_BYTES_MAX))
    if not text.startswith(_BEGIN):
        raise GnomonError(f"{path}: byte 0: it does not begin as places of sections do")
    found: dict[int, Address] = {}
    for line in text[len(_BEGIN) : text.rfind("\n")].split("\n"):
        match = _LINE.fullmatch(line)
        if match and "\0" not in line:
            number, offset, module = match.groups()
            found.setdefault(int(number), Address(module, int(offset, 16)))
    return found


def resolve(addresses: Iterable[Address]) -> tuple[dict[Address, Place], tuple[Unavailable, ...]]:
    """Return the lines of the addresses that have one, and why others have none."""
    by_module: dict[str, list[int]] = {}
    for module, offset in sorted(set(addresses)):
        by_module.setdefault(module, []).append(offset)
    places: dict[Address, Place] = {}
    missing = []
    for module, offsets in by_module.items():
        try:
            lines = _lines(module, offsets)
        except GnomonError as error:
            reason, _, remedy = str(error).partition("; ")
            missing.append(Unavailable(_NAME, reason, remedy))
            continue
        places.update((Address(module, offset), place) for offset, place in lines.items())
        if len(lines) < len(offsets):
            name = printable(Path(module).name)
            n = len(offsets) - len(lines)
            what = f"{n} start{'s' if n > 1 else ''} in {name}"
            missing.append(
                Unavailable(
                    _NAME, f"{what}: it has no line numbers of them", "compile that with -g"
                )
            )
    return places, tuple(dict.fromkeys(missing))


def _lines(module: str, offsets: list[int]) -> Mapping[int, Place]:
    tool = next((path for path in map(shutil.which, _TOOLS) if path), None)
    if tool is None:
        raise GnomonError(f"there is no {' or '.join(_TOOLS)} on PATH; install binutils")
    if not Path(module).is_file():
        raise GnomonError(f"{printable(module)} is not there; let the programs be until their end")
    try:
        done = subprocess.run(
            [tool, "-e", module], input="".join(f"{offset:#x}\n" for offset in offsets),
            check=False, capture_output=True, text=True, errors="surrogateescape",
            timeout=_SECONDS_MAX, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise GnomonError(
            f"{tool} took more than {_SECONDS_MAX} s for {printable(module)}; see what is wrong "
            "with its debug information"
        ) from None
    except OSError as error:
        raise GnomonError(f"{tool} cannot be run: {error.strerror}; see why") from None
    found = {}
    for offset, answer in zip(offsets, done.stdout.splitlines(), strict=False):
        match = _ANSWER.fullmatch(answer)
        if match and not match[1].startswith("?") and int(match[2]):
            found[offset] = Place(match[1], int(match[2]))
    return found
