"""What the workers of a test run share: the machine, and what takes long to build.

Workers run tests side by side. A test marked `alone` waits until the tests of all other workers
have ended, and they wait until it has: nobody else's work is in what it counts of the whole
machine, and nobody else meets what it changes there (`kernel.perf_event_paranoid`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED = "GNOMON_TEST_SHARED"
"""The variable that names the shared folder of a run to those that its tests start."""


@contextmanager
def turn(folder: Path, *, alone: bool) -> Iterator[None]:
    """Wait for a test's turn among those of the same folder, and hold it.

    The room is held by all that run side by side, or by one that is alone. Who waits for it stands
    in the door, where there is place for one: so nobody overtakes a test that waits to be alone.
    """
    with _opened(folder / "room") as room:
        with locked(folder / "door"):
            fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        try:
            yield
        finally:
            # Closing it is not enough: a process that the test left behind may have it too.
            fcntl.flock(room, fcntl.LOCK_UN)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock on a file, which is made if it is not there."""
    with _opened(file) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def shared(base: Path) -> Path:
    """Return the folder that the workers of a run share, whose own temporary folder is `base`.

    A run that a test starts shares what that test's run has (GNOMON_TEST_SHARED).
    """
    given = os.environ.get(SHARED)
    if given:
        return Path(given)
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(base: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Return the shared folder `name`, filled by `make` for the first worker that asks.

    One that could not be made is left to the next that asks.
    """
    folder = shared(base)
    made = folder / name
    with locked(folder / f"{name}.lock"):
        if not (folder / f"{name}.made").exists():
            made.mkdir(exist_ok=True)
            make(made)
            (folder / f"{name}.made").touch()
    return made


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
