"""Libraries that a program is to load before its own: LD_PRELOAD of several, and of the user.

Source: ld.so(8): names are separated by spaces or colons, and there is no way to escape either.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import sys
from collections.abc import Mapping, Sequence

from gnomon.errors import ObserverError
from gnomon.named_tuple import NamedTuple

LD_PRELOAD = "LD_PRELOAD"
_SEPARATORS = " :"
_PT_INTERP = 3
# The program headers stand at a file's beginning.
_HEAD_BYTES = 1 << 14


class EnvironmentAdditions(NamedTuple):
    """What an observer adds to the environment of a program.

    Attributes:
        observer: its name.
        variables: by name.
        libraries: paths of those that are preloaded.
        is_first: they come before the user's own.
    """

    observer: str
    variables: Mapping[str, str]
    libraries: Sequence[str]
    is_first: bool = False


def variables(
    additions: Sequence[EnvironmentAdditions], environment: Sequence[bytes]
) -> dict[str, str]:
    """Return the variables that a program gets of its observers, LD_PRELOAD among them.

    Args:
        additions: of each observer, in their order.
        environment: what the program has without them; its own preloads stay as they are.

    Raises:
        ObserverError: two want a variable to be different things, or a library cannot be loaded.
    """
    wanted: dict[str, str] = {}
    whose: dict[str, str] = {}
    libraries: dict[bool, list[str]] = {True: [], False: []}
    for observer, added, preloads, is_first in additions:
        for name, value in added.items():
            if name == LD_PRELOAD:
                raise ObserverError(
                    f"{observer}: sets {LD_PRELOAD}, which is shared; name its libraries with "
                    "preloads()"
                )
            if wanted.setdefault(name, value) != value:
                raise ObserverError(
                    f"{whose[name]} and {observer}: both set {name}, to different values; use one "
                    f"of them: --without {observer}"
                )
            whose.setdefault(name, observer)
        libraries[is_first] += (_checked(observer, path) for path in preloads)
    if any(libraries.values()):
        own = _of(environment, LD_PRELOAD)
        wanted[LD_PRELOAD] = _joined(own, libraries[True], libraries[False])
    return wanted


def why_not_loaded(program: str) -> str:
    """Return why a program loads no libraries of others; "" if nothing speaks against it.

    Args:
        program: as it was to be executed, found through PATH.
    """
    path = shutil.which(program)
    try:
        with open(path or program, "rb") as file:
            status, head = os.fstat(file.fileno()), file.read(_HEAD_BYTES)
    except OSError:
        return ""
    if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
        return (
            f"{program} is a set-user-ID or set-group-ID program, which ignores preloaded libraries"
        )
    if _is_static(head):
        return f"{program} is statically linked and loads no libraries"
    return ""


def is_static(path: str) -> bool:
    """Return whether a program is statically linked; False where that cannot be seen."""
    try:
        with open(path, "rb") as file:
            return _is_static(file.read(_HEAD_BYTES))
    except OSError:
        return False


def is_for_other_machine(program: str) -> bool:
    """Return whether a program is for another kind of machine than we are.

    Its loader cannot load our libraries, and would say so in the program's own output.

    Args:
        program: as it is to be executed, found through PATH.
    """
    own, its = (_machine(path) for path in (sys.executable, shutil.which(program) or program))
    return own is not None and its is not None and own != its


def _machine(path: str) -> tuple[bytes, bytes] | None:
    """Return class, byte order and machine of an ELF file. Source: elf(5)."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            return None
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return None
    return (head[4:6], head[18:20]) if head.startswith(b"\x7fELF") else None


def _is_static(head: bytes) -> bool:
    return head.startswith(b"\x7fELF") and not _is_dynamic(head)


def _is_dynamic(head: bytes) -> bool:
    """Return whether a program names a dynamic linker. Source: elf(5), PT_INTERP."""
    order = "<" if head[5:6] == b"\1" else ">"
    is_64 = head[4:5] == b"\2"
    try:
        (begin,) = struct.unpack_from(order + ("Q" if is_64 else "I"), head, 32 if is_64 else 28)
        size, number = struct.unpack_from(order + "2H", head, 54 if is_64 else 42)
        kinds = [
            struct.unpack_from(order + "I", head, begin + at * size)[0] for at in range(number)
        ]
    except struct.error:  # what lies beyond is not looked at
        return True
    return _PT_INTERP in kinds


def _joined(own: str, first: Sequence[str], last: Sequence[str]) -> str:
    """Return LD_PRELOAD with libraries before and behind what it has, each once."""
    has = own.replace(":", " ").split()
    before = [path for path in dict.fromkeys(first) if path not in has]
    behind = [path for path in dict.fromkeys(last) if path not in {*has, *before}]
    return ":".join([*before, *([own] if own else []), *behind])


def _of(environment: Sequence[bytes], name: str) -> str:
    start = os.fsencode(name) + b"="
    return next(
        (os.fsdecode(entry[len(start) :]) for entry in environment if entry.startswith(start)), ""
    )


def can_be_named(path: str) -> bool:
    """Return whether LD_PRELOAD can have a path."""
    return not any(separator in path for separator in _SEPARATORS)


def _checked(observer: str, path: str) -> str:
    if not can_be_named(path):
        raise ObserverError(
            f"{observer}: {path} cannot be loaded into the program: its path has a space or a "
            "colon, which separate libraries; install Gnomon in another folder, or omit it: "
            f"--without {observer}"
        )
    # The dynamic loader would complain into the program's own output.
    if not os.access(path, os.R_OK):
        raise ObserverError(
            f"{observer}: {path}, which the program is to load, is not there or cannot be read; "
            f"install Gnomon again, or omit it: --without {observer}"
        )
    return path
