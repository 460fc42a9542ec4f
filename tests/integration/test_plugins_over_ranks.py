"""Instrumented programs on four ranks of each MPI with every shipped aggregator."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hpm_programs import ROOT, options, run
from mpi import BOTH, Mpi, launch
from ranks_program import EVENTS, PAGES, Programs, one, reports, rows, start

OVER_TASKS = ("average", "minimum", "maximum", "statistics", "histogram", "history")

pytestmark = pytest.mark.parametrize("mpi", BOTH, ids=str)


@pytest.mark.parametrize("how", ["", "finalize"])
@pytest.mark.parametrize("plugin", OVER_TASKS)
def test_one_report_of_four_ranks(
    mpi: Mpi, ranks_programs: Programs, tmp_path: Path, plugin: str, how: str
) -> None:
    done = start(mpi, ranks_programs[mpi], tmp_path, plugin, how)
    assert "HPM" not in done.err
    assert reports(tmp_path) == ["ranks.csv"]
    table = rows(tmp_path / "ranks.csv")
    row = one(table, "page-faults")
    wanted = {"minimum": 100, "maximum": 400}.get(plugin, 250)
    assert float(row["value"]) == wanted
    assert (row["tasks"], row["task_count"]) == ("0-3", "4")
    if plugin == "history":
        assert (row["with_value"], row["minimum"], row["maximum"]) == ("1", "250", "250")
    else:
        found = [row[name] for name in ("with_value", "minimum", "minimum_task", "maximum")]
        assert found == ["4", "100", "0", "400"]
        assert row["maximum_task"] == "3"
    deviation = float(row["deviation"]) if row["deviation"] else None
    assert deviation == (pytest.approx(PAGES.std(ddof=1)) if plugin == "statistics" else None)
    bins = row["bins"].split()
    assert bins == (["1", "0", "0", "1", "0", "0", "1", "0", "0", "1"] * (plugin == "histogram"))
    # Of a section that one rank alone has, and of resource usage.
    alone = one(table, "page-faults", "2")
    assert (alone["tasks"], alone["task_count"], alone["label"]) == ("2", "1", "only here")
    usage = [row for row in table if row["kind"] == "usage" and row["name"] == "ru_minflt"]
    assert len(usage) == 1
    text = (tmp_path / "ranks.hpm").read_text()
    word = "average" if plugin == "history" else plugin
    assert f"{word} over 4 tasks: 0-3" in text
    assert f"{word} over 1 of 4 tasks: 2" in text


def test_numbers_are_those_of_the_tasks(mpi: Mpi, ranks_programs: Programs, tmp_path: Path) -> None:
    """Two runs cannot be alike to the last microsecond: each task's own numbers are in one run."""
    folder = tmp_path / "own"
    folder.mkdir()
    start(mpi, ranks_programs[mpi], folder, "mirror", HPM_UNIQUE_FILE_NAME="yes")
    own = [rows(file) for file in folder.glob("ranks_*.csv")]
    assert len(own) == 4
    faults = [float(one(table, "page-faults")["value"]) for table in own]
    assert sorted(faults) == PAGES.tolist()
    start(mpi, ranks_programs[mpi], tmp_path, "statistics")
    row = one(rows(tmp_path / "ranks.csv"), "page-faults")
    assert float(row["value"]) == np.mean(faults)
    assert float(row["deviation"]) == pytest.approx(np.std(faults, ddof=1), rel=1e-12)


@pytest.mark.parametrize("plugin", ["mirror", "loc_merge"])
def test_every_rank_for_itself(
    mpi: Mpi, ranks_programs: Programs, tmp_path: Path, plugin: str
) -> None:
    start(mpi, ranks_programs[mpi], tmp_path, plugin, HPM_UNIQUE_FILE_NAME="yes")
    found = reports(tmp_path)
    assert sorted(re.sub(r".*_(\d)_\d\d\.\d\d\..*", r"\1", name) for name in found) == list("0123")


def test_single(mpi: Mpi, ranks_programs: Programs, tmp_path: Path) -> None:
    start(mpi, ranks_programs[mpi], tmp_path, "single.so")
    assert reports(tmp_path) == ["ranks.csv"]
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["value"] == "100"
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["task"] == "0"


