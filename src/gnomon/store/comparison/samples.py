"""What is compared: sides of one or more runs, and the repeated values of each of their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from gnomon.errors import UsageError
from gnomon.model import location_kinds
from gnomon.model.inlining import FunctionFragment, defining_files, has_unique_names
from gnomon.model.metric import Aggregation
from gnomon.store import moments, outermost_paths, run_directory
from gnomon.store.profile_query import NOT_ADDED, OF_PLACE, ROOT
from gnomon.store.run import Run
from gnomon.store.run_files import Reader
from gnomon.store.sample_weights import sample_weights
from gnomon.terminal_text import suffixes

PLACES = ("function", "file", "line", "region", "thread", "process", "rank")
IN_SOURCE = ("function", "file", "line")
WHERE_ELSE_0 = (*IN_SOURCE, "region")
"""Places that had none of a metric in an execution that says nothing of them."""

_ELAPSED = f"(SELECT metric FROM metrics WHERE aggregation = '{Aggregation.ELAPSED}')"
_METRICS = """
SELECT COALESCE(name, ''), COALESCE(unit, ''), COALESCE(how, ''), COALESCE(domain, ''),
       COALESCE(scope, ''), COALESCE(formula, ''), reproducible, dilated
FROM metrics ORDER BY metric
"""
_COMMAND = """
SELECT '', '', '', 0, COALESCE(m.name, ''), p.repetition, AVG(p.inclusive)
FROM profile p JOIN metrics m USING (metric) JOIN locations l USING (location)
WHERE l.kind = 'command' AND p.path IN (SELECT path FROM paths WHERE parent = -1)
GROUP BY ALL
"""
# Of a metric that is known of sections alone, a place has what they have together.
_OF_PLACES = f"""
    SELECT p.repetition, p.location, p.metric, {OF_PLACE} AS value
    FROM profile p JOIN paths k USING (path)
    WHERE {ROOT} OR p.metric NOT IN {NOT_ADDED}
    GROUP BY p.repetition, p.location, p.metric HAVING value IS NOT NULL
"""
# Processes and threads have other numbers in every run: the second of a name is the second.
_TASKS = f"""
WITH v AS (
    SELECT o.*, COALESCE(l.name, '') AS name
    FROM ({_OF_PLACES}) o JOIN locations l USING (location) WHERE l.kind = '{{kind}}'
), tasks AS (
    SELECT repetition, location, name,
           row_number() OVER (PARTITION BY repetition, name ORDER BY location) AS nth
    FROM (SELECT DISTINCT repetition, location, name FROM v)
)
SELECT '', t.name, '', t.nth, COALESCE(m.name, ''), v.repetition, v.value
FROM v JOIN tasks t USING (repetition, location) JOIN metrics m USING (metric)
"""
# What is known of a whole rank, else what its processes have together, or their threads: the
# longest of times, and of ratios and the like nothing but that of a single place.
_RANKS = f"""
WITH given AS (
    SELECT l.rank, l.kind, o.metric, o.repetition,
           CASE WHEN ANY_VALUE(m.aggregation) = '{Aggregation.ELAPSED}' THEN MAX(o.value)
                WHEN COUNT(*) = 1 OR o.metric NOT IN {NOT_ADDED} THEN SUM(o.value) END AS value
    FROM ({_OF_PLACES}) o JOIN locations l USING (location) JOIN metrics m USING (metric)
    WHERE l.rank >= 0 AND l.kind IN ('rank', 'process', 'thread')
    GROUP BY l.rank, l.kind, o.metric, o.repetition
)
SELECT '', 'rank', '', g.rank, COALESCE(m.name, ''), g.repetition,
       arg_min(g.value, list_position(['rank', 'process', 'thread'], g.kind))
FROM given g JOIN metrics m USING (metric) WHERE g.value IS NOT NULL GROUP BY ALL
"""
_LINES = """
SELECT COALESCE(r.module, ''), COALESCE(r.name, ''), COALESCE(r.file, ''), COALESCE(r.line, 0),
       COALESCE(m.name, ''), p.repetition, SUM(p.exclusive)
FROM profile p JOIN paths USING (path) JOIN regions r USING (region) JOIN metrics m USING (metric)
WHERE r.kind IN {code} AND p.exclusive IS NOT NULL
GROUP BY ALL
"""
# How much of a metric a sample stands for. Without the samples themselves their number is known of
# the program.
_MEAN_WEIGHTS = """
SELECT m.name, SUM(p.inclusive) / NULLIF(SUM(p.raw), 0)
FROM profile p JOIN metrics m USING (metric)
WHERE m.how = 'sampled' AND p.path IN (SELECT path FROM paths WHERE parent = -1)
    AND p.raw IS NOT NULL AND isfinite(p.inclusive)
