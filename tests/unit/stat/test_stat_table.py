"""The table of `gnomon stat`: numbers in six characters, and columns that fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Domain, How, Scope, Value
from gnomon.stat.interval_columns import StatColumn, columns_that_fit, format_cell
from gnomon.stat.interval_rows import CPU, MACHINE, IntervalRow, Sample
from gnomon.stat.interval_table import IntervalTable
from gnomon.stat.proc_metrics import CPU_TIMES, PROC_METRICS
from gnomon.stat.targets import TargetSelection
from gnomon.stat.watched_events import WatchedEvents

DEFAULT = WatchedEvents(TargetSelection(()), (), (), is_default=True, names=())
SECOND = 10**9


def value(event: str, raw: int, running: float = 1.0, unit: str = "", factor: float = 1) -> Value:
    how = How.COUNTED if running == 1 else How.SCALED
    return Value(event, "cpu", raw, SECOND, round(running * SECOND), unit, factor, Domain.ALL,
                 Scope.NODE, how)  # fmt: skip


def machine_with_a_pmu(name: str = "", kind: str = MACHINE) -> IntervalRow:
    times = [value(one, (5 - at) * SECOND // 10, 1, "s", 1e-9) for at, one in enumerate(CPU_TIMES)]
    counts = [
        value("context-switches", 1234),
        value("cpu_core/cache-misses/", 300_000),
        value("cpu_atom/cache-misses/", 100_000),
        value("branch-misses", 50_000, 0.5),
    ]
    metrics = tuple(
        MetricValue(metric, "", number, "", How.COUNTED)
        for metric, number in (("ipc", 1.234), ("mips", 2345.6))
    )
    return IntervalRow(kind, name, (*counts, *times), metrics)


def test_hardware_has_its_columns_and_what_is_scaled_is_named() -> None:
    infos = {name: vital.info for name, vital in PROC_METRICS.items()}
    table = IntervalTable(DEFAULT, infos, SECOND)
    sample = Sample(1, SECOND, SECOND, 0.0, (machine_with_a_pmu(),))
    above, head, line, note = table.text(sample, 100, 0).splitlines()
    assert above.replace("-", " ").split() == [
        "CPU",
        "%",
        "hardware,",
        "per",
        "second",
        "per",
        "second",
    ]
    assert head.split() == ["time", "us", "sy", "id", "wa", "st", "IPC", "Minst", "cmiss", "bmiss",
                            "cs"]  # fmt: skip
    assert line.split()[1:] == ["33", "27", "20", "13", "7", "1.23", "2346", "400k", "100k", "1234"]
    assert note == "# scaled: hardware, per second bmiss"
    # What was said is not said again, and the heading comes once where there is no terminal.
    assert len(table.text(sample, 100, 0).splitlines()) == 1
    narrow = IntervalTable(DEFAULT, infos, SECOND).text(sample, 60, 0).splitlines()
    assert max(map(len, narrow)) <= 60


def test_a_gap_is_seen_and_a_summary_has_extremes() -> None:
    infos = {name: vital.info for name, vital in PROC_METRICS.items()}
    table = IntervalTable(DEFAULT, infos, SECOND)
    gone = IntervalRow(CPU, "3", (), gap="offline")
    sample = Sample(1, SECOND, SECOND, 0.0, (machine_with_a_pmu(), gone))
    lines = table.text(sample, 100, 0).splitlines()
    assert lines[1].split()[:2] == ["time", "CPU"]
    assert lines[3].split()[1] == "3"
    assert lines[3].endswith("-  (offline)")
    alone = IntervalTable(DEFAULT, infos, SECOND)
    for switches in (10, 30):
        row = machine_with_a_pmu()
        counts = (value("context-switches", switches), *row.values[1:])
        alone.text(Sample(1, 0, SECOND, 0.0, (row._replace(values=counts),)), 100, 0)
    summary = alone.summary(Sample(0, 0, 2 * SECOND, 0.0, (row._replace(values=counts),)), 2, 100)
    assert summary.startswith("--- 2 s in 2 intervals ---\n")
    ends = [line.split()[-1] for line in summary.splitlines()[-2:]]
    assert ends == ["10", "30"]


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (None, "", "-"),
        (float("nan"), "", "-"),
        (0, "", "0"),
        (0.25, "", "0.25"),
        (7, "", "7"),
        (9.999, "", "10"),
        (1234.4, "", "1234"),
        (9999.4, "", "9999"),
        (10000, "", "10.0k"),
        (12345, "", "12.3k"),
        (999_600, "", "1.00M"),
        (4_560_000, "", "4.56M"),
        (-12345, "", "-12.3k"),
        (0, "bytes", "0"),
        (1023, "bytes", "1023"),
        (1023.9, "bytes", "1.00Ki"),
        (1536, "bytes", "1.50Ki"),
        (123 * 1024, "bytes", "123Ki"),
        (99.6, "%", "100"),
    ],
)
def test_numbers_as_they_are_shown(number: float | None, unit: str, text: str) -> None:
    assert format_cell(number, unit) == text


@given(st.floats(min_value=0, max_value=9e18), st.sampled_from(["", "bytes"]))
def test_every_number_has_room_and_means_itself(number: float, unit: str) -> None:
    text = format_cell(number, unit)
    assert len(text) <= 6
    step = 1024 if unit == "bytes" else 1000
    digits = text.rstrip("kKMGTPEi")
    letter = text[len(digits) :].removesuffix("i").replace("K", "k")
    back = float(digits) * step ** ("", "k", "M", "G", "T", "P", "E").index(letter)
    assert back == pytest.approx(number, rel=0.006, abs=0.5 if unit or number >= 9.995 else 0.006)


COLUMNS = st.lists(
    st.builds(
        lambda head, rank: StatColumn((head,), lambda *_: None, "", rank),
        st.text("abc", min_size=1, max_size=12),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=20,
)


@given(COLUMNS, st.integers(0, 200))
def test_what_fits_keeps_its_order_and_the_rest_is_named(
    found: list[StatColumn], room: int
) -> None:
    kept, left = columns_that_fit(found, room)
    assert kept
    assert sorted(map(id, [*kept, *left])) == sorted(map(id, found))
    assert [one for one in found if any(one is k for k in kept)] == kept
    assert len(kept) == 1 or sum(one.width + 1 for one in kept) <= room
    # What stays is not ranked behind what went.
    assert not left or max(k.rank for k in kept) <= max(one.rank for one in left)


@pytest.mark.parametrize("room", range(8, 60))
def test_what_stands_above_columns_is_whole(room: int) -> None:
    def column(name: str, above: str, rank: int) -> StatColumn:
        return StatColumn((name,), lambda *_: 1.0, "", rank, name, above)

    columns = [
        column("us", "CPU %", 0), column("cs", "per second", 1), column("in", "per second", 2),
        column("read", "disk B/s", 3), column("write", "disk B/s", 4), column("rx", "net B/s", 5),
    ]  # fmt: skip
    kept, left = columns_that_fit(columns, room)
    assert len(kept) + len(left) == len(columns)
    for above in {column.above for column in kept}:
        neighbours = [column for column in kept if column.above == above]
        assert sum(column.width + 1 for column in neighbours) - 1 >= len(above)
    if len(kept) > 1:
        assert sum(column.width + 1 for column in kept) <= room
