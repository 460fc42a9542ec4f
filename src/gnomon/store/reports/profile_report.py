"""A run's profile as text that fits the terminal and as rows for JSON: by region, by rank ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from gnomon.model.metric import Aggregation, is_additive
from gnomon.model.symbol_names import short_name
from gnomon.model.tables import METRICS, Cell
from gnomon.store import moments
from gnomon.store.hotspots import named, whole
from gnomon.store.profile_query import BY_REGIONS, Profile
from gnomon.store.profile_sums import AND, Sum
from gnomon.store.reports.analysed import analysed
from gnomon.store.reports.code_rows import no_totals
from gnomon.store.reports.report_part import PartData
from gnomon.store.reports.run_facts import title
from gnomon.store.reports.table_report import GAP, INDENT, UNKNOWN
from gnomon.store.run import Run
from gnomon.terminal_text import filled, grid, short_path, shortened, suffixes
from gnomon.units import number, printable, quantity

_OF_TASKS = ("process", "thread")
_OF_PLACES = ("rank", *_OF_TASKS)
# More places are not named to the query one by one.
_FEW = 1000
_NAME_LEAST = 16
# The program and its sections are counted by counters of their own.
_MARGIN = 1e-6


def profile(run: Run, by: str, metric: int = -1) -> list[Sum]:
    """Return the sums of a run's profile, each value once.

    Args:
        run: the run.
        by: one of `profile_query.BY`.
        metric: number of the only metric wanted; -1 for all.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return analysed(run, Profile(by, metric))


def metric(run: Run, by: str, name: str) -> tuple[int, list[str]]:
    """Return the number of the metric that a profile is to show, and the names of all it has.

    Args:
        run: the run.
        by: what the profile is of.
        name: the metric, in any case and with or without PAPI_; "" for the first of those that
            most places have.

    Raises:
        UsageError: the run has no such metric.
        RunDirectoryError: the tables cannot be read.
    """
    counts = dict(run.query("SELECT metric, COUNT(*) FROM profile GROUP BY metric"))
    metric_rows = [row for row in run.rows(METRICS) if row["metric"] in counts]
    names = [str(row["name"]) for row in metric_rows]
    if name:
        wanted = named(name, names, by)
        return next(int(str(row["metric"])) for row in metric_rows if row["name"] == wanted), names
    best = max(metric_rows, key=lambda row: counts[row["metric"]], default=None)
    return (-1 if best is None else int(str(best["metric"]))), names


def profile_data(run: Run, sums: Sequence[Sum], by: str, threshold: float = 0.0) -> PartData:
    """Return the sums for JSON, and why some have no total.

    `self` and `total` are of one execution, the others of one location. What a region, file or line
    has without what is called from there is `self`, and with it `total`. What a rank, a process, a
    thread or the program has is all of it: `total` alone. `sum` is over all locations, None of what
    cannot be added up: ratios, and times of several places at once.

    Args:
        run: the run.
        sums: sums of its profile.
        by: of what they are.
        threshold: only those with so many percent of the metric's total.

    Raises:
        RunDirectoryError: the metrics cannot be read.
    """
    of = {row["metric"]: row for row in run.rows(METRICS)}
    repetitions = max(int(run.head["repetitions"]), 1)
    tasks = _numbers(run, sums) if by in _OF_TASKS else {}
    sums, _ = moments.told_of(run, sums, by)
    sums = _above(run, [one for one in sums if one.metric in of], of, by, threshold)
    of_regions = by in BY_REGIONS
    rows = [
        {
            **_fields(row_sum, by),
            **(
                dict(zip(("rank", "pid", "tid"), tasks[row_sum.key[3]], strict=True))
                if tasks
                else {}
            ),
            "metric": of[row_sum.metric]["name"] or "",
            "unit": of[row_sum.metric]["unit"] or "",
            "how": of[row_sum.metric]["how"] or "",
            "locations": row_sum.locations,
            "of": row_sum.kind,
            **({"self": whole(value)} if of_regions else {}),
            "total": whole(
                _inclusive(row_sum, of[row_sum.metric], repetitions) if of_regions else value
            ),
            "sum": None if several and row_sum.together is not None else whole(value),
            "min": whole(row_sum.least),
            "mean": whole(row_sum.total / row_sum.locations),
            "max": whole(row_sum.most),
            "calls": whole(None if row_sum.calls is None else row_sum.calls / repetitions),
        }
        for row_sum in sorted(sums, key=lambda one: (one.metric, -one.total, one.key))
        for value in [_total(row_sum, of[row_sum.metric], repetitions)]
        for several in [row_sum.locations > repetitions]
    ]
    added = [one for one in sums if _is_additive(of[one.metric])]
    return PartData(rows, {"notes": _notes(run, added)} if of_regions else {})


