"""The rows of several sets under one numbering, shared out between workers: see `table_merge`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import RunDirectoryError
from gnomon.model.metric import Aggregation
from gnomon.model.region_kinds import RegionKinds
from gnomon.model.tables import (
    LOCATIONS,
    METRICS,
    PATHS,
    PROFILE,
    REGIONS,
    TYPECODES,
    Column,
    Schema,
    Table,
)
from gnomon.named_tuple import NamedTuple
from gnomon.store.keyed_sums import NOTHING, Ints
from gnomon.store.parquet_writer import write_file
from gnomon.store.record_blocks import BlockWriter
from gnomon.store.repeated_values import RepeatedValues, repeated_values
from gnomon.store.table_numbering import BULK, NumberedSet, Numbers
from gnomon.store.table_rows import (
    NOBODY,
    OtherBatches,
    RankTotals,
    RowContext,
    Rows,
    SumsBelowRoot,
    joined,
    together,
)
from gnomon.store.table_set import TableSet

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS_PER_BATCH = 500_000
"""About so many rows are merged together, those of whole ranks."""

# Of so many sets at most one worker merges the profile at a time.
_SETS_MOST = 512
# A job takes as long as its slowest rank and has the peak of its largest; the rest is added up.
_PEAKS = (Aggregation.ELAPSED, Aggregation.MAX)


class MergeTask(NamedTuple):
    """What one worker does: the rows of a table of some sets.

    Attributes:
        schema: which table.
        sets: whose rows.
        context: of the numbers in rows of the profile.
        known: what others have that decides about these.
        is_whole: of the profile, there are no others.
        is_job: of the profile, ranks are put together.
        file: where the piece is written; None if it is to be in memory.
    """

    schema: Schema
    sets: tuple[NumberedSet, ...]
    context: RowContext
    known: OtherBatches
    is_whole: bool
    is_job: bool
    file: Path | None


class MergeResult(NamedTuple):
    """What a worker made.

    Attributes:
        tables: the rows, if they are in memory.
        own: series that were taken for sums of sections' own values, and
        not_own: those that were not.
        of_command: the totals of the rows at the command's location.
        of_ranks: what the ranks have together.
        repeated: values that sets with a name have more than once; the first counts.
    """

    tables: tuple[Table, ...] = ()
    own: Ints = NOTHING
    not_own: Ints = NOTHING
    of_command: SumsBelowRoot = SumsBelowRoot(NOTHING, np.zeros(0), NOTHING)
    of_ranks: tuple[RankTotals, ...] = ()
    repeated: tuple[RepeatedValues, ...] = ()


def done(task: MergeTask) -> MergeResult:
    """Do a worker's task.

    Raises:
        GnomonError: a set is damaged; names its file.
        OSError: a file cannot be read, or the disk refuses.
    """
    if task.schema is PROFILE:
        return _profile(task)
    chunks = (table for each in task.sets for table in each.chunks(task.schema))
    if task.file is None:
        return MergeResult(tuple(chunks))
    write_file(task.file, task.schema, chunks)
    return MergeResult()


def _profile(task: MergeTask) -> MergeResult:
    chunks = [(each, table) for each in task.sets for table in each.set.chunks({PROFILE.name})]
    given = _with_numbers(chunks)
    rows = Rows(given, task.context, task.known)
    repeated: tuple[RepeatedValues, ...] = ()
    if len(rows.table) < len(given):
        repeated = repeated_values(chunks, given, task.context)
    of_ranks = rows.of_ranks() if task.is_job else []
    if task.is_whole and of_ranks:
        whole = concatenated([rows.table, _at_command(of_ranks, task.context)])
        rows = Rows(whole, task.context, task.known)
    within = rows.within()
    table = rows.settled(within)
    at_command = within.keys % len(task.context.parents) == 0
    piece = MergeResult(
        (table,), rows.own, rows.not_own,
        SumsBelowRoot(*(column[at_command] for column in within)), tuple(of_ranks), repeated,
    )  # fmt: skip
    if task.file is None:
        return piece
    write_file(task.file, PROFILE, [table])
    return piece._replace(tables=())


class MergeTasks:
    """The tasks that the rows of all sets are shared out in, and what is made of their results.

    Args:
        sets: all of them.
        small: the small tables of all of them, under one numbering.
        is_job: there are ranks, whose values are put together.
        folder: where pieces are written; None if all rows are to be in memory.
    """

    def __init__(
        self, sets: Sequence[NumberedSet], small: Sequence[Table], *, is_job: bool,
        folder: Path | None, kinds: RegionKinds,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._context = _context(small, kinds)
        self._command = Rows(Table(PROFILE), self._context)
        self._splits: list[Path] = []
        batches = _batches(sets) if folder is not None and is_job else [list(sets)]
        is_whole = len(batches) == 1
        if not is_whole:
            batches = self._apart(sets, batches)
        known = OtherBatches(self._command.not_own, self._command.below())
        self.tasks = [
            MergeTask(PROFILE, tuple(batch), self._context, known, is_whole, is_job, None)
            for batch in batches
        ]
        for schema in BULK:
            if schema is not PROFILE:
                self.tasks += [
                    MergeTask(schema, tuple(group), self._context, NOBODY, True, is_job, None)
                    for group in _groups(sets, schema)
                ]
        if folder is not None:
            self.tasks = [
                task._replace(file=folder / f".{task.schema.name}.{at}.piece")
                for at, task in enumerate(self.tasks)
            ]

    def _apart(
        self, sets: Sequence[NumberedSet], batches: Sequence[list[NumberedSet]]
    ) -> list[list[NumberedSet]]:
        """Return batches to which the rows of sets that are of all ranks were shared out.

        What they have of the command itself is kept here.
        """
        n = len(self._context.parents)
        of_location = np.full(n, -1, dtype=np.int64)
        for batch_index, batch in enumerate(batches):
            for each in batch:
                assert each.maps is not None
                of_location[np.array(each.maps["locations"].new, dtype=np.int64)] = batch_index
        # What only such sets know is with what it is in.
        for location in range(1, n):
            if of_location[location] < 0:
                above = self._context.parents[location]
                of_location[location] = max(of_location[above], 0) if above > 0 else 0
        of_location[0] = len(batches)
        split_batches = [list(batch) for batch in batches]
        of_command = []
        assert self._folder is not None
        for number, each in enumerate(one for one in sets if one.set.rank < 0):
            writers: dict[int, BlockWriter] = {}
            for table in each.chunks(PROFILE):
                at = of_location[table.numbers("location")]
                for batch_number in np.unique(at).tolist():
                    rows = table.taken(np.flatnonzero(at == batch_number))
                    if batch_number == len(batches):
                        of_command.append(rows)
                        continue
                    if batch_number not in writers:
                        file = self._folder / f".split.{number}.{batch_number}.blocks"
                        self._splits.append(file)
                        writers[batch_number] = BlockWriter(file)
                        name = each.set.name
                        split_batches[batch_number].append(
                            NumberedSet(TableSet(file=file, name=name), None, {})
                        )
                    writers[batch_number].append(rows)
            for writer in writers.values():
                writer.close()
        self._command = Rows(concatenated(of_command), self._context)
        return split_batches

    def again(self, pieces: Sequence[MergeResult]) -> Mapping[int, MergeTask]:
        """Return tasks that took for sections' own values what elsewhere was not, by number."""
        not_own = np.unique(np.concatenate([piece.not_own for piece in pieces]))
        repeated_tasks = {}
        for task_index, (task, piece) in enumerate(zip(self.tasks, pieces, strict=True)):
            if task.schema is PROFILE and np.isin(piece.own, not_own).any():
                everywhere = np.union1d(task.known.not_own, not_own)
                repeated_tasks[task_index] = task._replace(
                    known=task.known._replace(not_own=everywhere)
                )
        return repeated_tasks

    def tables(self, pieces: Sequence[MergeResult]) -> list[Table]:
        """Return the rows that are in memory, those of the command last."""
        tables = [table for piece in pieces for table in piece.tables]
        for file in self._splits:
            file.unlink(missing_ok=True)
        profiles = [piece for task, piece in zip(self.tasks, pieces, strict=True)
                    if task.schema is PROFILE]  # fmt: skip
        if len(profiles) == 1:
            return tables
        of_ranks: dict[int, RankTotals] = {}
        n = len(self._context.is_peak)
        for piece in profiles:
            for rank_values in piece.of_ranks:
                before = of_ranks.get(rank_values.series)
                is_peak = bool(self._context.is_peak[rank_values.series % n])
                of_ranks[rank_values.series] = (
                    rank_values
                    if before is None
                    else together(before, rank_values, is_peak=is_peak)
                )
        sums = _at_command(list(of_ranks.values()), self._context)
        not_own = np.unique(np.concatenate([piece.not_own for piece in profiles]))
        known = OtherBatches(not_own, (NOTHING, NOTHING))
        rows = Rows(concatenated([self._command.table, sums]), self._context, known)
        within = joined([*(one.of_command for one in profiles), rows.within()])
        return [*tables, rows.settled(within)]

    def files(self, schema: Schema) -> list[Path]:
        """Return the files of a table's pieces, in their order."""
        return [task.file for task in self.tasks if task.schema is schema and task.file is not None]


