"""The header of a Darshan log, which is not compressed: where its regions are.

It is read here, too, so that a log that was cut off, or whose regions lie outside of it, is told by
the byte, before Darshan's library is given it.

Source: include/darshan-log-format.h, struct darshan_header; darshan-logutils.c,
darshan_log_get_header.
"""

from __future__ import annotations

import struct
from typing import IO, TYPE_CHECKING

from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files.profile_file import refuse

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "Darshan"
MODULES = (
    "NULL", "POSIX", "MPI-IO", "H5F", "H5D", "PNETCDF_FILE", "PNETCDF_VAR", "BG/Q", "LUSTRE",
    "STDIO", "DXT_POSIX", "DXT_MPIIO", "MDHIM", "APXC", "APMPI", "HEATMAP", "DFS", "DAOS",
)  # fmt: skip
"""By their numbers."""
NAMES, JOB = "the names of files", "the job"

_MAGIC = 6567223
_OLD_MODULES, _MODULES = 16, 64
_MORE_MODULES_SINCE = (3, 41)
_START_BYTES = 16


class LogHeader(NamedTuple):
    """What the header says.

    Attributes:
        version: of the format.
        modules: numbers of modules with data, in their order.
        offsets: of each region, by the module's name; of `NAMES` and `JOB`, too.
    """

    version: str
    modules: tuple[int, ...]
    offsets: dict[str, int]


def read_header(path: Path, file: IO[bytes]) -> LogHeader:
    """Return the header of a log.

    Args:
        path: to be named in errors.
        file: the log, of which the beginning is read.

    Raises:
        RunDirectoryError: it is none, or has regions outside of the file; names the byte.
    """
    file.seek(0, 2)
    size = file.tell()
    file.seek(0)
    start = file.read(_START_BYTES)
    if len(start) < _START_BYTES:
        refuse(path, len(start), "it ends within its header", FORMAT)
    order = "<" if int.from_bytes(start[8:], "little") == _MAGIC else ">"
    if struct.unpack(f"{order}q", start[8:]) != (_MAGIC,):
        refuse(path, 8, "Darshan's number is not there", FORMAT)
    version = start[:8].rstrip(b"\0").decode("ascii", "replace")
    numbers = version.split(".")
    if len(numbers) != 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        refuse(path, 0, "no version of a log", FORMAT)
    has_more = (int(numbers[0]), int(numbers[1])) >= _MORE_MODULES_SINCE
    n_modules = _MODULES if has_more else _OLD_MODULES
    # The compression and which modules are incomplete, each as far as the next is aligned.
    maps_at = 32 if has_more else 24
    layout = struct.Struct(f"{order}{2 * (n_modules + 1)}Q{n_modules}I")
    file.seek(maps_at)
    content = file.read(layout.size)
    if len(content) < layout.size:
        refuse(path, size, "it ends within its header", FORMAT)
    fields = layout.unpack(content)
    offsets = {JOB: maps_at + layout.size}
    modules: list[int] = []
    for place in range(n_modules + 1):
        offset, length = fields[2 * place : 2 * place + 2]
        if not length:
            continue
        name = NAMES if place == 0 else module_name(place - 1)
        if offset < offsets[JOB] or offset + length > size:
            refuse(
                path, maps_at + 16 * place,
                f"{name}: bytes {offset} to {offset + length} of {size}", FORMAT,
            )  # fmt: skip
        offsets[name] = offset
        if place:
            modules.append(place - 1)
    return LogHeader(version, tuple(modules), offsets)


def module_name(number: int) -> str:
    """Return what a module is called."""
    return MODULES[number] if number < len(MODULES) else f"module {number}"