def _numbers(run: Run, found: Sequence[Sum]) -> dict[int, tuple[int, int, int]]:
    """Return rank, process and thread of the locations that sums by thread are of, -1 for none."""
    wanted = {one.key[3] for one in found}
    only = f"WHERE location IN ({', '.join(map(str, wanted))})" if 0 < len(wanted) <= _FEW else ""
    rows = run.query(
        "SELECT location, COALESCE(rank, -1), COALESCE(pid, -1), COALESCE(tid, -1) "
        f"FROM locations {only}"
    )
    return {location: (rank, pid, tid) for location, rank, pid, tid in rows}


def _fields(one: Sum, by: str) -> dict[str, Cell]:
    """Return the key of a sum by field name."""
    first, second, file, number = one.key
    fields: dict[str, dict[str, Cell]] = {
        "region": {"region": second, "kind": first, "program": bool(number)},
        "file": {"file": file},
        "line": {"file": file, "line": number, "function": second},
        "rank": {"rank": number},
        "process": {"location": number, "host": first, "name": second},
        "thread": {"location": number, "host": first, "name": second},
    }
    return fields.get(by, {})


def profile_text(
    run: Run,
    row_sums: Sequence[Sum],
    by: str,
    *,
    width: int,
    top: int = 0,
    others: Sequence[str] = (),
    metric: int = -1,
    threshold: float = 0.0,
) -> str:
    """Return a profile as a table: of one metric or, by metric, of all.

    Args:
        run: the run.
        row_sums: its sums, of one metric unless by metric.
        by: of what the sums are.
        width: columns of the terminal.
        top: only so many rows; 0 for all.
        others: names of metrics that it could have been of.
        metric: number of the one that it is of; -1 for all.
        threshold: only rows with so many percent of the metric's total.

    Raises:
        RunDirectoryError: the metrics cannot be read.
    """
    of = {int(str(row["metric"])): row for row in run.rows(METRICS)}
    row_sums = [one for one in row_sums if one.metric in of]
    if not row_sums:
        return "\n".join([title(run, width), *filled(_none(run, by, metric), width)]) + "\n"
    repetitions = max(int(run.head["repetitions"]), 1)
    several = any(one.locations > repetitions for one in row_sums)
    # Ratios, peaks and what is of the whole machine are not added up over places.
    is_sum = by == "metric" or _is_additive(of[row_sums[0].metric])
    row_sums, told = moments.told_of(run, row_sums, by)
    row_sums.sort(key=lambda one: (one.metric if by == "metric" else -_size(one, is_sum), one.key))
    large = _above(run, row_sums, of, by, threshold)
    shown = large[:top] if top else large
    of_regions = by in BY_REGIONS
    own = "self" if of_regions else "total"
    sums = [_total(one, of[one.metric], repetitions) or 0.0 for one in row_sums]
    whole_of = _whole(run, of[row_sums[0].metric], by, sums)
    tasks = _numbers(run, shown) if by in _OF_TASKS else {}
    files = suffixes({one.key[2] for one in shown})
    sections = {one.key[1] for one in shown if by == "region" and not one.key[3]}
    heads = ["of total"] if is_sum and whole_of else []
    heads += [own] if is_sum else []
    heads += ["total"] if is_sum and of_regions else []
    heads += ["min", "mean", "max"] if several else [] if is_sum else ["mean"]
    table = []
    for row_sum in shown:
        row = of[row_sum.metric]
        mean = row_sum.total / row_sum.locations
        values = {
            "total": _inclusive(row_sum, row, repetitions), own: _total(row_sum, row, repetitions),
            "min": row_sum.least, "mean": mean, "max": row_sum.most,
        }  # fmt: skip
        cells = {name: quantity(one, str(row["unit"] or ""), "-") for name, one in values.items()}
        cells["of total"] = _share(_total(row_sum, row, repetitions), whole_of)
        name = _name(row_sum, by, files, of, tasks)
        if by == "region" and row_sum.key[3] and row_sum.key[1] in sections:
            name += " (program)"
        table.append([*(cells[head] for head in heads), name])
    if of_regions and "total" in heads:
        at_total = heads.index("total")
        is_known = any(row[at_total] != "-" for row in table)
        if not is_known or _taken([*heads, by], table) > width - INDENT - _NAME_LEAST:
            del heads[at_total]
            table = [[*row[:at_total], *row[at_total + 1 :]] for row in table]
    lines = [title(run, width)]
    if by != "metric":
        what = of[row_sums[0].metric]
        lines.append(printable(f"{what['name']} by {by}, {what['how']}"))
    hows = [str(of[one.metric]["how"] or "") for one in shown] if by == "metric" else []
    lines += _profile_table([*heads, by], table, by, width, hows)
    if len(large) > len(shown):
        lines.append(f"  and {number(len(large) - len(shown))} more (--top 0 for all)")
    if len(row_sums) > len(large):
        below = number(len(row_sums) - len(large))
        lines.append(f"  and {below} with less than {number(threshold)} %")
    kinds = sorted({_plural(kind) for one in row_sums for kind in one.kind.split(AND)})
    if several:
        lines += filled(f"min, mean and max of the {' or '.join(kinds)}", width)
    if told and any(one.together is not None for one in shown):
        first = next(one.metric for one in row_sums if one.together is not None)
        lines += filled(printable(f"{of[first]['name']}: {told}"), width)
    for note in _notes(run, shown) if is_sum and of_regions else ():
        lines += filled(note, width)
    if is_sum and of_regions and not whole_of:
        lines += filled("rows overlap: no shares of the whole", width)
    if (
        by in _OF_TASKS
        and any(one.once for one in row_sums)
        and not any(one.whole for one in row_sums)
    ):
        lines += filled("values are those of sections only", width)
    rest = ", ".join(name for name in others if name != of[row_sums[0].metric]["name"])
    if rest and by != "metric":
        lines += filled(printable(f"choose with -e: {rest}"), width, "", "  ")
    return "\n".join(lines) + "\n"


