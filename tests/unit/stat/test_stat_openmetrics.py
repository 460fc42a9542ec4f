"""OpenMetrics: every name, unit, label and number is one that its readers take."""

from __future__ import annotations

import re
import socket
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import parser as prometheus_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from gnomon.cli.terminal.interval_loop import EndedError
from gnomon.cli.terminal.interval_writers import Textfile
from gnomon.counters.component import EventInfo
from gnomon.errors import GnomonError, UsageError
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Domain, How, Scope, Value
from gnomon.stat.interval_rows import CGROUP, MACHINE, PROCESS, Derivation, IntervalRow, Sample
from gnomon.stat.metrics_server import LOOPBACK, MetricsServer, address
from gnomon.stat.openmetrics import exposition, families
from gnomon.stat.totals import Totals

UNITS = ("", "ns", "s", "bytes", "bytes/s", "MB/s", "%", "/s", "GHz", "W", "pages", "J", "°C")
TEXT = st.text(max_size=12)
KNOWN = (
    "cycles:u",
    "cpu/cycles/",
    "PAPI_TOT_INS",
    "io:::vda:read_bytes",
    "a_total",
    "x_ns",
    "gauge",
    "time_counter_rate",
    "sched:sched_switch",
    "uncore_imc_0/cas_count_read/",
)
NAMES = st.one_of(
    st.sampled_from(KNOWN), st.from_regex(r"[A-Za-z][A-Za-z0-9_:./,=-]{0,20}", fullmatch=True)
)
NUMBERS = st.integers(0, 2**63)


def value(name: str, raw: int, unit: str) -> Value:
    return Value(name, "cpu", raw, 10, 10, unit, 1, Domain.ALL, Scope.NODE, How.COUNTED)


def parsed(read: Any, text: str) -> dict[str, Any]:
    return {family.name: family for family in read(text)}


EVENTS = st.lists(
    st.tuples(NAMES, st.sampled_from(UNITS), st.booleans(), NUMBERS), min_size=1, max_size=6,
    unique_by=lambda one: one[0],
)  # fmt: skip


@given(EVENTS, st.tuples(TEXT, TEXT, TEXT))
def test_whatever_is_counted_can_be_read(
    events: list[tuple[str, str, bool, int]], texts: tuple[str, str, str]
) -> None:
    name, program, group = texts
    infos = {
        event: EventInfo(event, "cpu", program, unit, Scope.NODE, gauge=gauge)
        for event, unit, gauge, _ in events
    }
    totals = Totals(Derivation(()))
    totals.gauges |= {event for event, _, gauge, _ in events if gauge}
    values = tuple(value(event, number, unit) for event, unit, _, number in events)
    metric = MetricValue("ipc", "instructions/cycle", 1.5, "", How.SCALED, program)
    rows = (
        IntervalRow(MACHINE, "", values, (metric,)),
        IntervalRow(CGROUP, name, values),
        IntervalRow(PROCESS, "12", values, (metric,), program),
    )
    totals.add(Sample(1, 10, 10, 1.5e9, rows))
    found = families(totals, infos, {events[0][0]: group})
    ours = parsed(openmetrics_parser.text_string_to_metric_families,
                  exposition(found, openmetrics=True))  # fmt: skip
    theirs = parsed(prometheus_parser.text_string_to_metric_families,
                    exposition(found, openmetrics=False))  # fmt: skip
    assert set(ours) == {family.name for family in found}
    assert {name: family.type for name, family in theirs.items()} == {
        name: family.type for name, family in ours.items()
    }
    for family in ours.values():
        assert re.fullmatch(r"gnomon_[a-z0-9_]+", family.name)
    machine = {
        sample.labels["event"]: (family.name, sample.value)
        for family in ours.values()
        for sample in family.samples
        if "event" in sample.labels and not {"cgroup", "pid"} & set(sample.labels)
    }
    factors = {"ns": 1e-9, "MB/s": 1e6, "%": 0.01, "GHz": 1e9}
    for event, unit, _, number in events:
        assert machine[event][1] == pytest.approx(number * factors.get(unit, 1))
    labels = [sample.labels for family in ours.values() for sample in family.samples]
    assert name in [one["cgroup"] for one in labels if "cgroup" in one]
    assert {one["program"] for one in labels if "pid" in one} == {program}
    assert {one["group"] for one in labels if "group" in one} == {group}


