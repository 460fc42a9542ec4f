"""What gnomon-io-replay is told of events, and that nothing hostile makes it do harm."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from gnomon.errors import GnomonError
from gnomon.installation import LIBRARY_FOLDER
from gnomon.io.file_events import BLOCK, FileEvents, are_open_at_once, busiest_site, pattern_of
from gnomon.io.mio_proposal import mio_files
from gnomon.io.replay import compare, match
from gnomon.io.replay_operations import (
    CLOSE,
    OPEN,
    READ,
    SECONDS_MOST,
    SEEK,
    SLOTS_MOST,
    SYNC,
    WRITE,
    OperationList,
    operations_of,
)

PROGRAM = LIBRARY_FOLDER / "gnomon-io-replay"
HEADER = struct.Struct("=8s4I3Q")
OPERATION = struct.Struct("=2I3Q")
MAGIC = b"\x89GNPLAY\0"
ON_SCRATCH = 1

Row = tuple[str, str, float, float, float]
"""Name, access, offset, bytes, opening."""


def events(rows: Iterable[Row], location: int = 0, duration_ns: float = 1000.0) -> FileEvents:
    listed = list(rows)
    names, accesses, *numbers = zip(*listed, strict=True)
    offsets, sizes, openings = (np.array(column, np.float64) for column in numbers)
    n = len(listed)
    return FileEvents(
        np.full(n, location), openings, np.arange(n) % 2, np.array(names, object),
        np.array(accesses, object), offsets, sizes, sizes, np.arange(n) * 2000,
        np.full(n, duration_ns),
    )  # fmt: skip


def reads(offsets: Iterable[float], size: float = 10.0, opening: float = 0.0) -> FileEvents:
    return events([("pread", "read", offset, size, opening) for offset in offsets])


def operations(own: OperationList) -> list[tuple[int, ...]]:
    content = own.content[HEADER.size :]
    return [OPERATION.unpack_from(content, at) for at in range(0, len(content), OPERATION.size)]


def of_events(own: FileEvents, begin: int = 0, *, has_pauses: bool = False) -> OperationList:
    made = operations_of(own, begin, is_cold=False, has_pauses=has_pauses)
    assert made is not None
    return made


# --- patterns -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offsets", "sequential", "backward", "strided", "unique"),
    [
        ([0, 10, 20, 30], 3, 0, 0, 40),
        ([30, 20, 10, 0], 0, 3, 0, 40),
        ([0, 100, 200, 300], 0, 0, 2, 40),
        ([0, 100, 150, 300], 0, 0, 0, 40),
        ([300, 200, 100, 0], 0, 2, 0, 40),
        ([300, 100, 250, 0, 50], 0, 0, 0, 50),
        ([0, 0, 0, 5], 0, 0, 0, 15),
        ([5], 0, 0, 0, 10),
        ([], 0, 0, 0, 0),
    ],
)
def test_patterns(
    offsets: list[float], sequential: int, backward: int, strided: int, unique: int
) -> None:
    own = pattern_of(reads(offsets) if offsets else reads([1]).where(np.zeros(1, bool)))
    assert own.requests == len(offsets)
    assert (own.sequential, own.backward, own.strided) == (sequential, backward, strided)
    assert own.unique_bytes == unique
    assert own.block_bytes == (BLOCK if offsets else 0)


def test_each_open_file_has_a_pattern_of_its_own() -> None:
    rows: list[Row] = []
    for number in range(10):
        rows += [("pread", "read", 10.0 * number, 10, 0), ("pread", "read", 90.0 - number, 1, 1)]
    own = pattern_of(events(rows))
    assert (own.sequential, own.backward) == (9, 9)


def test_the_site_with_most_time() -> None:
    own = reads([0, 1, 2])
    assert busiest_site(own) == 0
    assert busiest_site(own._replace(path=np.full(3, -1))) == -1


def test_a_file_that_is_not_closed_is_open_for_ever() -> None:
    writer = events([("write", "write", 0, 1, 0), ("close", "", np.nan, np.nan, 0)])
    reader = reads([0])._replace(location=np.array([1]), start_ns=np.array([9000]))

    def both(first: FileEvents) -> FileEvents:
        return FileEvents(*(np.concatenate(own) for own in zip(first, reader, strict=True)))

    assert not are_open_at_once(both(writer), frozenset((0,)))
    assert are_open_at_once(both(writer.where(np.array([True, False]))), frozenset((0,)))


# --- operations -----------------------------------------------------------------------------------


def test_events_become_operations() -> None:
    nan = float("nan")
    made = of_events(
        events(
            [
                ("open", "", nan, nan, 7),
                ("write", "write", 0, 100, 7),
                ("lseek", "", 20, nan, 7),
                ("read", "read", 20, 50, 7),
                ("close", "", nan, nan, 7),  # of a duplicate
                ("fsync", "", nan, nan, 7),
                ("close", "", nan, nan, 7),
            ]
        ),
        5,
    )
    assert [own[0] for own in operations(made)] == [OPEN, WRITE, SEEK, READ, SYNC, CLOSE]
    magic, _, _, flags, _, n, begin, end = HEADER.unpack_from(made.content)
    assert (magic, flags, n, begin, end) == (MAGIC, ON_SCRATCH, 6, 5, 100)
    assert made.writes


def test_what_nobody_knows_is_left_out() -> None:
    nan = float("nan")
    own = reads([0, 10, 20, nan, -5.0, 1e300, float("inf")])
    made = of_events(own)
    assert made.left_out == 4
    assert [one[0] for one in operations(made)] == [OPEN, READ, READ, READ, CLOSE]
    assert HEADER.unpack_from(made.content)[6] == 30
    assert operations_of(reads([nan, 0]), 0, is_cold=False, has_pauses=False) is not None
    for unknown in (reads([nan]), reads([0], opening=nan), reads([0]).where(np.zeros(1, bool))):
        assert operations_of(unknown, 0, is_cold=False, has_pauses=False) is None


def test_only_so_much_is_replayed() -> None:
    own = reads(range(100))
    made = of_events(own._replace(duration_ns=np.full(100, 1e9)))
    assert made.later == 100 - int(SECONDS_MOST) - 1
    crowd = events([("pread", "read", 0, 1, n) for n in range(300)] * 2)
    assert of_events(crowd).left_out == 2 * (300 - SLOTS_MOST)


def test_pauses_are_between_calls_and_bounded() -> None:
    own = reads([0, 10, 20])._replace(start_ns=np.array([0, 5000, 9_000_000_000_000]))
    assert [one[4] for one in operations(of_events(own, has_pauses=True))] == [
        0, 0, 4000, 1_000_000_000, 0,
    ]  # fmt: skip
    assert {one[4] for one in operations(of_events(own))} == {0}


# --- the program ----------------------------------------------------------------------------------


@pytest.fixture
def users_file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)) * 256)
    return path


def play(
    folder: Path, users: Path, content: bytes, modules: str = ""
) -> subprocess.CompletedProcess[str]:
    (folder / "list").write_bytes(content)
    before = (users.read_bytes(), users.stat().st_mtime_ns)
    done = subprocess.run(
        [PROGRAM, "play", folder / "list", users, folder, modules],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (users.read_bytes(), users.stat().st_mtime_ns) == before
    assert {path.name for path in folder.iterdir()} == {"list", "data"}
    return done


def as_list(*rows: tuple[int, ...], flags: int = 0, begin: int = 0, end: int = 1 << 16) -> bytes:
    head = HEADER.pack(MAGIC, 0x01020304, 1, flags, 0, len(rows), begin, end)
    return head + b"".join(OPERATION.pack(*own) for own in rows)


READING = as_list((OPEN, 0, 0, 0, 0), (READ, 0, 0, 4096, 0), (CLOSE, 0, 0, 0, 0))
WRITING = as_list((OPEN, 0, 0, 0, 0), (WRITE, 0, 8, 4096, 0), flags=ON_SCRATCH)


def test_operations_are_done(tmp_path: Path, users_file: Path) -> None:
    for modules in ("", "pf", "wb", "wb | pf/cache_size=64k"):
        done = play(tmp_path, users_file, READING, modules)
        assert done.returncode == 0, done.stderr
        assert "read_bytes 4096\nwritten_bytes 0\nfailures 0" in done.stdout
        assert "is_scratch 0" in done.stdout
        done = play(tmp_path, users_file, WRITING, modules)
        assert "read_bytes 0\nwritten_bytes 4096\nfailures 0" in done.stdout
        assert "is_scratch 1" in done.stdout


def test_the_users_file_is_never_opened_for_writing(tmp_path: Path, users_file: Path) -> None:
    tracer: list[str | Path] = [
        "strace",
        "-f",
        "-e",
        "trace=openat,open,creat",
        "-o",
        tmp_path.parent / "trace",
    ]
    (tmp_path / "list").write_bytes(WRITING)
    command: list[str | Path] = [
        *tracer,
        PROGRAM,
        "play",
        tmp_path / "list",
        users_file,
        tmp_path,
        "wb",
    ]
    subprocess.run(command, check=True, capture_output=True)
    lines = (tmp_path.parent / "trace").read_text().splitlines()
    of_file = [line for line in lines if str(users_file) in line]
    assert of_file
    assert all("O_RDONLY" in line for line in of_file)
    assert any("O_TMPFILE" in line for line in lines)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "at byte 0: it is truncated"),
        (READING[:-1], "at byte 24: it is shorter or longer than its operations"),
        (b"\0" * len(READING), "at byte 0: this is no list"),
        (as_list(flags=0), "at byte 24: it has no operations"),
        (as_list((OPEN, 0, 0, 0, 0), flags=8), "at byte 16: it has unknown flags"),
        (as_list((99, 0, 0, 0, 0)), "at byte 48: an operation of no kind"),
        (as_list((OPEN, 256, 0, 0, 0)), "at byte 48: too many open files"),
        (as_list((READ, 0, 0, 1, 0)), "at byte 48: a file is used that is not open"),
        (as_list((OPEN, 0, 0, 0, 0), (OPEN, 0, 0, 0, 0)), "at byte 80: a file that is open"),
        (as_list((OPEN, 0, 0, 0, 0), (WRITE, 0, 0, 1, 0)), "at byte 80: a write where no"),
        (as_list((OPEN, 0, 0, 0, 0), (READ, 0, 1, 1 << 16, 0)), "a request beyond the end"),
        (as_list((OPEN, 0, 0, 0, 0), (READ, 0, 2**64 - 1, 8, 0)), "a request beyond the end"),
        (as_list((OPEN, 0, 0, 0, 2**60)), "too long a pause"),
        (as_list((OPEN, 0, 0, 0, 0), end=1 << 62), "at byte 40: the file would be too large"),
        (as_list((OPEN, 0, 0, 0, 0), begin=1 << 62), "at byte 32: the file would be too large"),
        (as_list((OPEN, 0, 0, 0, 0), flags=ON_SCRATCH, end=1 << 46), "a scratch copy takes"),
        (as_list((OPEN, 0, 0, 0, 0), begin=1 << 34), "16384 MiB, and at most 8192 are copied"),
    ],
)
def test_hostile_lists_are_refused(
    tmp_path: Path, users_file: Path, content: bytes, says: str
) -> None:
    done = play(tmp_path, users_file, content)
    assert done.returncode == 1
    assert says in done.stderr


def test_damaged_lists_do_no_harm(tmp_path: Path, users_file: Path) -> None:
    random = Random(5)
    whole = as_list(
        (OPEN, 0, 0, 0, 0), (READ, 0, 0, 100, 0), (WRITE, 0, 50, 100, 0), (SEEK, 0, 9, 0, 0),
        (SYNC, 0, 0, 0, 0), (CLOSE, 0, 0, 0, 0), flags=ON_SCRATCH, begin=100, end=1000,
    )  # fmt: skip
    statuses = set()
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            damaged[random.randrange(len(damaged))] = random.choice((0, 1, 2, 255))
        # A pause may be as long as a minute.
        done = play(tmp_path, users_file, bytes(damaged), random.choice(("", "wb", "pf")))
        assert done.returncode in (0, 1), done
        assert (done.stderr == "") == (done.returncode == 0)
        statuses.add(done.returncode)
    assert statuses == {0, 1}


@pytest.mark.parametrize(
    "modules",
    ["trace/stats=stolen", "trace/events=stolen", "pf/stats={stolen}", "mio/set_oflags=02",
     "mio/mode=0777", "aix/debug", "pf/", "nothing", "wb | "],
)  # fmt: skip
def test_modules_that_could_do_more_are_refused(
    tmp_path: Path, users_file: Path, modules: str
) -> None:
    done = play(tmp_path, users_file, READING, modules)
    assert done.returncode == 1
    assert done.stderr


def test_no_regular_file_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data")
    (tmp_path / "list").write_bytes(READING)
    done = subprocess.run(
        [PROGRAM, "play", tmp_path / "list", tmp_path / "data", tmp_path, ""],
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    assert "is_scratch 1" in done.stdout


def test_why_it_cannot_be_replayed(tmp_path: Path, users_file: Path) -> None:
    made = of_events(events([("write", "write", 0, 10, 0)]))
    with pytest.raises(GnomonError, match="no scratch file can be made there"):
        compare(made, str(users_file), str(tmp_path / "missing"), "wb")
    with pytest.raises(GnomonError, match="no program can be given"):
        compare(made, "a\0b", str(tmp_path), "wb")


# --- MIO_FILES ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modules", "others", "text"),
    [
        ({"/a/log": "wb"}, ["/a/data"], "log [ wb ]"),
        ({"/a/log": "wb"}, ["/b/log"], "/a/log [ wb ]"),
        ({"/a/log": "wb", "/a/data": "pf"}, [], "log [ wb ] data [ pf ]"),
        ({f"/a/out.{n}": "wb" for n in range(12)}, ["/a/in.1"], "out.* [ wb ]"),
        ({f"/a/out.{n}": "wb" for n in range(3)}, ["/a/out.x"], "out.0:out.1:out.2 [ wb ]"),
        ({"/a/log": "wb", "/a/x": "wb"}, ["/b/log"], "/a/log:x [ wb ]"),
        ({"/a/x [1]:y": "wb"}, [], "x??1??y [ wb ]"),
        ({"/a/b*c": "wb"}, ["/a/bxc"], "/a/b?c [ wb ]"),
        ({}, ["/a"], ""),
    ],
)
def test_templates(modules: dict[str, str], others: list[str], text: str) -> None:
    made = mio_files(modules, others)
    assert made == text
    if made:
        lists = match(made, list(modules))
        assert all(own >= 0 for own in lists)
