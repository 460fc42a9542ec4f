"""Functions that a runtime compiled while it ran, from its perf map (/tmp/perf-PID.map).

Source: Linux kernel, tools/perf/Documentation/jit-interface.txt: a line for each function, its
start and size in hexadecimal digits, and its name. Node writes them with --perf-basic-prof, Java
with perf-map-agent, Python with -X perf.
"""

from __future__ import annotations

import os
import re
import stat

from gnomon.errors import GnomonError
from gnomon.symbols.frames import FRAME_FIELDS, ModuleFrames
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

_BYTES_MAX = 512 << 20
_NAME_MAX = 4096
_LINE = re.compile(rb"^(?:0x)?([0-9a-fA-F]{1,16}) (?:0x)?([0-9a-fA-F]{1,16}) (.+)$", re.MULTILINE)
# How many functions that begin before an address and end before it are passed over.
_OUTWARDS_MAX = 4096


def perf_map_frames(
    path: Path, addresses: npt.ArrayLike, owners: Sequence[int] | None = None
) -> ModuleFrames:
    """Return the functions of addresses in code that was compiled at run time.

    Where code was compiled in the place of other code, it is the last one's.

    Args:
        path: of the map, in a folder that others can write to: links are not followed.
        addresses: in any order.
        owners: users whose map is believed; by default this one and root.

    Raises:
        GnomonError: it cannot be read, or is another user's.
    """
    import numpy as np

    content = _content(path, (os.getuid(), 0) if owners is None else owners)
    lines = [match for match in _LINE.finditer(content) if int(match[2], 16)]
    starts = np.array([int(match[1], 16) for match in lines], np.uint64)
    sizes = np.array([int(match[2], 16) for match in lines], np.uint64)
    # One that would reach beyond the last address ends there.
    ends = starts + np.minimum(sizes, np.uint64(2**64 - 1) - starts)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends) if len(ends) else ends
    wanted = np.unique(np.asarray(addresses, np.uint64))
    texts = {"": 0}
    frames = np.zeros(len(wanted), [(field, kind) for field, kind in FRAME_FIELDS])
    positions = np.searchsorted(starts, wanted, side="right")
    for number, (address, position) in enumerate(
        zip(wanted.tolist(), positions.tolist(), strict=True)
    ):
        last = -1
        for before in range(position - 1, max(-1, position - 1 - _OUTWARDS_MAX), -1):
            if reach[before] <= address:
                break
            if ends[before] > address:
                last = max(last, int(order[before]))
        if last >= 0:
            name = lines[last][3][:_NAME_MAX].decode(errors="replace").strip()
            frames[number]["function"] = texts.setdefault(name, len(texts))
            frames[number]["start"] = int(lines[last][1], 16)
    first = np.arange(len(wanted) + 1, dtype=np.uint32)
    return ModuleFrames(wanted, first, frames, tuple(texts), has_symbols=bool(lines))


def _content(path: Path, owners: Sequence[int]) -> bytes:
    name = printable(str(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise GnomonError(f"{name}: not a regular file; see who put it there")
            if status.st_uid not in owners:
                raise GnomonError(f"{name}: it is another user's; see who put it there")
            return file.read(_BYTES_MAX)
    except OSError as error:
        raise GnomonError(f"{name} cannot be read: {error.strerror}; see why") from None
