"""gmon.out files: every form, what is refused and where, and damaged ones.

Forms that no compiler here makes are synthesised: BSD's, other widths and byte orders, counts of
basic blocks.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from profiled_programs import build, profile

from gnomon.cli.main import main
from gnomon.errors import RunDirectoryError
from gnomon.model.metric import CPU_TIME
from gnomon.store import run_directory, run_files
from gnomon.store.profile_files.gmon import function_times, gmon_sum
from gnomon.store.profile_files.gmon.gmon_file import (
    BSD44_VERSION,
    LAYOUTS,
    GmonArrays,
    GmonFile,
    Histogram,
    Layout,
    is_gmon,
    parse,
)
from gnomon.store.profile_files.gmon.gmon_run import open_gmon
from gnomon.store.run_import import import_file

FILE = Path("gmon.out")
BINS = [0, 3, 0, 65535, 7]


def synthesised(layout: Layout) -> GmonArrays:
    low = 0x40_1000
    histogram = Histogram(low, low + 20, 100, "seconds", "s", np.array(BINS, np.uint32))
    return GmonArrays(
        layout, (histogram,), np.array([low, low + 8], np.uint64),
        np.array([low + 4, low], np.uint64), np.array([5, 1 << 31], np.int64),
        np.array([low + 12], np.uint64), np.array([9], np.int64),
    )  # fmt: skip


def bsd(layout: Layout, *, has_version: bool) -> bytes:
    """Return a file of BSD's form with the content of `synthesised` but for basic blocks."""
    order, letter = layout.order, "Q" if layout.is_wide else "I"
    whole = synthesised(layout)
    version = struct.pack(f"{order}II12x", BSD44_VERSION, 100) if has_version else b""
    size = struct.calcsize(f"{order}{letter}{letter}I") + len(version) + 2 * len(BINS)
    head = struct.pack(f"{order}{letter}{letter}I", 0x40_1000, 0x40_1014, size)
    arcs = b"".join(
        struct.pack(f"{order}3{letter}", *map(int, arc))
        for arc in zip(whole.callers, whole.callees, whole.counts, strict=True)
    )
    return head + version + struct.pack(f"{order}5H", *BINS) + arcs


def read(arrays: GmonArrays) -> GmonFile:
    """Return what a file that holds this is read as."""
    return parse(FILE, gmon_sum.gmon_bytes(arrays), arrays.layout)


