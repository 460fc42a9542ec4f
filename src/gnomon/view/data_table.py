"""Tables of anything: a row for each function, file, line, section, place, metric or value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from gnomon.errors import UsageError
from gnomon.model import location_kinds
from gnomon.model.array_types import Cells, Flags, Longs, Texts
from gnomon.named_tuple import NamedTuple
from gnomon.view import profile_rows
from gnomon.view.distribution import to_jsonable
from gnomon.view.node_calls import node_calls
from gnomon.view.open_run import OpenRun
from gnomon.view.tree import Tree
from gnomon.view.tree_builders import FUNCTION

TABLES = {
    "functions": "functions and sections",
    "lines": "source lines",
    "files": "source files",
    "places": "processes, threads and cores",
    "metrics": "metrics of the whole run",
    "values": "every recorded value",
}
ROWS_OF_PAGE = 5000
"""Rows of a page, at most."""


_METRICS_SHOWN = 8
_CHUNK = 1000


class TableColumn(NamedTuple):
    """A column of a table.

    Attributes:
        metric: -1 where the column is no metric's.
        shows: what its cells are: names of functions, paths of files, numbers that name something
            and whose digits are read one by one, nanoseconds since 1970 (as digits in a text, of
            which a number would lose some); "" for other texts and quantities.
    """

    name: str
    title: str
    type: Literal["text", "number"]
    unit: str = ""
    how: str = ""
    description: str = ""
    metric: int = -1
    kind: Literal["", "inclusive", "exclusive"] = ""
    shows: Literal["", "symbol", "path", "number", "moment"] = ""


class TableQuery(NamedTuple):
    """Which rows and columns of a table are requested.

    Attributes:
        name: one of `TABLES`.
        metrics: numbers of those that have columns; None for the first few.
        location: position of the only location whose values are wanted; -1 for all.
        sort: name of a column, "" for the table's own order.
        descending: largest first.
        filter: words that all must be in a row's text.
        columns: names of columns in their order, () for all.
    """

    name: str
    metrics: tuple[int, ...] | None = None
    location: int = -1
    sort: str = ""
    descending: bool = True
    filter: str = ""
    columns: tuple[str, ...] = ()


TableChunks = tuple[tuple[TableColumn, ...], Iterator[Iterator[list[Any]]]]
"""A table's columns, and all of its rows, some at a time."""


class CodedColumn(NamedTuple):
    """A column of a few values that many rows have: for each row the number of its value."""

    values: Cells
    codes: Cells

    def at(self, rows: Longs) -> Cells:
        """Return the values of some rows."""
        found: Cells = self.values[self.codes[rows]]
        return found


class TableRows(NamedTuple):
    """A table's columns and cells, and where each row's source is ("" where there is none).

    Cells are those of the whole table; only the rows that are looked at are put together.

    Attributes:
        columns: in their order.
        cells: of each column.
        files: of each row.
        lines: of each row.
        rows: positions of those that are wanted, in their order.
    """

    columns: tuple[TableColumn, ...]
    cells: tuple[CodedColumn | Cells, ...]
    files: CodedColumn | Cells
    lines: CodedColumn | Cells
    rows: Longs

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.rows)


def _at(cells: CodedColumn | Cells, rows: Longs) -> Cells:
    found: Cells = cells.at(rows) if isinstance(cells, CodedColumn) else cells[rows]
    return found


def _values_of(cells: CodedColumn | Cells) -> Cells:
    return cells.values if isinstance(cells, CodedColumn) else cells


