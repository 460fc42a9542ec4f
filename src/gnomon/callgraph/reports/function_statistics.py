"""Statistics of functions over several files: averages, deviations, and which file has most.

Source: the Redpaper's chapter 5.3, "Statistics Report option of the Function menu".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.callgraph.reports.flat_profile import flat_rows
from gnomon.callgraph.reports.shown_unit import shown_unit
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnomon.callgraph.call_graph import CallGraph
    from gnomon.callgraph.file_values import FileValues
    from gnomon.model.array_types import Floats

_ITSELF, _TOTAL, _CALLS = "itself", "with descendants", "calls"
_KEYS = {_ITSELF: "self_spread", _TOTAL: "total_spread", _CALLS: "calls_spread"}


class Spread(NamedTuple):
    """What several files have of one quantity.

    Attributes:
        average: of the files.
        deviation: of them, the square root of the mean square.
        maximum, minimum: the largest and the smallest value.
        largest, smallest: the first files that have these.
    """

    average: float
    deviation: float
    maximum: float
    largest: Path
    minimum: float
    smallest: Path


def spread(values: Floats, paths: Sequence[Path]) -> Spread:
    """Return the spread of values over files, one value of each."""
    largest, smallest = int(values.argmax()), int(values.argmin())
    return Spread(
        float(values.mean()), float(values.std()), float(values[largest]), paths[largest],
        float(values[smallest]), paths[smallest],
    )  # fmt: skip


def statistics_text(
    graph: CallGraph, files: Sequence[FileValues], functions: Sequence[int] | None = None
) -> str:
    """Return the statistics of functions.

    Args:
        graph: of all files together.
        files: each by itself.
        functions: positions of those that are wanted; None for all, those with most first.
    """
    unit = shown_unit(graph.profile)
    lines = [f"Function Level Statistics, {len(files)} file{'s' * (len(files) != 1)}:"]
    for function in flat_rows(graph) if functions is None else functions:
        lines += ["", graph.core.node_name(function)]
        for name, values in _values(files, function).items():
            divisor = 1.0 if name == _CALLS else unit.divisor
            label = name if name == _CALLS else f"{unit.name} {name}"
            paths = [file.path for file in files]
            lines += _lines(label, float(values.sum()) / divisor, spread(values / divisor, paths))
    return "\n".join(lines) + "\n"


def _values(files: Sequence[FileValues], function: int) -> dict[str, Floats]:
    """Return what each file says of a function, by quantity."""
    import numpy as np

    values = {
        _ITSELF: np.array([file.own[function] for file in files]),
        _TOTAL: np.array([file.total[function] for file in files]),
    }
    calls = [file.calls[function] for file in files if file.calls is not None]
    return values | ({_CALLS: np.array(calls, np.float64)} if len(calls) == len(files) else {})


def _lines(label: str, whole: float, of_files: Spread) -> Iterator[str]:
    decimals = 0 if label == _CALLS else 3
    start = f"  {label:<24} {whole:10.{decimals}f}"
    average = f"{of_files.average:.{max(decimals, 1)}f}"
    yield f"{start}   average {average}, std dev {of_files.deviation:.3f}"
    yield f"{'':37}   maximum {of_files.maximum:.{decimals}f}  {printable(of_files.largest.name)}"
    yield f"{'':37}   minimum {of_files.minimum:.{decimals}f}  {printable(of_files.smallest.name)}"


def statistics_data(
    graph: CallGraph, files: Sequence[FileValues], functions: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Return the statistics for JSON; args as of `statistics_text`."""
    per_unit = graph.profile.metric.per_unit
    paths = [file.path for file in files]
    rows = []
    for function in flat_rows(graph) if functions is None else functions:
        row: dict[str, Any] = {
            "function": graph.profile.title[function],
            "index": int(graph.index[function]),
            "self": float(graph.own[function]) / per_unit,
            "total": float(graph.own[function] + graph.children[function]) / per_unit,
        }
        for name, values in _values(files, function).items():
            of_files = spread(values / (1.0 if name == _CALLS else per_unit), paths)
            row[_KEYS[name]] = {
                "average": of_files.average, "deviation": of_files.deviation,
                "maximum": of_files.maximum, "maximum_file": str(of_files.largest),
                "minimum": of_files.minimum, "minimum_file": str(of_files.smallest),
            }  # fmt: skip
        rows.append(row)
    return rows
