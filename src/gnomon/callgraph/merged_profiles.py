"""Several call profiles as one: of ranks, repetitions, or files of different programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.callgraph.call_graph import call_graph
from gnomon.callgraph.call_profile import UNKNOWN, CallProfile, KnownPlaces
from gnomon.callgraph.file_values import FileValues
from gnomon.errors import UsageError
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.model.array_types import Floats, Ints, Longs


def merged_profiles(
    profiles: Sequence[CallProfile], paths: Sequence[Path], *, by_file: bool
) -> tuple[CallProfile, tuple[FileValues, ...]]:
    """Return the sum of profiles, and what each says of its functions.

    Args:
        profiles: one at least.
        paths: the file of each.
        by_file: whether the latter is wanted.

    Raises:
        UsageError: they are of different metrics.
    """
    import numpy as np

    first = profiles[0]
    for profile, path in zip(profiles, paths, strict=True):
        if (profile.metric.name, profile.metric.unit) != (first.metric.name, first.metric.unit):
            raise UsageError(
                printable(
                    f"{path}: its values are {profile.metric.name}, those of {paths[0]} are "
                    f"{first.metric.name}; choose one with --metric"
                )
            )
    numbers: dict[tuple[str, str, str], int] = {}
    places = []
    lines: list[int] = []
    for profile in profiles:
        place: list[int] = []
        keys = zip(profile.title, profile.module, profile.file, strict=True)
        for key, line in zip(keys, profile.line.tolist(), strict=True):
            number = numbers.setdefault(key, len(numbers))
            if number == len(lines):
                lines.append(line)
            place.append(number)
        places.append(np.array(place, np.int32))
    n = len(numbers)
    own = sum((_spread_out(one.own, at, n) for one, at in zip(profiles, places, strict=True)),
              np.zeros(n))  # fmt: skip
    caller, callee, calls, total, arc_own = _merged_arcs(profiles, places, n)
    calls_of: Longs | None = None
    if all(profile.has_counts for profile in profiles):
        calls_of = np.zeros(n, np.int64)
        for profile, of_profile in zip(profiles, places, strict=True):
            np.add.at(calls_of, of_profile, _calls_of(profile))
    titles = tuple(title for title, _, _ in numbers)
    merged = CallProfile(
        program=first.program, metric=first.metric, name=titles, title=titles,
        module=tuple(module for _, module, _ in numbers),
        places=KnownPlaces(tuple(file for _, _, file in numbers), lines), own=own,
        whole=sum(profile.whole for profile in profiles),
        caller=caller, callee=callee, calls=calls, arc_total=total, arc_own=arc_own,
        calls_of=calls_of, n_files=len(profiles),
    )  # fmt: skip
    if not by_file:
        return merged, ()
    return merged, tuple(map(_spread_values, profiles, paths, places, [n] * len(profiles)))


def _spread_out(values: Floats, place: Ints, n: int) -> Floats:
    import numpy as np

    return np.bincount(place, values, minlength=n).astype(np.float64)


def _calls_of(profile: CallProfile) -> Longs:
    import numpy as np

    if profile.calls_of is not None:
        return profile.calls_of
    calls = np.zeros(len(profile.name), np.int64)
    np.add.at(calls, profile.callee, profile.calls)
    return calls


def _merged_arcs(
    profiles: Sequence[CallProfile], places: Sequence[Ints], n: int
) -> tuple[Ints, Ints, Longs, Floats, Floats]:
    import numpy as np

    pairs = list(zip(profiles, places, strict=True))
    key = np.concatenate(
        [place[profile.caller].astype(np.int64) * n + place[profile.callee]
         for profile, place in pairs]
    )  # fmt: skip
    unique, group = np.unique(key, return_inverse=True)
    n_arcs = len(unique)

    def added(column: str) -> Floats:
        # What one of them does not know the sum does not know: NaN.
        values = np.concatenate([getattr(profile, column) for profile in profiles])
        return np.bincount(group, values, minlength=n_arcs).astype(np.float64)

    calls = np.concatenate([profile.calls for profile in profiles])
    sums = np.zeros(n_arcs, np.int64)
    np.add.at(sums, group, calls)
    sums[np.unique(group[calls == UNKNOWN])] = UNKNOWN
    return (
        (unique // max(n, 1)).astype(np.int32), (unique % max(n, 1)).astype(np.int32), sums,
        added("arc_total"), added("arc_own"),
    )  # fmt: skip


def file_values(profile: CallProfile, path: Path) -> FileValues:
    """Return what a profile that comes from one file says of its functions."""
    import numpy as np

    n = len(profile.name)
    return _spread_values(profile, path, np.arange(n, dtype=np.int32), n)


def _spread_values(profile: CallProfile, path: Path, place: Ints, n: int) -> FileValues:
    import numpy as np

    graph = call_graph(profile)
    calls: Longs | None = None
    if profile.has_counts:
        calls = np.zeros(n, np.int64)
        np.add.at(calls, place, _calls_of(profile))
    total = profile.own + graph.children_time[: len(profile.name)]
    return FileValues(path, _spread_out(profile.own, place, n), _spread_out(total, place, n), calls)
