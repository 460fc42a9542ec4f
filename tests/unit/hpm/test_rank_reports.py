"""What is printed and written of items: from measurements and back, as text, XML and CSV."""

from __future__ import annotations

import re
import resource
from math import isfinite, isnan, nan
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rank_items import FILES, a_file, an_event, an_item
from test_viz_csv import HOST, a_measurement, a_value, parsed, table

from gnomon.hpm.ranks import aggregate_report, aggregate_viz_csv
from gnomon.launch.resource_usage import usage_rows
from gnomon.measurement import measurement_metrics
from gnomon.measurement.items import IS_NODE_WIDE, N_TIMES, RankFile, Spread
from gnomon.measurement.measurement import GroupPart
from gnomon.measurement.measurement_items import WHOLE_RUN, metrics_of, rank_file, values_of
from gnomon.measurement.report_style import ReportOptions
from gnomon.model.value import Domain, How, Scope, Unavailable

TIMES = Spread(4, 1.9, 2.1, 0.01, 0, 3)
OPTIONS = ReportOptions(tool="hpmcount", width=80)
SPREAD = Spread(4, 3_203_120_442.0, 4_203_120_442.0, 12_345_678.5, 12, 3)


def items_of(**fields: Any) -> RankFile:
    one = a_measurement(**fields)
    return rank_file(one, "2 BRANCH", task=3, size=4, host="node1")


def text(file: RankFile, width: int = 80) -> str:
    return aggregate_report.render_aggregate_report(file, HOST, OPTIONS._replace(width=width))


# --- from a measurement and back ------------------------------------------------------------------


def test_a_measurement_as_items() -> None:
    file = items_of(unavailable=(Unavailable("other", "no such unit", "use another"),))
    usage, item = file.items
    assert [field.name for field in usage.data] == ["ru_utime", "ru_nswap"]
    assert isnan(usage.data[1].value)
    assert usage.data[1].reason == "Linux gives it no meaning"
    assert item.data[0][:1] + item.data[0][4:6] == ("page-faults", "", 7.0)
    assert item.data[1].reason == "no such unit; use another"
    assert (item.group, item.mpi_task_id, item.label, file.size) == ("2 BRANCH", 3, "true", 4)
    assert item.times[:4] == (2.0, 2.0, 1e-8, 2e-8)


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**62),
    st.integers(0, 2**62),
    st.sampled_from([Domain.ALL, Domain.USER, Domain.KERNEL, Domain.HYPERVISOR]),
    st.sampled_from([Scope.THREAD, Scope.NODE]),
)
def test_values_come_back(raw: int, one: int, other: int, domain: Domain, scope: Scope) -> None:
    value = a_value("e", raw, max(one, other), min(one, other))._replace(domain=domain, scope=scope)
    file = items_of(values=(value,), rusage=())
    (item,) = file.items
    assert bool(item.data[0].flags & IS_NODE_WIDE) == (scope is Scope.NODE)
    if value.value is None:
        assert item.data[0].reason
        assert values_of(item) == ()
        return
    (found,) = values_of(item)
    assert found.value == pytest.approx(value.value, rel=1e-12)
    assert (found.event, found.domain, found.scope) == ("e", domain, scope)
    # Of times beyond what a double has to the nanosecond the last digits are lost.
    if value.enabled_ns < 10**15:
        assert found.how is value.how


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_any_number_of_an_aggregator_is_kept(number: float, is_derived: bool) -> None:
    item = an_item(an_event(value=number, flags=1 if is_derived else 0))
    (value,) = values_of(item)
    assert value.value == number


def test_metrics_are_those_of_the_measurement() -> None:
    clock = a_value("task-clock", 900_000_000)._replace(unit="ns")
    values = (clock, a_value("context-switches", 45))
    one = a_measurement(values=values, user_ns=800_000_000, system_ns=100_000_000)
    (item,) = rank_file(one._replace(rusage=()), "", task=None, size=None, host="h").items
    wanted = {metric.name: metric.value for metric in measurement_metrics.derive_metrics(one)}
    assert {m.name: m.value for m in metrics_of(item)} == pytest.approx(wanted)
    assert "user_utilisation" in wanted


def test_groups_in_turns_continue_each_other() -> None:
    parts = tuple(
        GroupPart(n, name, "", (a_value(name),), 10**9, None, None, 5)
        for n, name in enumerate(("A", "B"))
    )
    values = (a_value("A"), a_value("B"), a_value("io"))
    file = items_of(values=values, parts=parts, rusage=())
    assert [(i.group, i.is_mplex_cont) for i in file.items] == [
        ("0 A", False), ("1 B", True), (WHOLE_RUN, True)
    ]  # fmt: skip


# --- text -----------------------------------------------------------------------------------------