def _context(small: Sequence[Table], kinds: RegionKinds) -> RowContext:
    by_name = {table.schema.name: table for table in small}
    locations, paths = by_name[LOCATIONS.name], by_name[PATHS.name]
    location_kinds = locations.texts("kind")
    is_section = [kinds.of(kind).is_section for kind in by_name[REGIONS.name].texts("kind")]
    aggregations = by_name[METRICS.name].texts("aggregation")
    return RowContext(
        locations.numbers("parent").astype(np.int64),
        np.array([kind == "thread" for kind in location_kinds], dtype=bool),
        np.array([kind == "rank" for kind in location_kinds], dtype=bool),
        paths.numbers("parent").astype(np.int64),
        np.array(is_section, dtype=bool)[paths.numbers("region")],
        np.array([one == Aggregation.NONE for one in aggregations], dtype=bool),
        np.array([one in _PEAKS for one in aggregations], dtype=bool),
    )


def _at_command(of_ranks: Sequence[RankTotals], context: RowContext) -> Table:
    """Return the totals of ranks as rows of the command."""
    table = Table(PROFILE)
    for one in of_ranks:
        repetition, metric = divmod(one.series, len(context.is_peak))
        table.append((repetition, 0, 0, metric, one.inclusive, one.exclusive, 1, None, None, None))
    return table


