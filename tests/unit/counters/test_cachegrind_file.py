"""The reader of cachegrind's files: what it reads, and that nothing else gets through."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.counters.emulation.cachegrind import read
from gnomon.counters.emulation.engine import Line
from gnomon.counters.emulation.process_images import processes
from gnomon.counters.emulation.valgrind import Valgrind
from gnomon.errors import FormatError, GnomonError

WHOLE = b"""desc: I1 cache:         65536 B, 64 B, 16-way associative
cmd: ./app -n 3
events: Ir Dr Dw
fl=/src/app.c
fn=main
10 5 1 1
11 100 50 .
fn=work
20 7
fl=???
fn=???
0 3 1 1
fl=/src/app.c
fn=main
11 1
summary: 116 52 2
"""
LARGEST = 2**63 - 1


def file_of(folder: Path, data: bytes, name: str = "counts.1") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_file_is_read(tmp_path: Path) -> None:
    file = read(file_of(tmp_path, WHOLE))
    assert file.command == "./app -n 3"
    assert file.events == ("Ir", "Dr", "Dw")
    assert file.totals == (116, 52, 2)
    assert file.lines() == {
        Line("/src/app.c", "main", 10): (5, 1, 1),
        Line("/src/app.c", "main", 11): (101, 50, 0),
        Line("/src/app.c", "work", 20): (7, 0, 0),
        Line("", "", 0): (3, 1, 1),
    }


FORTRAN = b"""cmd: ./app
events: Ir
fl=/src/grid.F90
fn=__grid_MOD_sweep._omp_fn.0
10 5
fn=__grid.parts_MOD_own
12 5
fn=solve_
20 7
fn=inner.0
22 1
fn=MAIN__
30 1
fn=timer_
40 1
fn=start_.constprop.0
50 1
fl=/src/body.inc
fn=solve_
3 1
fl=/src/glue.c
fn=timer
1 1
fn=timer_c_
2 1
fl=???
fn=__grid_MOD_norm
0 1
fn=mpi_send_
0 1
summary: 26
"""


def test_procedures_of_fortran_have_the_names_that_debuggers_show(tmp_path: Path) -> None:
    lines = read(file_of(tmp_path, FORTRAN)).lines()
    assert {(Path(line.file).name, line.function) for line in lines} == {
        ("grid.F90", "grid::sweep._omp_fn.0"),
        ("grid.F90", "grid.parts::own"),
        ("grid.F90", "solve"),
        ("grid.F90", "inner.0"),
        ("grid.F90", "MAIN__"),
        # There is a function `timer` in C beside it.
        ("grid.F90", "timer_"),
        ("grid.F90", "start.constprop.0"),
        ("body.inc", "solve"),
        ("glue.c", "timer"),
        ("glue.c", "timer_c_"),
        ("", "grid::norm"),
        ("", "mpi_send_"),
    }


def test_what_another_file_has_too_is_taken_off(tmp_path: Path) -> None:
    base = WHOLE.replace(b"11 100 50 .", b"11 40 20 .").replace(b"116 52 2", b"56 22 2")
    file = read(file_of(tmp_path, WHOLE))
    assert file.lines(read(file_of(tmp_path, base, "counts.2"))) == {
        Line("/src/app.c", "main", 11): (60, 30, 0)
    }
    assert file.lines(file) == {}


def test_a_program_that_did_nothing(tmp_path: Path) -> None:
    file = read(file_of(tmp_path, b"cmd: x\nevents: Ir\nsummary: 0\n"))
    assert file.lines() == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"summary: 116 52 2\n", b"", "truncated"),
        (b"summary: 116 52 2", b"summary: 117 52 2", "add up"),
        (b"summary: 116 52 2", b"summary: 116 52", "damaged summary"),
        (b"summary: 116 52 2\n", b"summary: 116 52 2\nfl=x\n", "follows the summary"),
        (b"10 5 1 1", b"10 5 1 1 1", "4 counts of 3 events"),
        (b"10 5 1 1", b"10 -5 1 1", "a count that is none"),
        (b"10 5 1 1", b"10 5x 1 1", "a count that is none"),
        (b"10 5 1 1", b"10 18446744073709551616 1 1", "a count that is none"),
        (b"10 5 1 1", b"ten 5 1 1", "neither counts nor a name"),
        (b"10 5 1 1", b"99999999999 5 1 1", "neither counts nor a name"),
        (b"fl=/src/app.c\nfn=main\n10", b"fl=/src/app.c\n10", "before the function"),
        (b"events: Ir Dr Dw", b"events: Ir Dr Ir", "twice"),
        (b"cmd: ./app -n 3\n", b"", "no command is named"),
        (b"desc:", b"MZ", "not a file of cachegrind's"),
        (WHOLE, b"", "truncated"),
        (WHOLE, b"\x7fELF\0\0", "truncated"),
    ],
)
def test_damage_is_named_with_its_place(old: bytes, new: bytes, said: str, tmp_path: Path) -> None:
    assert old in WHOLE
    path = file_of(tmp_path, WHOLE.replace(old, new, 1))
    with pytest.raises(FormatError, match=said) as caught:
        read(path).lines()
    assert str(path) in str(caught.value)
    assert "at byte" in str(caught.value)
    assert 0 <= caught.value.offset <= path.stat().st_size


def test_place_of_a_bad_row_is_its_offset(tmp_path: Path) -> None:
    path = file_of(tmp_path, WHOLE.replace(b"11 100 50", b"11 1?0 50"))
    with pytest.raises(FormatError) as caught:
        read(path).lines()
    assert path.read_bytes()[caught.value.offset :].startswith(b"11 1?0")


@examples(300)
@given(data=st.data())
def test_no_damage_gets_through_as_another_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(at, min(at + 12, len(whole))))
        whole[at:end] = data.draw(st.binary(max_size=12))
    path = file_of(tmp_path_factory.mktemp("f"), bytes(whole))
    try:
        lines = read(path).lines()
    except FormatError as error:
        lines, offset = {}, error.offset
    else:
        offset = 0
    assert 0 <= offset <= len(whole)
    for counts in lines.values():
        assert all(0 <= count <= LARGEST for count in counts)


names = st.text("abc/._ %?é", min_size=1, max_size=8)
profiles = st.dictionaries(
    st.tuples(names, names),
    st.dictionaries(
        st.integers(0, 9999), st.tuples(st.integers(1, 2**40), st.integers(0, 2**40)), min_size=1
    ),
    max_size=6,
)


@given(profile=profiles)
def test_whatever_cachegrind_writes_is_read(
    profile: dict[tuple[str, str], dict[int, tuple[int, int]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rows = ["cmd: x", "events: Ir Dr"]
    totals = [0, 0]
    expected: dict[Line, tuple[int, int]] = {}
    for (file, function), lines in profile.items():
        rows += [f"fl={file}", f"fn={function}"]
        for number, (ir, dr) in lines.items():
            rows.append(f"{number} {ir} {dr}")
            totals = [totals[0] + ir, totals[1] + dr]
            place = ["" if name == "???" else name for name in (file, function)]
            key = Line(place[0], place[1], number)
            known = expected.get(key, (0, 0))
            expected[key] = (known[0] + ir, known[1] + dr)
    rows.append(f"summary: {totals[0]} {totals[1]}\n")
    assert read(file_of(tmp_path_factory.mktemp("f"), "\n".join(rows).encode())).lines() == expected


def test_a_folder_of_nonsense_is_an_error_or_nothing(tmp_path: Path) -> None:
    """The measured program could write there too."""
    assert processes(tmp_path, ("Ir",)).processes == ()
    (tmp_path / "counts.x").write_text("ignored")
    (tmp_path / "log.7").write_bytes(b"\xff\0**7** gnomon-mark fork 99999999999999999999 zz\n")
    found = processes(tmp_path, ("Ir",))
    assert found.processes == ()
    assert "process 7 left no counts" in found.notes[0]
    file_of(tmp_path, WHOLE, "counts.7")
    with pytest.raises(FormatError, match="it counts Ir Dr Dw, and not Ir"):
        processes(tmp_path, ("Ir",))


def test_a_child_that_counts_less_than_it_began_with_is_damage(tmp_path: Path) -> None:
    (tmp_path / "log.7").write_text("**7** gnomon-mark image 7 a1\n")
    (tmp_path / "log.8").write_text("**8** gnomon-mark fork 7 a1\n")
    file_of(tmp_path, WHOLE, "counts.7")
    more = WHOLE.replace(b"11 100 50 .", b"11 101 50 .").replace(b"116 52 2", b"117 52 2")
    file_of(tmp_path, more, "counts.8")
    with pytest.raises(GnomonError, match="counts less than"):
        processes(tmp_path, ("Ir", "Dr", "Dw"))


@pytest.mark.parametrize("log", ["", "unhandled instruction bytes:", "Unrecognised instruction"])
def test_logs_that_say_nothing_explain_nothing(log: str, tmp_path: Path) -> None:
    (tmp_path / "log.7").write_text(log)
    assert Valgrind().explain(tmp_path, 4) == ""


def test_an_unknown_instruction_is_shown(tmp_path: Path) -> None:
    (tmp_path / "log.7").write_text(
        "vex amd64->IR: unhandled instruction bytes: 0x8F 0xE9 0x78 0x12 0xC0 0x0 0x0 0x0\n"
        "==7== Unrecognised instruction at address 0x109131.\n"
        "==7==    at 0x109131: main (app.c:4)\n"
    )
    said = Valgrind().explain(tmp_path, 4)
    assert "8f e9 78 12 c0 00 00 00 in main (app.c:4)" in said
