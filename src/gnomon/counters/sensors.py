"""Sensors: numbers of the machine that a file or a library gives when it is asked.

A sensor is a counter (energy, say), of which the difference since the start counts, or a gauge
(power, temperature), which has a present value and no total. What a gauge says after a command has
ended is not about the command, so while one runs its gauges are sampled: of those whose peak
matters the highest value is kept, of the others the mean over time.

Energy counters of few bits start again at 0 within minutes, so they are followed while they count.
Where one was left alone for so long that it may have gone round unseen, it is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gnomon.counters.component import EventInfo
from gnomon.named_tuple import NamedTuple


class Sensor(NamedTuple):
    """An event of a sensor component, and how it is measured.

    Attributes:
        info: the event; `info.gauge` tells gauges from counters.
        fields: the numbers that are added up.
        factor: multiplies their sum into the event's unit.
        peak: of a gauge that is sampled, the highest value is wanted rather than the mean.
    """

    info: EventInfo
    fields: tuple[str, ...]
    factor: float = 1
    peak: bool = False


Read = Callable[[Sequence[str]], Mapping[str, int]]
"""Returns the present numbers of the given fields, without those that cannot be read."""


def fields_of(sensors: Sequence[Sensor]) -> tuple[str, ...]:
    """Return the fields of sensors, each once."""
    return tuple(dict.fromkeys(field for sensor in sensors for field in sensor.fields))