def _above(
    run: Run,
    sums: Sequence[Sum],
    of: Mapping[Any, Mapping[str, Cell]],
    by: str,
    threshold: float,
) -> list[Sum]:
    """Return the sums with at least so many percent of the total of their metric, if it has one."""
    if not threshold:
        return list(sums)
    repetitions = max(int(run.head["repetitions"]), 1)
    values = [_total(one, of[one.metric], repetitions) or 0.0 for one in sums]
    least = {
        metric: threshold / 100 * _whole(
            run, of[metric], by,
            [value for one, value in zip(sums, values, strict=True) if one.metric == metric],
        )
        for metric in {one.metric for one in sums}
    }  # fmt: skip
    return [one for one, value in zip(sums, values, strict=True) if value >= least[one.metric]]


def _none(run: Run, by: str, metric: int) -> str:
    """Return why there are no values by something, and by what there are."""
    if by == "rank" and not run.query("SELECT 1 FROM locations WHERE rank >= 0 LIMIT 1"):
        return "this run has no values by rank: it is not a run of several MPI ranks"
    about = next((row for row in run.rows(METRICS) if row["metric"] == metric), None)
    if about is None:
        return f"this run has no values by {by}"
    told = f"{printable(str(about['name']))} has no values by {by}"
    query = f"JOIN locations l USING (location) WHERE p.metric = {metric}"
    kinds = {str(kind) for (kind,) in run.query(f"SELECT DISTINCT l.kind FROM profile p {query}")}
    if by in BY_REGIONS or by in kinds or not kinds & {*_OF_TASKS, "command"}:
        why = "exclusive values are not known"
        return f"{told}: {why if _is_additive(about) else 'what does not add up has none there'}"
    if not kinds & {*_OF_TASKS}:
        return f"{told}: it is of the whole command alone; see --by metric"
    at = "thread" if "thread" in kinds else "process"
    return f"{told}: they are of each {at}; see --by {at}"


def _whole(run: Run, metric: Mapping[str, Cell], by: str, sums: Sequence[float]) -> float:
    """Return the total that shares refer to, 0 where parts overlap in time and have none.

    For sections and lines that is the whole program, unless their sum is more.
    """
    if by == "metric" or (by in _OF_PLACES and metric["aggregation"] == Aggregation.ELAPSED):
        return 0.0
    if by in _OF_PLACES:
        return sum(sums)
    whole = moments.whole(run, metric)
    if whole is None:
        return sum(sums)
    return whole if sum(sums) <= whole * (1 + _MARGIN) else 0.0