GROUP BY m.name
"""
_WANTED = """
here AS (
    SELECT t.path, t.parent, COALESCE(r.kind, '') AS kind, COALESCE(r.name, '') AS name,
           {once} AS once
    FROM paths t JOIN regions r USING (region)
), wanted AS (
    SELECT path, kind, name, once, parent IN (SELECT path FROM here WHERE parent = -1) AS is_top
    FROM here WHERE parent <> -1 AND kind NOT IN {code} AND {outermost}
)
"""
# A root is no region, whatever it is called.
_KEY_OF_REGION = "COALESCE(r.kind, ''), COALESCE(r.name, ''), t.parent = -1"
_IS_OUTERMOST = "path IN (SELECT path FROM outermost_ WHERE path = top)"
_OF_REGIONS = """
, of_kind AS (
    SELECT metric, repetition, SUM(top) AS top FROM of_regions WHERE top IS NOT NULL
    GROUP BY kind, metric, repetition
)
SELECT kind, name, '', 0, metric, repetition, value FROM of_regions
UNION ALL SELECT '', '', '', 0, metric, repetition, MAX(top) FROM of_kind GROUP BY ALL
"""
# With all that is called from there: of a region in itself the outer one, of places in others the
# outermost that has a value, or all where each call is recorded once. What does not add up is known
# of a single one alone.
_REGIONS = f"""
WITH RECURSIVE {_WANTED}, around AS (
    SELECT location, parent AS at FROM locations
    UNION SELECT a.location, l.parent FROM around a JOIN locations l ON l.location = a.at
), given AS (
    SELECT w.kind, w.name, w.path, w.once, w.is_top, p.location, p.metric, p.repetition, p.inclusive
    FROM profile p JOIN wanted w USING (path) JOIN locations l USING (location)
    WHERE p.inclusive IS NOT NULL AND l.kind NOT IN {{where}} AND p.metric NOT IN {_ELAPSED}
), outermost AS (
    SELECT * FROM given g WHERE once OR NOT EXISTS (
        SELECT 1 FROM around a JOIN given o ON o.location = a.at
        WHERE a.location = g.location AND o.path = g.path AND o.metric = g.metric
            AND o.repetition = g.repetition)
), of_regions AS (
    SELECT o.kind, o.name, COALESCE(m.name, '') AS metric, o.repetition, SUM(o.inclusive) AS value,
           SUM(o.inclusive) FILTER (o.is_top) AS top
    FROM outermost o JOIN metrics m USING (metric) GROUP BY o.kind, o.name, m.name, o.repetition
    HAVING COUNT(*) = 1 OR ANY_VALUE(m.metric) NOT IN {NOT_ADDED}
)
{_OF_REGIONS}"""
# Times of several places at once are as in the report: of a rank the longest, of ranks the mean.
_REGIONS_AT_ONCE = f"""
{{together}}, {_WANTED}, of_regions AS (
    SELECT w.kind, w.name, m.name AS metric, t.repetition, SUM(t.inclusive) AS value,
           SUM(t.inclusive) FILTER (w.is_top) AS top
    FROM together t JOIN wanted w USING (path), metrics m WHERE m.metric = {{metric}}
    GROUP BY w.kind, w.name, m.name, t.repetition
)
{_OF_REGIONS}"""

Place = tuple[str, str, str, int]
"""Program or kind of region, name (of a function, region, process or thread), source file, and line
or number."""

WHOLE: Place = ("", "", "", 0)
"""The whole command; of regions, what is below nothing but it."""


@dataclass(frozen=True, slots=True)
class RunMetric:
    """What a run says of one of its metrics (model/metric.py)."""

    name: str
    unit: str
    how: str
    domain: str
    scope: str
    formula: str
    reproducible: bool
    dilated: bool

    @property
    def is_derived(self) -> bool:
        """Whether a formula gives it."""
        return bool(self.formula)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Attributes:
        label: what it was called on the command line.
        runs: one or more.
    """

    label: str
    runs: tuple[Run, ...]

    @property
    def repetitions(self) -> int:
        """How often the program was executed, over all runs."""
        return sum(max(int(run.head["repetitions"]), 1) for run in self.runs)

    @property
    def machines(self) -> frozenset[tuple[str, str]]:
        """What it ran on: models of the CPUs ("" if not known) and how many there are."""
        return frozenset(
            (str(host.get("cpu_model") or ""), str(host.get("cpus")))
            for run in self.runs
            for host in run.head["hosts"]
        )


