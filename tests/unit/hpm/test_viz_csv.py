"""NAME.viz and NAME.csv of measurements of any content."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import gnomon.hpm
from gnomon.count import count_report
from gnomon.hpm import viz_csv
from gnomon.launch.resource_usage import UsageRow
from gnomon.launch.run_environment import Host
from gnomon.measurement.measurement import GroupPart, Measurement
from gnomon.measurement.report_style import ReportOptions
from gnomon.model.value import Domain, How, Scope, Unavailable, Value

XSD = etree.XMLSchema(etree.parse(Path(gnomon.hpm.__file__).parent / "viz.xsd"))
HOST = Host("host", "a <CPU> & more", 4, "Linux")
TEXTS = st.text(alphabet="a1 ,;:\"<>&'\t\n\r\x00\x1b\x85\u2028\ufffe\U0001f600é\udcff", max_size=8)


def a_value(event: str = "page-faults", raw: int = 7, enabled: int = 5, running: int = 5) -> Value:
    how = How.COUNTED if enabled == running else How.SCALED
    return Value(event, "kernel", raw, enabled, running, "", 1, Domain.ALL, Scope.THREAD, how)


def a_measurement(**fields: Any) -> Measurement:
    one = Measurement(
        ("/bin/true",), 42, False, 0, 0, 1.5e9, 2_000_000_000, 10, 20, (a_value(),), (), (),
        (UsageRow("ru_utime", "user time", 0.25, "s"), UsageRow("ru_nswap", "swaps", None, "")),
    )  # fmt: skip
    return one._replace(**fields)


def parsed(text: str) -> etree._Element:
    root = etree.fromstring(text.encode("utf-8", "backslashreplace"))
    assert XSD.validate(root), XSD.error_log
    return root


def table(text: str) -> list[dict[str, str]]:
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert {len(row) for row in rows} == {len(rows[0])}
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_any_text_leaves_whole_files(word: str, event: str, reason: str, note: str) -> None:
    one = a_measurement(
        command=("prog", word), values=(a_value(event or "x"),), notes=(note,),
        unavailable=(Unavailable("other", reason, ""),),
    )  # fmt: skip
    blocks = viz_csv.blocks([one], word, apart=True)
    root = parsed(viz_csv.viz("hpmcount", HOST, [one], blocks))
    assert len(root.findall("run/argument")) == 2
    rows = table(viz_csv.csv(HOST, [one], blocks))
    assert [row["kind"] for row in rows].count("event") == 2


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
    st.floats(allow_nan=True),
)
def test_any_number_is_read_back(raw: int, one_ns: int, other_ns: int, usage: float) -> None:
    value = a_value("e", raw, max(one_ns, other_ns), min(one_ns, other_ns))
    one = a_measurement(values=(value,), rusage=(UsageRow("ru_utime", "", usage, "s"),))
    blocks = viz_csv.blocks([one], "", apart=True)
    root = parsed(viz_csv.viz("hpmcount", HOST, [one], blocks))
    (event,) = root.iter("event")
    (row,) = (r for r in table(viz_csv.csv(HOST, [one], blocks)) if r["kind"] == "event")
    if value.value is None:
        assert event.get("value") is None
        assert (row["value"], bool(row["reason"])) == ("", True)
    else:
        assert float(event.get("value")) == float(row["value"]) == float(value.value)
    field = root.find("usage/field").get("value")
    assert (field is None) == (not math.isfinite(usage))


def test_groups_apart_and_joined() -> None:
    parts = (
        GroupPart(1, "A", "", (a_value("a"),), 10, 5, 5, turns=3),
        GroupPart(2, "B", "", (a_value("b"),), 10, 5, 5, turns=2),
    )
    one = a_measurement(values=(a_value("a"), a_value("b"), a_value("rest")), parts=parts)
    apart = viz_csv.blocks([one], "", apart=True)
    assert [(b.group, b.continues) for b in apart] == [("1 A", False), ("2 B", True), ("", False)]
    assert [value.event for value in apart[2].one.values] == ["rest"]
    (joined,) = viz_csv.blocks([one], "", apart=False)
    assert [value.event for value in joined.one.values] == ["a", "b", "rest"]
    root = parsed(viz_csv.viz("hpmcount", HOST, [one], apart))
    assert len(root.findall("section/values")) == 3


def test_repetitions_have_a_column_of_their_own() -> None:
    two = [a_measurement(), a_measurement()]
    blocks = viz_csv.blocks(two, "1 A", apart=True)
    assert {row["repetition"] for row in table(viz_csv.csv(HOST, two, blocks))} == {"1", "2"}
    assert "repetition" not in viz_csv.csv(HOST, two[:1], blocks[:1]).splitlines()[0]
    root = parsed(viz_csv.viz("hpmcount", HOST, two, blocks))
    assert [usage.get("repetition") for usage in root.findall("usage")] == ["1", "2"]


def test_the_guides_files_have_the_guides_names() -> None:
    """Everywhere else `utilisation` says whose time it is, and a rate per CPU second that it is."""
    whole = a_measurement(user_ns=500_000_000, system_ns=100_000_000, rusage=())
    rows = {
        row["name"]: row["value"]
        for row in table(viz_csv.csv(HOST, [whole], viz_csv.blocks([whole], "", apart=False)))
    }
    assert float(rows["utilisation"]) == 25
    theirs = count_report.render_measurements(
        [whole], HOST, ReportOptions(tool="hpmcount", guide_names=True)
    )
    ours = count_report.render_measurements([whole], HOST, ReportOptions())
    assert re.search(r"^  utilisation +25 %$", theirs, re.M)
    assert re.search(r"^  user_utilisation +25 %$", ours, re.M)


def test_an_interval_that_says_nothing_is_not_shown() -> None:
    """`user_share 50 ± 635.3 %` of two runs whose CPU time the kernel's tick divided."""
    runs = [a_measurement(user_ns=user, system_ns=4_000_000 - user) for user in (0, 4_000_000)]
    report = count_report.render_measurements(runs, HOST, ReportOptions())
    (line,) = (line for line in report.splitlines() if line.lstrip().startswith("user_share"))
    assert line.split()[:3] == ["user_share", "50", "n/a"]
