"""What differs between sides of runs: by how much, how sure that is, and whether it is worse."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gnomon.errors import RunDirectoryError, UsageError
from gnomon.metrics.metric_direction import LESS, worse
from gnomon.metrics.significance import (
    TRIM,
    Difference,
    benjamini_hochberg,
    centre,
    difference,
    holm,
    sampled_difference,
)
from gnomon.store.comparison import contention
from gnomon.store.comparison.contention import Machine, is_evidence
from gnomon.store.comparison.model import (
    SURE,
    WALL,
    Breach,
    Comparison,
    ComparisonOptions,
    ComparisonRow,
    Limit,
)
from gnomon.store.comparison.samples import (
    WHERE_ELSE_0,
    WHOLE,
    MeasuredSide,
    Place,
    RunMetric,
    Side,
    measured,
)
from gnomon.units import printable

# The same program, measured at two times, differs by more than its repetitions do (docs: compare).
AT_LEAST_ONE_RUN = 0.02
_AT_LEAST_RUNS = 0.01
# The environment and the length of its name cost a program a few instructions.
AT_LEAST_EMULATED = 0.001
# What has less than this of a metric, on both sides, is not tried: it cannot matter.
_LEAST_SHARE = 0.001


def compare(
    sides: Sequence[Side], options: ComparisonOptions
) -> tuple[tuple[Comparison, ...], tuple[Breach, ...]]:
    """Return each side's comparison with the first one, and what breaks a limit.

    p-values are adjusted over all comparisons: wall time by itself and the other metrics together
    (Holm), places together (Benjamini-Hochberg).

    Raises:
        UsageError: no run has a metric that was asked for.
        RunDirectoryError: a run's tables cannot be read, or a limit cannot be judged.
    """
    whole = measured(sides)
    wanted = tuple(_named(name, whole) for name in options.metrics)
    limits = tuple(
        limit._replace(metric=_named(limit.metric, whole)) if limit.metric else limit
        for limit in options.limits
    )
    machines = [contention.machine(one) for one in whole]
    all_rows = [
        _rows(whole[0], one, {WHOLE}, (), options, _both(machines[0], machine))
        for one, machine in zip(whole[1:], machines[1:], strict=True)
    ]
    breaches = _breaches(sides, all_rows, limits)
    rows = [
        [row for row in some if row.metric in wanted or not (wanted or is_evidence(row.metric))]
        for some in all_rows
    ]
    rows = _adjusted(rows, holm)
    by_place: list[list[ComparisonRow]] = [[] for _ in rows]
    small = [0] * len(rows)
    totals: dict[str, float] = {}
    with_places: tuple[str, ...] = ()
    if options.per:
        of_places = measured(sides, options.per)
        with_places = _with_places(of_places)
        chosen = wanted or with_places[:1]
        totals = _totals(of_places[0], chosen)
        for index, measured_side in enumerate(of_places[1:]):
            places = {place for place, _ in (*of_places[0].samples, *measured_side.samples)} - {
                WHOLE
            }
            large = _large(of_places[0], measured_side, chosen)
            small[index] = len(places) - len(large)
            by_place[index] = _rows(of_places[0], measured_side, large, chosen, options)
        by_place = _adjusted(by_place, benjamini_hochberg)
    return tuple(
        Comparison(
            baseline=sides[0],
            other=other,
            whole=tuple(sorted(rows[index], key=_importance)),
            places=tuple(sorted(by_place[index], key=lambda row: _effect(row, totals))),
            per=options.per,
            with_places=with_places,
            totals=totals,
            small=small[index],
            notes=(*_without(wanted, rows[index]), *_notes(sides[0], other, options, rows[index])),
            others=_of_both(machines[0], machines[index + 1], contention.others),
            waited=_of_both(machines[0], machines[index + 1], contention.waited),
        )
        for index, other in enumerate(sides[1:])
    ), breaches


_Both = tuple[Machine, Machine] | None


def _both(one: Machine | None, other: Machine | None) -> _Both:
    return None if one is None or other is None else (one, other)


def _of_both(
    one: Machine | None, other: Machine | None, get: Callable[[Machine], float | None]
) -> tuple[float, float] | None:
    before, after = (None if machine is None else get(machine) for machine in (one, other))
    return None if before is None or after is None else (before, after)


def _named(name: str, whole: Sequence[MeasuredSide]) -> str:
    """Return the metric that an option names, in any case and with or without PAPI_."""
    metric_names = list(dict.fromkeys(metric for one in whole for metric in one.quantities))
    wanted = name.strip().lower()
    for metric in metric_names:
        if metric.lower() == wanted:
            return metric
    for metric in metric_names:
        if metric.lower().removeprefix("papi_") == wanted.removeprefix("papi_"):
            return metric
    raise UsageError(
        f"{name.strip()}: no run has such a metric; they have {', '.join(metric_names)}"
    )


def _with_places(of_places: Sequence[MeasuredSide]) -> tuple[str, ...]:
    """Return the metrics, in the order of the runs, that the places have values of."""
    there = {metric for one in of_places for place, metric in one.samples if place != WHOLE}
    known = dict.fromkeys(metric for one in of_places for metric in one.quantities)
    return tuple(metric for metric in known if metric in there)


def _rows(
    baseline: MeasuredSide, other: MeasuredSide, places: Iterable[Place], metrics: Sequence[str],
    options: ComparisonOptions, machines: _Both = None,
) -> list[ComparisonRow]:  # fmt: skip
    names = metrics or list(dict.fromkeys((*baseline.quantities, *other.quantities)))
    return [
        row
        for place in sorted(places)
        for name in names
        if (row := _row(baseline, other, place, name, options, machines)) is not None
    ]


def _row(
    baseline: MeasuredSide,
    other: MeasuredSide,
    place: Place,
    name: str,
    options: ComparisonOptions,
    machines: _Both,
) -> ComparisonRow | None:
    key = (place, name)
    if key not in baseline.samples and key not in other.samples:
        return None
    is_else_0 = options.per in WHERE_ELSE_0 and place != WHOLE
    ones, others = (_runs(one, key, fill=is_else_0) for one in (baseline, other))
    # Where every side has several runs, these are what varies: repetitions of one run are alike.
    of_runs = min(len(ones), len(others)) > 1
    if of_runs:
        before, after = ([centre(values) for values in runs] for runs in (ones, others))
        margin = _AT_LEAST_RUNS
    else:
        before, after = ([value for run in runs for value in run] for runs in (ones, others))
        margin = AT_LEAST_ONE_RUN
    said = (*baseline.quantities.get(name, ()), *other.quantities.get(name, ()))
    hows = {one.how for one in said}
    is_exact = bool(said) and all(one.reproducible for one in said)
    if options.at_least is not None:
        margin = options.at_least
    elif is_exact:
        margin = AT_LEAST_EMULATED
    row = ComparisonRow(
        place=place,
        metric=name,
        unit=said[0].unit if said else "",
        how=hows.pop() if len(hows) == 1 else "",
        worse=worse(name, said[0].unit if said else ""),
        before=centre(before) if before else None,
        after=centre(after) if after else None,
        samples=(len(before), len(after)),
        margin=margin,
        is_exact=is_exact,
    )
    weights = tuple(one.weights[name] for one in (baseline, other) if name in one.weights)
    why = _why_not(row, baseline, other, options, is_sampled=len(weights) == 2)
    if why:
        return replace(row, unjudged=why)
    trim = 0.0 if of_runs else TRIM
    if len(weights) == 2 and min(*before, *after) >= 0:
        result = sampled_difference(before, after, weights, trim=trim)
    else:
        result = difference(before, after, exact=row.is_exact, trim=trim)
    p = result.p_beyond(row.margin)
    own = None
    if machines is not None and not row.is_exact:
        own = contention.remaining(said[0], (ones, others), machines, result, of_runs=of_runs)
    return replace(
        row,
        before=result.before,
        after=result.after,
        found=result,
        own=own,
        p=p if own is None else max(p, _left(result, own, row.margin)),
        measured_p=p,
    )


def _left(found: Difference, own: Difference, margin: float) -> float:
    """Return the probability of what is left to the program; of the opposite nothing is left."""
    return 1.0 if found.shift * own.shift < 0 else own.p_beyond(margin)


def _runs(of: MeasuredSide, key: tuple[Place, str], *, fill: bool) -> list[list[float]]:
    """Return the values of each run that has any; a place that is in no line then has 0."""
    runs = of.samples.get(key)
    if runs is None:
        if not fill or key[1] not in of.quantities:
            return []
        return [[0.0] * n for n in of.repetitions if n]
    return [values for values in runs if values]


def _why_not(
    row: ComparisonRow,
    baseline: MeasuredSide,
    other: MeasuredSide,
    options: ComparisonOptions,
    *,
    is_sampled: bool,
) -> str:
    """Return why a row cannot be judged, "" if it can."""
    for side, n in zip((baseline.side, other.side), row.samples, strict=True):
        if n == 0:
            return f"{side.label} has no values of it"
    ours, theirs = (one.quantities[row.metric] for one in (baseline, other))
    for what, get in _DESCRIBED.items():
        mine, its = ({printable(get(one)) for one in some} for some in (ours, theirs))
        if len(mine | its) > 1:
            if mine == its:
                return f"{what} differs between the runs of a side: {' and '.join(sorted(mine))}"
            return f"{what} differs: {' and '.join(sorted(mine))}; {' and '.join(sorted(its))}"
    if any(one.dilated for one in ours):
        return "the time of the emulation, not of the program"
    apart = _apart(baseline.side, other.side)
    if apart and not options.any_machine and not row.is_exact:
        return apart
    # One value of many samples has its error with it.
    if min(row.samples) < 2 and not is_sampled:
        return "one repetition only"
    return ""


def _apart(first: Side, other: Side) -> str:
    """Return why two sides may differ for their machines, "" if they are alike."""
    if first.machines == other.machines:
        return ""
    # Sections of libhpm do not say which CPU they were measured on.
    if any(not model for side in (first, other) for model, _ in side.machines):
        return "not known to be measured on one machine"
    return "measured on different machines"


_DESCRIBED: dict[str, Callable[[RunMetric], str]] = {
    "how it was measured": lambda one: one.how or "?",
    "the unit": lambda one: one.unit or "a count",
    "what it covers": lambda one: one.scope or "?",
    "privilege levels": lambda one: one.domain or "?",
}


def _adjusted(
    rows: list[list[ComparisonRow]], adjust: Callable[[Sequence[float]], list[float]]
) -> list[list[ComparisonRow]]:
    judged = [row for some in rows for row in some if row.p is not None]
    families = {first: [row for row in judged if _is_asked_first(row) is first]
                for first in (True, False)}  # fmt: skip
    adjusted = {
        first: iter(
            zip(
                adjust([row.p or 0.0 for row in family]),
                adjust([row.measured_p or 0.0 for row in family]),
                strict=True,
            )
        )
        for first, family in families.items()
    }
    return [
        [row if row.p is None else _with(row, *next(adjusted[_is_asked_first(row)]))
         for row in some]
        for some in rows
    ]  # fmt: skip


def _with(row: ComparisonRow, p: float, measured_p: float) -> ComparisonRow:
    return replace(row, p=p, measured_p=measured_p)


def _is_asked_first(row: ComparisonRow) -> bool:
    return row.metric == WALL and row.place == WHOLE


def _breaches(
    sides: Sequence[Side], rows: Sequence[Sequence[ComparisonRow]], limits: Sequence[Limit]
) -> tuple[Breach, ...]:
    """Return the metrics that are significantly worse by more than a limit.

    Raises:
        UsageError: the direction in which a metric gets worse is not known.
        RunDirectoryError: a limit cannot be judged, as where nothing was repeated.
    """
    tried: list[Breach] = []
    named = {limit.metric for limit in limits if limit.metric}
    for limit in limits:
        for side, some in zip(sides[1:], rows, strict=True):
            before = len(tried)
            why = ""
            for row in some:
                # A metric that has a limit of its own is held to that one alone.
                if row.metric != limit.metric if limit.metric else row.metric in named:
                    continue
                direction = limit.worse or row.worse
                if not direction:
                    if limit.metric:
                        raise UsageError(
                            f"--fail-on {row.metric}: the worse direction is not known; give it: "
                            f"{row.metric}=+5% (more is worse) or {row.metric}=-5%"
                        )
                    continue
                why = why or row.unjudged
                if row.found is not None:
                    downwards = direction == LESS
                    p = row.found.p_above(limit.share, downwards=downwards)
                    if row.own is not None:
                        p = max(p, row.own.p_above(limit.share, downwards=downwards))
                    tried.append(Breach(side.label, row.metric, row.change, limit.share, p))
            # A side that is not judged must not pass for the sake of the others.
            if len(tried) == before and (limit.metric or not named):
                what = limit.metric or "no metric"
                of = f" of {side.label}" if len(sides) > 2 else ""
                raise RunDirectoryError(
                    f"--fail-on: {what}{of} can{'' if not limit.metric else 'not'} be judged: "
                    f"{why or 'the runs have none'}; measure with gnomon count -r 10 --name NAME"
                )
    adjusted = _by_family(tried)
    return tuple(one for one in adjusted if one.p < SURE)


def _by_family(tried: Sequence[Breach]) -> list[Breach]:
    corrected: list[Breach] = []
    for first in (True, False):
        family = [one for one in tried if (one.metric == WALL) is first]
        corrected += [
            one._replace(p=p)
            for one, p in zip(family, holm([one.p for one in family]), strict=True)
        ]
    return corrected


def _importance(row: ComparisonRow) -> tuple[int, float, float, str]:
    """Return the sort key of rows: significant ones, worse ones, larger ones first."""
    if row.p is None:
        return (4, 0.0 if row.metric == WALL else 1.0, 0.0, row.metric)
    order = {"worse": 0, "better": 1, "more": 2, "less": 2, "": 3}
    # What was none and is some now is more than any change.
    gone = 0.0 if row.before == row.after else abs(row.change or 1e9)
    size = abs(row.found.shift) if row.found and row.found.is_ratio else gone
    rank = order[row.verdict] if row.is_sure else 3
    return (rank, 0.0 if row.is_sure else row.p, -size, row.metric)


def _effect(row: ComparisonRow, totals: Mapping[str, float]) -> tuple[int, float, Place, str]:
    """Return the sort key of rows of places: the difference as a share of the total."""
    gone = abs((row.after or 0.0) - (row.before or 0.0)) / (abs(totals.get(row.metric, 0)) or 1.0)
    return (0 if row.verdict else 1, -gone, row.place, row.metric)


def _totals(of: MeasuredSide, metrics: Sequence[str]) -> dict[str, float]:
    # Of what a formula gives there is no total.
    derived = {name for name, said in of.quantities.items() if any(one.is_derived for one in said)}
    totals = dict.fromkeys((name for name in metrics if name not in derived), 0.0)
    # Regions are in regions: their sum is told apart.
    is_told = any(place == WHOLE for place, _ in of.samples)
    for (place, metric), runs in of.samples.items():
        values = [value for run in runs for value in run]
        if metric in totals and values and (place == WHOLE) == is_told:
            totals[metric] += centre(values)
    return totals


def _large(first: MeasuredSide, other: MeasuredSide, metrics: Sequence[str]) -> set[Place]:
    """Return the places that have enough of a metric to matter."""
    places = set()
    for of in (first, other):
        totals = _totals(of, metrics)
        for (place, metric), runs in of.samples.items():
            values = [value for run in runs for value in run]
            if not values or metric not in metrics or place == WHOLE:
                continue
            if abs(centre(values)) >= _LEAST_SHARE * abs(totals.get(metric, 0.0)):
                places.add(place)
    return places


def _without(wanted: Sequence[str], rows: Sequence[ComparisonRow]) -> Iterable[str]:
    for metric in wanted:
        if all(row.metric != metric for row in rows):
            yield (
                f"{metric}: neither side has a value of the whole command; see its locations: "
                f"gnomon report RUN profile -e {shlex.quote(metric)}"
            )


def _notes(
    baseline: Side, other: Side, options: ComparisonOptions, rows: Sequence[ComparisonRow]
) -> Iterable[str]:
    if apart := _apart(baseline, other):
        judged = "they differ too" if options.any_machine else "--any-machine judges all the same"
        yield f"{apart}: {judged}"
    if baseline.runs[0].head["command"] != other.runs[0].head["command"]:
        yield "the commands differ"
    for side in (baseline, other):
        if failed := sum(run.head["exit_status"] not in (0, None) for run in side.runs):
            yield f"{side.label}: {failed} of {len(side.runs)} runs ended with an error"
    is_timed = any(row.found is not None and not row.is_exact for row in rows)
    if is_timed and min(len(baseline.runs), len(other.runs)) == 1:
        yield (
            "a side has one run only: changes of the machine between the runs look like changes "
            "of the program; compare several runs of each, measured alternately"
        )
