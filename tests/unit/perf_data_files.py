"""Files of perf record that are synthesised: of machines and PMUs that are not here.

Source: tools/perf/Documentation/perf.data-file-format.txt of Linux, perf_event_open(2) and
linux/perf_event.h; nothing here is taken from what Gnomon reads them with.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

(MMAP, LOST, COMM, EXIT, THROTTLE, FORK, SAMPLE, MMAP2) = (1, 2, 3, 4, 5, 7, 9, 10)
(LOST_SAMPLES, KSYMBOL, DEFERRED) = (13, 17, 22)
(ATTR, BUILD_ID, ROUND, AUXTRACE, FEATURE, COMPRESSED, COMPRESSED2) = (64, 67, 68, 71, 80, 81, 83)
KERNEL, USER, EXEC, HAS_BUILD_ID = 1, 2, 1 << 13, 1 << 14

# PERF_SAMPLE_*
(IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCHES, REGS_USER,
 STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP,
 DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT) = (1 << bit for bit in range(25))  # fmt: skip
USUAL = IP | TID | TIME | PERIOD

# Flags of struct perf_event_attr as their bit fields are numbered on little-endian machines.
EXCLUDE_KERNEL, FREQUENCY, SAMPLE_ID_ALL = 1 << 5, 1 << 10, 1 << 18

CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_DEFERRED = ((1 << 64) - n for n in (128, 512, 640))
START = 1_000_000_000
"""When a file begins, in nanoseconds."""


class Event(NamedTuple):
    """What is sampled."""

    sample_type: int = USUAL
    type: int = 0
    config: int = 0
    period: int = 1000
    read_format: int = 0
    flags: int = SAMPLE_ID_ALL
    branch_type: int = 0
    registers: int = 0
    ids: tuple[int, ...] = ()
    size: int = 112
    name: str = ""


class PerfData:
    """Collects the records of a file.

    Args:
        events: what is sampled.
        order: the byte order, as `struct` names it.
    """

    def __init__(self, *events: Event, order: str = "<") -> None:
        self.events = events or (Event(),)
        self.order = order
        self.data = bytearray()

    def pack(self, form: str, *values: int) -> bytes:
        return struct.pack(self.order + form, *values)

    def attr(self, event: Event) -> bytes:
        """Return struct perf_event_attr, as old or new as the event's size says."""
        flags = event.flags
        if self.order == ">":
            # Bit fields begin with the highest bit there.
            flags = int(f"{flags:064b}"[::-1], 2)
        content = self.pack("2I5Q", event.type, event.size, event.config, event.period,
                            event.sample_type, event.read_format, flags)  # fmt: skip
        content += bytes(24) + self.pack("2Q", event.branch_type, event.registers)
        return content.ljust(event.size, b"\0")[: event.size]

    def record(self, kind: int, content: bytes, misc: int = 0) -> bytes:
        content += bytes(-len(content) % 8)
        return self.pack("IHH", kind, misc, 8 + len(content)) + content

    def add(self, kind: int, content: bytes = b"", misc: int = 0) -> None:
        self.data += self.record(kind, content, misc)

    def trailer(
        self, event: Event, time: int, pid: int = 0, tid: int = 0, own_id: int = 0
    ) -> bytes:
        """Return struct sample_id, which all records of the kernel end with."""
        kind, content = event.sample_type, b""
        if not event.flags & SAMPLE_ID_ALL:
            return content
        if kind & TID:
            content += self.pack("2I", pid, tid)
        if kind & TIME:
            content += self.pack("Q", time)
        if kind & ID:
            content += self.pack("Q", own_id)
        if kind & STREAM_ID:
            content += self.pack("Q", own_id)
        if kind & CPU:
            content += self.pack("2I", 0, 0)
        if kind & IDENTIFIER:
            content += self.pack("Q", own_id)
        return content

    def other(self, kind: int, content: bytes, time: int, misc: int = 0) -> None:
        """Add a record of the kernel that is no sample."""
        first = self.events[0]
        own_id = first.ids[0] if first.ids else 0
        content += bytes(-len(content) % 8)
        self.add(kind, content + self.trailer(first, time, own_id=own_id), misc)

    def comm(self, pid: int, name: str, time: int = START, *, tid: int = 0, misc: int = 0) -> None:
        text = name.encode() + b"\0"
        self.other(COMM, self.pack("2I", pid, tid or pid) + text, time, misc)

    def fork(self, pid: int, parent: int, time: int, *, tid: int = 0, misc: int = 0) -> None:
        numbers = self.pack("4IQ", pid, parent, tid or pid, parent, time)
        self.other(FORK, numbers, time, misc)

    def mmap(
        self, pid: int, start: int, length: int, path: str, time: int = START, *, offset: int = 0,
        misc: int = USER,
    ) -> None:  # fmt: skip
        numbers = self.pack("2I3Q", pid & 0xFFFFFFFF, pid & 0xFFFFFFFF, start, length, offset)
        self.other(MMAP, numbers + path.encode() + b"\0", time, misc)

    def mmap2(
        self, pid: int, start: int, length: int, path: str, time: int = START, *, offset: int = 0,
        build_id: bytes = b"", rights: int = 5,
    ) -> None:  # fmt: skip
        identity = self.pack("2I2Q", 0, 0, 0, 0)
        if build_id:
            identity = bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0")
        content = self.pack("2I3Q", pid, pid, start, length, offset) + identity
        content += self.pack("2I", rights, 2) + path.encode() + b"\0"
        self.other(MMAP2, content, time, USER | (HAS_BUILD_ID if build_id else 0))

    def sample(self, ip: int, *, misc: int = USER, event: int = 0, **fields: object) -> None:
        """Add a sample; `fields` by the names of PERF_SAMPLE_*, in small letters."""
        self.add(SAMPLE, self.sample_content(ip, event, fields), misc)

    def sample_content(self, ip: int, number: int, fields: dict[str, object]) -> bytes:
        event = self.events[number]
        kind = event.sample_type
        own_id = self.number(fields, "id", event.ids[0] if event.ids else 0)
        pid = self.number(fields, "pid", 1)
        content = b""
        if kind & IDENTIFIER:
            content += self.pack("Q", own_id)
        if kind & IP:
            content += self.pack("Q", ip)
        if kind & TID:
            content += self.pack("2I", pid, self.number(fields, "tid", pid))
        if kind & TIME:
            content += self.pack("Q", self.number(fields, "time", START + 1))
        if kind & ADDR:
            content += self.pack("Q", self.number(fields, "addr"))
        if kind & ID:
            content += self.pack("Q", own_id)
        if kind & STREAM_ID:
            content += self.pack("Q", own_id)
        if kind & CPU:
            content += self.pack("2I", self.number(fields, "cpu"), 0)
        if kind & PERIOD:
            content += self.pack("Q", self.number(fields, "period", event.period))
        if kind & READ:
            content += self.words(fields, "read")
        if kind & CALLCHAIN:
            chain = self.words(fields, "callchain")
            content += self.pack("Q", len(chain) // 8) + chain
        if kind & RAW:
            raw = fields.get("raw", b"")
            assert isinstance(raw, bytes)
            content += self.pack("I", len(raw)) + raw
        return content + self._rest(kind, event, fields)

    def _rest(self, kind: int, event: Event, fields: dict[str, object]) -> bytes:
        content = b""
        if kind & BRANCHES:
            branches = self.words(fields, "branches")
            content += self.pack("Q", len(branches) // 24)
            if event.branch_type & 1 << 17:
                content += self.pack("Q", 7)
            content += branches
            if event.branch_type & 1 << 19:
                content += bytes(len(branches) // 3)
        if kind & REGS_USER:
            content += self.words(fields, "registers") or self.pack("Q", 0)
        if kind & STACK_USER:
            stack = fields.get("stack", b"")
            assert isinstance(stack, bytes)
            content += self.pack("Q", len(stack)) + stack
            content += self.pack("Q", len(stack)) if stack else b""
        for bit, name in (
            (WEIGHT | WEIGHT_STRUCT, "weight"), (DATA_SRC, "data_src"), (TRANSACTION, ""),
            (REGS_INTR, ""), (PHYS_ADDR, ""), (CGROUP, ""), (DATA_PAGE, ""), (CODE_PAGE, ""),
            (AUX, ""),
        ):  # fmt: skip
            if kind & bit:
                content += self.pack("Q", self.number(fields, name))
        return content

    @staticmethod
    def number(fields: dict[str, object], name: str, default: int = 0) -> int:
        value = fields.get(name, default)
        assert isinstance(value, int)
        return value

    def words(self, fields: dict[str, object], name: str) -> bytes:
        values = fields.get(name, ())
        assert isinstance(values, Sequence)
        return self.pack(f"{len(values)}Q", *values)

    def branch(self, origin: int, target: int, *, mispredicted: bool, cycles: int) -> list[int]:
        """Return struct perf_branch_entry, whose bit fields depend on the byte order, too."""
        bits = [int(mispredicted), int(not mispredicted), 0, 0]
        if self.order == "<":
            flags = sum(bit << place for place, bit in enumerate(bits)) | cycles << 4
        else:
            flags = sum(bit << 63 - place for place, bit in enumerate(bits)) | cycles << 44
        return [origin, target, flags]

    # --- files ------------------------------------------------------------------------------------

    @property
    def magic(self) -> bytes:
        return b"PERFILE2" if self.order == "<" else b"2ELIFREP"

    def text(self, text: str) -> bytes:
        content = text.encode() + b"\0"
        content += bytes(-len(content) % 64)
        return self.pack("I", len(content)) + content

    def features(self) -> dict[int, bytes]:
        """Return host, release, perf's version, architecture, command and events."""
        words = ["perf", "record", "-e", "x", "--", "./app", "7"]
        events = self.pack("2I", len(self.events), self.events[0].size)
        for event in self.events:
            events += self.attr(event).ljust(self.events[0].size, b"\0")[: self.events[0].size]
            events += self.pack("I", len(event.ids)) + self.text(event.name or "cycles")
            events += self.pack(f"{len(event.ids)}Q", *event.ids)
        return {
            3: self.text("elsewhere"), 4: self.text("5.1.0-made"), 5: self.text("6.99"),
            6: self.text("s390x" if self.order == ">" else "x86_64"),
            11: self.pack("I", len(words)) + b"".join(map(self.text, words)), 12: events,
        }  # fmt: skip

    def file(self, *, features: dict[int, bytes] | None = None, is_finished: bool = True) -> bytes:
        """Return perf.data as a file."""
        features = self.features() if features is None else features
        entry = max(event.size for event in self.events) + 16
        attrs_at = 104
        ids_at = attrs_at + entry * len(self.events)
        attrs, ids = b"", b""
        for event in self.events:
            own = self.pack(f"{len(event.ids)}Q", *event.ids)
            attrs += self.attr(event).ljust(entry - 16, b"\0")
            attrs += self.pack("2Q", ids_at + len(ids), len(own))
            ids += own
        data_at = ids_at + len(ids)
        bits = sum(1 << number for number in features) if is_finished else 0
        head = self.magic + self.pack(
            "12Q", 104, entry, attrs_at, len(attrs), data_at, len(self.data) if is_finished else 0,
            0, 0, bits, 0, 0, 0,
        )  # fmt: skip
        whole = head + attrs + ids + bytes(self.data)
        if not is_finished:
            return whole
        begin = len(whole) + 16 * len(features)
        sections, contents = b"", b""
        for number in sorted(features):
            sections += self.pack("2Q", begin + len(contents), len(features[number]))
            contents += features[number]
        return whole + sections + contents

    def pipe(self) -> bytes:
        """Return what `perf record -o -` writes."""
        whole = self.magic + self.pack("Q", 16)
        for event in self.events:
            ids = self.pack(f"{len(event.ids)}Q", *event.ids)
            whole += self.record(ATTR, self.attr(event) + ids)
        for number, content in self.features().items():
            whole += self.record(FEATURE, self.pack("Q", number) + content)
        return whole + bytes(self.data)
