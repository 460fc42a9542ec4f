"""Call graphs of any shape and damaged gmon.out files in C; test_extension.py runs it."""

from __future__ import annotations

import struct
import sys
from array import array
from random import Random

from exercise_steps import check_leaks, run

from gnomon.callgraph import _call_graph
from gnomon.store.profile_files.gmon import _gmon

LOW = 0x40_1000
N_FUNCTIONS = 6
# Start, end, flags and file; the last one lies behind the section that its end is of.
FUNCTIONS = b"".join(
    struct.pack("=2Q2I", LOW + 16 * at, LOW + 16 * (at + 1) - 40 * (at == N_FUNCTIONS - 1), 0, 0)
    for at in range(N_FUNCTIONS)
)
NAMES = ("main", "_start", "größe", "mcount", "bad\udcffname", "")
VALUES = (0.0, 1.0, 0.005, 2.675, 1e15, 1e300, 5e-324, -0.0, -1.5, float("nan"), float("inf"))
COLUMNS = (
    "cycle", "calls", "self_calls", "children_time", "own", "children", "is_shown", "index",
    "order", "arc_own", "arc_children", "first_member", "members",
)  # fmt: skip
COUNTS = (0, 1, 7, 123456789, -1, (1 << 63) - 1, -(1 << 63))


def synthesised(order: str, letter: str, version: int) -> bytes:
    """Return a file of GNU's form with all kinds of records."""
    arcs = [(LOW + 4, LOW + 16, 5), (LOW + 36, LOW, 1 << 31), (LOW + 4, LOW + 16, 2)]
    blocks = struct.pack(f"{order}BI2{letter}", 2, 1, LOW, 9)
    if version == 0:
        blocks = struct.pack(f"{order}BI", 2, 1) + b"a.c\0"
        blocks += struct.pack(f"{order}2{letter}", 9, LOW) + b"a.c\0f\0" + bytes(4)
    return b"".join(
        (
            b"gmon", struct.pack(f"{order}I12x", version),
            struct.pack(f"{order}B2{letter}2I15sc", 0, LOW, LOW + 120, 5, 100, b"seconds", b"s"),
            struct.pack(f"{order}5H", 0, 3, 0, 65535, 7),
            *(struct.pack(f"{order}B2{letter}I", 1, *arc) for arc in arcs), blocks,
        )
    )  # fmt: skip


def bsd(order: str, letter: str) -> bytes:
    size = struct.calcsize(f"{order}2{letter}I")
    return b"".join(
        (
            struct.pack(f"{order}2{letter}I", LOW, LOW + 20, size + 20 + 10),
            struct.pack(f"{order}2I12x", _gmon.BSD44_VERSION, 100),
            struct.pack(f"{order}5H", 0, 3, 0, 65535, 7),
            struct.pack(f"{order}3{letter}", LOW + 4, LOW + 16, 5),
        )
    )


WHOLE = [
    whole
    for order in "<>"
    for letter in "QI"
    for whole in (*(synthesised(order, letter, version) for version in (0, 1)), bsd(order, letter))
]


def damaged(random: Random) -> bytes:
    content = bytearray(random.choice(WHOLE))
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        begin = random.randrange(len(content) + 1)
        end = min(begin + random.choice((0, 1, 4, 21)), len(content))
        content[begin:end] = random.choice(
            (b"\xff" * (end - begin), b"\0" * 8, random.randbytes(end - begin), b"")
        )
    return bytes(content)


def use(gmon: _gmon.Gmon) -> None:
    """Ask for all that a file says."""
    shift = gmon.shift(FUNCTIONS)
    gmon.layout(), gmon.says_rate(), gmon.samples(), gmon.blocks(), gmon.arcs()
    for number, (low, high, *_) in enumerate(gmon.histograms()):
        _gmon.bin_parts(FUNCTIONS, low, high, gmon.bins(number), shift)
    gmon.misfit(FUNCTIONS, shift)
    caller, callee, calls = gmon.function_arcs(FUNCTIONS, shift)
    print_all(gmon.function_times(FUNCTIONS, shift), caller, callee, calls)