def test_what_has_gone_keeps_its_counts_and_loses_its_gauges() -> None:
    totals = Totals(Derivation(()))
    infos = {"g": EventInfo("g", "cpu", "a gauge", "", Scope.NODE, gauge=True)}
    totals.gauges.add("g")
    both = (value("c", 7, ""), value("g", 3, ""))
    metric = MetricValue("ipc", "", 1.5, "", How.COUNTED)
    row = IntervalRow(PROCESS, "12", both, (metric,), "x")
    totals.add(Sample(1, 10, 10, 0.0, (row,)))
    names = {family.name for family in families(totals, infos, {})}
    assert {"gnomon_c", "gnomon_g", "gnomon_metric_ipc"} <= names
    totals.add(Sample(2, 20, 10, 0.0, (row._replace(gap="ended", derived=()),)))
    totals.add(Sample(3, 30, 10, 0.0, ()))
    left = {family.name: family for family in families(totals, infos, {})}
    assert "gnomon_c" in left
    assert not {"gnomon_g", "gnomon_metric_ipc"} & set(left)
    assert list(left["gnomon_c"].points.values()) == [14]


def test_a_gauge_without_a_value_is_not_told_its_last_one() -> None:
    totals = Totals(Derivation(()))
    totals.gauges.add("g")
    for raw, running_ns in ((42, 10), (0, 0)):
        one = value("g", raw, "")._replace(running_ns=running_ns)
        totals.add(Sample(1, 10, 10, 0.0, (IntervalRow(MACHINE, "", (one,)),)))
        known = [family.name for family in families(totals, {}, {})]
        assert ("gnomon_g" in known) is (running_ns > 0)


def test_the_way_a_count_came_to_be_changes_once_at_most() -> None:
    """A label that went to and fro would break a series in two each time."""
    totals = Totals(Derivation(()))
    scaled = Value("c", "cpu", 5, 10, 5, "", 1, Domain.ALL, Scope.NODE, How.SCALED)
    hows = []
    for one in (value("c", 1, ""), scaled, value("c", 1, "")):
        totals.add(Sample(1, 10, 10, 0.0, (IntervalRow(MACHINE, "", (one,)),)))
        text = exposition(families(totals, {}, {}), openmetrics=True)
        hows.append(re.findall(r'^gnomon_c_total\{event="c",how="(\w+)"\} (\d+)', text, re.M))
    assert hows == [[("counted", "1")], [("scaled", "11")], [("scaled", "12")]]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("9123", (LOOPBACK, 9123)),
        ("0", (LOOPBACK, 0)),
        ("localhost:1", ("localhost", 1)),
        ("[::1]:65535", ("::1", 65535)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
    ],
)
def test_addresses(text: str, where: tuple[str, int]) -> None:
    assert address(text) == where


@given(st.text(max_size=30))
def test_addresses_that_are_none(text: str) -> None:
    try:
        host, port = address(text)
    except UsageError as error:
        host, port = str(error).partition(" ")[0], 0
    assert host
    assert 0 <= port < 65536


def test_a_host_that_is_none_is_one_line() -> None:
    for host in ("no.such.host.invalid", "192.0.2.1", "x" * 300, "\udcff"):
        with pytest.raises(GnomonError, match="--listen"):
            MetricsServer(host, 0, "t" * 20, lambda _: "")


def test_who_asks_byte_by_byte_does_not_keep_its_place() -> None:
    server = MetricsServer(LOOPBACK, 0, "t" * 20, lambda _: "", seconds=0.2)
    with closing(server), socket.create_connection((server.host, server.port)) as client:
        client.settimeout(0.05)
        # It would go on for half a minute, and is never silent for long.
        for _ in range(600):
            with suppress(TimeoutError):
                try:
                    client.sendall(b"G")
                    if not client.recv(1):
                        return
                except ConnectionError:
                    return
    pytest.fail("it was listened to all the time")


def test_a_signal_in_the_middle_of_the_file_leaves_the_one_before(tmp_path: Path) -> None:
    ignored: Any = None
    texts = iter(["1\n"])

    def text() -> str:
        for one in texts:
            return one
        raise EndedError

    file = Textfile(str(tmp_path / "node.prom"), text)
    file.tell(ignored)
    with pytest.raises(EndedError):
        file.tell(ignored)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["1\n"]
