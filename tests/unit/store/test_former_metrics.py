"""Runs and .viz files that have former names of metrics show the present ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import view_runs
from test_viz_reader import WHOLE as VIZ

from gnomon.metrics.definitions import load_metrics
from gnomon.model.tables import METRICS
from gnomon.store import run_directory
from gnomon.store.former_metrics import RENAMED
from gnomon.view.session import Session

# As runs have them that were stored before rates were per second of elapsed time.
STORED = (
    ("utilisation", "%", "100 * user_seconds / wall_seconds"),
    ("context_switch_rate", "/s", "context_switches / (1e-9 * task_clock)"),
    ("migration_rate", "/s", "cpu_migrations / (user_seconds + system_seconds)"),
    ("page_fault_rate", "/s", "page_faults / (1e-9 * cpu_clock)"),
    ("system_call_rate", "/s", "raw_syscalls_sys_enter / (1e-9 * task_clock)"),
    ("creation_rate", "/s", "sched_sched_process_fork / wall_seconds"),
    ("user_flop_rate", "Mflop/s", "1e-6 * PAPI_DP_OPS / user_seconds"),
)
SHOWN = (
    ("user_utilisation", "%"),
    ("context_switches_per_cpu_second", "/CPU s"),
    ("migrations_per_cpu_second", "/CPU s"),
    ("page_faults_per_cpu_second", "/CPU s"),
    ("system_calls_per_cpu_second", "/CPU s"),
    ("creation_rate", "/s"),
    ("flops_per_user_cpu_second", "Mflop/CPU s"),
)


def stored(folder: Path, metrics: Sequence[tuple[str, str, str]]) -> Path:
    return view_runs.write(
        folder / "before",
        [view_runs.Place(-1, "command")],
        [view_runs.Region(-1, "command", "app")],
        [view_runs.Quantity(*row, component="") for row in metrics],
        [view_runs.Value(0, 0, at, 475.0, None) for at in range(len(metrics))],
    )


def shown(path: Path) -> tuple[tuple[str, str], ...]:
    rows = run_directory.find(str(path)).rows(METRICS)
    return tuple((str(row["name"]), str(row["unit"])) for row in rows)


def test_a_stored_rate_per_cpu_second_is_called_one(tmp_path: Path) -> None:
    assert shown(stored(tmp_path, STORED)) == SHOWN


def test_the_view_shows_the_same(tmp_path: Path) -> None:
    (opened,) = Session().open([str(stored(tmp_path, STORED))])
    assert tuple((one.name, one.unit) for one in opened.data.metrics) == SHOWN


def test_a_viz_file_has_the_guides_names_and_shows_ours(tmp_path: Path) -> None:
    lines = [
        f'<metric name="{name}" unit="{unit}" value="1" how="counted" formula="{formula}"/>'
        for name, unit, formula in STORED
    ]
    file = tmp_path / "before.viz"
    file.write_text(VIZ.replace("<metric name=", f"{''.join(lines)}<metric name=", 1))
    found = shown(file)
    assert set(SHOWN) <= set(found)
    assert not {name for name, _, _ in STORED} - {"creation_rate"} & {name for name, _ in found}


def test_what_is_named_so_now_keeps_its_name(tmp_path: Path) -> None:
    now = (
        ("context_switch_rate", "/s", "context_switches / wall_seconds"),
        ("page_fault_rate", "/s", "page_faults / wall_seconds"),
        ("utilisation", "%", "100 * busy / cycles"),  # a user's own
        ("utilisation", "%", ""),
    )
    assert shown(stored(tmp_path, now)) == tuple(row[:2] for row in now)


@pytest.mark.parametrize("one", RENAMED, ids=lambda one: one.name)
def test_the_names_are_those_of_definitions(one: tuple[str, str, str, str]) -> None:
    former, _, now, unit = one
    found = [metric for metric in load_metrics().definitions if metric.name == now]
    assert {metric.unit for metric in found} == {unit}
    assert {metric.guide_name for metric in found} <= {"", former}
