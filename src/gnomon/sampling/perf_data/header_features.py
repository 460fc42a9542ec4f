"""What perf record wrote beside the kernel's records: where and how it ran, names and build ids.

Source: tools/perf/Documentation/perf.data-file-format.txt, HEADER_*; struct perf_record_header_
build_id and perf_record_event_update of tools/lib/perf/include/perf/event.h. What makes no sense is
left out: samples can be read without it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence

from gnomon.named_tuple import NamedTuple

(BUILD_ID, HOSTNAME, RELEASE, VERSION, ARCH) = (2, 3, 4, 5, 6)
(COMMAND_LINE, EVENT_DESCRIPTIONS, CLOCK_DATA) = (11, 12, 29)
# Records in the place of features: 1024 and their type.
_BUILD_ID_RECORD, _EVENT_UPDATE = 1024 + 67, 1024 + 78
_EVENT_NAME = 2
_BYTES_MOST = 64 << 20
_WORDS_MOST = 1 << 16
_HAS_SIZE = 1 << 15
_KERNEL_MODES = (1, 4)
_MODE = 7


class BuildId(NamedTuple):
    """The build id of a file that samples were in."""

    path: str
    build_id: str
    is_kernel: bool


class HeaderFeatures(NamedTuple):
    """What the header says.

    Attributes:
        names: of events, by their ids.
        host, release, version, arch: of the machine, its kernel and perf; "" where it does not say.
        command: the words of perf's command.
        names_in_order: of events, in the order of their descriptions.
        build_ids: of files.
        clock_offset_ns: what makes times nanoseconds since 1970; None where it does not say.
    """

    names: dict[int, str]
    host: str = ""
    release: str = ""
    version: str = ""
    arch: str = ""
    command: tuple[str, ...] = ()
    names_in_order: tuple[str, ...] = ()
    build_ids: tuple[BuildId, ...] = ()
    clock_offset_ns: int | None = None


def read_features(
    descriptor: int, notes: Sequence[tuple[int, int, int]], order: str
) -> HeaderFeatures:
    """Return what the features of a file say.

    Args:
        descriptor: of the file.
        notes: where they are: number, offset and bytes of each.
        order: the byte order of the file as `struct` names it.
    """
    features = HeaderFeatures({})
    for number, offset, size in notes:
        part = _Part(os.pread(descriptor, min(size, _BYTES_MOST), offset)
                     if offset < 1 << 62 else b"", order)  # fmt: skip
        try:
            features = _with_feature(features, number, part)
        except (struct.error, ValueError):
            continue
    return features


class _Part:
    """Bytes that are read one field after the other. ValueError, struct.error: they end early."""

    def __init__(self, content: bytes, order: str) -> None:
        self.content, self.order, self.place = content, order, 0

    def numbers(self, form: str) -> tuple[int, ...]:
        layout = struct.Struct(self.order + form)
        values = layout.unpack_from(self.content, self.place)
        self.place += layout.size
        return values

    def bytes(self, n: int) -> bytes:
        if n > len(self.content) - self.place:
            raise ValueError("it ends early")
        self.place += n
        return self.content[self.place - n : self.place]

    def text(self) -> str:
        (size,) = self.numbers("I")
        return _text(self.bytes(size))


def _text(content: bytes) -> str:
    return content.split(b"\0")[0].decode(errors="replace")


def _with_feature(features: HeaderFeatures, number: int, part: _Part) -> HeaderFeatures:
    if number == HOSTNAME:
        return features._replace(host=part.text())
    if number == RELEASE:
        return features._replace(release=part.text())
    if number == VERSION:
        return features._replace(version=part.text())
    if number == ARCH:
        return features._replace(arch=part.text())
    if number == COMMAND_LINE:
        (n,) = part.numbers("I")
        words = tuple(part.text() for _ in range(min(n, _WORDS_MOST)))
        return features._replace(command=words)
    if number == EVENT_DESCRIPTIONS:
        return _with_names(features, part)
    if number in (BUILD_ID, _BUILD_ID_RECORD):
        return features._replace(build_ids=(*features.build_ids, *_build_ids(part)))
    if number == _EVENT_UPDATE:
        part.bytes(8)
        kind, own_id = part.numbers("2Q")
        if kind == _EVENT_NAME:
            features.names[own_id] = _text(part.content[part.place :])
        return features
    if number == CLOCK_DATA:
        _, _, wall_ns, clock_ns = part.numbers("2I2Q")
        offset = wall_ns - clock_ns
        return features._replace(clock_offset_ns=offset) if 0 < offset < 1 << 62 else features
    return features


def _with_names(features: HeaderFeatures, part: _Part) -> HeaderFeatures:
    n, attr_size = part.numbers("2I")
    names = []
    for _ in range(min(n, _WORDS_MOST)):
        part.bytes(attr_size)
        (n_ids,) = part.numbers("I")
        names.append(part.text())
        for own_id in part.numbers(f"{min(n_ids, len(part.content) // 8 + 1)}Q"):
            features.names[own_id] = names[-1]
    return features._replace(names_in_order=tuple(names))


def _build_ids(part: _Part) -> Iterator[BuildId]:
    """Yield the build ids of records, as far as these make sense."""
    while part.place + 36 <= len(part.content):
        begin = part.place
        _, misc, size = part.numbers("I2H")
        if size < 36:
            return
        part.numbers("i")
        raw = part.bytes(24)
        # Without its own size it has 20 bytes, as SHA-1 has.
        n = min(raw[20], 20) if misc & _HAS_SIZE else 20
        path = _text(part.content[part.place : begin + size])
        part.place = begin + size
        yield BuildId(path, raw[:n].hex(), misc & _MODE in _KERNEL_MODES)
