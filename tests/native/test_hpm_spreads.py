"""What libhpm's files have of values over tasks, and the same rows from Python."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import subprocess
from pathlib import Path

import pytest
from c_hpm import event, hexed, item, number, times
from c_names import ROOT, built
from lxml import etree

from gnomon.hpm.ranks.aggregate_report import render_aggregate_report as report_of
from gnomon.hpm.ranks.aggregate_viz_csv import csv as csv_of
from gnomon.launch.run_environment import Host
from gnomon.measurement.items import EventInfo, Item, RankFile, Spread
from gnomon.measurement.measurement_items import metrics_of
from gnomon.measurement.report_style import ReportOptions

WALL = Spread(3, 9.5, 12.0, math.nan, 2, 0, (2, 0, 1))
USER = Spread(2, 4.5, 6.5, math.nan, 0, 2)
FAULTS = Spread(2, 100.0, 400.0, 150.25, 0, 7, (1, 1))
NONE = Spread(0)
TIMES = (10.5, math.nan, 5.5, *[math.nan] * 5)
EVENTS = (
    EventInfo("page-faults", "kernel", value=250.5, enabled_s=1, running_s=1, how=0, modes=7,
              spread=FAULTS),
    EventInfo("energy", "power", unit="J", reason="no such counter here", modes=7, spread=NONE),
)  # fmt: skip
USED = (EventInfo("ru_maxrss", unit="KiB", value=2048, how=0, spread=Spread(3, 1024, 4096)),)
HEADING = "average over 3 tasks: 0,2,7"
ITEMS = (
    Item(USED, is_rusage=True, mpi_task_id=0, description=HEADING, n_tasks=3, tasks="0,2,7"),
    Item(EVENTS, TIMES, mpi_task_id=0, instr_id=1, count=4, label="solve", group="list",
         description=HEADING, n_tasks=3, tasks="0,2,7",
         times_spread=(WALL, NONE, USER, *[NONE] * 5)),
)  # fmt: skip
FILE = RankFile(items=ITEMS, program="prog", host="host")


def spread_line(where: str, spread: Spread) -> str:
    numbers = map(number, (spread.minimum, spread.maximum, spread.deviation))
    tasks = (str(spread.min_task), str(spread.max_task))
    return "\t".join(["spread", where, str(spread.n), *numbers, *tasks,
                      " ".join(map(str, spread.bins))])  # fmt: skip


def lines_of(made: Item) -> list[str]:
    lines = [
        item(section=made.instr_id, calls=made.count, usage=made.is_rusage, task=made.mpi_task_id,
             label=made.label, group=made.group, description=made.description,
             xml=made.description),
        f"tasks\t{made.n_tasks}\t{hexed(made.tasks)}",
        times(wall=made.times[0], user=made.times[2]),
    ]  # fmt: skip
    lines += [spread_line(str(at), spread) for at, spread in enumerate(made.times_spread)]
    for info in made.data:
        lines.append(event(
            info.name, info.value, component=info.component, unit=info.unit, reason=info.reason,
            enabled_s=info.enabled_s, running_s=info.running_s, how=info.how, modes=info.modes,
        ))  # fmt: skip
        if info.spread:
            lines.append(spread_line("event", info.spread))
    return lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the three files that C writes of the items."""
    program = built("print_hpm")
    made = tmp_path_factory.mktemp("spreads")
    texts = "\t".join(map(hexed, ("prog", "/usr/bin/prog", "host", "list", "")))
    head = "\t".join(["header", texts, "4711", "0", *map(number, (1e9, 1e9 + 1, 1.0))])
    lines = [head, *(line for one in ITEMS for line in lines_of(one)), "report"]
    done = subprocess.run(
        [program, "items", "result"],
        input="".join(f"{line}\n" for line in lines).encode(),
        cwd=made,
        env={k: v for k, v in os.environ.items() if not k.startswith("HPM_")}
        | {"HPM_CSV_OUTPUT": "1", "HPM_VIZ_OUTPUT": "1", "HPM_ASC_OUTPUT": "1"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return made


def test_text(folder: Path) -> None:
    text = (folder / "result.hpm").read_text()
    assert (
        "\n".join(
            [
                "section 1  solve  [inclusive values]",
                "  average over 3 tasks: 0,2,7",
                "  group: list",
                "              value  minimum (task)  maximum (task)",
                "  calls           4",
                "  wall time  10.5 s       9.5 s (2)        12 s (0)",
                "  user time   5.5 s       4.5 s (0)       6.5 s (2)  of 2 of 3 tasks",
                "  overhead      n/a",
                "counters       value  minimum (task)  maximum (task)  deviation",
                "  page-faults  250.5         100 (0)         400 (7)      150.2  counted; "
                "of 2 of 3 tasks",
                "tasks by wall time",
                "  9.5 s to 10.33 s    2  ########################################",
                "  10.33 s to 11.17 s  0",
                "  11.17 s to 12 s     1  ####################",
                "tasks by page-faults",
                "  100 to 250  1  ########################################",
                "  250 to 400  1  ########################################",
            ]
        )
        in text
    )
    assert "peak resident set" not in text
    assert "MPI task: 0" not in text
    (usage,) = [line for line in text.splitlines() if line.startswith("  ru_maxrss")]
    assert re.split("   *", usage.strip()) == ["ru_maxrss", "2 MiB", "1 MiB", "4 MiB"]
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_mean_over_some_tasks_is_not_divided_by_one_over_others(folder: Path) -> None:
    """User time over two tasks by the wall time of three: 53.5 % beside 0.4026 CPUs."""
    text = (folder / "result.hpm").read_text()
    assert "utilisation " not in text
    # The faults were counted by two of three, too.
    assert "page_fault_rate" not in text
    metrics = {one.name: one for one in metrics_of(ITEMS[1])}
    assert metrics.keys().isdisjoint({"user_utilisation", "page_fault_rate"})
    whole = ITEMS[1]._replace(times_spread=(WALL, NONE, USER._replace(n=3), *[NONE] * 5))
    metrics = {one.name: one for one in metrics_of(whole)}
    assert metrics["user_utilisation"].value == pytest.approx(100 * 5.5 / 10.5)
    # Of how many CPUs the job's nodes have, this one does not know.
    assert "machine_utilisation" not in metrics


def test_what_some_tasks_have_together_says_of_how_many() -> None:
    both = Spread(2, 1, 9, math.nan, 0, 7)
    pair = tuple(
        EventInfo(name, "cpu", value=value, enabled_s=1, running_s=1, how=0, modes=7, spread=both)
        for name, value in (("instructions", 300.0), ("cycles", 200.0))
    )
    file = FILE._replace(items=(ITEMS[1]._replace(data=pair),))
    text = report_of(file, Host("host", "cpu", 2, "6.1"), ReportOptions())
    assert re.search(r"^  ipc +1.5 instructions/cycle +2 of 3 tasks$", text, re.M)
    apart = (pair[0], pair[1]._replace(spread=Spread(1, 200, 200, math.nan, 0, 0)))
    assert "ipc" not in {one.name for one in metrics_of(ITEMS[1]._replace(data=apart))}


def test_xml(folder: Path) -> None:
    root = etree.parse(folder / "result.viz")
    schema = etree.XMLSchema(etree.parse(ROOT / "src" / "gnomon" / "hpm" / "viz.xsd"))
    assert schema.validate(root), schema.error_log
    section = root.find("section")
    assert (section.get("tasks"), section.get("task_count")) == ("0,2,7", "3")
    assert section.get("description") == HEADING
    wall = section.find("values/time[@name='wall']")
    assert dict(wall.attrib) == {
        "name": "wall", "seconds": "10.5", "with_value": "3", "minimum": "9.5",
        "minimum_task": "2", "maximum": "12", "maximum_task": "0", "bins": "2 0 1",
    }  # fmt: skip
    faults, energy = section.findall("values/event")
    assert (faults.get("deviation"), faults.get("maximum_task")) == ("150.25", "7")
    assert (energy.get("with_value"), energy.get("value")) == (None, None)
    assert root.find("usage/field").get("maximum") == "4096"


def test_rows_are_those_of_python(folder: Path) -> None:
    with (folder / "result.csv").open(newline="") as lines:
        ours = list(csv.DictReader(lines))
    host = Host("host", "cpu", 2, "6.1")
    theirs = list(csv.DictReader(io.StringIO(csv_of(host, FILE), newline="")))
    assert list(ours[0]) == list(theirs[0])
    # Python's has the process only where it is one.
    kinds = ("usage", "time", "event")
    assert [{**row, "process": ""} for row in ours if row["kind"] in kinds] == [
        row for row in theirs if row["kind"] in kinds
    ]
    assert [row["deviation"] for row in ours if row["name"] == "page-faults"] == ["150.25"]