@pytest.mark.parametrize("variable", ["HPM_EVENT_DISTR", "HPM_EVENT_SET"])
def test_groups_in_turn(mpi: Mpi, ranks_programs: Programs, tmp_path: Path, variable: str) -> None:
    asked = {"GNOMON_EVENTS": "", variable: "PAGEFAULTS, SCHED"}
    variables = EVENTS | {"HPM_AGGREGATE": "average"} | asked
    launch(mpi, 4, ranks_programs[mpi], folder=tmp_path, variables=variables)
    # Task 1 is the first of the other group, and must not write over the report of task 0.
    assert reports(tmp_path) == ["ranks.csv", "ranks_1.csv"]
    for name, event, tasks in (("ranks.csv", "page-faults", "0,2"),
                               ("ranks_1.csv", "context-switches", "1,3")):  # fmt: skip
        assert one(rows(tmp_path / name), event)["tasks"] == tasks
    faults = one(rows(tmp_path / "ranks.csv"), "page-faults")
    assert (faults["value"], faults["minimum"], faults["maximum"]) == ("200", "100", "300")


def test_a_rank_that_never_comes(mpi: Mpi, ranks_programs: Programs, tmp_path: Path) -> None:
    done = start(mpi, ranks_programs[mpi], tmp_path, "statistics", "never", status=None,
                 HPM_AGGREGATE_TIMEOUT="3")  # fmt: skip
    row = one(rows(tmp_path / "ranks.csv"), "page-faults")
    assert (row["value"], row["tasks"]) == ("200", "0-2")
    text = (tmp_path / "ranks.hpm").read_text()
    assert re.search(r"task 3 .*: not included", text), (text, done.said)


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the example, built with its own Makefile."""
    folder = tmp_path_factory.mktemp("example") / "aggregator-c"
    shutil.copytree(ROOT / "examples" / "aggregator-c", folder)
    run("make", f"PKG_CONFIG_PATH={pkg_config()}", "CFLAGS=-O2 -Wall -Wextra -Werror -Wshadow",
        folder=folder)  # fmt: skip
    return folder / "quarters.so"


def pkg_config() -> str:
    """Return where the package's .pc files are."""
    return f"{options('--libdir', library='hpm_plugin')[0]}/pkgconfig"


def test_a_users_own_plug_in(
    mpi: Mpi, ranks_programs: Programs, quarters: Path, tmp_path: Path
) -> None:
    start(mpi, ranks_programs[mpi], tmp_path, quarters)
    assert reports(tmp_path) == ["ranks.csv"]
    text = (tmp_path / "ranks.hpm").read_text()
    for quarter in ("fastest", "slowest"):
        # Of more than one where a task took so long that the others are too close to be told apart.
        assert re.search(rf"the {quarter} quarter: mean of [1-3] tasks?\n", text), text
    # Rank 2 has a section more than the others: it is not comparable, and says what it measured.
    assert "could not be aggregated" in text or "not included" in text


def test_the_shipped_ones_are_built_by_their_makefile(
    mpi: Mpi, ranks_programs: Programs, tmp_path: Path
) -> None:
    source = Path(options("--libdir")[0]) / "gnomon" / "plugins" / "source"
    folder = tmp_path / "source"
    shutil.copytree(source, folder)
    # Aggregators of users have the former names of its headers.
    for file, header, former in (("average.c", "group_stats.h", "ranks.h"),
                                 ("mirror.c", "independent_ranks.h", "apart.h")):  # fmt: skip
        text = (folder / file).read_text()
        assert header in text
        (folder / file).write_text(text.replace(header, former))
    run("make", "-j2", f"PKG_CONFIG_PATH={pkg_config()}", folder=folder)
    run("make", "install", f"PLUGINS={tmp_path}/own", folder=folder)
    shipped = sorted(file.name for file in source.parent.glob("*.so"))
    assert sorted(file.name for file in (tmp_path / "own").iterdir()) == shipped
    start(mpi, ranks_programs[mpi], tmp_path, tmp_path / "own" / "maximum.so")
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["value"] == "400"


def test_a_child_is_no_task(mpi: Mpi, ranks_programs: Programs, tmp_path: Path) -> None:
    start(mpi, ranks_programs[mpi], tmp_path, "average", "forks", status=None)
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["tasks"] == "0-3"
    (own,) = [name for name in reports(tmp_path) if name != "ranks.csv"]
    assert {row["label"] for row in rows(tmp_path / own) if row["section"]} == {"child"}
