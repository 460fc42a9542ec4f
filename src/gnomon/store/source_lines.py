"""Which lines of the source addresses in programs and libraries are.

Their debug information says it; binutils' addr2line reads it, or one that takes the same words.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from gnomon.errors import GnomonError
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.store.build_ids import build_id
from gnomon.units import printable

# "(discriminator 3)" may follow, and what is not known is "??" and "?" or 0.
_ANSWER = re.compile(r"(.+):([0-9]{1,9})(?: \(.*\))?")
_TOOLS = ("addr2line", "eu-addr2line", "llvm-addr2line")
_SECONDS_MAX = 60
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


def resolve(
    addresses: Iterable[Address], ended: float = 0
) -> tuple[dict[Address, SourceLine], tuple[Unavailable, ...]]:
    """Return the lines of the addresses that have one, and why others have none.

    Args:
        addresses: where to look.
        ended: when the program ended, 0 if just now: a file that has no build id and was written
            since may be another one.
    """
    by_module: dict[tuple[str, str], list[int]] = {}
    for module, offset, build in sorted(set(addresses)):
        by_module.setdefault((module, build), []).append(offset)
    places: dict[Address, SourceLine] = {}
    missing = []
    for (module, build), offsets in by_module.items():
        try:
            _check_same(Path(module), build, ended)
            lines = _lines(module, offsets)
        except GnomonError as error:
            reason, _, remedy = str(error).partition("; ")
            missing.append(Unavailable(_NAME, reason, remedy))
            continue
        places.update((Address(module, offset, build), place) for offset, place in lines.items())
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


def _check_same(module: Path, build: str, ended: float) -> None:
    """Make sure that a file is there, and is the one that ran.

    Raises:
        GnomonError: it is not.
    """
    name = printable(str(module))
    try:
        if not module.is_file():
            raise GnomonError(f"{name} is missing; keep programs where they ran")
        now = build_id(module)
        is_other = now != build if build else bool(ended and module.stat().st_mtime > ended)
    except (OSError, ValueError) as error:
        raise GnomonError(f"{name} cannot be read: {error}; see why") from None
    if is_other:
        raise GnomonError(f"{name} is not the file that ran; measure again after a new build")


def _lines(module: str, offsets: list[int]) -> Mapping[int, SourceLine]:
    tool = next((path for path in map(shutil.which, _TOOLS) if path), None)
    if tool is None:
        raise GnomonError(f"no {' or '.join(_TOOLS)} on PATH; install binutils")
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
    by_offset = {}
    for offset, answer in zip(offsets, done.stdout.splitlines(), strict=False):
        match = _ANSWER.fullmatch(answer)
        if match and not match[1].startswith("?") and int(match[2]):
            by_offset[offset] = SourceLine(match[1], int(match[2]))
    return by_offset