def read(content: bytes) -> bool:
    """Read a file, add it to itself, and return whether it is whole."""
    is_whole = False
    for layout in (None, (True, False), (False, False), (True, True), (False, True)):
        try:
            gmon = _gmon.parse(content, layout)
            total = _gmon.Gmon()
            for _ in range(3):
                total.add(gmon)
        except ValueError:
            continue
        use(gmon)
        use(total)
        is_whole = True
    return is_whole


def print_all(
    own: bytes, caller: bytes, callee: bytes, calls: bytes, choice: bytes = bytes(N_FUNCTIONS),
    totals: bytes | None = None, calls_of: bytes | None = None,
) -> None:  # fmt: skip
    graph = _call_graph.CallGraph(
        NAMES, NAMES, own, caller, callee, calls, totals, totals, calls_of, choice
    )
    for column in COLUMNS:
        graph.column(column)
    graph.counted(), graph.most_per_call(), graph.entries(True)
    for function in range(N_FUNCTIONS):
        graph.callers(function), graph.callees(function), graph.node_name(function)
    for with_unused in (False, True):
        graph.flat_rows(with_unused), graph.index_nodes(with_unused, True)
        graph.flat_text(3.0, 0.01, 100.0, 1e6, with_unused)
        graph.index_text(("", "größe.c") * (N_FUNCTIONS // 2), with_unused, False)
        begin = 0
        while begin < graph.n_nodes():
            _, begin = graph.graph_text(begin, 3.0, 0.01, with_unused)


def any_graph(random: Random) -> None:
    n_arcs = random.randrange(20)
    pairs = [(random.randrange(N_FUNCTIONS), random.randrange(N_FUNCTIONS)) for _ in range(n_arcs)]
    pairs = list(dict.fromkeys(pairs))

    def doubles(n: int) -> bytes:
        return array("d", random.choices(VALUES, k=n)).tobytes()

    print_all(
        doubles(N_FUNCTIONS),
        array("i", [caller for caller, _ in pairs]).tobytes(),
        array("i", [callee for _, callee in pairs]).tobytes(),
        array("q", random.choices(COUNTS, k=len(pairs))).tobytes(),
        bytes(random.choices(random.choice((range(16), range(64, 128))), k=N_FUNCTIONS)),
        random.choice((None, doubles(len(pairs)))),
        random.choice((None, array("q", random.choices(COUNTS, k=N_FUNCTIONS)).tobytes())),
    )


def whole_files() -> None:
    for content in WHOLE:
        assert read(content)
        for size in range(len(content)):
            read(content[:size])


def damaged_files() -> None:
    random = Random(3)
    outcomes = [read(damaged(random)) for _ in range(3000)]
    assert 300 < sum(outcomes) < 2700, sum(outcomes)


def graphs_of_any_shape() -> None:
    random = Random(5)
    for _ in range(2000):
        any_graph(random)


def what_does_not_fit() -> None:
    own, nothing, choice = bytes(8 * N_FUNCTIONS), b"", bytes(N_FUNCTIONS)
    arc = array("i", [N_FUNCTIONS]).tobytes()
    for names, caller, calls in (
        (NAMES, arc, bytes(8)), (NAMES[1:], nothing, nothing), (NAMES, arc[:3], nothing),
        (NAMES, nothing, bytes(8)),
    ):  # fmt: skip
        try:
            _call_graph.CallGraph(
                names, NAMES, own, caller, caller, calls, None, None, None, choice
            )
        except ValueError:
            continue
        raise AssertionError((names, caller, calls))


def nothing_leaks() -> None:
    random = Random(4)
    contents = [damaged(random) for _ in range(30)]

    def all_of_them() -> None:
        for content in contents:
            read(content)
        for seed in range(30):
            any_graph(Random(seed))

    all_of_them()
    check_leaks(all_of_them, 20, __file__)


if __name__ == "__main__":
    sys.exit(run(whole_files, damaged_files, graphs_of_any_shape, what_does_not_fit, nothing_leaks))
