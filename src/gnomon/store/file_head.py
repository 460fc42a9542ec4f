"""The first 32 bytes of Gnomon's binary files, which say whether this Gnomon can read the rest.

    offset  bytes  field
         0      8  magic: what kind of file it is
         8      4  byte_order: 0x01020304 as the machine that wrote it has numbers
        12      4  version
        16      4  header_bytes: where the header ends
        20      4  flags
        24      8  features: who does not know one of bits 0..31 must not read the file, who does
                   not know one of bits 32..63 may ignore it

Record files (native/include/gnomon/record_file.h) and record blocks (store/record_blocks.py) have
it.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    import numpy as np

MAGIC_BYTES = 8
HEAD_BYTES = 32

BYTE_ORDER_AT = 8
VERSION_AT = 12
HEADER_BYTES_AT = 16
FLAGS_AT = 20
FEATURES_AT = 24

_BYTE_ORDER = 0x01020304
_NATIVE = struct.Struct("=8sIIIIQ")
_MUST_KNOW = (1 << 32) - 1


class FileKind(NamedTuple):
    """A kind of binary file.

    Attributes:
        title: what it is called in messages, with its article.
        magic: the first 8 bytes.
        version: that this Gnomon writes, and the only one that it reads.
        features: those that it knows.
    """

    title: str
    magic: bytes
    version: int
    features: int = 0


def head_of(kind: FileKind) -> bytes:
    """Return the head of a file of this machine, of nothing but the head."""
    return _NATIVE.pack(kind.magic, _BYTE_ORDER, kind.version, HEAD_BYTES, 0, 0)


def byte_order(path: Path, head: bytes, kind: FileKind) -> str:
    """Return the struct module's sign for the byte order of a file that can be read.

    Args:
        path: the file, for messages.
        head: how it begins.
        kind: what it has to be.

    Raises:
        FormatError: it is something else, or this Gnomon does not know its version or features.
    """
    if not head.startswith(kind.magic):
        if len(head) >= MAGIC_BYTES and not any(head[:MAGIC_BYTES]):
            raise FormatError(path, 0, "an empty header: the process ended before it was written")
        raise FormatError(path, 0, f"not {kind.title} of Gnomon")
    if len(head) < HEAD_BYTES:
        raise FormatError(
            path, len(head), f"cut short: {kind.title} begins with {HEAD_BYTES} bytes"
        )
    mark = head[BYTE_ORDER_AT:VERSION_AT]
    for order in "<>":
        if mark == struct.pack(f"{order}I", _BYTE_ORDER):
            break
    else:
        raise FormatError(path, BYTE_ORDER_AT, f"unknown byte order {mark.hex(' ')}")
    (version,) = struct.unpack_from(f"{order}I", head, VERSION_AT)
    if version != kind.version:
        raise FormatError(
            path,
            VERSION_AT,
            f"version {version} of the format, this Gnomon reads version {kind.version}; "
            "use the Gnomon that wrote it, or a newer one",
        )
    (features,) = struct.unpack_from(f"{order}Q", head, FEATURES_AT)
    unknown = features & _MUST_KNOW & ~kind.features
    if unknown:
        raise FormatError(
            path,
            FEATURES_AT,
            f"features {unknown:#x} that this Gnomon does not know; use a newer one",
        )
    return order


def read_header(
    path: Path, file: BinaryIO, kind: FileKind, fields: Iterable[tuple[str, str]]
) -> tuple[np.void, str, bytes]:
    """Return a file's header, its byte order and its bytes; the file is behind it then.

    Args:
        path: for messages.
        file: at its begin.
        kind: of the file.
        fields: of the header, the head among them: names and NumPy's types.

    Raises:
        FormatError: the file is something else, or truncated.
    """
    import numpy as np

    n_bytes = record_dtype(fields, "=").itemsize
    head = file.read(n_bytes)
    order = byte_order(path, head[:HEAD_BYTES], kind)
    if len(head) < n_bytes:
        raise FormatError(path, len(head), f"cut short: its header has {n_bytes} bytes")
    return np.frombuffer(head, record_dtype(fields, order), 1)[0], order, head


def record_dtype(fields: Iterable[tuple[str, str]], order: str) -> np.dtype[np.void]:
    """Return NumPy's type of fields in a byte order."""
    import numpy as np

    return np.dtype([(name, f"{order}{text}") for name, text in fields])


def check_regular(path: Path) -> None:
    """Make sure that reading ends: a named pipe would keep us waiting for a writer.

    Raises:
        FormatError: it is there, and no regular file.
    """
    if path.exists() and not path.is_file():
        raise FormatError(path, 0, "not a regular file")
