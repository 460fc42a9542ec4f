"""What hurts a program's I/O: from sums of its calls, and from events where there are some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.io import io_metrics
from gnomon.io.calls import POSIX, group_of
from gnomon.io.file_events import BLOCK, Pattern
from gnomon.io.io_values import or_zero
from gnomon.named_tuple import NamedTuple
from gnomon.units import number, quantity, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gnomon.io.file_uses import FileUse
    from gnomon.io.io_values import Access, File, Process

TINY_WRITES, TINY_READS = "tiny writes", "tiny reads"
BACKWARD, STRIDED, AGAIN = "backward reads", "strided reads", "read again"
LARGE = "sequential reads from storage"
SYNCS = "waits for storage"
STORM, FOLDER_STORM = "open and close", "many small files"
MISALIGNED, ONE_RANK = "misaligned direct I/O", "one rank does all"

SHARE_LEAST = 0.01
"""Of a run's time in I/O: what takes less is not worth a change."""
_REQUESTS_LEAST = 64
_TINY_BYTES = 2048
_PATTERN_SHARE = 0.5
_UNTRACED_SHARE = 0.75
"""Of reads without a pattern half go backward."""
_AGAIN_TIMES = 1.5
_AGAIN_BYTES_LEAST = 1 << 16
_CACHE_MOST = 256 << 20
_CACHE_LEAST = 4 * BLOCK
_LARGE_BYTES = 16 << 20
_OPENS_LEAST = 64
_REOPENS_LEAST = 16
_FOLDER_OPENS_LEAST = 256
_SMALL_FILE_BYTES = 64 << 10
_STORM_SHARE = 0.2
_SYNCS_LEAST = 4
_SYNCS_SHARE = 0.1
_RANK_SHARE = 0.9
_MISALIGNED_SHARE = 0.1


class Finding(NamedTuple):
    """One thing that hurts.

    Attributes:
        kind: one of the kinds above.
        path: the file, or the folder of many.
        calls: that it is about, of one execution.
        seconds: in these, all processes together.
        share: of all time in I/O.
        figures: what was measured, as a sentence.
        why: it hurts.
        remedy: what to do in the program; "" where modules are the remedy.
        rule: modules for MIO_FILES, "" where none helps.
        access: "read", "write", "open", "sync" or "" for all: what a call site is looked for of.
        refused: why the rule is not proposed, "" where it is.
        site: path of the call site with most of it, -1 where not known.
    """

    kind: str
    path: str
    calls: float
    seconds: float
    share: float
    figures: str
    why: str
    remedy: str = ""
    rule: str = ""
    access: str = ""
    refused: str = ""
    site: int = -1


class Requests(NamedTuple):
    """Calls of POSIX that read, or write, a file."""

    calls: float
    bytes: float
    seconds: float
    failures: float

    @property
    def mean(self) -> float:
        """Bytes of one."""
        return self.bytes / self.calls if self.calls else 0.0


def requests_of(file: File, *groups: str) -> Requests:
    """Return the calls of POSIX on a file that do one of these things (calls.toml)."""
    own = [
        one for one in file.operations if one.layer == POSIX and group_of(one.name) in groups
    ]  # fmt: skip
    return Requests(
        sum(or_zero(one.calls) for one in own), sum(one.bytes for one in own),
        sum(or_zero(one.seconds) for one in own), sum(or_zero(one.failures) for one in own),
    )  # fmt: skip


def pattern_of_sums(requests: Requests, access: Access | None) -> Pattern | None:
    """Return the pattern as far as sums tell it, None where there were no requests."""
    if access is None or not requests.calls:
        return None
    end, forward, backward = map(or_zero, (access.end, access.forward, access.backward))
    unique = min(end, requests.bytes) if not forward else None
    follows = max(requests.calls - forward - backward, 0.0)
    return Pattern(
        requests.calls, requests.bytes, requests.seconds, follows, backward, forward, unique, end,
        is_traced=False,
    )  # fmt: skip


def file_findings(
    file: File, reads: Pattern | None, whole: float, *, is_from_storage: bool
) -> list[Finding]:
    """Return what hurts of how a file is read and written.

    Args:
        file: the file.
        reads: the pattern of its reads, None without any.
        whole: seconds of all I/O.
        is_from_storage: reads came from storage, not from memory.
    """
    hurting = [
        *_tiny(file, "write", TINY_WRITES, "wb", whole),
        *_tiny(file, "read", TINY_READS, "pf", whole),
    ]
    if reads is not None and reads.requests >= _REQUESTS_LEAST:
        hurting += _patterns(file, reads, whole, is_from_storage=is_from_storage)
    hurting += [*_storm(file, whole), *_syncs(file, whole)]
    return [finding for finding in hurting if finding.share >= SHARE_LEAST]


