"""Aggregators in Python over files of tasks: the tasks meet, those that leave hold up nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_items import a_file, an_event, an_item

from gnomon.hpm.ranks.communicator import Gap
from gnomon.hpm.ranks.replay import ReplayedRanks, replayed
from gnomon.measurement.items import Item, RankFile


def files(values: dict[int, float]) -> list[RankFile]:
    return [
        a_file(an_item(an_event(value=value)), task=task, size=0) for task, value in values.items()
    ]


@given(st.dictionaries(st.integers(0, 30), st.integers(-1000, 1000), min_size=1))
def test_reductions_have_every_task_once(values: dict[int, int]) -> None:
    seen: list[tuple[object, ...]] = []

    def aggregator(items: list[Item], ranks: ReplayedRanks) -> list[Item] | None:
        value = items[0].data[0].value
        total = ranks.allreduce({"sum": value, "tasks": [ranks.task]}, both)
        low = ranks.reduce(value, min)
        seen.append((total["sum"], total["tasks"], low, ranks.is_root, ranks.tasks))
        return items if ranks.is_root else None

    made = replayed(files({task: float(value) for task, value in values.items()}), aggregator)
    order = sorted(values)
    assert [file.task for file, items, _ in made if items is not None] == order[:1]
    assert {(total, tuple(tasks)) for total, tasks, *_ in seen} == {  # type: ignore[arg-type]
        (sum(values.values()), tuple(order))
    }
    assert sorted(low for _, _, low, is_root, _ in seen if is_root) == [min(values.values())]  # type: ignore[type-var]
    assert {tasks for *_, tasks in seen} == {order[-1] + 1}


def both(one: dict[str, object], other: dict[str, object]) -> dict[str, object]:
    return {name: one[name] + other[name] for name in one}  # type: ignore[operator]


def test_who_is_killed_or_has_no_file_is_in_no_total() -> None:
    given_files = files({0: 1.0, 2: 2.0, 5: 4.0})
    given_files[1] = given_files[1]._replace(signal=11)
    told: list[tuple[object, ...]] = []

    def aggregator(items: list[Item], ranks: ReplayedRanks) -> list[Item] | None:
        told.append((ranks.task, ranks.allreduce(items[0].data[0].value, lambda a, b: a + b),
                     ranks.own_gap, ranks.missing))  # fmt: skip
        return None

    replayed(given_files, aggregator)
    gaps = (
        Gap(1, 1, False, "left no file that was given"),
        Gap(2, 2, False, "was killed by SIGSEGV"),
        Gap(3, 4, False, "left no file that was given"),
    )
    why = {0: "", 2: "was killed by SIGSEGV", 5: ""}
    assert sorted(told) == [(task, 5.0, why[task], gaps) for task in (0, 2, 5)]


@pytest.mark.parametrize("when", ["before", "in the merge", "after"])
def test_a_task_that_fails_holds_up_nobody(when: str) -> None:
    def merge(one: float, other: float) -> float:
        if when == "in the merge":
            raise ValueError(when)
        return one + other

    def aggregator(items: list[Item], ranks: ReplayedRanks) -> list[Item] | None:
        if when == "before" and ranks.task == 1:
            raise ValueError(when)
        total = ranks.allreduce(items[0].data[0].value, merge)
        if when == "after" and ranks.task == 1:
            raise ValueError(when)
        return [items[0]._replace(description=str(total))]

    made = replayed(files({0: 1.0, 1: 2.0, 2: 4.0}), aggregator)
    failed = {file.task for file, _, error in made if isinstance(error, ValueError)}
    said = {file.task: items[0].description for file, items, _ in made if items}
    assert failed == ({0, 1, 2} if when == "in the merge" else {1})
    total = {"before": "5.0", "in the merge": "", "after": "7.0"}[when]
    assert said == ({0: total, 2: total} if total else {})
