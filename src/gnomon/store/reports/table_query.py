"""The rows of a run's tables as a report has them: names for numbers of other tables' rows.

One query serves text, JSON and CSV: what a row refers to is joined to it, moments count from the
run's start on, and rows that have one are in order of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gnomon.model.schemas import Column
from gnomon.model.tables import Cell, Schema, schema_of
from gnomon.named_tuple import NamedTuple
from gnomon.store import table_limits
from gnomon.store.reports.report_part import CALLS, HOW, METRIC, REPETITION, TOTAL, UNIT, Key
from gnomon.store.run import Run

_NS = 1e9
_TYPES = {
    "INTEGER": "integer", "BIGINT": "integer", "DOUBLE": "number", "VARCHAR": "string",
    "BOOLEAN": "boolean",
}  # fmt: skip
_NUMBER = Key("number", "integer", "of the row")
_FIRST_TO_LAST = ";"
_CUT = "…"
_PATH = Key(
    "path", "string",
    "regions from the program down, each called from the one before, separated by ';' as in folded "
    "stacks; empty where it is not known, … instead of the first of more than 4096 characters",
)  # fmt: skip
_REGION = Key("region", "string", "name of the region, empty where it is not known")
_KIND = Key("kind", "string", "of the region")
_PLACE = (
    (Key("location", "integer", "number of the location"), "location"),
    (Key("host", "string", "name of its node"), "host"),
    (Key("rank", "integer", "of the location, -1 for none"), "rank"),
    (Key("pid", "integer", "of the location, -1 for none"), "pid"),
    (Key("tid", "integer", "of the location, -1 for none"), "tid"),
    (Key("place", "string", "the location in words: rank 0 thread 4711 worker"), ""),
)
# A location in words; that of a rank as a whole has the word once.
_WORDS = """trim(concat_ws(' ', CASE WHEN {0}.rank >= 0 THEN 'rank ' || {0}.rank END,
    CASE WHEN {0}.kind <> 'rank' OR {0}.rank < 0 THEN {0}.kind END,
    CASE WHEN {0}.tid >= 0 THEN {0}.tid WHEN {0}.pid >= 0 THEN {0}.pid END,
    CASE WHEN {0}.name <> 'rank ' || {0}.rank THEN {0}.name END))"""
# What a column is called here, and what is said of it, where that is not as in the table.
_CALLED: dict[tuple[str, str], Key] = {
    ("regions", "name"): _REGION,
    ("metrics", "name"): METRIC,
    ("metrics", "unit"): UNIT,
    ("metrics", "how"): HOW,
    ("files", "name"): Key("file", "string", "its path, or its address"),
    ("modules", "name"): Key("module", "string", "the program or library, as regions have it"),
    ("modules", "path"): Key("file", "string", "where it was"),
    ("arcs", "inclusive"): TOTAL._replace(
        text="what the calls came to, with everything they called (inclusive)"
    ),
    ("arcs", "calls"): CALLS._replace(text="how many calls, in this execution"),
    ("arcs", "caller"): Key("caller", "string", "the region that calls; empty where not known"),
    ("arcs", "callee"): Key("callee", "string", "the region that is called"),
}


class Field(NamedTuple):
    """What a row of a report has of a column of the table, or of a row that it refers to.

    Attributes:
        key: its name, type and meaning.
        sql: what it is in the query.
        heading: of its column in a text, "" for none.
        is_number: it stands on the right there.
    """

    key: Key
    sql: str
    heading: str = ""
    is_number: bool = False


def fields(schema: Schema) -> tuple[Field, ...]:
    """Return the fields of a table's rows in a report, in the order of the keys."""
    has_region = any(column.name == "region" for column in schema.columns)
    return tuple(
        field
        for column in schema.columns
        for field in _fields(schema, column, has_region=has_region)
    )


def _fields(schema: Schema, column: Column, *, has_region: bool) -> list[Field]:
    name, joined = column.name, f"j_{column.name}"
    if name == schema.number and schema.number != "location":
        key = _NUMBER._replace(text=column.description)
        return [Field(key, f"t.{name}", key.name, is_number=True)]
    if column.refers == "locations" and name == "location":
        return [
            Field(key, f"{joined}.{of}") if of else
            Field(key, _WORDS.format(joined), "location")
            for key, of in _PLACE
        ]  # fmt: skip
    if column.refers == "locations" and schema.number != "location":
        words = f"{column.description}, in words: rank 0 thread 4711 worker; empty likewise"
        return [
            Field(Key(name, "string", words), _WORDS.format(joined), name),
            Field(Key(f"{name}_location", "integer", f"{name}: number of the location, -1 where "
                      "not known"), f"t.{name}"),
            Field(Key(f"{name}_rank", "integer", f"{name}: rank of the location, -1 for none"),
                  f"COALESCE({joined}.rank, -1)"),
        ]  # fmt: skip
    if column.refers == "regions":
        key = _CALLED.get((schema.name, name), _REGION)
        region = Field(key, f"COALESCE({joined}.name, '')", name)
        return [region, Field(_KIND, f"{joined}.kind")] if key is _REGION else [region]
    if column.refers == "paths":
        path = Field(_PATH, f"t.{name}")
        if has_region:
            return [path]
        return [
            Field(_REGION, f"COALESCE({joined}_region.name, '')", _REGION.name),
            Field(_KIND, f"COALESCE({joined}_region.kind, '')"),
            path,
        ]
    if column.refers == "metrics":
        return [
            Field(METRIC, f"COALESCE({joined}.name, '')", METRIC.name),
            Field(UNIT, f"COALESCE({joined}.unit, '')"),
            Field(HOW, f"COALESCE({joined}.how, '')"),
        ]
    if column.refers == "files":
        key = Key(name, "string", "path or address of the file; empty for none")
        return [Field(key, f"COALESCE({joined}.name, '')", name)]
    return [_plain(schema, column)]