def query_table(opened: OpenRun, wanted: TableQuery) -> TableRows:
    """Return a table's rows: those that the filter lets through, in the order that is wanted.

    Raises:
        UsageError: there is no such table, column or metric.
        RunDirectoryError: the run's tables cannot be read.
    """
    if wanted.name not in TABLES:
        raise UsageError(f"table {wanted.name[:40]!a}: there are {', '.join(TABLES)}")
    whole = _whole(opened, wanted)
    names = [column.name for column in whole.columns]
    for name in (*wanted.columns, *([wanted.sort] if wanted.sort else [])):
        if name not in names:
            raise UsageError(f"column {name[:40]!a}: the table has {', '.join(names)}")
    rows = whole.rows
    for word in wanted.filter.lower().split():
        rows = rows[_has(whole, word, rows)]
    if wanted.sort:
        rows = rows[_order(whole.cells[names.index(wanted.sort)], rows, wanted.descending)]
    order = [names.index(name) for name in wanted.columns] or list(range(len(names)))
    return TableRows(
        tuple(whole.columns[at] for at in order), tuple(whole.cells[at] for at in order),
        whole.files, whole.lines, rows,
    )  # fmt: skip


def _has(whole: TableRows, word: str, rows: Longs) -> Flags:
    """Return which rows have a word, in small letters, in any text."""
    has_word = np.zeros(len(rows), dtype=bool)
    for column, cells in zip(whole.columns, whole.cells, strict=True):
        if column.type != "text":
            continue
        values = _values_of(cells)
        there = np.fromiter((word in one.lower() for one in values), dtype=bool, count=len(values))
        has_word |= _at(
            cells._replace(values=there) if isinstance(cells, CodedColumn) else there, rows
        )
    return has_word


def _order(cells: CodedColumn | Cells, rows: Longs, descending: bool) -> Longs:
    """Return the order of a column's rows; what has no value is last either way."""
    if _values_of(cells).dtype != object:
        numbers = _at(cells, rows)
        return np.argsort(-numbers if descending else numbers, kind="stable")
    values, codes = cells if isinstance(cells, CodedColumn) else (cells, np.arange(len(cells)))
    # Not as an array of texts of one width, which the longest would give to all.
    small = _texts([one.lower() for one in values])
    _, places = np.unique(small, return_inverse=True)
    order = np.argsort(places[codes[rows]], kind="stable")
    return order[::-1] if descending else order


def _whole(opened: OpenRun, wanted: TableQuery) -> TableRows:
    if wanted.name == "values":
        return _values(opened, wanted)
    if wanted.name == "metrics":
        return _metrics(opened, wanted)
    tree = opened.tree({"places": "rank", "functions": FUNCTION}.get(wanted.name, "file"))
    kinds = np.array(
        [
            kind == "file" if wanted.name == "files"
            else kind == "line" if wanted.name == "lines"
            else kind in location_kinds.KINDS
            if wanted.name == "places"
            else kind not in ("run", "file", "line", "module", "capability")
            for kind in tree.kinds
        ]
    )  # fmt: skip
    chosen = kinds[tree.kind]
    if wanted.name == "places":
        chosen &= tree.location >= 0
    return _of_nodes(opened, tree, np.flatnonzero(chosen), wanted)


