"""One set of the model's tables from several: those of capabilities, processes and ranks of a job.

Each set is numbered on its own. The merge is two steps, each of which shares its work between the
workers of an executor: threads and processes, those of mpi4py and Dask.

1. The small tables get one numbering (`table_numbering`): `partial` looks at some sets, `merge`
   puts what each found into one, in their order.
2. The rows of the large ones get these numbers: `partial` does it for some sets and writes a piece
   of each table, `merge` adds up what the command has of all ranks and appends piece to piece.

The sets are shared out in the same way for any workers, and results are taken in their order:
the results are the same to the last digit. No worker holds more than a few million rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial as bound
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gnomon.model.region_kinds import OWN_KINDS, RegionKinds
from gnomon.model.tables import LOCATIONS, METRICS, PROFILE, Schema, Table
from gnomon.named_tuple import NamedTuple
from gnomon.store import executors
from gnomon.store.parquet_writer import ParquetWriter
from gnomon.store.table_numbering import (
    BULK,
    BatchNumbers,
    Locations,
    NumberedSet,
    Numbering,
    batch_numbers,
)
from gnomon.store.table_set import TableSet

if TYPE_CHECKING:
    from concurrent.futures import Executor

SETS_PER_BATCH = 256
"""So many sets are numbered together."""
ROWS_IN_MEMORY = 100_000
"""Tables of no more rows are returned; larger ones are in files only."""

_WORKERS_MOST = 8

Task = TypeVar("Task")
Found = TypeVar("Found")


class RunRoot(NamedTuple):
    """What was started: the root of all paths, at the root of all locations.

    Attributes:
        program: its name.
        module: its path.
        host: where it ran.
        is_job: there are several ranks; what the command has is put together from theirs.
    """

    program: str
    module: str
    host: str
    is_job: bool


class MergedTables(NamedTuple):
    """The tables of all sets.

    Attributes:
        tables: the small ones, and of the others those that are in memory.
        files: the Parquet files of the others, by table.
        notes: what is to be said of the sets.
    """

    tables: tuple[Table, ...]
    files: dict[str, Path]
    notes: tuple[str, ...] = ()


Tell = Callable[[str], object]


def merged(
    sets: Sequence[TableSet], root: RunRoot, folder: Path | None = None,
    executor: Executor | None = None, tell: Tell = lambda _: None,
    kinds: RegionKinds = OWN_KINDS,
) -> MergedTables:  # fmt: skip
    """Return the tables of all sets.

    Args:
        sets: each of tables that refer to each other only. What several have, the first one has.
        root: what was started.
        folder: where the files of tables of more than a hundred thousand rows are written; None if
            all are to be in memory.
        executor: does the work: by default that which was chosen (`executors`), or threads where
            there is much of it. It has the files of the sets and the folder under the same names.
        tell: called with what is being done, several times in a long work.
        kinds: what regions may be: sections know what they have without those in them.

    Raises:
        GnomonError: a set is damaged; names its file.
        OSError: a file cannot be read, or the disk refuses.
    """
    executor = executor or executors.current()
    if executor is not None:
        # Other processes may be in other folders.
        sets = [each if each.file is None else each._replace(file=each.file.absolute())
                for each in sets]  # fmt: skip
        folder = None if folder is None else folder.absolute()
    with _workers(math.ceil(len(sets) / SETS_PER_BATCH), executor) as workers:
        small, numbered = _numbered(sets, root, kinds, workers, tell)
    alone = None if root.is_job else _as_it_is(numbered)
    if alone is not None:
        return MergedTables((*small, *alone), {})
    from gnomon.store.repeated_values import notes
    from gnomon.store.table_pieces import MergeTasks, done

    rows = {schema.name: sum(each.rows.get(schema.name, 0) for each in numbered) for schema in BULK}
    in_files = folder if max(rows.values(), default=0) > ROWS_IN_MEMORY else None
    pieces = MergeTasks(numbered, small, is_job=root.is_job, folder=in_files, kinds=kinds)
    with _workers(len(pieces.tasks), executor) as workers:
        finished = list(_done(done, pieces.tasks, workers, tell, "putting rows together"))
        again = pieces.again(finished)
        for at, one in zip(again, _mapped(done, list(again.values()), workers), strict=True):
            finished[at] = one
    metrics = next(table for table in small if table.schema is METRICS)
    said = notes([one for piece in finished for one in piece.repeated], metrics)
    tables = [*small, *pieces.tables(finished)]
    files = {}
    if in_files is not None:
        for schema in BULK:
            parts = pieces.files(schema)
            if parts:
                files[schema.name] = _appended(in_files, schema, parts, tables)
                tables = [table for table in tables if table.schema is not schema]
    return MergedTables(tuple(tables), files, said)


def _appended(folder: Path, schema: Schema, parts: Sequence[Path], last: Sequence[Table]) -> Path:
    """Return the file of a table made of pieces, which are removed, and of rows in memory."""
    file = folder / f"{schema.name}.parquet"
    writer = ParquetWriter(file, schema)
    try:
        for part in parts:
            writer.append_file(part)
            part.unlink()
        for table in last:
            if table.schema is schema:
                writer.append(table)
        writer.close()
    finally:
        writer.discard()
    return file


# --- workers --------------------------------------------------------------------------------------


def _workers(tasks: int, executor: Executor | None) -> AbstractContextManager[Executor | None]:
    """Return the worker of so many tasks: the given executor, threads, or the caller itself."""
    if executor is not None:
        return nullcontext(executor)
    if tasks <= 1:
        return nullcontext()
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), _WORKERS_MOST))


def _mapped(
    do: Callable[[Task], Found], tasks: Sequence[Task], executor: Executor | None
) -> Iterator[Found]:
    return iter(map(do, tasks) if executor is None else executor.map(do, tasks))


def _done(
    do: Callable[[Task], Found], tasks: Sequence[Task], executor: Executor | None, tell: Tell,
    what: str,
) -> Iterator[Found]:  # fmt: skip
    for at, one in enumerate(_mapped(do, tasks, executor)):
        tell(f"{what}, {at + 1} of {len(tasks)}")
        yield one


# --- numbers --------------------------------------------------------------------------------------


def _numbers_of(root: RunRoot, kinds: RegionKinds, sets: Sequence[TableSet]) -> BatchNumbers:
    return batch_numbers(sets, root.program, root.module, kinds)


def _numbered(
    sets: Sequence[TableSet],
    root: RunRoot,
    kinds: RegionKinds,
    executor: Executor | None,
    tell: Tell,
) -> tuple[tuple[Table, ...], list[NumberedSet]]:
    """Return the small tables of all sets, and each set with the numbers of its rows in them."""
    batches = [sets[at : at + SETS_PER_BATCH] for at in range(0, len(sets), SETS_PER_BATCH)]
    # A batch that is alone has its numbers already.
    numbering = None if len(batches) == 1 else Numbering(root.program, root.module, kinds)
    locations = Locations(root.program, root.host)
    tables: tuple[Table, ...] = ()
    numbered = []
    do = bound(_numbers_of, root, kinds)
    for batch, result in zip(
        batches, _done(do, batches, executor, tell, "reading what was measured"), strict=True
    ):
        tables, shapes = result.tables, result.shapes
        if numbering is not None:
            of_batch = numbering.add({table.schema.name: table for table in tables}, "")
            shapes = tuple(
                {name: numbers.then(of_batch[name]) for name, numbers in shape.items()}
                for shape in shapes
            )
        for each, about in zip(batch, result.sets, strict=True):
            places = locations.add(about.locations, knows_ranks=each.knows_ranks)
            maps = {**shapes[about.shape], LOCATIONS.name: places}
            numbered.append(NumberedSet(each, maps, dict(about.rows)))
    if numbering is not None:
        tables = numbering.tables()
    return (locations.table(), *tables), numbered


def _as_it_is(numbered: Sequence[NumberedSet]) -> list[Table] | None:
    """Return the rows of a set that is the only one with any, and needs no merge; None: it does.

    It needs none where each of its rows has its number already and is of the root.
    """
    filled = [each for each in numbered if any(each.rows.values())]
    if len(filled) > 1:
        return None
    if not filled:
        return [Table(PROFILE)]
    (only_set,) = filled
    assert only_set.maps is not None
    if sum(only_set.rows.values()) > ROWS_IN_MEMORY or only_set.rows.keys() != {PROFILE.name}:
        return None
    if not all(numbers.is_same for numbers in only_set.maps.values()):
        return None
    rows = list(only_set.set.chunks({PROFILE.name}))
    names = ("repetition", "location", "path", "metric")
    keys = [key for table in rows for key in zip(*map(table.values, names), strict=True)]
    is_plain = len(set(keys)) == len(keys) and all(path == 0 for _, _, path, _ in keys)
    return rows if is_plain and len(rows) == 1 else None