Samples = dict[tuple[Place, str], list[list[float]]]
"""For each place and metric the values of each run's repetitions."""


@dataclass(frozen=True, slots=True)
class MeasuredSide:
    """A side with its values.

    Attributes:
        side: the side.
        quantities: its metrics by name, each with all that its runs say of it.
        samples: their values.
        repetitions: of each run, how many have values.
        weights: of sampled metrics, how much of it a sample stands for.
    """

    side: Side
    quantities: Mapping[str, tuple[RunMetric, ...]]
    samples: Samples
    repetitions: tuple[int, ...]
    weights: Mapping[str, float]


def side(text: str, where: Path = Path(), readers: Sequence[Reader] | None = None) -> Side:
    """Return the side that a word of the command line means: RUN, RUN,RUN,... or @TAG.

    A run whose name has a comma is found by its whole name first.

    Args:
        text: the word.
        where: the folder of runs with a tag.
        readers: of files in a run's place; None for those of the store.

    Raises:
        UsageError: a name is empty, or a run named twice.
        RunDirectoryError: there is no such run or tag.
        FormatError: a run is damaged.
    """
    names = [text]
    if text.startswith("@"):
        from gnomon.store.run_index import tagged

        names = [str(path) for path in tagged(text[1:], where)]
    elif "," in text and not run_directory.exists(text, readers):
        names = text.split(",")
    if not all(names):
        raise UsageError(f"'{text}': a name is missing; give RUN, RUN,RUN or @TAG")
    runs = tuple(run_directory.find(name, readers=readers) for name in names)
    paths = [run.path.resolve() for run in runs]
    twice = [run.path for at, run in enumerate(runs) if paths[at] in paths[:at]]
    if twice:
        raise UsageError(f"'{text}': {twice[0]} is named twice; one measurement counts once")
    return Side(text, runs)


def measured(sides: Sequence[Side], per: str = "") -> tuple[MeasuredSide, ...]:
    """Return the values of each side.

    Args:
        sides: two or more.
        per: one of `PLACES`, "" for the whole command.

    Raises:
        RunDirectoryError: a run's tables cannot be read.
    """
    raw = [[_rows(run, per) for run in one.runs] for one in sides]
    if per in ("function", "process", "thread"):
        raw = _renamed(raw, 0 if per == "function" else 1)
    if per in IN_SOURCE:
        unique = all(has_unique_names(run.head) for one in sides for run in one.runs)
        raw = _placed(raw, per, unique=unique)
    measured_sides = []
    for side, of_runs in zip(sides, raw, strict=True):
        quantities: dict[str, list[RunMetric]] = {}
        for run in side.runs:
            for row in run.query(_METRICS):
                recorded = quantities.setdefault(str(row[0]), [])
                quantity = RunMetric(*row)
                if quantity not in recorded:
                    recorded.append(quantity)
        samples: Samples = {}
        repetitions = [sorted({row[5] for row in rows}) for rows in of_runs]
        for at, rows in enumerate(of_runs):
            _gather(samples, rows, at, len(of_runs), repetitions[at] if per in WHERE_ELSE_0 else ())
        known_as = {name: tuple(some) for name, some in quantities.items()}
        measured_sides.append(
            MeasuredSide(side, known_as, samples, tuple(map(len, repetitions)), _weights(side))
        )
    return tuple(measured_sides)


def _weights(side: Side) -> dict[str, float]:
    """Return how much of each sampled metric a sample stands for; of several runs the most."""
    weights: dict[str, float] = {}
    for run in side.runs:
        if not run.query("SELECT 1 FROM metrics WHERE how = 'sampled' LIMIT 1"):
            continue
        of_run = dict(run.query(_MEAN_WEIGHTS))
        # Where samples differ, those that stand for more make the error.
        of_run |= {one.name: one.squares / one.total for one in sample_weights(run) if one.total}
        for metric, weight in of_run.items():
            if weight is not None and isfinite(weight) and weight > 0:
                weights[metric] = max(weights.get(metric, 0.0), float(weight))
    return weights


Row = tuple[str, str, str, int, str, int, float]
_QUERIES = {"": _COMMAND, "region": _REGIONS, "rank": _RANKS}