def _share(value: float | None, whole: float) -> str:
    return f"{100 * value / whole:.1f} %" if value is not None and whole else "-"


def _total(row_sum: Sum, metric: Mapping[str, Cell], repetitions: int) -> float | None:
    """Return the total of one execution; None for several places of what does not add up."""
    # A ratio of one place is what it is.
    several = row_sum.locations > repetitions
    if several and not _is_additive(metric):
        return None
    if several and metric["aggregation"] == Aggregation.ELAPSED:
        return row_sum.together
    return row_sum.total / repetitions if row_sum.together is None else row_sum.together


def _is_additive(metric: Mapping[str, Cell]) -> bool:
    return is_additive(str(metric["formula"] or ""), str(metric["aggregation"]))


def _inclusive(row_sum: Sum, metric: Mapping[str, Cell], repetitions: int) -> float | None:
    """Return the inclusive value of one execution; None where it is not known."""
    if not _is_additive(metric) and row_sum.locations > repetitions:
        return None
    if row_sum.together is not None or metric["aggregation"] == Aggregation.ELAPSED:
        value = row_sum.inclusive_together
    else:
        value = None if row_sum.inclusive is None else row_sum.inclusive / repetitions
    return value if value is not None and isfinite(value) else None


def _notes(run: Run, found: Sequence[Sum]) -> list[str]:
    """Return why some regions, files or lines have no `total`."""
    unknown = [one for one in found if _is_unknown(one)]
    told = []
    if any(one.is_code for one in unknown):
        told.append(no_totals(run))
    if not all(one.is_code for one in unknown):
        told.append("no total of what was measured within another call of it, but not around that")
    return told


def _is_unknown(one: Sum) -> bool:
    value = one.inclusive if one.together is None else one.inclusive_together
    return value is None or not isfinite(value)


def _size(row_sum: Sum, is_sum: bool) -> float:
    return (
        (row_sum.total if row_sum.together is None else row_sum.together)
        if is_sum
        else row_sum.total / row_sum.locations
    )


def _plural(kind: str) -> str:
    return {"process": "processes", "cpu": "CPUs"}.get(kind, f"{kind}s")


def _profile_table(
    heads: Sequence[str],
    table: Sequence[Sequence[str]],
    by: str,
    width: int,
    hows: Sequence[str],
) -> tuple[str, ...]:
    taken = _taken(heads, table) + max((len(how) + GAP for how in hows), default=0)
    room = max(width - INDENT - taken, _NAME_LEAST)
    short = {"region": short_name, "file": short_path, "line": short_path}.get(by, shortened)
    cells = [[*row[:-1], short(row[-1], room)] for row in table]
    more = [("how",)] if hows else []
    rows = [[*row, printable(how)] for row, how in zip(cells, hows, strict=True)] if hows else cells
    return grid([*((head,) for head in heads), *more], rows, len(heads) - 1).lines


def _taken(heads: Sequence[str], table: Sequence[Sequence[str]]) -> int:
    """Return how wide the columns of numbers are: all but the last one."""
    return sum(
        max(len(heads[at]), *(len(row[at]) for row in table)) + GAP for at in range(len(heads) - 1)
    )


def _name(
    row_sum: Sum,
    by: str,
    files: Mapping[str, str],
    of: Mapping[int, Mapping[str, Cell]],
    threads: Mapping[int, tuple[int, int, int]],
) -> str:
    first, second, file, number = row_sum.key
    if by == "metric":
        return printable(str(of[row_sum.metric]["name"]))
    if by == "region":
        return printable(second) or UNKNOWN
    if by == "rank":
        return f"rank {number}"
    if by in _OF_TASKS:
        rank, pid, tid = threads.get(number, (-1, -1, -1))
        words = [f"rank {rank}"] if rank >= 0 else []
        if row_sum.kind in _OF_TASKS:
            words.append(f"process {pid}")
            words += [f"thread {tid}"] if row_sum.kind == "thread" else []
        elif row_sum.kind != "rank":
            words.append(row_sum.kind)
        where = f" on {first}" if first else ""
        return printable(", ".join(words) + (f" {second}" if second else "") + where)
    label = printable(files.get(file, file)) or UNKNOWN
    if by == "file":
        return label
    return (f"{label}:{number}" if number else label) + (f" {printable(second)}" if second else "")
