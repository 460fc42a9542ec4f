"""How much of a difference the rest of the machine explains, and how much the program.

A program that waits for a CPU takes longer, and none of that is its own. Where the kernel tells for
how long each execution waited, that is taken off. Where it does not, the program can have waited as
long as no CPU was idle, and no longer than others were on one. What others do costs CPU time too,
as they share caches, memory and cores with the program: at most in proportion to the part of the
machine that they used. What the host of a virtual machine took from it is both, and counts in full.

So of a difference in time that is explained up to which others took more on one side, only the rest
is judged.
"""

from __future__ import annotations

from math import exp, log, sqrt
from statistics import fmean, variance

from gnomon.metrics.significance import TRIM, Difference, centre, difference
from gnomon.model.contention import EVIDENCE, IDLE, OTHERS, STOLEN, WAITED
from gnomon.named_tuple import NamedTuple
from gnomon.store.comparison.model import WALL
from gnomon.store.comparison.samples import WHOLE, MeasuredSide, RunMetric

# Metrics of the kernel's scheduler, in parts of their names: there is more of it with others there.
_SCHEDULING = ("context-switch", "context_switch", "migration", "vcsw", "sched:")
_TIMES = ("user time", "system time", "task-clock", "cpu-clock")
_PER_ELAPSED = "wall_seconds"
_NS = "ns"

Runs = list[list[float]]
_Samples = tuple[list[float], list[float]]


class Machine(NamedTuple):
    """What the rest of the machine did while a side was measured; values of each execution.

    Attributes:
        wall: wall times of each run's executions.
        waited: for how long each waited for a CPU; None where it is not known of all.
        others: CPUs that others used meanwhile.
        idle: CPUs that were idle.
        stolen: CPU time that the host took, as a part of the wall time.
        cpus: how many CPUs the machine has.
    """

    wall: Runs
    waited: Runs | None
    others: Runs
    idle: Runs
    stolen: Runs
    cpus: int

    def shared(self) -> Runs:
        """Return by which part others can have made each execution slower while it ran."""
        return [
            [others / self.cpus + stolen for others, stolen in zip(*run, strict=True)]
            for run in zip(self.others, self.stolen, strict=True)
        ]

    def waiting(self) -> Runs:
        """Return which part of each execution the program can have waited for others.

        Nobody waits as long as a CPU is idle, nor longer than others were on one.
        """
        return [
            [min(others, max(1.0 - idle, 0.0)) + stolen
             for others, idle, stolen in zip(*run, strict=True)]
            for run in zip(self.others, self.idle, self.stolen, strict=True)
        ]  # fmt: skip


def machine(of: MeasuredSide) -> Machine | None:
    """Return the machine facts of a side; None if some run lacks them."""
    found = [of.samples.get((WHOLE, name)) for name in (WALL, OTHERS, IDLE, STOLEN)]
    wall, others, idle, stolen = found
    if wall is None or others is None or idle is None or stolen is None:
        return None
    shape = [len(run) for run in wall]
    if any([len(run) for run in some] != shape for some in (others, idle, stolen)):
        return None
    if not all(shape) or any(time <= 0 for run in wall for time in run):
        return None
    waited = of.samples.get((WHOLE, WAITED))
    if waited is not None and [len(run) for run in waited] != shape:
        waited = None
    cpus = max((int(host.get("cpus") or 1) for run in of.side.runs for host in run.head["hosts"]),
               default=1)  # fmt: skip
    lost = [[ns / time for ns, time in zip(*run, strict=True)]
            for run in zip(stolen, wall, strict=True)]  # fmt: skip
    return Machine(wall, waited, others, idle, lost, cpus)