def _of_nodes(opened: OpenRun, tree: Tree, nodes: Longs, wanted: TableQuery) -> TableRows:
    strings = np.array(tree.strings, dtype=object)
    kinds = np.array(tree.kinds, dtype=object)
    files, lines = strings[tree.file[nodes]], tree.line[nodes]
    if wanted.name == "lines":
        names = strings[tree.name[np.maximum(tree.parent[nodes], 0)]]
    else:
        names = strings[tree.name[nodes]]
    columns: list[TableColumn] = []
    cells: list[Any] = []

    def add(column: TableColumn, values: Cells) -> None:
        columns.append(column)
        cells.append(values)

    if wanted.name in ("functions", "lines"):
        add(TableColumn("name", "function", "text", shows="symbol"), names)
        if wanted.name == "functions":
            add(TableColumn("kind", "kind", "text"), kinds[tree.kind[nodes]])
        add(TableColumn("program", "program", "text"), strings[tree.module[nodes]])
        add(TableColumn("file", "file", "text", shows="path"), files)
        if lines.any():
            add(TableColumn("line", "line", "number", shows="number"), lines.astype(float))
    elif wanted.name == "files":
        add(TableColumn("file", "file", "text", shows="path"), names)
    else:
        add(TableColumn("name", "location", "text"), names)
        add(TableColumn("kind", "kind", "text"), kinds[tree.kind[nodes]])
        places = [opened.data.locations[at] for at in tree.location[nodes].tolist()]
        add(TableColumn("host", "host", "text"), _texts([one.host for one in places]))
        for name in ("rank", "pid", "tid"):
            numbers = np.array([float(getattr(one, name)) for one in places])
            if (numbers >= 0).any():
                add(
                    TableColumn(name, name, "number", shows="number"),
                    np.where(numbers < 0, np.nan, numbers),
                )
    calls = node_calls(opened, tree.by)[nodes]
    if not np.isnan(calls).all():
        add(TableColumn("calls", "calls", "number"), calls)
    for number in _chosen(opened, wanted, tree):
        metric = opened.metric(number)
        values = opened.values(tree.by, number, wanted.location)
        pair = (values.exclusive[nodes], values.inclusive[nodes])
        kinds_of: tuple[Literal["exclusive", "inclusive"], ...] = ("exclusive", "inclusive")
        if np.array_equal(*pair, equal_nan=True) or np.isnan(pair[0]).all():
            kinds_of, pair = ("inclusive",), (pair[1],)  # type: ignore[assignment]
        for kind, column in zip(kinds_of, pair, strict=True):
            add(
                TableColumn(
                    f"{kind}:{number}", metric.name, "number", metric.unit, metric.how,
                    metric.description or metric.formula, number, kind,
                ),
                column,
            )  # fmt: skip
    if wanted.name == "functions":
        lines = np.where(lines > 0, lines, _first_lines(opened, tree)[nodes])
    return TableRows(tuple(columns), tuple(cells), files, lines, np.arange(len(lines)))


def _first_lines(opened: OpenRun, tree: Tree) -> Cells:
    """Return the first line that each function has values of in its own file, 0 for none."""
    paths, regions = opened.data.paths, opened.data.regions
    strings = np.array(tree.strings, dtype=object)
    path, node = tree.exclusive
    line = regions.line[paths.region[path]]
    own = (regions.file[paths.region[path]] == strings[tree.file[node]]) & (line > 0)
    first = np.full(tree.n, np.iinfo(np.int32).max, dtype=np.int32)
    np.minimum.at(first, node[own], line[own])
    return np.where(first == np.iinfo(np.int32).max, 0, first)


def _chosen(opened: OpenRun, wanted: TableQuery, tree: Tree) -> Sequence[int]:
    if wanted.metrics is not None:
        return wanted.metrics
    metrics = [
        number for number, one in opened.known().items()
        if (one.has_locations if tree.by == "rank" else one.has_regions)
    ]  # fmt: skip
    first = opened.first_metric()
    if not metrics or not opened.metric(first).is_exact:
        return sorted(metrics)[:_METRICS_SHOWN]
    # Beside what is emulated, times of the emulator come last.
    kin = opened.metric(first).component
    metrics.sort(key=lambda at: (at != first, opened.metric(at).component != kin))
    return metrics[:_METRICS_SHOWN]


def _texts(cells: Sequence[str]) -> Texts:
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def _metrics(opened: OpenRun, wanted: TableQuery) -> TableRows:
    metrics = opened.data.metrics
    values = [opened.values("region", one.metric, wanted.location).inclusive[0] for one in metrics]
    texts = {
        "name": "metric", "unit": "unit", "how": "how", "component": "component",
        "domain": "domain", "scope": "scope", "formula": "formula", "description": "description",
    }  # fmt: skip
    columns = [TableColumn(name, title, "text") for name, title in texts.items()]
    cells: list[Any] = [_texts([getattr(one, name) for one in metrics]) for name in texts]
    columns.insert(1, TableColumn("value", "value", "number"))
    cells.insert(1, np.array(values, dtype=float))
    none = _texts([""] * len(metrics))
    lines = np.zeros(len(metrics), dtype=np.int32)
    return TableRows(tuple(columns), tuple(cells), none, lines, np.arange(len(metrics)))


