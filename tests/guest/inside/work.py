"""Work of known size, and Gnomon's commands as users run them."""

from __future__ import annotations

import ctypes
import json
import platform
import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from gnomon.counters import EventSet

HERE = Path(__file__).parents[2]
BIN = HERE / "bin"
LOOP = BIN / "loop"
FAMILY = BIN / "family"
DOCUMENTS = HERE / "documents"

IS_POWER = platform.machine() == "ppc64le"

# Instructions of programs/loop.c, as they stand there.
_LOOP_FIXED, _LOOP_PER_DIGIT = (9, 8) if IS_POWER else (7, 5)
PER_ROUND = 2

# POWER's are those of the kernel too, which in these machines has much to do; and by IBM's name,
# since QEMU 7.2 stops counting the generic event once it has counted about 2^32 since boot.
INSTRUCTIONS = "PM_INST_CMPL" if IS_POWER else "instructions:u"

# For commands: much beside the execve before it, which in a machine takes tens of milliseconds.
COMMAND_ROUNDS = 100_000_000 if IS_POWER else 4_000_000
# Instructions by which Python's own may differ from one time to the next.
OF_THE_INTERPRETER = 1000

_spin = ctypes.CDLL(str(BIN / "spin.so")).spin_rounds
_spin.argtypes = [ctypes.c_uint64]
_spin.restype = None


def spin(rounds: int) -> None:
    """Run PER_ROUND instructions a round, and the few of a call through ctypes."""
    _spin(rounds)


def loop_instructions(rounds: int) -> int:
    """Return how many instructions `loop ROUNDS` is, from its first to its last."""
    return _LOOP_FIXED + _LOOP_PER_DIGIT * len(str(rounds)) + PER_ROUND * rounds


def run(*command: str | int | Path) -> subprocess.CompletedProcess[str]:
    """Return what came of a command."""
    return subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def gnomon(*arguments: str | int | Path) -> str:
    """Return what `gnomon` with these arguments writes to stdout; it must end with status 0."""
    return _done(*arguments).stdout


def report(*arguments: str | int | Path) -> str:
    """Return the report of `gnomon count` with these arguments."""
    return _done("count", *arguments).stderr


def counted(events: str, *command: str | int | Path) -> dict[str, Any]:
    """Return the JSON document of `gnomon count -e events -- command`."""
    # Kept, so that the host can hold each of them against the schema.
    DOCUMENTS.mkdir(exist_ok=True)
    file = DOCUMENTS / f"{len(list(DOCUMENTS.iterdir()))}.json"
    _done("count", "-n", "-o", file, "-e", events, "--", *command)
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def _done(*arguments: str | int | Path) -> subprocess.CompletedProcess[str]:
    done = run(BIN / "gnomon", *arguments)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def values(document: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of a document by event."""
    return {counter["event"]: counter["value"] for counter in document["counters"]}


def least(count_of: Callable[[int], int], work: Sequence[int], attempts: int = 40) -> list[int]:
    """Return the least count of each amount of work, of several attempts that take turns.

    What interrupts only adds to a count, and Python runs fewer instructions once it is warm.
    """
    tried: dict[int, list[int]] = {amount: [] for amount in work}
    order = list(work)
    for _ in range(attempts):
        # What Python has allocated until then makes the first of a row differ from the others.
        order.append(order.pop(0))
        for amount in order:
            tried[amount].append(count_of(amount))
    return [min(tried[amount]) for amount in work]


def spun(events: EventSet, rounds: int) -> int:
    """Return how many of its first event a set counts of `spin(rounds)`."""
    events.start()
    spin(rounds)
    return events.stop().raw(0)


def shown(counts: Sequence[int]) -> str:
    """Return counts as the table of figures has them."""
    return ", ".join(f"{count:,}" for count in counts)


def differences(counts: Sequence[int]) -> list[int]:
    """Return by how much each count exceeds the one before."""
    return [after - before for before, after in pairwise(counts)]
