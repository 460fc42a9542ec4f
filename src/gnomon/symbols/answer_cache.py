"""What gnomon-symbols answered, kept by build id below the user's cache folder.

A file holds the addresses of one build that were asked for so far, and which files they came from
with sizes and times: it is believed as long as those are as they were, and those that were missing
still are. Whatever is wrong with a file, it is as if it were not there.

    8 bytes  "GNOMSYMB"
    uint32   version, byte order (0x01020304), features (0), CRC-32 of all that follows
    uint64   sizes: of what it came from (JSON), of texts; numbers: addresses, frames, texts
    then     JSON, addresses, and what frames.parse_frames reads

`GNOMON_CACHE=off` turns it off.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from gnomon.symbols.frames import ModuleFrames, frames_bytes, parse_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SIZE_MAX = 256 << 20
_FILE_MAX = 64 << 20
_MAGIC = b"GNOMSYMB"
# Of the layout, and of what native/symbols answers.
_VERSION = 1
_ORDER = 0x01020304
_HEAD = struct.Struct("=8s4I5Q")


def load_answer(folder: Path, build_id: str, path: str) -> ModuleFrames | None:
    """Return what is kept of a build, None if that is nothing or no longer right."""
    import json

    import numpy as np

    name = folder / build_id
    try:
        with name.open("rb") as file:
            head = file.read(_HEAD.size)
            content = memoryview(file.read(_FILE_MAX))
        (magic, version, order, features, crc, inputs_size, texts_size, n, n_frames,
         n_texts) = _HEAD.unpack(head)  # fmt: skip
        if (magic, version, order, features) != (_MAGIC, _VERSION, _ORDER, 0):
            return None
        if zlib.crc32(content) != crc:
            return None
        about = json.loads(bytes(content[:inputs_size]))
        if about["path"] != path or about["inputs"] != _states(row[0] for row in about["inputs"]):
            return None
        addresses = np.frombuffer(content, np.uint64, n, inputs_size)
        frames = parse_frames(
            content[inputs_size + 8 * n :], addresses, n_frames, n_texts, texts_size
        )
        frames.has_debug, frames.has_symbols = bool(about["debug"]), bool(about["symbols"])
        os.utime(name)
    except (OSError, ValueError, KeyError, TypeError, IndexError, struct.error):
        return None
    return frames


def save_answer(
    folder: Path, build_id: str, path: str, inputs: Iterable[str], frames: ModuleFrames
) -> None:
    """Keep an answer; one that cannot be kept is not."""
    import json
    import tempfile

    about = {
        "path": path, "inputs": _states((path, *inputs)), "debug": frames.has_debug,
        "symbols": frames.has_symbols,
    }  # fmt: skip
    # Padded, so that the arrays behind it are aligned.
    sources = json.dumps(about).encode()
    sources += b" " * (-(len(sources) + _HEAD.size) % 8)
    packed, n_texts, texts_size = frames_bytes(frames)
    content = b"".join((sources, frames.addresses.tobytes(), packed))
    if len(content) > _FILE_MAX:
        return
    head = _HEAD.pack(
        _MAGIC, _VERSION, _ORDER, 0, zlib.crc32(content), len(sources), texts_size,
        len(frames.addresses), len(frames.frames), n_texts,
    )  # fmt: skip
    temporary = ""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(head)
            file.write(content)
        Path(temporary).replace(folder / build_id)
        _shrink(folder)
    except OSError:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def _states(paths: Iterable[str]) -> list[list[str | int]]:
    """Return each file's path, size and time; -1 for one that is not there."""
    states: list[list[str | int]] = []
    for path in paths:
        try:
            status = Path(path).stat()
            states.append([path, status.st_size, status.st_mtime_ns])
        except (OSError, ValueError):
            states.append([path, -1, -1])
    return states


def _shrink(folder: Path) -> None:
    """Remove what was not used for longest where all is too much."""
    files = []
    for entry in os.scandir(folder):
        try:
            status = entry.stat()
        except OSError:  # another process removed it
            continue
        files.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= SIZE_MAX:
            break
        Path(path).unlink(missing_ok=True)
        total -= size
