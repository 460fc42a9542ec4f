"""Operations on a file, done again with and without modules by gnomon-io-replay.

It is a process of its own (native/mio/replay/main.c): what a module does to it ends nobody else,
and nothing of a scratch file is left however it ends.
"""

from __future__ import annotations

import os
from statistics import median
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.installation import LIBRARY_FOLDER
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gnomon.io.replay_operations import OperationList

_PROGRAM = LIBRARY_FOLDER / "gnomon-io-replay"
_SECONDS_MOST = 600
ORDER = "ABBAAB"
"""A is without modules, B with them: drifts of the machine are of both."""
ROUNDS_MOST = 3
"""Of these: more than one where the first does not tell."""


class Replay(NamedTuple):
    """One replay.

    Attributes:
        seconds: without pauses.
        read_bytes: that came.
        written_bytes: that went.
        failures: operations that failed.
        is_scratch: it was on a scratch file.
        cached_bytes: of the file, in memory before it began; -1 where not known.
        used_bytes: of the file, that operations may reach.
    """

    seconds: float
    read_bytes: int
    written_bytes: int
    failures: int
    is_scratch: bool
    cached_bytes: int
    used_bytes: int


class Comparison(NamedTuple):
    """Replays of the same operations without and with modules."""

    without: tuple[Replay, ...]
    with_modules: tuple[Replay, ...]

    @property
    def saved(self) -> float:
        """Seconds, of medians."""
        return _median(self.without) - _median(self.with_modules)

    @property
    def seconds(self) -> tuple[float, float]:
        """Medians without and with modules."""
        return _median(self.without), _median(self.with_modules)

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The fastest and slowest without modules, and with them: of 6 or 9 all but the ends."""
        return _range(self.without), _range(self.with_modules)

    @property
    def is_same(self) -> bool:
        """Whether both moved the same, and the same operations failed."""
        every = {
            (own.read_bytes, own.written_bytes, own.failures)
            for own in (*self.without, *self.with_modules)
        }
        return len(every) == 1

    @property
    def helps(self) -> bool:
        """Whether those of these ranges were shorter with modules than without, doing the same."""
        (fastest, _), (_, slowest) = self.ranges
        return self.is_same and slowest < fastest

    @property
    def is_clear(self) -> bool:
        """Whether it helps, or is not faster at all: more replays would not change that."""
        return self.helps or not self.is_same or self.saved <= 0

    @property
    def cached(self) -> float | None:
        """How much of the file was in memory before replays, from 0 to 1; None: not known."""
        every = [*self.without, *self.with_modules]
        if any(own.cached_bytes < 0 for own in every):
            return None
        used = sum(own.used_bytes for own in every)
        return sum(own.cached_bytes for own in every) / used if used else 0.0


def _median(replays: Sequence[Replay]) -> float:
    return float(median(own.seconds for own in replays))


def _range(replays: Sequence[Replay]) -> tuple[float, float]:
    """Return the fastest and slowest without a quarter of them at either end."""
    seconds = sorted(own.seconds for own in replays)
    end = len(seconds) // 4
    return seconds[end], seconds[-1 - end]


def compare(
    operations: OperationList, path: str, folder: str, modules: str,
    tell: Callable[[int, int], None] = lambda _number, _of: None,
) -> Comparison:  # fmt: skip
    """Return what came of replays with and without modules, three to nine of each.

    Args:
        operations: what is done.
        path: the file, which is read and never written.
        folder: where a scratch file is made, if there is need for one.
        modules: as in the brackets of MIO_FILES.
        tell: called before each replay with its number, and how many there are.

    Raises:
        GnomonError: it cannot be replayed: there is no room, or no such module.
    """
    comparison = Comparison((), ())
    with operations.in_memory() as descriptor:
        for number in range(ROUNDS_MOST):
            replays: dict[str, list[Replay]] = {"A": [], "B": []}
            for at, which in enumerate(ORDER, 1):
                tell(len(ORDER) * number + at, len(ORDER) * (number + 1))
                own = modules if which == "B" else ""
                replays[which].append(_play(descriptor, path, folder, own))
            comparison = Comparison(
                (*comparison.without, *replays["A"]), (*comparison.with_modules, *replays["B"])
            )
            if comparison.is_clear:
                break
    return comparison


def _play(descriptor: int, path: str, folder: str, modules: str) -> Replay:
    lines = _run(
        ["play", f"/proc/self/fd/{descriptor}", path, folder, modules], b"", (descriptor,)
    )  # fmt: skip
    values = dict(line.split(" ", 1) for line in lines)
    try:
        return Replay(
            int(values["ns"]) / 1e9, int(values["read_bytes"]), int(values["written_bytes"]),
            int(values["failures"]), values["is_scratch"] == "1", int(values["cached_bytes"]),
            int(values["used_bytes"]),
        )  # fmt: skip
    except (KeyError, ValueError):
        raise GnomonError(f"{path}: gnomon-io-replay did not say what came of it") from None


def match(text: str, paths: Sequence[str]) -> list[int]:
    """Return which list of modules of MIO_FILES each path gets, from 0; -1 for none.

    Raises:
        GnomonError: the text makes no sense, or the program cannot be run.
    """
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    return [int(line) for line in _run(["match", text], asked)]


def _run(words: Sequence[str], asked: bytes, passed: Sequence[int] = ()) -> Iterator[str]:
    import subprocess

    try:
        done = subprocess.run(
            [str(_PROGRAM), *words], input=asked, capture_output=True, check=False,
            pass_fds=passed, timeout=_SECONDS_MOST,
        )  # fmt: skip
    except ValueError:  # a zero in a path
        raise GnomonError("a path or specification that no program can be given") from None
    except OSError as error:
        raise GnomonError(f"{_PROGRAM} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise GnomonError(f"a replay took longer than {_SECONDS_MOST} s") from None
    if done.returncode:
        said = printable(done.stderr.decode(errors="replace").strip())
        raise GnomonError(said or f"gnomon-io-replay ended with {done.returncode}")
    return iter(done.stdout.decode().splitlines())
