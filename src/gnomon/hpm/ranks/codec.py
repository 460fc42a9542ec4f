"""Items as bytes: rank files, and what goes to and from plug-ins in other processes.

The layout is that of native/hpm/item_codec.h, which C reads and writes. Nothing is aligned or
padded; numbers are in the byte order that the second word shows. A file may hold several, one
after the other.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import NoReturn, TypeVar

from gnomon.errors import FormatError
from gnomon.hpm.ranks.items import N_TIMES, EventInfo, Item, RankFile, Spread

MAGIC = b"HPMITEMS"
BYTE_ORDER = 0x01020304
VERSION = 1

BYTES_MAX = 1 << 28
ITEMS_MAX = 1 << 20
DATA_MAX = 1 << 16
BINS_MAX = 1 << 16
STRING_MAX = 1 << 20
"""What no measurement has more of; writers and readers refuse it."""

_HEAD = len(MAGIC) + 16
_CHECKSUM = 4
# Of the least item and event.
_ITEM_BYTES, _EVENT_BYTES = 148, 60
_INT_MAX = (1 << 31) - 1

T = TypeVar("T")


# --- writing --------------------------------------------------------------------------------------


def encoded(file: RankFile) -> bytes:
    """Return what a task measured as bytes, in this machine's byte order.

    Raises:
        ValueError: a member has no room in the layout; the message names it.
    """
    writer = _Writer()
    writer.put("iiqii", _small(file.task, "task"), _small(file.size, "size"), file.process,
               _small(file.exit_status, "exit_status"), _small(file.signal, "signal"))  # fmt: skip
    writer.put("ddd", file.started, file.stopped, file.wall_s)
    for text in (file.program, file.command, file.host, file.events, file.notes):
        writer.text(text)
    writer.put("i", _at_most(len(file.items), ITEMS_MAX, "items"))
    for item in file.items:
        writer.item(item)
    body = b"".join(writer.parts)
    size = _HEAD + len(body) + _CHECKSUM
    _at_most(size, BYTES_MAX, "bytes")
    whole = MAGIC + struct.pack("=IIQ", BYTE_ORDER, VERSION, size) + body
    return whole + struct.pack("=I", zlib.crc32(whole))


class _Writer:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def put(self, kinds: str, *numbers: float) -> None:
        try:
            self.parts.append(struct.pack("=" + kinds, *numbers))
        except struct.error as error:
            raise ValueError(f"numbers {numbers}: {error}") from None

    def text(self, text: str) -> None:
        # C ends texts at a zero byte; what is no UTF-8 came from the file system, as it goes back.
        raw = text.replace("\0", "\\x00").encode("utf-8", "surrogateescape")
        self.put("i", _at_most(len(raw), STRING_MAX, "bytes of a text"))
        self.parts.append(raw)

    def spread(self, spread: Spread | None) -> None:
        if spread is None:
            self.put("i", 0)
            return
        bins = _at_most(len(spread.bins), BINS_MAX, "bins")
        self.put("iidddiii", 1, spread.n, spread.minimum, spread.maximum, spread.deviation,
                 spread.min_task, spread.max_task, bins)  # fmt: skip
        self.put(f"{bins}q", *spread.bins)

    def event(self, event: EventInfo) -> None:
        for text in (event.name, event.component, event.unit, event.description, event.reason):
            self.text(text)
        self.put("dddiii", event.value, event.enabled_s, event.running_s, event.how, event.modes,
                 event.flags)  # fmt: skip
        self.spread(event.spread)

    def item(self, item: Item) -> None:
        if len(item.times) != N_TIMES or len(item.times_spread) not in (0, N_TIMES):
            raise ValueError(f"times: an item has {N_TIMES} of them, and of their spreads")
        self.put("i", _at_most(len(item.data), DATA_MAX, "events of an item"))
        for event in item.data:
            self.event(event)
        self.put("8d", *item.times)
        is_cont, is_usage, is_own = map(
            bool, (item.is_mplex_cont, item.is_rusage, item.is_exclusive)
        )
        self.put("7i", is_cont, is_usage, item.mpi_task_id, item.instr_id, item.count, is_own,
                 item.xml_element_id)  # fmt: skip
        for text in (item.description, item.xml_descr, item.label, item.group, item.file,
                     item.parent_label):  # fmt: skip
            self.text(text)
        self.put("5i", item.line, item.parent_id, item.thread_id, item.process_id, item.n_tasks)
        self.text(item.tasks)
        self.put("i", len(item.times_spread) > 0)
        for spread in item.times_spread:
            self.spread(spread)


def _at_most(number: int, most: int, what: str) -> int:
    if number > most:
        raise ValueError(f"{number} {what}: at most {most} can be written")
    return number


def _small(number: int, what: str) -> int:
    if not -_INT_MAX <= number <= _INT_MAX:
        raise ValueError(f"{what} {number}: no task of any job has that")
    return number


# --- reading --------------------------------------------------------------------------------------


def decoded(content: bytes, name: str, at: int = 0) -> tuple[RankFile, int]:
    """Return what a task measured, and the place behind it.

    Args:
        content: bytes of one or several files.
        name: of the file, for what is said of it.
        at: where it begins.

    Raises:
        FormatError: it is truncated, damaged, of another kind or version; says at which byte.
    """
    reader = _Reader(content, name, at)
    return reader.file(), reader.end


def owner_of(content: bytes, name: str) -> tuple[int, int, float]:
    """Return the task and process that a file is of, and when that began, without its items.

    Raises:
        FormatError: as `decoded`, of the file's head.
    """
    reader = _Reader(content, name, 0)
    reader.head()
    task, _, process, _, _ = reader.numbers("iiqii")
    started, _, _ = reader.numbers("ddd")
    return int(task), int(process), started


class _Reader:
    def __init__(self, content: bytes, name: str, at: int) -> None:
        self._content = content
        self._name = name
        self._at = at
        self._order = "="
        self._whole = struct.Struct("=i")
        self.end = len(content)

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        raise FormatError(self._name, self._at if at is None else at, problem)

    def numbers(self, kinds: str) -> tuple[float, ...]:
        form = self._order + kinds
        size = struct.calcsize(form)
        if size > self.end - self._at:
            self.fail(f"it ends here, and {size} bytes more are needed; it was cut off")
        found = struct.unpack_from(form, self._content, self._at)
        self._at += size
        return found

    def whole(self) -> int:
        """Return an i32."""
        begin = self._at
        if begin + self._whole.size > self.end:
            self.numbers("i")  # fails
        self._at += self._whole.size
        return int(self._whole.unpack_from(self._content, begin)[0])

    def number_of(self, most: int, least_bytes: int, what: str) -> int:
        """Return how many there are of what takes so many bytes each at least."""
        at = self._at
        number = self.whole()
        if not 0 <= number <= most:
            self.fail(f"{number} {what}: there are 0 to {most}", at)
        if number * least_bytes > self.end - self._at:
            self.fail(f"{number} {what}: the rest has no room for them; it was cut off", at)
        return number

    def text(self) -> str:
        at = self._at
        size = self.whole()
        if size == -1:
            return ""
        if not 0 <= size <= STRING_MAX:
            self.fail(f"a text of {size} bytes: it has 0 to {STRING_MAX}", at)
        if size > self.end - self._at:
            self.fail(f"a text of {size} bytes: the rest is shorter; it was cut off", at)
        raw = self._content[self._at : self._at + size]
        if b"\0" in raw:
            self.fail("a text with a zero byte in it", self._at + raw.index(b"\0"))
        self._at += size
        return raw.decode("utf-8", "surrogateescape")

    def flag(self, what: str) -> bool:
        at = self._at
        number = self.whole()
        if number not in (0, 1):
            self.fail(f"{what}: {number}: it is 0 or 1", at)
        return number == 1

    def many(self, number: int, one: Callable[[], T]) -> tuple[T, ...]:
        return tuple(one() for _ in range(number))

    def spread(self) -> Spread | None:
        if not self.flag("whether there is a spread"):
            return None
        n, minimum, maximum, deviation, min_task, max_task = self.numbers("idddii")
        bins = self.number_of(BINS_MAX, 8, "bins")
        counts = self.numbers(f"{bins}q")
        return Spread(int(n), minimum, maximum, deviation, int(min_task), int(max_task),
                      tuple(map(int, counts)))  # fmt: skip

    def event(self) -> EventInfo:
        name, component, unit, description, reason = self.many(5, self.text)
        value, enabled_s, running_s, how, modes, flags = self.numbers("dddiii")
        return EventInfo(name, component, unit, description, reason, value, enabled_s, running_s,
                         int(how), int(modes), int(flags), self.spread())  # fmt: skip

    def item(self) -> Item:
        data = self.many(self.number_of(DATA_MAX, _EVENT_BYTES, "events"), self.event)
        times = self.numbers("8d")
        continues, usage, task, section, count, exclusive, element = map(int, self.numbers("7i"))
        description, xml_descr, label, group, file, parent_label = self.many(6, self.text)
        line, parent, thread, process, n_tasks = map(int, self.numbers("5i"))
        tasks = self.text()
        spreads: tuple[Spread, ...] = ()
        if self.flag("whether there are spreads of the times"):
            spreads = tuple(one or Spread() for one in self.many(N_TIMES, self.spread))
        return Item(
            data, times, continues != 0, usage != 0, task, section, count, exclusive != 0, element,
            description, xml_descr, label, group, file, parent_label, line, parent, thread,
            process, n_tasks, tasks, spreads,
        )  # fmt: skip

    def file(self) -> RankFile:
        begin = self._at
        self.head()
        task, size, process, exit_status, signal = map(int, self.numbers("iiqii"))
        started, stopped, wall_s = self.numbers("ddd")
        program, command, host, events, notes = self.many(5, self.text)
        items = self.many(self.number_of(ITEMS_MAX, _ITEM_BYTES, "items"), self.item)
        if self._at != self.end:
            self.fail(f"{self.end - self._at} bytes more than its items take")
        self.end += _CHECKSUM
        (checksum,) = self.numbers("I")
        if checksum != zlib.crc32(memoryview(self._content)[begin : self._at - _CHECKSUM]):
            self.fail("the checksum is another one; it is damaged", self._at - _CHECKSUM)
        return RankFile(items, program, command, host, notes, events, task, size, process,
                        exit_status, signal, started, stopped, wall_s)  # fmt: skip

    def head(self) -> None:
        if self._content[self._at : self._at + len(MAGIC)] != MAGIC:
            self.fail(f"no rank file: it does not begin with {MAGIC.decode()}")
        begin = self._at
        self._at += len(MAGIC)
        raw = self._content[self._at : self._at + 4]
        orders = {struct.pack(f"{sign}I", BYTE_ORDER): sign for sign in "<>"}
        if len(raw) == 4 and raw not in orders:
            self.fail("the byte order is none that there is")
        self._order = orders.get(raw, "=")
        self._whole = struct.Struct(f"{self._order}i")
        _, version = self.numbers("II")
        if version != VERSION:
            self.fail(f"version {version}; this Gnomon reads version {VERSION}", self._at - 4)
        at = self._at
        (size,) = self.numbers("Q")
        if not _HEAD + _CHECKSUM <= size <= BYTES_MAX:
            self.fail(f"{size} bytes: it has at most {BYTES_MAX}", at)
        if size > len(self._content) - begin:
            self.fail(f"{size} bytes: {len(self._content) - begin} are there; it was cut off", at)
        self.end = begin + int(size) - _CHECKSUM