def aggregated(**fields: Any) -> RankFile:
    events = (
        an_event("PAPI_TOT_INS", 3_703_120_442.25, spread=SPREAD),
        an_event("context-switches-of-a-long-name", 3.5, how=1, running_s=0.5, spread=SPREAD),
        an_event("task-clock", 1.2e9, unit="ns", spread=SPREAD._replace(n=3, bins=(2, 0, 1))),
        an_event("LLC-misses", nan, how=-1, reason="the PMU has no such event; use another"),
    )
    item = an_item(
        *events, n_tasks=4, tasks="0-3", mpi_task_id=0, times_spread=(TIMES,) * N_TIMES,
        description="average over 4 tasks: 0-3\ntask 4 was killed by SIGSEGV: not included",
        xml_descr="average over 4 tasks: 0-3",
    )  # fmt: skip
    return a_file(item._replace(**fields))


def test_the_text_of_an_average() -> None:
    lines = text(aggregated(data=aggregated().items[0].data[:1])).splitlines()
    assert lines[0] == "hpmcount: ./app 3  [4 tasks]"
    assert lines[3:5] == [
        "average over 4 tasks: 0-3",
        "  task 4 was killed by SIGSEGV: not included",
    ]
    (row,) = (line for line in lines if line.startswith("  PAPI_TOT_INS"))
    assert row.split("  ")[1:] == [
        "PAPI_TOT_INS", "3 703 120 442", "3 203 120 442 (12)", "4 203 120 442 (3)", "12 345 678"
    ]  # fmt: skip
    heading = next(line for line in lines if line.startswith("counters"))
    assert heading.split("  ")[-1].strip() == "deviation"
    assert lines.index(heading) < lines.index("metrics")


@pytest.mark.parametrize("width", [60, 80, 132])
def test_it_fits_its_width(width: int) -> None:
    lines = text(aggregated(), width).splitlines()
    assert max(map(len, lines[3:])) <= max(width, 76)
    words = " ".join(" ".join(lines).split())
    for said in ("3 of 4 tasks have it", "tasks by task-clock", "scaled; counted 50.0 %",
                 "why the PMU has no such event", "remedy use another"):  # fmt: skip
        assert said in words


def test_usage_comes_after_the_counters_of_the_same_tasks() -> None:
    usage = an_item(an_event("ru_maxrss", 2048.0, unit="KiB"), is_rusage=True)
    other = an_item(an_event("other"), mpi_task_id=1)
    lines = text(a_file(usage, an_item(), other)).splitlines()
    order = [line.split()[0] for line in lines if line.startswith(("  page-", "  ru_", "  other"))]
    assert order == ["page-faults", "ru_maxrss", "other"]
    assert any(line.split() == ["ru_maxrss", "2", "MiB"] for line in lines)


def test_names_of_resource_usage_are_whole_words() -> None:
    """What stands in brackets is left out, and not cut off in the middle."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    shown = text(items_of(rusage=usage_rows(usage, {}, 0))).partition("resource usage")[2]
    names = [re.split(r"  +", line.strip())[0] for line in shown.splitlines()[1:] if line.strip()]
    assert "peak memory" in names
    assert not [name for name in names if "(" in name]


def test_one_tasks_own_items_have_no_columns_of_others() -> None:
    shown = text(items_of())
    assert "minimum" not in shown
    assert "page-faults  7" in shown


@given(FILES)
@example(a_file(an_item(an_event(spread=SPREAD._replace(bins=(-(1 << 62), 1))))))
@example(a_file(an_item(), an_item(an_event(value=nan, reason="why"), tasks="\x1b")))
def test_any_items_have_a_text(file: RankFile) -> None:
    assert text(file).isprintable() or "\n" in text(file)
    assert "\x1b" not in text(file)


# --- XML and CSV ----------------------------------------------------------------------------------


@given(FILES)
def test_any_items_leave_whole_files(file: RankFile) -> None:
    root = parsed(aggregate_viz_csv.viz("hpmcount", HOST, file))
    rows = table(aggregate_viz_csv.csv(HOST, file))
    events = sum(len(item.data) for item in file.items if not item.is_rusage)
    assert len(list(root.iter("event"))) == events
    assert [row["kind"] for row in rows].count("event") == events


def test_spreads_are_numbers_in_both() -> None:
    file = aggregated()
    root = parsed(aggregate_viz_csv.viz("hpmcount", HOST, file))
    (section,) = root.findall("section")
    assert (section.get("task_count"), section.get("tasks")) == ("4", "0-3")
    assert section.get("description") == "average over 4 tasks: 0-3"
    event = next(e for e in root.iter("event") if e.get("name") == "task-clock")
    row = next(r for r in table(aggregate_viz_csv.csv(HOST, file)) if r["name"] == "task-clock")
    for field, value in (("with_value", "3"), ("minimum_task", "12"), ("maximum", "4203120442"),
                         ("deviation", "12345678.5"), ("bins", "2 0 1")):  # fmt: skip
        assert event.get(field) == row[field] == value
    wall = next(r for r in table(aggregate_viz_csv.csv(HOST, file)) if r["name"] == "wall")
    assert wall["maximum_task"] == "3"
    assert isfinite(float(wall["minimum"]))


def test_how_is_what_the_aggregator_says() -> None:
    item = an_item(*(an_event(how.value, how=at) for at, how in enumerate(How)))
    rows = table(aggregate_viz_csv.csv(HOST, a_file(item)))
    assert [r["how"] for r in rows if r["kind"] == "event"] == [how.value for how in How]
