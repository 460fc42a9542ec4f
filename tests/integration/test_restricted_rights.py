"""Users without capabilities: what may be counted is, the rest says why not and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, WITHOUT_RIGHTS, counted, perf_program, run, task_sum, values

EVENTS = "task-clock,page-faults,context-switches,cpu-migrations,sched:sched_switch"

Programs = Callable[[str], Path]


def refused(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["event"]: row for row in document["unavailable"]}


@pytest.mark.usefixtures("tracepoints")
def test_level_2_counts_user_mode_and_says_so(
    paranoid: Callable[[int], None], tmp_path: Path, programs: Programs
) -> None:
    """The default of most distributions."""
    paranoid(2)
    document = counted(
        tmp_path, "-e", EVENTS, "--", programs("pages"), "3000", under=WITHOUT_RIGHTS
    )
    found = values(document)
    domains = {row["event"]: row["domain"] for row in document["counters"]}
    assert document["wall_seconds"] > 0
    assert all(row["value"] is not None for row in document["rusage"] if row["field"] == "ru_utime")
    # The kernel's clock cannot leave the kernel out, so that it is not said to.
    assert domains == {"task-clock": "all", "page-faults": "user"}
    assert found["page-faults"] >= 3000
    assert any("page-faults counts user mode only" in note for note in document["notes"])
    # What only happens in the kernel would read 0: it is refused instead.
    away = refused(document)
    assert set(away) == {"context-switches", "cpu-migrations", "sched:sched_switch"}
    for event in ("context-switches", "cpu-migrations"):
        assert "kernel.perf_event_paranoid is 2" in away[event]["reason"]
        assert "as root: sysctl kernel.perf_event_paranoid=1" in away[event]["remedy"]
        assert away[event]["errno"] == 13


@pytest.mark.usefixtures("tracepoints")
@pytest.mark.parametrize("level", [1, 0, -1])
def test_remedies_are_true(level: int, paranoid: Callable[[int], None], tmp_path: Path) -> None:
    """What a remedy names works once it is followed."""
    paranoid(level)
    document = counted(tmp_path, "-e", EVENTS, "--", "true", under=WITHOUT_RIGHTS)
    domains = {row["event"]: row["domain"] for row in document["counters"]}
    assert set(domains) >= {"task-clock", "page-faults", "context-switches", "cpu-migrations"}
    assert set(domains.values()) == {"all"}
    assert refused(document) == {}
    # The tracepoint and the software event are the same thing.
    found = values(document)
    assert abs(found["context-switches"] - found["sched:sched_switch"]) <= 1


def test_rows_of_threads_need_no_rights(
    paranoid: Callable[[int], None], tmp_path: Path, programs: Programs
) -> None:
    paranoid(2)
    document = counted(
        tmp_path, "--per", "thread", "-e", "task-clock,page-faults,context-switches", "--",
        programs("threads"), "16", "100", "1", "in-turn", under=WITHOUT_RIGHTS,
    )  # fmt: skip
    assert len(document["threads"]) == 17
    for event in ("task-clock", "page-faults"):
        assert task_sum(document, "threads", event) == values(document)[event]
    assert set(refused(document)) == {"context-switches"}


def test_default_set_reports_times(paranoid: Callable[[int], None], tmp_path: Path) -> None:
    paranoid(2)
    document = counted(tmp_path, "--", "sh", "-c", "exit 3", status=3, under=WITHOUT_RIGHTS)
    assert document["wall_seconds"] > 0
    assert values(document)["task-clock"] > 0
    assert "context-switches" not in values(document)
    done = run(*WITHOUT_RIGHTS, GNOMON, "count", "--", "true")
    assert "remedy  as root: sysctl kernel.perf_event_paranoid=1" in done.stderr
    # No metric is made of what was not counted.
    assert "context_switch_rate" not in {metric["name"] for metric in document["metrics"]}


def test_doctor_names_the_level(paranoid: Callable[[int], None]) -> None:
    paranoid(2)
    done = run(*WITHOUT_RIGHTS, GNOMON, "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["perf_event_paranoid"]["state"] == "limited"
    assert "sysctl kernel.perf_event_paranoid=1" in checks["perf_event_paranoid"]["remedy"]
    assert checks["capabilities"]["state"] == "limited"


def test_zero_in_user_mode_is_explained(paranoid: Callable[[int], None], tmp_path: Path) -> None:
    """Whoever asks for the user's part of an event of the kernel gets the 0, and the reason."""
    paranoid(2)
    document = counted(tmp_path, "-e", "context-switches:u", "--", "true", under=WITHOUT_RIGHTS)
    (counter,) = document["counters"]
    assert (counter["value"], counter["domain"]) == (0, "user")
    assert document["notes"] == [
        "context-switches:u happens in the kernel: in user mode it counts 0"
    ]


def test_level_at_which_nothing_may_be_counted(
    paranoid: Callable[[int], None], tmp_path: Path
) -> None:
    """Debian's and Ubuntu's kernels have it (4); for others it is the same as 2."""
    paranoid(4)
    perf = perf_program()
    forbids = perf is not None and bool(
        run(
            *WITHOUT_RIGHTS, perf, "stat", "-e", "page-faults:u", "-o", tmp_path / "perf", "true"
        ).returncode
    )
    document = counted(tmp_path, "-e", EVENTS, "--", "sh", "-c", "exit 3", status=3,
                       under=WITHOUT_RIGHTS)  # fmt: skip
    assert document["wall_seconds"] > 0
    away = refused(document)
    assert set(away) >= {"context-switches", "cpu-migrations"}
    assert "kernel.perf_event_paranoid is 4" in away["context-switches"]["reason"]
    if forbids:
        assert document["counters"] == []
        assert "sysctl kernel.perf_event_paranoid=1" in away["page-faults"]["remedy"]
    else:
        assert values(document)["page-faults"] > 0
