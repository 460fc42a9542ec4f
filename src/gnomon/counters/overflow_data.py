"""What overflow callbacks are told, and what is known of overflows: records."""

from __future__ import annotations

from gnomon import _core
from gnomon.counters.component import Overflow as OverflowKind
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

SCALE_MAX = 0x20000
"""A bucket for each address (gnomon/gnomon.h, GN_PROFIL_SCALE_MAX)."""


class OverflowCall(NamedTuple):
    """An overflow, as a callback is told of it.

    Attributes:
        event: the name of the event.
        address: of the instruction that was interrupted.
        data_address: of the data, where it was asked for and is known; 0 otherwise.
        weight: the events that this overflow stands for.
        frame: where the main thread was in Python when the callback began, some instructions after
            the overflow; None if it was in none.
    """

    event: str
    address: int
    data_address: int
    weight: int
    frame: FrameType | None


class OverflowInfo(NamedTuple):
    """What is known of the overflows of an event.

    Attributes:
        threshold: counts between two of them.
        kind: FAST or SLOW.
        precise: what the PMU grants of the modifier p: 0, an instruction any distance behind that
            of the event; 1, a constant distance; 2, asked to be none; 3, none.
        precise_wanted: how often the name has it.
        signal: the number of the signal that overflows take.
        overflows: how many there were in the last run, or are in this one.
        lost: how many were due by the count and did not come; None while it runs, and where that is
            not known.
        outside: addresses in no region of a profile.
        dropped: overflows of the set for which no callback was called, because Python did not come
            to it in time.
    """

    threshold: int
    kind: OverflowKind
    precise: int
    precise_wanted: int
    signal: int
    overflows: int
    lost: int | None
    outside: int
    dropped: int


class Estimate(NamedTuple):
    """A total from samples.

    Attributes:
        value: events.
        error: the total is between value - error and value + error.
        weight: events that a sample stands for.
        samples: how many there were.
    """

    value: float
    error: float
    weight: float
    samples: int

    def part(self, samples: int) -> Estimate:
        """Return the part that some of the samples are; 95 of 100 times it is within its error.

        Raises:
            OptionError: more samples than there are.
        """
        return Estimate(
            *_core.estimate_part((self.value, self.error, self.weight, self.samples), samples)
        )


class Region(NamedTuple):
    """A region of addresses and its histogram.

    Attributes:
        buckets: a writable array of items of 2, 4 or 8 bytes, as numpy's uint16, uint32 and uint64.
        offset: the address that the first bucket begins with.
        scale: of profil(3): bucket = (address - offset) * scale >> 17. SCALE_MAX has a bucket for
            each address, half of it one for two.
    """

    buckets: Any
    offset: int
    scale: int = SCALE_MAX