def _values(opened: OpenRun, wanted: TableQuery) -> TableRows:
    """Return every recorded value of the metrics that are wanted: the first one, if not said."""
    metrics = wanted.metrics or ((opened.first_metric(),) if opened.data.metrics else ())
    if not metrics:
        none = np.zeros(0, dtype=np.int32)
        return TableRows((), (), _texts([]), none, np.arange(0))
    parts = [opened.rows(number) for number in metrics]
    data = opened.data
    location = _joined([part.location for part in parts])
    number = np.repeat(np.arange(len(metrics), dtype=np.int32), [part.n for part in parts])
    metric_rows = [opened.metric(one) for one in metrics]
    regions, region = data.regions, data.paths.region[_joined([part.path for part in parts])]
    files, lines = CodedColumn(regions.file, region), CodedColumn(regions.line, region)
    texts: list[tuple[str, CodedColumn]] = [
        ("metric", CodedColumn(_texts([one.name for one in metric_rows]), number)),
        ("name", CodedColumn(regions.name, region)),
        ("program", CodedColumn(regions.module, region)),
        ("file", files),
        ("place", CodedColumn(_texts([one.title for one in data.locations]), location)),
        ("unit", CodedColumn(_texts([one.unit for one in metric_rows]), number)),
        ("how", CodedColumn(_texts([one.how for one in metric_rows]), number)),
    ]
    numbers: list[tuple[str, CodedColumn | Cells]] = [("line", lines)]
    numbers += [
        (name, _joined([getattr(part, name) for part in parts]))
        for name in ("inclusive", "exclusive", "calls", "repetition")
    ]
    titles = {"place": "location"}
    columns = [
        TableColumn(name, titles.get(name, name), "text", shows="path" if name == "file" else "")
        for name, _ in texts
    ]
    columns += [
        TableColumn(name, name, "number", shows="number" if name in ("line", "repetition") else "")
        for name, _ in numbers
    ]
    rows = np.arange(len(location))
    if wanted.location >= 0:
        rows = np.flatnonzero(profile_rows.within(data, wanted.location)[location])
    return TableRows(
        tuple(columns), tuple(cells for _, cells in (*texts, *numbers)), files, lines, rows
    )


def _joined(parts: Sequence[Cells]) -> Cells:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def page(opened: OpenRun, wanted: TableQuery, offset: int, limit: int) -> dict[str, Any]:
    """Return some rows of a table: `TablePage` of the contract; raises as `query_table`."""
    table = query_table(opened, wanted)
    begin = max(offset, 0)
    end = begin + min(max(limit, 0), ROWS_OF_PAGE)
    rows = table.rows[begin:end]
    files, lines = _at(table.files, rows), _at(table.lines, rows)
    return {
        "name": wanted.name,
        "columns": [column._asdict() for column in table.columns],
        "rows": list(_rows(table, begin, end)),
        "total": table.n,
        "offset": begin,
        "sources": [
            {"file": str(file), "line": int(line)} if file else None
            for file, line in zip(files, lines, strict=True)
        ],
    }


def _rows(found: TableRows, begin: int, end: int) -> Iterator[list[Any]]:
    cells = [_at(column, found.rows[begin:end]) for column in found.cells]
    shown = [
        column.tolist() if column.dtype == object else [as_cell(one) for one in column.tolist()]
        for column in cells
    ]
    return (list(row) for row in zip(*shown, strict=True))


def as_cell(value: Any) -> str | float | int | None:  # noqa: ANN401
    """Return a cell as JSON has it: whole numbers as such, None for what is no number."""
    if value is None or isinstance(value, (str, int)):
        return value
    known = to_jsonable(value)
    return int(known) if known is not None and known.is_integer() and abs(known) < 2**53 else known


def chunks(opened: OpenRun, wanted: TableQuery) -> TableChunks:
    """Return all rows of a table, some at a time; raises as `query_table`."""
    table = query_table(opened, wanted)
    begins = range(0, table.n, _CHUNK)
    return table.columns, (_rows(table, begin, begin + _CHUNK) for begin in begins)
