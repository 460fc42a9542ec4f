"""Where the tests in a machine leave their figures, for the table of docs/testing.md."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator

import pytest

from gnomon.counters import EventSet
from guest.inside.work import HERE

FigureOf = Callable[[str, str], None]


def pytest_sessionstart() -> None:
    """Say which kernel this is."""
    (HERE / "kernel").write_text(f"Linux {os.uname().release}\n")
    (HERE / "figures.jsonl").write_text("")


@pytest.fixture(scope="session")
def figure() -> FigureOf:
    """Return a function that keeps a figure: what was measured, and how much."""

    def keep(what: str, measured: str) -> None:
        with (HERE / "figures.jsonl").open("a") as file:
            file.write(json.dumps({"what": what, "measured": measured}) + "\n")

    return keep


@pytest.fixture(autouse=True)
def no_set_is_left() -> Iterator[None]:
    """Stop what a test that failed has left counting, so that the next one can count."""
    yield
    for thing in gc.get_objects():
        if isinstance(thing, EventSet):
            thing.close()
