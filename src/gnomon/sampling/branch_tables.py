"""Branches that a PMU recorded before samples, as rows of the model's table: equal ones are one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.model.tables import BRANCHES, Table
from gnomon.named_tuple import NamedTuple
from gnomon.sampling.sample_file import MISPREDICTED, NONE, PREDICTED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.sampling.sample_file import SampleFile


class TaskNumbers(NamedTuple):
    """The numbers that what a task's records refer to has in its tables.

    Attributes:
        first: that of the first location and the first event; none is less.
        locations: of each thread.
        regions: of each place, that of its innermost function.
    """

    first: int
    locations: NDArray[np.int64]
    regions: NDArray[np.int64]


def branch_table(samples: SampleFile, numbers: TaskNumbers) -> Table:
    """Return the branches of each thread and event, by where they lead from and to.

    Args:
        samples: a task's, with at least one branch.
        numbers: those of its tables.
    """
    jumps, n_events = samples.jumps, len(samples.events)
    of_sample = samples.samples[jumps["sample"].astype(np.int64)]
    locations = numbers.locations[of_sample["thread"].astype(np.int64)] - numbers.first
    events = of_sample["event"].astype(np.int64)
    # In two steps: the four numbers together may have more than 64 bits.
    places = jumps["from_place"].astype(np.uint64) << np.uint64(32) | jumps["to_place"]
    pairs, of_jump = np.unique(places, return_inverse=True)
    keys = (locations * n_events + events) * len(pairs) + of_jump.reshape(-1)
    own, rows = np.unique(keys, return_inverse=True)
    rows, n = rows.reshape(-1), len(own)
    pair, own_event = pairs[own % len(pairs)], own // len(pairs) % n_events
    origin, target = pair >> np.uint64(32), pair & np.uint64(NONE)
    prediction = jumps["flags"].astype(np.int64) & (MISPREDICTED | PREDICTED)
    cycles = jumps["cycles"].astype(np.int64)
    predictions = np.bincount(rows, prediction != 0, n).astype(np.int64)
    timings = np.bincount(rows, cycles != 0, n).astype(np.int64)
    mispredicted = np.bincount(rows, (prediction & MISPREDICTED) != 0, n).astype(np.int64)
    from_region, from_address = _code(samples, numbers, origin)
    to_region, to_address = _code(samples, numbers, target)
    return Table.of(
        BRANCHES,
        {
            "repetition": np.zeros(n, np.int32),
            "location": numbers.first + own // len(pairs) // n_events,
            "metric": numbers.first + own_event,
            "from_region": from_region,
            "from_address": from_address,
            "to_region": to_region,
            "to_address": to_address,
            "taken": np.bincount(rows, minlength=n).astype(np.int64),
            "predictions": predictions,
            "mispredicted": mispredicted,
            "timings": timings,
            "cycles": np.bincount(rows, cycles, n).astype(np.int64),
        },
        {
            "from_address": origin == NONE,
            "to_address": target == NONE,
            "mispredicted": predictions == 0,
            "cycles": timings == 0,
        },
    )


def _code(
    samples: SampleFile, numbers: TaskNumbers, places: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the regions and addresses of places; -1 and 0 where a process has no code there."""
    regions, addresses = np.full(len(places), -1, np.int64), np.zeros(len(places), np.uint64)
    has_code = places != NONE
    regions[has_code] = numbers.regions[places[has_code]]
    addresses[has_code] = samples.place_offsets[places[has_code]]
    return regions, addresses.view(np.int64)