def _share(seconds: float, whole: float) -> float:
    return seconds / whole if whole else 0.0


def _calls(value: float) -> str:
    return number(rounded(value))


def _size(value: float) -> str:
    return quantity(rounded(value), "bytes")


def _tiny(file: File, access: str, kind: str, rule: str, whole: float) -> Iterable[Finding]:
    own = requests_of(file, access)
    if own.calls >= _REQUESTS_LEAST and own.mean <= _TINY_BYTES:
        yield Finding(
            kind, file.path, own.calls, own.seconds, _share(own.seconds, whole),
            f"{_calls(own.calls)} {access}s of {_size(own.mean)} on average",
            "a call of the system costs more than to copy what it moves",
            rule=rule, access=access,
        )  # fmt: skip


def _patterns(
    file: File, reads: Pattern, whole: float, *, is_from_storage: bool
) -> Iterable[Finding]:
    share = _share(reads.seconds, whole)
    total = _calls(reads.requests)
    common = (file.path, reads.requests, reads.seconds, share)
    least = (_PATTERN_SHARE if reads.is_traced else _UNTRACED_SHARE) * reads.requests
    if reads.backward >= least:
        yield Finding(
            BACKWARD, *common, f"{_calls(reads.backward)} of {total} reads went backward",
            "the kernel reads ahead of a reader, not behind it: each read waits for the device",
            rule="pf", access="read",
        )  # fmt: skip
    elif reads.strided >= least:
        what = "at a fixed distance" if reads.is_traced else "behind a gap"
        yield Finding(
            STRIDED, *common, f"{_calls(reads.strided)} of {total} reads began {what}",
            "what the kernel reads ahead is not what is read next",
            rule="pf", access="read",
        )  # fmt: skip
    elif is_from_storage and reads.bytes >= _LARGE_BYTES:
        yield Finding(
            LARGE, *common, f"{total} reads from first to last, {_size(reads.bytes)}",
            "with little read-ahead of the device each part is waited for",
            rule="pf", access="read",
        )  # fmt: skip
    yield from _read_again(file, reads, whole)


def _read_again(file: File, reads: Pattern, whole: float) -> Iterable[Finding]:
    unique = reads.unique_bytes
    if unique is None:
        unique = reads.bytes - file.read_again
    again = reads.bytes - unique
    if again < _AGAIN_BYTES_LEAST or reads.bytes < _AGAIN_TIMES * unique:
        return
    seconds = reads.seconds * again / reads.bytes
    # One block more, as the cache has others while a block is filled.
    needed = (unique if reads.block_bytes is None else reads.block_bytes) + BLOCK
    cache = _CACHE_LEAST
    while cache < needed and cache < _CACHE_MOST:
        cache *= 2
    is_small = cache >= needed
    unit = f"{cache >> 20}m" if cache >= 1 << 20 else f"{cache >> 10}k"
    # Else what is held ends with each close.
    retain = "/retain" if _opens(file) >= _REOPENS_LEAST else ""
    yield Finding(
        AGAIN, file.path, reads.requests * again / reads.bytes, seconds, _share(seconds, whole),
        f"{_size(reads.bytes)} read of {_size(unique)}: each byte "
        f"{number(rounded(reads.bytes / unique))} times",
        "the same bytes are asked for again",
        remedy="" if is_small else "keep what was read, or read in an order that needs it once",
        rule=f"pf/cache_size={unit}/page_size={BLOCK >> 10}k{retain}" if is_small else "",
        access="read",
    )  # fmt: skip


def _opens(file: File) -> float:
    return or_zero(file.reads.opens) if file.reads else 0.0


def _storm(file: File, whole: float) -> Iterable[Finding]:
    own, opens = requests_of(file, "open"), _opens(file)
    if opens >= _OPENS_LEAST and own.seconds >= _STORM_SHARE * or_zero(file.seconds):
        yield Finding(
            STORM, file.path, own.calls, own.seconds, _share(own.seconds, whole),
            f"opened {_calls(opens)} times",
            "each open looks up the path again; on a network it asks the server",
            remedy="open it once, and keep the descriptor", access="open",
        )  # fmt: skip


