"""Sections of several processes as rows of the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from rank_items import a_file, an_event, an_item

from gnomon.measurement import measurement_metrics
from gnomon.measurement.item_codec import encoded
from gnomon.measurement.measurement_items import metrics_of
from gnomon.model.capability_result import rows_of
from gnomon.sections import section_tables


def test_tasks_in_containers_have_the_same_process_numbers(tmp_path: Path) -> None:
    """A process of one task that executes another program is one place still."""
    for at, task in enumerate((0, 0, 1)):
        file = a_file(an_item(instr_id=1, count=3), task=task, process=3, started=1.5e9 + at)
        (tmp_path / f"node1.3.{at}.hpmitems").write_bytes(encoded(file))
    found = section_tables.collect(tmp_path)
    assert found.warnings == ()
    places = {row["location"]: row["rank"] for row in rows_of(found.tables, "locations")}
    faults = next(
        row["metric"] for row in rows_of(found.tables, "metrics") if row["name"] == "page-faults"
    )
    values = {
        places[row["location"]]: (row["inclusive"], row["calls"])
        for row in rows_of(found.tables, "profile")
        if row["metric"] == faults
    }
    assert values == {0: (14, 6), 1: (7, 3)}


def test_of_many_processes_the_rows_are_in_a_file_until_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for task in range(5):
        outer = an_item(an_event(value=10.0 + task), instr_id=1, label="outer", count=task)
        inner = an_item(an_event(value=20.0), instr_id=2, label="inner", parent_id=1)
        file = a_file(outer, inner, task=task, size=5, process=100 - task,
                      notes="a note")  # fmt: skip
        (tmp_path / f"node1.{100 - task}.0.hpmitems").write_bytes(encoded(file))
    damaged = tmp_path / "node1.98.0.hpmitems"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    in_memory = section_tables.collect(tmp_path)
    assert isinstance(in_memory.tables, tuple)
    tables = in_memory.tables
    monkeypatch.setattr(section_tables, "_ROWS_HELD", 4)
    in_file = section_tables.collect(tmp_path)
    assert not isinstance(in_file.tables, tuple)
    chunks = list(in_file.tables)
    for name in ("locations", "regions", "paths", "metrics", "profile"):
        assert rows_of(chunks, name) == rows_of(tables, name)
    assert [row["rank"] for row in rows_of(chunks, "locations")] == [0, 1, 3, 4]
    assert in_file.warnings == in_memory.warnings
    assert "checksum" in in_file.warnings[0]
    assert in_file.warnings[1:] == tuple(f"rank {task}: a note" for task in (0, 1, 3, 4))


def test_metrics_of_many_items_are_those_of_each() -> None:
    """What follows from the same events differs: a condition holds for some values only."""
    definitions: measurement_metrics.Definitions = {}
    for misses, instructions in ((5.0, 10.0), (0.0, 10.0), (5.0, 0.0), (float("nan"), 10.0)):
        events = (
            an_event("cache-misses", misses), an_event("instructions", instructions),
            an_event("cycles", 20.0), an_event("branches", 4.0, modes=1),
        )  # fmt: skip
        item = an_item(*events)
        assert metrics_of(item, definitions) == metrics_of(item)
    assert 1 < len(definitions) < 4
