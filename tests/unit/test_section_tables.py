"""Sections of several processes as rows of the model."""

from __future__ import annotations

from pathlib import Path

from rank_items import a_file, an_item

from gnomon.hpm import section_tables
from gnomon.hpm.ranks.codec import encoded
from gnomon.model.collected import rows_of


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