def _syncs(file: File, whole: float) -> Iterable[Finding]:
    own = requests_of(file, "sync")
    if own.calls >= _SYNCS_LEAST and own.seconds >= _SYNCS_SHARE * whole:
        yield Finding(
            SYNCS, file.path, own.calls, own.seconds, _share(own.seconds, whole),
            f"{_calls(own.calls)} calls of fsync and the like, "
            f"{quantity(own.seconds / own.calls, 's')} each",
            "each waits until the device has what was written",
            remedy="write more between two of them: in a database, more in a transaction",
            access="sync",
        )  # fmt: skip


def folder_findings(files: Sequence[File], whole: float) -> list[Finding]:
    """Return folders with many files that are opened to move little."""
    folders: dict[str, list[File]] = {}
    for file in files:
        if file.kind == "file" and 0 < _opens(file) < _OPENS_LEAST:
            folders.setdefault(file.path.rpartition("/")[0] or "/", []).append(file)
    hurting = []
    for folder, own in folders.items():
        opens = sum(map(_opens, own))
        moved = sum(file.moved("read") + file.moved("write") for file in own)
        seconds = sum(requests_of(file, "open", "ask").seconds for file in own)
        calls = sum(requests_of(file, "open", "ask").calls for file in own)
        total = sum(or_zero(file.seconds) for file in own)
        if (
            opens < _FOLDER_OPENS_LEAST
            or moved > _SMALL_FILE_BYTES * opens
            or seconds < _STORM_SHARE * total
        ):
            continue
        hurting.append(
            Finding(
                FOLDER_STORM,
                folder,
                calls,
                seconds,
                _share(seconds, whole),
                f"{_calls(opens)} opens of {_calls(len(own))} files, "
                f"{_size(moved / opens)} moved by each",
                "to open and close a small file costs more than to read or write it",
                remedy="keep many records in one file (an archive, HDF5, SQLite)",
            )
        )
    return [finding for finding in hurting if finding.share >= SHARE_LEAST]


def direct_findings(file: File, use: FileUse, whole: float) -> list[Finding]:
    """Return requests of direct I/O that are no whole blocks."""
    if io_metrics.DIRECT not in use.opened:
        return []
    own = requests_of(file, "read", "write")
    unaligned = sum(or_zero(access.unaligned) for access in (file.reads, file.writes) if access)
    # Of those that fail nobody knows where they were.
    hurt = unaligned + own.failures
    if hurt < max(_MISALIGNED_SHARE * own.calls, 1):
        return []
    failed = f", {_calls(own.failures)} failed" if own.failures else ""
    return [
        Finding(
            MISALIGNED,
            file.path,
            hurt,
            own.seconds,
            _share(own.seconds, whole),
            f"of {_calls(own.calls)} requests {_calls(unaligned)} are no whole blocks{failed}",
            "a device moves whole blocks: others fail with EINVAL, or are read, changed and "
            "written back",
            remedy="align memory, offsets and sizes to what statx(2) tells (STATX_DIOALIGN), or "
            "leave O_DIRECT out",
        )
    ]  # fmt: skip


def rank_findings(processes: Sequence[Process]) -> list[Finding]:
    """Return a rank that moves nearly all of what a job moves."""
    bytes_of: dict[int, float] = {}
    seconds_of: dict[int, float] = {}
    for own in processes:
        if own.rank >= 0 and own.repetition == 0:
            bytes_of[own.rank] = bytes_of.get(own.rank, 0.0) + own.read + own.written
            seconds_of[own.rank] = seconds_of.get(own.rank, 0.0) + or_zero(own.seconds)
    whole, total = sum(bytes_of.values()), sum(seconds_of.values())
    if len(bytes_of) < 2 or not total:
        return []
    rank = max(bytes_of, key=lambda one: bytes_of[one])
    if bytes_of[rank] < max(_RANK_SHARE * whole, _LARGE_BYTES / 16):
        return []
    calls = sum(own.calls for own in processes if own.rank == rank and own.repetition == 0)
    return [
        Finding(
            ONE_RANK, "", calls, seconds_of[rank], _share(seconds_of[rank], total),
            f"rank {rank} moved {_size(bytes_of[rank])} of {_size(whole)}, of "
            f"{_calls(len(bytes_of))} ranks",
            "the others wait for it, and one process has the bandwidth of one link",
            remedy="let each rank read and write its part (MPI_File_write_at_all, parallel HDF5)",
        )
    ]  # fmt: skip
