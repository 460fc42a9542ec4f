"""The tables of a task as those of a run: with the command, of which its processes are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gnomon.model.tables import LOCATIONS, PROFILE, REGIONS, Cell, Table

_ROOT = 0
"""The location of the command, the path and the region of the program."""


def with_command(tables: Iterable[Table], root: Sequence[str], host: str) -> Iterator[Table]:
    """Yield tables whose numbers begin with 0 as those of a run.

    Args:
        tables: of a task; the number of each of its locations grows by one.
        root: name and path of the program.
        host: where it ran.
    """
    name, path = root
    for table in tables:
        if table.schema is LOCATIONS:
            command = (_ROOT, -1, "command", host, -1, -1, -1, name)
            yield Table(LOCATIONS, [command, *_below_command(table)])
        elif table.schema is REGIONS:
            yield Table(REGIONS, [(_ROOT, "hpm", name, path, "", 0, None), *table.rows[1:]])
        elif any(column.name == "location" for column in table.schema.columns):
            moved = table.replaced(location=table.numbers("location") + 1)
            yield moved
            if table.schema is PROFILE:
                yield _of_command(moved)
        else:
            yield table


def _below_command(locations: Table) -> Iterator[tuple[Cell, ...]]:
    numbers = (locations.numbers(name) + 1 for name in ("location", "parent"))
    for number, parent, row in zip(*numbers, locations.rows, strict=True):
        yield (int(number), int(parent), *row[2:])


def _of_command(profile: Table) -> Table:
    """Return what the command's threads have together: comparisons judge that."""
    is_root = profile.numbers("path") == _ROOT
    metric, values, own, n = (
        profile.numbers(name)[is_root] for name in ("metric", "inclusive", "exclusive", "raw")
    )
    return Table(
        PROFILE,
        [
            (0, _ROOT, _ROOT, one, float(values[metric == one].sum()),
             float(own[metric == one].sum()), None, int(n[metric == one].sum()), None, None)
            for one in np.unique(metric).tolist()
        ],
    )  # fmt: skip
