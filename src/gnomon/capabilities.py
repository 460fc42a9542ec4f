"""What `gnomon run` can measure with: every capability is an object of one Protocol, in one tuple.

A new capability is a folder with such an object, and a line here; it hands over rows of the model's
tables, so reports, comparisons, exports and the view show it without knowing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from gnomon.hpm.running import COUNTERS, EMULATED, SECTIONS
from gnomon.model.collected import Collected, Ended, State


class Capability(Protocol):
    """One way of measuring a program: a `Runner`, or `Inside` a program that one runs."""

    @property
    def name(self) -> str:
        """As `--with` has it."""

    @property
    def title(self) -> str:
        """What it measures, in one line."""

    @property
    def is_default(self) -> bool:
        """Whether it is used without `--with`."""

    def availability(self) -> State:
        """Return whether it works on this machine; if not, why and what to do."""


@runtime_checkable
class Runner(Capability, Protocol):
    """Starts the program itself; one of them does in each run, the one that was asked for."""

    def run(self, command: Sequence[str], /) -> Ended:
        """Run the program and measure.

        Raises:
            ProgramError: the program cannot be executed.
        """


@runtime_checkable
class Inside(Capability, Protocol):
    """Measures from within the processes of the program, which leave raw files."""

    def environment(self, folder: Path, /) -> Mapping[str, str]:
        """Return variables that the program gets.

        Args:
            folder: absolute path, where what runs inside the program may leave raw files. All tasks
                of a job share it.
        """

    def collect(self, folder: Path, /) -> Collected:
        """Return what is in the raw files, after the program or, by `gnomon repair`, after a kill.

        What cannot be read costs a warning in what is returned, no exception.
        """


CAPABILITIES: tuple[Runner | Inside, ...] = (COUNTERS, SECTIONS, EMULATED)