def same(one: GmonFile, other: GmonFile | GmonArrays) -> bool:
    """Return whether two files hold the same but for basic blocks."""
    return (
        [(*h[:5], h.bins.tolist()) for h in one.histograms]
        == [(*h[:5], h.bins.tolist()) for h in other.histograms]
        and one.callers.tolist() == other.callers.tolist()
        and one.callees.tolist() == other.callees.tolist()
        and one.counts.tolist() == other.counts.tolist()
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_width_and_byte_order(layout: Layout) -> None:
    whole = synthesised(layout)
    content = gmon_sum.gmon_bytes(whole)
    assert is_gmon(content)
    for given in (layout, None):
        gmon = parse(FILE, content, given)
        assert same(gmon, whole)
        assert gmon.block_addresses.tolist() == whole.block_addresses.tolist()
        assert gmon.block_counts.tolist() == [9]
    for has_version in (False, True):
        content = bsd(layout, has_version=has_version)
        # BSD's old form looks like nothing.
        assert is_gmon(content) == has_version
        for given in (layout, None):
            gmon = parse(FILE, content, given)
            assert same(gmon, whole)
            assert gmon.says_rate == has_version


def test_blocks_of_version_0() -> None:
    blocks = b"".join(
        struct.pack("<QQ", count, address) + b"file.c\0main\0" + struct.pack("<I", 3)
        for count, address in ((7, 0x1000), (1, 0x1010))
    )
    content = b"gmon" + struct.pack("<I12xBI", 0, 2, 2) + b"file.c\0" + blocks
    gmon = parse(FILE, content)
    assert gmon.block_addresses.tolist() == [0x1000, 0x1010]
    assert gmon.block_counts.tolist() == [7, 1]


def test_counts_that_are_too_large_for_a_record() -> None:
    whole = read(synthesised(LAYOUTS[0]))
    adding = gmon_sum.GmonSum(FILE, whole)
    for _ in range(3):
        adding.add(FILE, whole)
    total = adding.file()
    assert total.histograms[0].bins.tolist() == [4 * count for count in BINS]
    assert total.counts.tolist() == [20, 1 << 33]
    assert same(gmon_sum.checked(read(total.arrays()), FILE), total)


def test_arcs_of_several_files_in_any_order() -> None:
    layout = LAYOUTS[0]
    chance = Random(3)
    nothing = np.zeros(0, np.uint64)
    expected: dict[tuple[int, int], int] = {}
    files = []
    for number in range(20):
        # Wide ones, too: nothing may be cut off.
        wide = 1 << 40 if number % 2 else 1
        arcs = [
            (wide * chance.randrange(9), chance.randrange(9), chance.randrange(5))
            for _ in range(chance.randrange(30))
        ]
        for caller, callee, count in arcs:
            expected[caller, callee] = expected.get((caller, callee), 0) + count
        columns = [list(column) for column in zip(*arcs, strict=True)] or [[], [], []]
        files.append(
            GmonArrays(
                layout, (), np.array(columns[0], np.uint64), np.array(columns[1], np.uint64),
                np.array(columns[2], np.int64), nothing, nothing.astype(np.int64),
            )
        )  # fmt: skip
        if number % 5 == 0:
            files.append(files[-1])
            for caller, callee, count in arcs:
                expected[caller, callee] += count
    adding = gmon_sum.GmonSum(FILE, read(files[0]))
    for file in files[1:]:
        adding.add(FILE, read(file))
    total = adding.file()
    pairs = list(zip(total.callers.tolist(), total.callees.tolist(), strict=True))
    assert pairs == list(expected)
    assert total.counts.tolist() == list(expected.values())


HEAD = b"gmon" + struct.pack("<I12x", 1)


def histogram(low: int = 0x1000, high: int = 0x1008, n: int = 2, rate: int = 100) -> bytes:
    return struct.pack("<BQQII15sc", 0, low, high, n, rate, b"seconds", b"s")


@pytest.mark.parametrize(
    ("content", "offset", "said"),
    [
        (b"", 0, "the file is empty"),
        (b"gmon", 4, "ends within a record"),
        (b"gmon" + struct.pack("<I12x", 7), 4, "version is neither 0 nor 1"),
        (HEAD + b"\x05", 20, "a record of kind 5"),
        (HEAD + histogram()[:30], 50, "ends within a record"),
        (HEAD + histogram() + b"\0\0", 21, "2 bins, which is longer than the file"),
        (HEAD + histogram(n=0xFFFFFFFF), 21, "4294967295 bins"),
        (HEAD + histogram(low=0x2000) + bytes(4), 21, "from address 0x2000 to 0x1008"),
        (HEAD + histogram(rate=0) + bytes(4), 21, "0 samples a second"),
        (HEAD + histogram() + bytes(4) + b"\x01" + bytes(11), 65, "ends within an arc"),
        (HEAD + b"\x02" + struct.pack("<I", 0xFFFFFFFF), 21, "4294967295 basic blocks"),
        (bytes(20) + b"\x79\x18\x05\0" + bytes(16), 16, "tells of 0 bytes"),
        (b"some text that is no profile at all", 16, "a header that tells of"),
    ],
)
def test_what_is_refused(content: bytes, offset: int, said: str) -> None:
    with pytest.raises(RunDirectoryError) as caught:
        parse(FILE, content, LAYOUTS[0])
    assert str(caught.value).startswith(f"{FILE}: at byte {offset}: "), caught.value
    assert said in str(caught.value)


def test_files_of_other_programs_are_not_added() -> None:
    whole = synthesised(LAYOUTS[0])
    first = whole.histograms[0]
    others = {
        "overlaps another one": first._replace(low=first.low - 4, high=first.high - 4),
        "another size": first._replace(high=first.high + 20),
        "not of seconds": first._replace(unit="misses", letter="m"),
    }
    for said, other in others.items():
        adding = gmon_sum.GmonSum(FILE, read(whole))
        with pytest.raises(RunDirectoryError, match=said):
            adding.add(FILE, read(whole._replace(histograms=(other,))))
    with pytest.raises(RunDirectoryError, match="another width or byte order"):
        gmon_sum.GmonSum(FILE, read(whole)).add(FILE, read(synthesised(LAYOUTS[2])))


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a program and its gmon.out file."""
    program = build(tmp_path_factory.mktemp("gmon"))
    file = profile(program)
    return program, file.rename(program.parent / "gmon.out")


def test_a_file_is_a_run(profiled: tuple[Path, Path]) -> None:
    program, file = profiled
    run = run_directory.find(str(file))
    own = function_times.program_of(program)
    gmon = parse(file, file.read_bytes(), own.layout)
    times = function_times.function_times(own, gmon, 0) / 100
    rows = run.query(
        "SELECT r.name, SUM(p.exclusive) FROM profile p JOIN paths t USING (path) "
        f"JOIN regions r USING (region) JOIN metrics m USING (metric) WHERE m.name = '{CPU_TIME}' "
        "AND r.kind = 'cpu' GROUP BY r.name"
    )
    expected = {
        name: time for name, time in zip(own.symbols.titles, times.tolist(), strict=True) if time
    }
    # gprof's bins are not where glibc's are: test_annotated_gmon.py has these.
    of_run: dict[str, float] = dict(rows)
    for name in of_run.keys() | expected.keys():
        assert abs(of_run.get(name, 0.0) - expected.get(name, 0.0)) < 0.05, name
    assert sum(time for _, time in rows) == pytest.approx(gmon.core.samples() / 100)
    samples = run.query("SELECT SUM(weight), COUNT(DISTINCT address) FROM samples")
    assert samples[0][0] == pytest.approx(gmon.core.samples() / 100)
    calls = dict(
        run.query("SELECT r.name, SUM(calls) FROM arcs JOIN regions r ON r.region = callee "
                  "GROUP BY r.name")
    )  # fmt: skip
    arcs = function_times.function_arcs(own, gmon, 0)
    counted = dict.fromkeys(calls, 0)
    for callee, count in zip(arcs.callee.tolist(), arcs.counts.tolist(), strict=True):
        counted[own.symbols.titles[callee]] += count
    assert calls == counted
    assert calls["odd"] > 100
    lines = run.query("SELECT DISTINCT file, line FROM regions WHERE name = 'even' AND line > 0")
    assert all(str(name).endswith("program.c") for name, _ in lines)


def test_a_file_alone_has_to_tell_of_its_program(
    profiled: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, file = profiled
    lonely = tmp_path / "gmon.out"
    lonely.write_bytes(file.read_bytes())
    with pytest.raises(RunDirectoryError, match="no program in its folder fits it"):
        run_directory.find(str(lonely))
    monkeypatch.setenv("GNOMON_PROGRAM", str(program))
    assert run_directory.find(str(lonely)).query("SELECT COUNT(*) FROM arcs")[0][0] > 5
    monkeypatch.delenv("GNOMON_PROGRAM")
    monkeypatch.chdir(tmp_path)
    readers = tuple(
        reader._replace(program=str(program))
        if isinstance(reader, run_files.GmonReader)
        else reader
        for reader in run_files.READERS
    )
    assert import_file(lonely, "some", readers) == Path("some.gnomon")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing", "missing: no such file; name the program that wrote the gmon.out file"),
        ("folder", "folder: a directory; name the program"),
        ("pipe", "pipe: a named pipe; name the program"),
        ("text", "text: no program (no ELF file); name the program"),
    ],
)
def test_what_is_no_program_is_named(
    name: str,
    said: str,
    profiled: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("text").write_text("main\n")
    os.mkfifo("pipe")
    assert main(["import", str(profiled[1]), "--program", name, "--name", "some"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"gnomon: {said}"), err.count("\n")) == ("", True, 1), err


def test_a_file_of_nothing_but_a_header(profiled: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "gmon.out"
    file.write_bytes(profiled[1].read_bytes()[:20])
    with pytest.raises(RunDirectoryError, match=r"holds no record.* was killed while it wrote"):
        run_directory.find(str(file))
    run = open_gmon(file, str(profiled[0]), [profiled[1]])
    (warning,) = run.head["warnings"]
    assert warning.startswith(f"{file}: it holds no record")
    assert open_gmon(profiled[1], str(profiled[0])).head["warnings"] == []


def test_the_program_that_ends_where_the_histogram_does(
    profiled: tuple[Path, Path], tmp_path: Path
) -> None:
    program, file = profiled
    shutil.copy(file, tmp_path)
    shutil.copy(program, tmp_path / "wrote_it")
    source = tmp_path / "other.c"
    source.write_text("int main(void)\n{\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-o", tmp_path / "other", source], check=True)
    head = run_directory.find(str(tmp_path / "gmon.out")).head
    assert head["command"] == [str(tmp_path / "wrote_it")]


def damaged(chance: Random, whole: bytes) -> bytes:
    content = bytearray(whole)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(min(len(content), chance.choice((70, len(content)))) + 1)
        how = chance.randrange(4)
        if how == 0:
            content[at : at + chance.choice((1, 4, 8))] = chance.choice(
                (b"\xff" * 8, bytes(8), b"\x7f", b"\x80\0\0\0", b"\x01", b"\x02")
            )
        elif how == 1:
            content[at : at + 1] = bytes([chance.randrange(256)])
        elif how == 2:
            del content[at : at + chance.choice((1, 3, 21, 100))]
        else:
            del content[at:]
    return bytes(content)


def outcome(content: bytes, layout: Layout) -> tuple[GmonFile | None, str]:
    """Return what a file holds, or None and why it is not read."""
    try:
        return gmon_sum.checked(parse(FILE, content, layout), FILE), ""
    except RunDirectoryError as error:
        return None, str(error)


def damage(program: Path, file: Path, n: int, seed: int) -> tuple[int, int]:
    """Return how many of n damaged files were read, and how many refused."""
    own = function_times.program_of(program)
    chance = Random(seed)
    wholes = [file.read_bytes(), gmon_sum.gmon_bytes(synthesised(LAYOUTS[0]))]
    wholes += [bsd(LAYOUTS[0], has_version=has_version) for has_version in (False, True)]
    n_read = 0
    for number in range(n):
        content = damaged(chance, wholes[number % len(wholes)])
        gmon, refusal = outcome(content, own.layout)
        if gmon is None:
            assert refusal.startswith(f"{FILE}: ")
            assert refusal.isprintable()
            continue
        shift = function_times.shift_of(own, gmon)
        arcs = function_times.function_arcs(own, gmon, shift)
        n_functions = len(own.symbols.start)
        assert not len(arcs.caller) or 0 <= arcs.caller.min() <= arcs.caller.max() < n_functions
        assert np.isfinite(function_times.function_times(own, gmon, shift)).all()
        n_read += 1
    return n_read, n - n_read


def test_damaged_files(profiled: tuple[Path, Path]) -> None:
    assert min(damage(*profiled, 2000, 5)) > 200


@pytest.mark.long
def test_a_hundred_thousand_damaged_files(profiled: tuple[Path, Path]) -> None:
    assert sum(damage(*profiled, 100_000, 7)) == 100_000


_PEAK = """
import resource, struct, sys
from pathlib import Path
from gnomon.store.profile_files.gmon import gmon_sum
from gnomon.store.profile_files.gmon.gmon_file import LAYOUTS, parse
kind, size = sys.argv[1], int(sys.argv[2])
layout = LAYOUTS[0]
head = b"gmon" + struct.pack("<I12x", 1)
if kind == "bins":
    n = size // 2
    content = head + struct.pack("<BQQII15sc", 0, 0, 4 * n, n, 100, b"seconds", b"s") + bytes(2 * n)
elif kind == "arcs":
    arc = struct.pack("<BQQI", 1, 0x1000, 0x2000, 1)
    content = head + arc * (size // len(arc))
elif kind == "blocks":
    layout = LAYOUTS[1]
    content = head + struct.pack("<BI", 2, size // 8) + bytes(size // 8 * 8)
else:
    layout = LAYOUTS[1]
    content = struct.pack("<IIIH", 0, 4, 14, 0) + bytes(size // 12 * 12)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gmon_sum.checked(parse(Path("gmon.out"), content, layout), Path("gmon.out"))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / len(content))
"""


@pytest.mark.parametrize("kind", ["bins", "arcs", "blocks", "BSD"])
def test_memory_is_bounded_by_the_size_of_the_file(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, kind, str(40_000_000)], check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    # The content itself is there before.
    assert float(done.stdout) < 3


def test_a_file_of_another_program_is_told_from_its_own(
    profiled: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    own, file = profiled
    # At the same addresses as in a program without optimisation few arcs are told apart.
    other = build(tmp_path, ".cpp", "-O2", "-finline", "-fipa-cp")
    file_of_other = profile(other)
    said = "seems to be of another program, or of another build of"
    for program, gmon, is_own in (
        (own, file, True), (other, file_of_other, True),
        (own, file_of_other, False), (other, file, False),
    ):  # fmt: skip
        assert main(["callgraph", str(program), str(gmon), "--report", "flat"]) == 0
        assert (said in capsys.readouterr().err) is not is_own
        monkeypatch.setenv("GNOMON_PROGRAM", str(program))
        (tmp_path / "alone.out").write_bytes(gmon.read_bytes())
        warnings = run_directory.find(str(tmp_path / "alone.out")).head["warnings"]
        assert any(said in warning for warning in warnings) is not is_own
