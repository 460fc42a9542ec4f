"""What an engine of the emulated PMU is: it runs a program and says what each line of it did.

An engine (`valgrind.py`; a faster one may join it) wraps the command, leaves files in a folder
that is its own while the program runs, and reads them when that has ended. What it counts it
names by `EmulatedCount`; `events.py` says which event is the sum of which quantities, so an engine
knows no event names and events know no engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from gnomon.counters.component import Availability
from gnomon.counters.emulation.caches import Caches
from gnomon.named_tuple import NamedTuple


class EmulatedCount(StrEnum):
    """What an engine may count, for each line of a program, in user mode."""

    INSTRUCTIONS = "instructions"
    LOADS = "loads"
    STORES = "stores"
    CONDITIONAL_BRANCHES = "conditional branches"
    INDIRECT_BRANCHES = "indirect branches"
    L1_INSTRUCTION_MISSES = "level 1 instruction cache misses"
    L1_LOAD_MISSES = "loads that missed in the level 1 data cache"
    L1_STORE_MISSES = "stores that missed in the level 1 data cache"
    LL_INSTRUCTION_MISSES = "instruction fetches that missed in the last-level cache"
    LL_LOAD_MISSES = "loads that missed in the last-level cache"
    LL_STORE_MISSES = "stores that missed in the last-level cache"
    CONDITIONAL_MISSES = "conditional branches predicted wrongly"
    INDIRECT_MISSES = "indirect branches whose target was predicted wrongly"


# Facts of the program; everything else depends on a model of caches or of branch prediction.
EXACT = frozenset(
    {
        EmulatedCount.INSTRUCTIONS,
        EmulatedCount.LOADS,
        EmulatedCount.STORES,
        EmulatedCount.CONDITIONAL_BRANCHES,
        EmulatedCount.INDIRECT_BRANCHES,
    }
)


class Line(NamedTuple):
    """A source line as compiled into one function; "" and 0 where debug information lacks it."""

    file: str
    function: str
    line: int


Profile = Mapping[Line, tuple[int, ...]]
"""Counts of each line, in the order of the engine's quantities."""


class ProcessCounts(NamedTuple):
    """What one process did itself, without what a forked child had from its parent.

    Attributes:
        pid, ppid: of the process.
        command: the program it executed last, with its arguments.
        totals: sums over its lines, in the order of the engine's quantities.
        lines: counts of each line.
    """

    pid: int
    ppid: int
    command: str
    totals: tuple[int, ...]
    lines: Profile


class EmulatedRun(NamedTuple):
    """What an engine found when the program had ended.

    Attributes:
        processes: in the order of their numbers; () if none left its counts.
        notes: sentences for the user: what is missing, and why.
        doubt: why the totals are not the program's, in a few words; "" if they are.
    """

    processes: tuple[ProcessCounts, ...]
    notes: tuple[str, ...]
    doubt: str = ""


class EngineCommand(NamedTuple):
    """How to run a program under an engine.

    Attributes:
        words: come before the program's own words.
        environment: variables to be set beside the program's own.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]


class Engine(Protocol):
    """Runs programs on a simulated processor.

    Attributes:
        name: one word.
        title: name and version for people.
        quantities: what it counts.
        slowdown: how much longer programs take, for people.
        exactness: what is to be said of its counts in every report, a sentence.
    """

    name: str
    quantities: tuple[EmulatedCount, ...]
    slowdown: str
    exactness: str

    @property
    def title(self) -> str:
        """Return name and version for people."""

    def availability(self) -> Availability:
        """Return whether it can run programs here."""

    def prepare(
        self, caches: Caches, folder: Path, command: Sequence[str], environment: Sequence[bytes]
    ) -> EngineCommand:
        """Return how to run a program whose counts are to be left in a folder.

        Args:
            caches: what to simulate.
            folder: where the counts go.
            command: the program and its arguments.
            environment: what it would find without the engine, "NAME=value" each.

        Raises:
            EmulationError: the folder cannot be prepared.
        """

    def harvest(self, folder: Path) -> EmulatedRun:
        """Return the results that were left in the folder.

        Raises:
            FormatError: a file in it is damaged.
        """

    def explain(self, folder: Path, signal: int) -> str:
        """Return why emulation ended the program with a signal, "" if it was not at fault."""