def remaining(
    quantity: RunMetric,
    values: tuple[Runs, Runs],
    on: tuple[Machine, Machine],
    measured: Difference,
    *,
    of_runs: bool,
) -> Difference | None:
    """Return the difference that is left to the program; None if no other can have made it.

    Args:
        quantity: what is compared.
        values: of both sides, by run.
        on: the machine of both sides.
        measured: the difference as measured.
        of_runs: the runs are the samples, not their repetitions.
    """
    if any(part in quantity.name.lower() for part in _SCHEDULING):
        return _scheduled(on, measured, of_runs=of_runs)
    is_rate = _PER_ELAPSED in quantity.formula
    is_elapsed = quantity.name == WALL or is_rate
    if not is_elapsed and (quantity.unit != _NS or quantity.name not in _TIMES):
        return None
    knows_waiting = all(one.waited is not None for one in on)
    if is_elapsed and knows_waiting:
        own = [_own(runs, one, is_rate=is_rate) for runs, one in zip(values, on, strict=True)]
        if all(value > 0 for runs in own for run in runs for value in run):
            trim = 0.0 if of_runs else TRIM
            measured = difference(*(samples(runs, of_runs=of_runs) for runs in own), trim=trim)
    of_waiting = is_elapsed and not knows_waiting
    taken = (
        samples(on[0].waiting() if of_waiting else on[0].shared(), of_runs=of_runs, mean=True),
        samples(on[1].waiting() if of_waiting else on[1].shared(), of_runs=of_runs, mean=True),
    )
    return _less(measured, taken, is_rate=is_rate, of_waiting=of_waiting)


def samples(runs: Runs, *, of_runs: bool, mean: bool = False) -> list[float]:
    """Return the samples: the centre of each run where a side has several, else all values."""
    if not of_runs:
        return [value for run in runs for value in run]
    return [fmean(run) if mean else centre(run) for run in runs]


def _own(runs: Runs, on: Machine, *, is_rate: bool) -> Runs:
    """Return times without waiting, or rates as they would have been without it."""
    own_values: Runs = []
    for run, walls, waits in zip(runs, on.wall, on.waited or (), strict=True):
        if len(run) != len(walls):
            return [[-1.0]]
        own = [max(wall - wait, 0.0) for wall, wait in zip(walls, waits, strict=True)]
        if is_rate:
            own = [value * wall / time if time else -1.0
                   for value, wall, time in zip(run, walls, own, strict=True)]  # fmt: skip
        own_values.append(own)
    return own_values


def _chance(taken: _Samples) -> float:
    """Return how far apart the means of both sides are by chance."""
    return sqrt(sum(variance(some) / len(some) for some in taken))


def _less(measured: Difference, taken: _Samples, *, is_rate: bool, of_waiting: bool) -> Difference:
    """Return a difference without what others can have made of it.

    Args:
        measured: the difference.
        taken: which part of its time others can have cost each execution, on both sides.
        is_rate: it is of what is divided by the time.
        of_waiting: by waiting, which is an amount of time; otherwise by running slower, which is
            a part of it.
    """
    shift = -measured.shift if is_rate else measured.shift
    shorter, longer = map(fmean, taken if shift > 0 else reversed(taken))
    chance = _chance(taken)
    if not measured.is_ratio:
        explained = max(longer - shorter - chance, 0.0)
        left = max(abs(shift) - explained * max(abs(measured.before), abs(measured.after)), 0.0)
    else:
        ratio = exp(abs(shift))
        explained = longer * ratio - shorter if of_waiting else (longer - shorter) * ratio
        left = log(max(ratio - max(explained - chance * ratio, 0.0), 1.0))
    return measured._replace(shift=left if measured.shift > 0 else -left)


def _scheduled(on: tuple[Machine, Machine], measured: Difference, *, of_runs: bool) -> Difference:
    """Return no difference where the program can have waited longer on the side with more of it."""
    times = tuple(
        samples(
            [[part * wall for part, wall in zip(*run, strict=True)]
             for run in zip(machine.waiting(), machine.wall, strict=True)],
            of_runs=of_runs, mean=True,
        )
        for machine in on
    )  # fmt: skip
    waits = [samples(one.waited, of_runs=of_runs, mean=True) for one in on if one.waited]
    for before, after in (times, waits) if len(waits) == len(on) else (times,):
        more = fmean(after) - fmean(before)
        if abs(more) > _chance((before, after)) and more * measured.shift > 0:
            return measured._replace(shift=0.0)
    return measured


def others(of: Machine) -> float:
    """Return how many CPUs others used on average."""
    return _mean_over(of, of.others)


def waited(of: Machine) -> float | None:
    """Return which part of its wall time the program waited; None if not known."""
    if of.waited is None:
        return None
    return sum(map(sum, of.waited)) / sum(map(sum, of.wall))


def _mean_over(of: Machine, runs: Runs) -> float:
    weighed = sum(
        wall * value
        for run in zip(of.wall, runs, strict=True)
        for wall, value in zip(*run, strict=True)
    )
    return weighed / sum(map(sum, of.wall))


def is_evidence(name: str) -> bool:
    """Return whether a metric says what others did, which no program is judged by."""
    return name in EVIDENCE
