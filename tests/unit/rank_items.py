"""Items of any content, for tests of what is written of them and read back."""

from __future__ import annotations

from math import nan
from typing import Any

from hypothesis import strategies as st

from gnomon.measurement.items import N_TIMES, EventInfo, Item, RankFile, Spread

INTS = st.integers(-(2**31), 2**31 - 1)
COUNTS = st.integers(0, 2**31 - 1)
TASKS = st.integers(-1, 2**31 - 2)
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
TEXTS = st.text(alphabet="a1 ,;:\"<>&'\t\n\r\x1b\x85\u2028\ufffe\U0001f600é\udcff", max_size=6)
SPREADS = st.builds(
    Spread, COUNTS, FLOATS, FLOATS, FLOATS, TASKS, TASKS,
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(tuple),
)  # fmt: skip
EVENTS = st.builds(
    EventInfo, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, FLOATS, FLOATS, FLOATS, st.integers(-1, 5),
    st.integers(0, 7), COUNTS, st.none() | SPREADS,
)  # fmt: skip
ITEMS = st.builds(
    Item, st.lists(EVENTS, max_size=3).map(tuple), st.tuples(*[FLOATS] * N_TIMES), st.booleans(),
    st.booleans(), TASKS, INTS, COUNTS, st.booleans(), INTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS,
    TEXTS, INTS, INTS, INTS, INTS, COUNTS, TEXTS, st.just(()) | st.tuples(*[SPREADS] * N_TIMES),
)  # fmt: skip
FILES = st.builds(
    RankFile, st.lists(ITEMS, max_size=3).map(tuple), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TASKS,
    st.just(0) | st.just(2**31 - 1), st.integers(-(2**63), 2**63 - 1), INTS, st.integers(0, 127),
    FLOATS, FLOATS, FLOATS,
)  # fmt: skip


def an_event(name: str = "page-faults", value: float = 7.0, **fields: Any) -> EventInfo:
    return EventInfo(name, "kernel", "", "", "", value, 1.0, 1.0, 0, 7)._replace(**fields)


def an_item(*events: EventInfo, **fields: Any) -> Item:
    times = (2.0, 2.0, 1.0, 0.5, 1.5e9, 1.5e9 + 2, nan, 1.5e9)
    return Item(events or (an_event(),), times, label="app", group="2 BRANCH")._replace(**fields)


def a_file(*items: Item, **fields: Any) -> RankFile:
    file = RankFile(items or (an_item(),), "app", "./app 3", "node1", "", "2 BRANCH", 0, 4, 42, 0)
    return file._replace(started=1.5e9, stopped=1.5e9 + 2, wall_s=2.0)._replace(**fields)