def _plain(schema: Schema, column: Column) -> Field:
    name = column.name
    key = _CALLED.get((schema.name, name)) or Key(
        name, _TYPES[column.type], column.description, is_nullable=column.nullable
    )
    is_number = column.type != "VARCHAR"
    is_told = is_number or column.nullable
    sql = f"t.{name}" if is_told else f"COALESCE(t.{name}, '')"
    if name == REPETITION.name:
        key = REPETITION
    if column.is_moment:
        text = column.description.replace("since 1970", "from the start of the run on")
        return Field(key._replace(text=text), f"t.{name} - {{start}}",
                     name.removesuffix("_ns"), is_number=True)  # fmt: skip
    return Field(key, sql, key.name.removesuffix("_ns"), is_number=is_number)


def rows(
    run: Run, part: str, top: int = 0, *, has_paths: bool = False
) -> Iterator[dict[str, Cell]]:
    """Yield the first rows of a table, however many there are.

    Args:
        run: the run.
        part: name of the table.
        top: how many, 0 for all.
        has_paths: with call paths in words, not their numbers.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    schema = schema_of(part)
    shown = fields(schema)
    names = [field.key.name for field in shown]
    start = int(float(run.head["started"]) * _NS)
    columns = ", ".join(field.sql.format(start=start) for field in shown)
    order = _order(schema)
    limit = f" LIMIT {top}" if top else ""
    # Rows are chosen first: names are looked up for those alone.
    chosen = f"SELECT * FROM {schema.name} t{order}{limit}"
    texts = PathTexts(run) if has_paths and _PATH in (field.key for field in shown) else None
    for found in run.stream(f"SELECT {columns} FROM ({chosen}) t{_joins(schema)}{order}"):
        for cells in found:
            row = dict(zip(names, cells, strict=True))
            if texts is not None:
                row[_PATH.name] = texts.of(row[_PATH.name])
            yield row


def _order(schema: Schema) -> str:
    """Return how rows are ordered: by time, then location; "" for that of the table.

    Those of tables that refer to no other keep theirs: what is looked up there loses it.
    """
    moments = [column.name for column in schema.columns if column.is_moment]
    if not _joins(schema):
        return ""
    places = [column.name for column in schema.columns if column.refers == "locations"]
    rest = [column.name for column in schema.columns if column.name not in (*moments, *places)]
    ordered = ", ".join(f"t.{name} NULLS LAST" for name in (*moments, *places, *rest))
    return f" ORDER BY {ordered}"


def _joins(schema: Schema) -> str:
    joins = ""
    for column in schema.columns:
        if not column.refers or schema.number == "location":
            continue
        joined, number = f"j_{column.name}", schema_of(column.refers).number
        joins += f" LEFT JOIN {column.refers} {joined} ON {joined}.{number} = t.{column.name}"
        if column.refers == "paths":
            region = f"{joined}_region"
            joins += f" LEFT JOIN regions {region} ON {region}.region = {joined}.region"
    return joins


class PathTexts:
    """Call paths in words, each made when it is asked for.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """

    def __init__(self, run: Run) -> None:
        rows = run.query(
            "SELECT path, parent, COALESCE(name, '') FROM paths JOIN regions USING (region)"
        )
        self._paths = {int(path): (int(parent), str(name)) for path, parent, name in rows}
        self._texts: dict[int, str] = {}

    def of(self, path: int) -> str:
        """Return a path in words, "" where it is not known."""
        text = self._texts.get(path)
        if text is None:
            text = self._texts[path] = self._made(path)
        return text

    def _made(self, path: int) -> str:
        names: list[str] = []
        length = 0
        while (known := self._paths.get(path)) is not None:
            path, name = known
            length += len(name) + 1
            if length > table_limits.TEXT_MOST:  # a path that comes back to itself ends here, too
                names.append(_CUT)
                break
            names.append(name)
        return _FIRST_TO_LAST.join(reversed(names))


def is_of_metric(row: Mapping[str, Any], name: str) -> bool:
    """Return whether a value of a row is in the unit of the row's metric."""
    return name in ("weight", TOTAL.name) and "unit" in row
