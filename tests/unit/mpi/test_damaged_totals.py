"""Files of MPI totals that are cut short, damaged or nonsense: read, or refused with one error."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest
import totals_files
from damaged_records import changed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from totals_files import CLOSED, NONE, PLACES, RECORDS, SEND, content, frame, module, site, size

from gnomon.errors import FormatError
from gnomon.measurement.totals_file import read_totals
from gnomon.mpi.mpi_tables import collect

WHOLE = content(totals_files.usual())
N_RECORDS = (len(WHOLE) - RECORDS) // totals_files.BYTES


def refused(folder: Path, whole: bytes) -> tuple[str, int]:
    """Return why a file is refused, and where."""
    path = folder / "x.mpi.totals"
    path.write_bytes(whole)
    with pytest.raises(FormatError) as caught:
        read_totals(path)
    assert str(path) in str(caught.value)
    return str(caught.value).partition(": ")[2], caught.value.offset


def with_field(name: str, layout: str, value: float) -> bytes:
    """Return the file with another value in its header."""
    changed_file = bytearray(WHOLE)
    struct.pack_into("=" + layout, changed_file, PLACES[name], value)
    return bytes(changed_file)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.mpi.totals"
    path.write_bytes(WHOLE)
    read = read_totals(path)
    assert (read.name, read.program, read.host, read.pid) == ("app", "/nowhere/app", "node", 100)
    assert read.routines == totals_files.ROUTINES
    assert len(read.sites) == 3
    assert read.texts == {("module", 0): "/nowhere/app", ("communicator", 0): "MPI_COMM_WORLD"}


@pytest.mark.parametrize(
    ("name", "layout", "value", "why"),
    [
        ("version", "I", 2, "version 2"),
        ("n_routines", "I", 1 << 20, "names and records"),
        ("names", "Q", 0, "names and records"),
        ("records", "Q", 1 << 40, "names and records"),
        ("tail", "Q", 1 << 40, "which no file has"),
        ("tail", "Q", RECORDS + 63, "no whole number of records"),
        ("tail", "Q", RECORDS + 64 * 1000, "cut short"),
        ("ticks_hz", "d", 0.0, "of no clock"),
        ("ticks_hz", "d", float("nan"), "of no clock"),
        ("ticks_hz", "d", float("inf"), "of no clock"),
        ("rank", "i", -2, "no process has rank -2"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(
    name: str, layout: str, value: float, why: str, tmp_path: Path
) -> None:
    said, _ = refused(tmp_path, with_field(name, layout, value))
    assert why in said


@pytest.mark.parametrize("n_bytes", [0, 7, 20, 1000, 5000, RECORDS - 1, len(WHOLE) - 1])
def test_a_file_that_is_cut_short_is_refused(n_bytes: int, tmp_path: Path) -> None:
    refused(tmp_path, WHOLE[:n_bytes])


def test_a_process_may_be_killed_before_its_file_has_room(tmp_path: Path) -> None:
    whole = bytearray(content(totals_files.usual(), flags=0))
    struct.pack_into("=Q", whole, PLACES["tail"], len(whole) + 16 * totals_files.BYTES)
    path = tmp_path / "x.mpi.totals"
    path.write_bytes(whole + b"\0" * 100)
    assert len(read_totals(path).sites) == 3


def test_what_is_behind_the_records_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.mpi.totals"
    path.write_bytes(WHOLE + b"\xff" * 640)
    assert len(read_totals(path).sites) == 3


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (struct.pack("=H", 10), "a record of no kind"),
        (site(len(totals_files.ROUTINES), NONE, 1, 1), "a routine that has no name"),
        (size(SEND, 65, 1, 1, 1), "sizes of no class"),
        (module(3, b"\1" * 33), "a build id that is too long"),
        (frame(1, 0, 0, 5), "a frame that is there twice"),
        (frame(7, 8, 0, 5), "before its caller"),
        (frame(7, 7, 0, 5), "before its caller"),
        (next(iter(totals_files.text(20, 0, "x"))), "a text of nothing"),
        (struct.pack("=2H3I", 8, 5, 0, 1 << 20, 0), "more than 1024 parts"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(record: bytes, why: str, tmp_path: Path) -> None:
    said, offset = refused(tmp_path, content([*totals_files.usual(), record]))
    assert why in said
    assert offset == RECORDS + totals_files.BYTES * N_RECORDS


def damaged(seed: int) -> bytes:
    """Return the file with a header, a record or a few numbers that are others."""
    random = Random(seed)
    whole = bytearray(WHOLE)
    for _ in range(random.randrange(1, 4)):
        at = random.choice((0, *range(RECORDS, len(whole), totals_files.BYTES)))
        end = at + (144 if at == 0 else totals_files.BYTES)
        whole[at:end] = changed(random, bytes(whole[at:end]))[: end - at].ljust(end - at, b"\0")
    if random.random() < 0.2:
        del whole[random.randrange(len(whole)) :]
    return bytes(whole)


@given(seed=st.integers(0, 2**32))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_refused(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "node.100.1.mpi.totals"
    path.write_bytes(damaged(seed))
    try:
        read_totals(path)
        is_read = True
    except FormatError:
        is_read = False
    collected = collect(tmp_path)
    tables = tuple(collected.tables)
    is_refused = any("cannot be read" in warning for warning in collected.warnings)
    assert is_read is not is_refused
    assert bool(tables) is is_read
    numbers = {table.schema.name: len(table) for table in tables}
    for table in tables:
        for name in {"path", "parent", "region", "location", "metric", "receiver"} & {
            column.name for column in table.schema.columns
        }:
            column = next(one for one in table.schema.columns if one.name == name)
            if column.refers:
                assert table.numbers(name).max(initial=-1) < numbers[column.refers]
                assert table.numbers(name).min(initial=0) >= -1


def test_some_damaged_files_are_read_and_some_refused(tmp_path: Path) -> None:
    outcomes = set()
    for seed in range(60):
        path = tmp_path / "x.mpi.totals"
        path.write_bytes(damaged(seed))
        try:
            read_totals(path)
            outcomes.add("read")
        except FormatError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_closed_files_say_so(tmp_path: Path) -> None:
    path = tmp_path / "x.mpi.totals"
    path.write_bytes(content([], flags=CLOSED))
    assert read_totals(path).is_closed
    assert not read_totals(path).is_finalized
