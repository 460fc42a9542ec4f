"""How often `gnomon compare` finds a slow-down, and how often it cries wolf, in measured noise.

The noise is that of tests/measured/noise.json: within sessions it is drawn at random; where a side
is of several runs, each is of a session of its own, drawn at random too, so that what differs
between the sessions is part of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from math import exp
from pathlib import Path
from statistics import median

from benchmarks.table import Row, Table, verdict
from gnomon.metrics.significance import Difference, centre, difference, holm
from gnomon.store.comparison.model import SURE

NOISE: Mapping[str, list[list[float]]] = json.loads(
    (Path(__file__).parents[1] / "tests" / "measured" / "noise.json").read_text()
)["programs"]
_METRICS = 8
_ONE_RUN, _RUNS = 0.02, 0.01
_SLOWER = 0.05

Draw = Callable[[random.Random, str, float], Difference]


def _within(n: int) -> Draw:
    """One run a side of n repetitions, both of the same session's noise."""

    def draw(rng: random.Random, program: str, slower: float) -> Difference:
        def side(factor: float) -> list[float]:
            values = []
            for _ in range(n):
                session = rng.choice(NOISE[program])
                values.append(factor * exp(rng.choice(session) - median(session)))
            return values

        return difference(side(1.0), side(1 + slower))

    return draw


def _sessions(runs: int, n: int) -> Draw:
    """So many runs a side, each of n repetitions of a session of its own."""

    def draw(rng: random.Random, program: str, slower: float) -> Difference:
        def side(factor: float) -> list[float]:
            return [
                centre([factor * exp(rng.choice(session)) for _ in range(n)])
                for session in rng.choices(NOISE[program], k=runs)
            ]

        return difference(side(1.0), side(1 + slower), trim=0.0)

    return draw


def _sides(n: int) -> Draw:
    """One run a side, each of n repetitions of a session of its own."""

    def draw(rng: random.Random, program: str, slower: float) -> Difference:
        sessions = rng.sample(NOISE[program], 2)
        ours, theirs = ([exp(rng.choice(one)) for _ in range(n)] for one in sessions)
        return difference(ours, [value * (1 + slower) for value in theirs])

    return draw


def _rate(draw: Draw, margin: float, slower: float, seeds: int, metrics: int = 1) -> float:
    """Return the share of seeds, in percent, in which one of the metrics differs for sure."""
    found = 0
    programs = list(NOISE)
    for seed in range(seeds):
        rng = random.Random(seed)
        program = programs[seed % len(programs)]
        chances = [draw(rng, program, slower).p_beyond(margin) for _ in range(metrics)]
        found += min(holm(chances)) < SURE
    return 100 * found / seeds


def run(rounds: int) -> Table:
    """Return how often a slow-down of 5 % is found, and how often one of none is."""
    seeds = 100 * rounds
    rows = []
    worst = 0.0
    for name, draw, margin in (
        *((f"{n} repetitions", _within(n), _ONE_RUN) for n in (5, 10, 20, 30, 50)),
        *((f"{k} runs of 10, in turns", _sessions(k, 10), _RUNS) for k in (3, 5, 8)),
    ):
        rows.append(Row(f"{name}: 5 % found", "", _rate(draw, margin, _SLOWER, seeds)))
        rows.append(Row(f"{name}: alarms", "", _rate(draw, margin, 0.0, seeds)))
        worst = max(worst, rows[-1].value)
    within = _rate(_within(20), _ONE_RUN, 0.0, seeds, _METRICS)
    rows.append(Row(f"20 repetitions, {_METRICS} metrics: alarms", "", within))
    apart = _rate(_sides(20), _ONE_RUN, 0.0, seeds)
    rows.append(Row("20 repetitions, two sessions: alarms", "", apart))
    return Table(
        f"slow-downs found and false alarms, {seeds} seeds",
        "% of seeds",
        rows,
        [verdict("most false alarms, machine unchanged", max(worst, within), 1.0, "%")],
    )