def _batches(sets: Sequence[NumberedSet]) -> list[list[NumberedSet]]:
    """Return sets of whole ranks, about as many rows of the profile together.

    All are one batch where two of these would have rows of the same process or thread.
    """
    batches: list[list[NumberedSet]] = []
    of_location: dict[int, int] = {}
    rows = 0
    for each in sets:
        if each.set.rank < 0:
            continue
        assert each.maps is not None
        if not batches or rows >= ROWS_PER_BATCH or len(batches[-1]) >= _SETS_MOST:
            batches.append([])
            rows = 0
        for location in each.maps["locations"].new:
            if location and of_location.setdefault(location, len(batches)) != len(batches):
                return [list(sets)]
        batches[-1].append(each)
        rows += each.rows.get(PROFILE.name, 0)
    return batches if len(batches) > 1 else [list(sets)]


def _groups(sets: Sequence[NumberedSet], schema: Schema) -> list[list[NumberedSet]]:
    """Return the sets that have rows of a table, about as many rows together."""
    groups: list[list[NumberedSet]] = []
    rows = 0
    for each in sets:
        n = each.rows.get(schema.name, 0)
        if n:
            if not groups or rows >= ROWS_PER_BATCH:
                groups.append([])
                rows = 0
            groups[-1].append(each)
            rows += n
    return groups


def _with_numbers(chunks: Sequence[tuple[NumberedSet, Table]]) -> Table:
    """Return the rows of the profile of several sets, with their numbers, as one table."""
    whole = concatenated([table for _, table in chunks])
    columns = {}
    for column in PROFILE.columns:
        if not column.refers:
            continue
        cells = whole.numbers(column.name)
        new = columns[column.name] = np.empty(len(whole), dtype=np.int32)
        begin = 0
        # Most ranks have the same numbers of paths and metrics.
        numbered = [(each.numbers(column), (each, table)) for each, table in chunks]
        for numbers, group in groupby(numbered, itemgetter(0)):
            of_group = [chunk for _, chunk in group]
            end = begin + sum(len(table) for _, table in of_group)
            own = cells[begin:end]
            new[begin:end] = own if numbers is None else _renumbered(own, numbers, column, of_group)
            begin = end
    return whole.replaced(**columns)


def _renumbered(
    cells: Ints, numbers: Numbers, column: Column, chunks: Sequence[tuple[NumberedSet, Table]]
) -> Ints:
    """Return the new numbers of a column of several chunks.

    Raises:
        RunDirectoryError: a set has no such number; names its file.
    """
    what = column.refers.removesuffix("s")
    try:
        return numbers.of(cells, chunks[0][0].set.origin, what)
    except RunDirectoryError:
        for each, table in chunks:
            numbers.of(table.numbers(column.name), each.set.origin, what)
        raise


def concatenated(tables: Sequence[Table]) -> Table:
    """Return the rows of several parts of the profile as one table."""
    if len(tables) == 1:
        return tables[0]
    columns: dict[str, Any] = {}
    masks: dict[str, Any] = {}
    n = sum(map(len, tables))
    for column in PROFILE.columns:
        name = column.name
        flags = [table.mask(name) for table in tables] if column.nullable else []
        if any(flags) and all(flag and 0 not in flag for flag in flags):
            # Nobody knows it: a value for all rows, which takes no memory.
            columns[name] = np.broadcast_to(np.zeros(1, TYPECODES[column.type]), n)
            masks[name] = np.broadcast_to(np.ones(1, dtype=bool), n)
            continue
        columns[name] = np.concatenate([table.numbers(name) for table in tables] or [NOTHING])
        if any(flags):
            masks[name] = np.concatenate([table.missing(name) for table in tables])
    return Table.of(PROFILE, columns, masks)
