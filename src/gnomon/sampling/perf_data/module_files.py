"""Where the programs and libraries of a perf.data file are here, as far as they are those that ran.

A file with a build id is looked for by it: where it was, in perf's cache (~/.debug) and among
separate files of debug information. One without is taken where it was, unless it was written since.

Source: perf-buildid-cache(1); tools/perf/util/build-id.c for the layout of the cache.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from gnomon.named_tuple import NamedTuple
from gnomon.symbols.elf_file import loaded_segments
from gnomon.symbols.resolver import DEBUG_FOLDERS

_BUILD_ID_LEAST = 2


class ModuleFile(NamedTuple):
    """A file of a module.

    Attributes:
        path: where it is here.
        build_id: its own, "" if it has none.
        segments: offset, bytes and address of what is loaded, packed as 64-bit numbers.
    """

    path: str
    build_id: str
    segments: bytes


def cache_folder() -> Path:
    """Return the folder of perf's cache of files by their build ids."""
    return Path(os.environ.get("HOME") or "/") / ".debug"


def find_file(path: str, build_id: str, ended: float, *, inode: int = 0) -> ModuleFile | None:
    """Return the file of a module, None if it is not here.

    Args:
        path: where it was.
        build_id: "" where it is not known.
        ended: when it had been recorded, in seconds since 1970.
        inode: of the file on this machine; 0 where it is not known, or was on another one.
    """
    for candidate in _candidates(path, build_id):
        try:
            if not candidate.is_file():
                continue
            own, segments = loaded_segments(candidate)
            if build_id and own != build_id:
                continue
            if not build_id and _is_other(candidate, ended, inode):
                continue
        except (OSError, ValueError):
            continue
        packed = b"".join(struct.pack("=3Q", *map(_in_64_bits, one)) for one in segments)
        return ModuleFile(str(candidate), own, packed)
    return None


def _in_64_bits(number: int) -> int:
    return number & (1 << 64) - 1


def _is_other(candidate: Path, ended: float, inode: int) -> bool:
    status = candidate.stat()
    return status.st_mtime > ended or bool(inode and status.st_ino != inode)


def _candidates(path: str, build_id: str) -> Iterator[Path]:
    yield Path(path)
    if len(build_id) <= _BUILD_ID_LEAST:
        return
    cache = cache_folder()
    yield cache / ".build-id" / build_id[:2] / build_id[2:] / "elf"
    yield cache / path.lstrip("/") / build_id / "elf"
    for folder in DEBUG_FOLDERS.split(":"):
        yield Path(folder) / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
