"""The first lines of a comparison: what differs most surely, and whether the program is slower."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gnomon.store.comparison.model import WALL, Comparison, ComparisonRow
from gnomon.store.comparison.samples import WHOLE
from gnomon.terminal_text import filled
from gnomon.units import number, printable

_ONE_RUN = ", unless the machine has changed between the runs"
# From ten times as much on, "×11.8" is read more easily than "+1 080 %".
_TIMES_FROM = 9.995


def headline(comparison: Comparison, width: int) -> list[str]:
    """Return the answer to the first questions: what differs, and is it slower?

    Wall time stands first unless another result is more certain.
    """
    wall = next(
        (row for row in comparison.whole if row.metric == WALL and row.place == WHOLE), None
    )
    first = next((row for row in comparison.whole if row.verdict and not row.is_of_machine), None)
    sentences = []
    if first is not None and first is not wall and (wall is None or not _leads(wall, first)):
        sentences.append(_verdict(first) + _caution(comparison))
        sentences += [_wall(wall, comparison)] if wall is not None else []
    elif wall is not None:
        sentences.append(
            _wall(wall, comparison)
            + (_caution(comparison) if wall.verdict and not wall.is_of_machine else "")
        )
        if first is not None and first is not wall:
            sentences.append(_verdict(first))
    return [line for said in sentences for line in filled(said, width)]


def confidence(row: ComparisonRow) -> str:
    """Return how sure it is that there is a difference: "99.6 %", "> 99.9 %"."""
    if row.p is None:
        return ""
    sure = 100 * (1 - row.p)
    return ">99.9 %" if sure > 99.9 else f"{int(sure * 10) / 10:g} %"


def verdict(row: ComparisonRow) -> str:
    """Return the verdict with how sure it is; "" for none."""
    if not row.verdict or row.is_of_machine:
        return row.verdict
    return f"{row.verdict} {confidence(row)}"


def shares(row: ComparisonRow) -> tuple[str, str, str]:
    """Return the change and the ends of its range, in one notation; "" for what is not known."""
    low, high = row.found.interval if row.found else (None, None)
    ends = (row.change, low, high)
    said = notation(ends)
    change, least, most = ("" if share is None else said(share) for share in ends)
    return change, least, most


def notation(several: Iterable[float | None]) -> Callable[[float], str]:
    """Return the formatter of these shares: percentages or, if one is large, factors."""
    if any(share is not None and share >= _TIMES_FROM for share in several):
        return _factor
    return percent


def percent(share: float) -> str:
    """Return a share as a signed percentage, to three digits."""
    value = 100 * share
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 0.95 else 2
    said = f"{value:+.{digits}f}"
    return f"{said if float(said) else '0.0'} %"


def bare(share: float) -> str:
    """Return a share as a percentage without a sign."""
    return f"{number(float(f'{100 * share:.3g}'))} %"


def _factor(share: float) -> str:
    return f"×{number(float(f'{share + 1:.3g}'))}"


def _leads(wall: ComparisonRow, first: ComparisonRow) -> bool:
    is_known = bool(wall.verdict) and not wall.is_of_machine
    return is_known and (wall.is_sure or not first.is_sure)


def _caution(one: Comparison) -> str:
    return _ONE_RUN if any("one run only" in note for note in one.notes) else ""


def _sure(row: ComparisonRow) -> str:
    return f"sure to {confidence(row)}" if row.is_sure else f"likely ({confidence(row)})"


def _reach(row: ComparisonRow) -> str:
    _, low, high = shares(row)
    return f"{low} to {high} with 95 % confidence" if low and high else ""


def _evidence(comparison: Comparison) -> str:
    """Return the activity of other programs on both sides."""
    said = []
    if comparison.waited is not None:
        before, after = (f"{100 * share:.3g} %" for share in comparison.waited)
        said.append(f"the program waited for a CPU {after} of the time, {before} before")
    if comparison.others is not None:
        before, after = (f"{cpus:.2f}" for cpus in comparison.others)
        said.append(f"others used {after} CPUs, {before} before")
    return " and ".join(said)


def _left(wall: ComparisonRow) -> str:
    return f"no significant difference beyond {bare(wall.margin)} is left"


def _verdict(row: ComparisonRow) -> str:
    change, _, _ = shares(row)
    reach = f": {_reach(row)}" if _reach(row) else ""
    what = f"{change}, {row.verdict}" if change else f"{row.verdict}, from none"
    return f"{printable(row.metric)} {what}, {_sure(row)}{reach}"


def _wall(wall: ComparisonRow, comparison: Comparison) -> str:
    if wall.found is None or wall.change is None:
        return f"wall time is not judged: {printable(wall.unjudged)}"
    if wall.is_of_machine:
        change = shares(wall)[0]
        evidence = _evidence(comparison)
        return f"wall time {change} is explained by other load: {evidence}; {_left(wall)}"
    if not wall.verdict:
        more = f" beyond {bare(wall.margin)}" if wall.margin else ""
        return f"no significant difference in wall time{more}: {_reach(wall)}"
    word = "slower" if wall.change > 0 else "faster"
    change, _, _ = shares(wall)
    if not change.endswith("%"):
        return f"wall time {change}, {word}, {_sure(wall)}: {_reach(wall)}"
    return f"{bare(abs(wall.change))} {word}, {_sure(wall)}: wall time {_reach(wall)}"