def _rows(run: Run, per: str) -> list[Row]:
    if per in IN_SOURCE:
        query = _LINES
    elif per in _QUERIES:
        query = _QUERIES[per]
    else:
        query = _TASKS
    kinds = run.region_kinds
    words = {"kind": per, "code": kinds.code(), "where": location_kinds.where(),
             "once": kinds.recorded_once()}  # fmt: skip
    if per != "region":
        rows = run.query(query.format(**words))
    else:
        # Of deep stacks, pairs of a path and each that it is in would take all memory.
        paths = outermost_paths.of_keys(run, _KEY_OF_REGION, words["code"])
        words["outermost"] = "true" if paths is None else _IS_OUTERMOST
        arrays = {} if paths is None else {"outermost_": paths._asdict()}
        rows = run.query(query.format(**words), arrays=arrays)
        for (metric,) in run.query(_ELAPSED):
            together = moments.together_query(metric, words["once"])
            at_once = _REGIONS_AT_ONCE.format(**words, together=together, metric=metric)
            rows += run.query(at_once, arrays=arrays)
    return [row for row in rows if row[6] is not None and isfinite(row[6])]


def _gather(
    samples: Samples, rows: Iterable[Row], run_index: int, runs: int, everywhere: Sequence[int]
) -> None:
    """Add the values of one of so many runs; a place had 0 in those repetitions given it lacks."""
    by_key: dict[tuple[Place, str], dict[int, float]] = {}
    for program, name, file, line, metric, repetition, value in rows:
        values = by_key.setdefault(((program, name, file, line), metric), {})
        values[repetition] = values.get(repetition, 0.0) + value
    for key, values in by_key.items():
        of_runs = samples.setdefault(key, [[] for _ in range(runs)])
        of_runs[run_index] = [values.get(n, 0.0) for n in everywhere or sorted(values)]


def _renamed(raw: Sequence[Sequence[Sequence[Row]]], column: int) -> list[list[list[Row]]]:
    """Return the rows with the baseline's name for a program that is called otherwise elsewhere.

    ./before and ./after are the same program if all others have the same names.
    """
    names = [{str(row[column]) for rows in of_runs for row in rows} for of_runs in raw]
    everywhere = set.intersection(*names) if names else set()
    own = [sorted(some - everywhere) for some in names]
    if any(len(some) != 1 for some in own):
        return [[list(rows) for rows in of_runs] for of_runs in raw]
    to = own[0][0]
    return [
        [
            [
                (*row[:column], to, *row[column + 1 :]) if row[column] == mine else row  # type: ignore[misc]
                for row in rows
            ]
            for rows in of_runs
        ]
        for of_runs, (mine,) in zip(raw, own, strict=True)
    ]


def _placed(
    raw: Sequence[Sequence[Sequence[Row]]], per: str, *, unique: bool
) -> list[list[list[Row]]]:
    """Return the rows of lines with the place that they are of, by names that all sides share.

    A source file may lie in another folder for each side: it then is the one whose path ends alike.
    """
    files = [{row[2] for rows in of_runs for row in rows} for of_runs in raw]
    everywhere = set.intersection(*files) if files else set()
    labels = [suffixes(some - everywhere) for some in files]
    placed = []
    for of_runs, known in zip(raw, labels, strict=True):
        placed.append([[_place(row, known, per) for row in rows] for rows in of_runs])
        if per == "function":
            weights: dict[FunctionFragment, float] = {}
            first = min((row[4] for rows in placed[-1] for row in rows), default="")
            for rows in placed[-1]:
                for row in rows:
                    part = FunctionFragment(*row[:3])
                    weights[part] = weights.get(part, 0.0) + (row[6] if row[4] == first else 0.0)
            home = defining_files(weights, has_unique_names=unique)
            placed[-1] = [
                [(*row[:2], home[FunctionFragment(*row[:3])], 0, *row[4:]) for row in rows]
                for rows in placed[-1]
            ]
    return placed


def _place(row: Row, labels: Mapping[str, str], per: str) -> Row:
    program, name, file, line, *rest = row
    file = labels.get(file, file)
    if per == "file":
        return ("", "", file, 0, *rest)  # type: ignore[return-value]
    if per == "line":
        return ("", name, file, line, *rest)  # type: ignore[return-value]
    return (program, name, file, line, *rest)  # type: ignore[return-value]


def described(place: Place, per: str = "") -> dict[str, Any]:
    """Return a place by field name, what it has not left out."""
    names = ("kind" if per == "region" else "program", "name", "file", "line")
    return {name: value for name, value in zip(names, place, strict=True) if value}
