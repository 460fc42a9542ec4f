"""The aggregators that come with Gnomon, over tasks that were made up, against NumPy."""

from __future__ import annotations

import ctypes
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reductions import (
    WALL,
    Blob,
    Item,
    by_name,
    each,
    events,
    item,
    load,
    reduce_items,
)

OVER_TASKS = ("average", "minimum", "maximum", "statistics", "histogram", "history")


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPM_HISTORY_FILE", str(tmp_path / "history"))
    monkeypatch.setenv("HPM_AGGREGATE_PROGRAM", "made up")


def heading(found: Item) -> str:
    assert isinstance(found.description, bytes)
    assert isinstance(found.xml_descr, bytes)
    assert found.xml_descr.decode() == found.description.decode().replace("\n", ";") or (
        "; " in found.xml_descr.decode()
    )
    return found.description.decode()


@pytest.mark.parametrize("n", [1, 2, 17, 100])
@pytest.mark.parametrize("plugin", OVER_TASKS)
def test_numbers_are_numpys(plugin: str, n: int) -> None:
    made = np.random.default_rng(n)
    counts, clocks = made.integers(0, 10**9, n), made.normal(1e6, 3e5, n)
    walls = made.uniform(10, 11, n)
    found = reduce_items(
        plugin,
        each(range(n), lambda t: [item(events(a=float(counts[t]), b=clocks[t]), walls[t])]),
    )
    assert list(found) == [0]
    used, section = found[0].items
    assert used.is_rusage
    assert by_name(used)["ru_utime"].value == pytest.approx(
        {"minimum": 0, "maximum": (n - 1) / 4}.get(plugin, (n - 1) / 8)
    )
    assert by_name(used)["ru_ixrss"].how == -1
    assert by_name(used)["ru_ixrss"].reason == b"it is not here"
    word = "average" if plugin == "history" else plugin
    tasks = "0" if n == 1 else "0,1" if n == 2 else f"0-{n - 1}"
    assert heading(section).splitlines()[0] == f"{word} over {n} task{'s' * (n > 1)}: {tasks}"
    assert (section.n_tasks, section.tasks.decode()) == (n, tasks)
    assert section.times[WALL] == pytest.approx(
        {"minimum": walls.min(), "maximum": walls.max()}.get(plugin, walls.mean()), rel=1e-13
    )
    assert section.times_spread[WALL].n == (1 if plugin == "history" else n)
    for name, values in (("a", counts), ("b", clocks)):
        info, spread = by_name(section)[name], by_name(section)[name].spread[0]
        wanted = {"minimum": values.min(), "maximum": values.max()}.get(plugin, values.mean())
        assert info.value == pytest.approx(wanted, rel=1e-13)
        if plugin == "history":
            assert (spread.n, spread.min_task, spread.max_task) == (1, -1, -1)
            continue
        assert (spread.n, spread.minimum, spread.maximum) == (n, values.min(), values.max())
        assert (spread.min_task, spread.max_task) == (values.argmin(), values.argmax())
        if plugin == "statistics" and n > 1:
            assert spread.deviation == pytest.approx(values.std(ddof=1), rel=1e-12)
        else:
            assert math.isnan(spread.deviation)
        assert spread.n_bins == (10 if plugin == "histogram" else 0)
        if plugin == "histogram" and n > 1:
            assert spread.bins[:10] == np.histogram(values, bins=10)[0].tolist()
    if plugin == "statistics":
        imbalance = walls.max() / walls.mean()
        assert f"imbalance of the wall time, maximum / mean: {imbalance:.4g}" in heading(section)


@given(
    values=st.lists(
        st.one_of(st.none(), st.floats(-1e12, 1e12), st.integers(0, 9)), min_size=1, max_size=40
    ),
    bins=st.integers(1, 20),
    seed=st.integers(0, 2**32),
)
def test_any_order_gives_the_same(values: list[float | None], bins: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HPM_HISTOGRAM_BINS", str(bins))
        tasks = each(range(len(values)), lambda t: [item(events(x=values[t]))])
        found = reduce_items("histogram", tasks, random.Random(seed))
    there = {task: value for task, value in enumerate(values) if value is not None}
    info = by_name(found[0].items[1])["x"]
    spread = info.spread[0]
    assert spread.n == len(there)
    if not there:
        assert (info.how, info.reason) == (-1, b"it is not here")
        assert math.isnan(info.value)
        return
    numbers = np.array(list(there.values()), dtype=float)
    assert info.value == pytest.approx(numbers.mean(), rel=1e-9, abs=1e-3)
    least = min(there, key=lambda task: (there[task], task))
    most = max(there, key=lambda task: (there[task], -task))
    assert (spread.min_task, spread.max_task) == (least, most)
    assert spread.n_bins == bins
    assert sum(spread.bins[:bins]) == len(there)
    if numbers.max() > numbers.min() and (numbers.max() - numbers.min()) / bins > 1e-300:
        edges = np.histogram_bin_edges(numbers, bins)
        assert spread.bins[:bins] == np.histogram(numbers, edges)[0].tolist()


def test_groups_in_turn_have_a_report_each() -> None:
    def counted(task: int) -> list[Item]:
        name = "abc"[task % 3]
        return [item(events(**{name: float(task)}), group=name.encode())]

    found = reduce_items("average", each(range(10), counted))
    assert list(found) == [0, 1, 2]
    assert [heading(found[task].items[1]) for task in (0, 1, 2)] == [
        "average over 4 tasks: 0,3,6,9",
        "average over 3 tasks: 1,4,7",
        "average over 3 tasks: 2,5,8",
    ]
    assert [by_name(found[t].items[1])["abc"[t]].value for t in (0, 1, 2)] == [4.5, 4, 5]
    assert [found[t].items[1].mpi_task_id for t in (0, 1, 2)] == [-1, -1, -1]


def test_turns_of_groups_are_a_scenario_too() -> None:
    def counted(task: int) -> list[Item]:
        turns = [item(events(a=1.0)), item(events(b=float(task)), is_mplex_cont=1)]
        return turns if task < 3 else turns[:1]

    found = reduce_items("average", each(range(5), counted))
    assert [len(found[task].items) for task in (0, 3)] == [3, 2]
    assert by_name(found[0].items[2])["b"].value == 1
    assert found[0].items[2].is_mplex_cont == 1


def test_a_group_that_was_changed_is_incomparable() -> None:
    def counted(task: int) -> list[Item]:
        return [item(events(a=1.0)), item(events(b=float(task)), is_mplex_cont=task < 2)]

    found = reduce_items("average", each(range(30), counted))
    # The first of those that stay apart print, the others are named.
    assert list(found) == [0, *range(2, 18)]
    text = found[0].items[0].description.decode().splitlines()
    assert text[0] == "average over 2 tasks: 0,1"
    assert text[1] == (
        "tasks 2-29 by themselves: their groups of events were changed while they ran; only the "
        "first of them print what they measured"
    )
    own = found[5].items[0].description.decode()
    assert own == "task 5 by itself: its group of events was changed while it ran"
    assert by_name(found[5].items[2])["b"].value == 5
    assert found[5].items[2].n_tasks == 0


def test_times_that_differ_are_apart() -> None:
    walls = [10.0, 10.5, 20.0, 20.1, 10.2, 33.0, 19.9, 11.9]
    tasks = each(range(8), lambda t: [item(events(a=float(t)), walls[t])])
    found = reduce_items("average", tasks)
    assert sorted(found) == [0, 2, 5]
    for first, group in ((0, [0, 1, 4, 7]), (2, [2, 3, 6]), (5, [5])):
        section = found[first].items[1]
        assert section.tasks.decode() == ",".join(map(str, group))
        assert section.times[WALL] == pytest.approx(np.mean([walls[t] for t in group]))
        assert by_name(section)["a"].value == pytest.approx(np.mean(group))
        spread = section.times_spread[WALL]
        assert spread.maximum - section.times[WALL] <= 2
        assert section.times[WALL] - spread.minimum <= 2
    assert "that took less time" in heading(found[0].items[1])
    # Others do not mind.
    assert list(reduce_items("statistics", tasks)) == [0]


@given(
    walls=st.lists(st.lists(st.floats(0, 60), min_size=2, max_size=2), min_size=1, max_size=60),
    seed=st.integers(0, 2**32),
)
def test_all_tasks_are_somewhere(walls: list[list[float]], seed: int) -> None:
    def counted(task: int) -> list[Item]:
        return [
            item(events(a=1.0), walls[task][at], instr_id=at + 1, label=b"s%d" % at)
            for at in range(2)
        ]

    found = reduce_items("average", each(range(len(walls)), counted), random.Random(seed))
    seen: set[int] = set()
    for task, result in found.items():
        section = result.items[1]
        ranges = [part.split("-") for part in (section.tasks or b"").decode().split(",") if part]
        group = {t for r in ranges for t in range(int(r[0]), int(r[-1]) + 1)} or {task}
        assert not group & seen
        seen |= group
        assert task == min(group)
        for at in range(2) if section.n_tasks else ():
            times = np.array([walls[t][at] for t in group])
            assert np.abs(times - times.mean()).max() <= 2 + 1e-9
    text = "\n".join((r.items[0].description or b"").decode() for r in found.values())
    missing = set(range(len(walls))) - seen
    assert not missing or "by themselves" in text
    assert result.rounds <= 6


def test_sections_that_some_tasks_have_not() -> None:
    def counted(task: int) -> list[Item]:
        sections = [item(events(a=float(task)), instr_id=1, label=b"all")]
        if task:
            sections.append(item(events(a=10.0 * task), instr_id=2, label=b"others"))
        # Numbers that the library gives depend on who comes first.
        for at, label in enumerate((b"odd", b"even") if task % 2 else (b"even", b"odd")):
            sections.append(item(events(a=1.0), instr_id=1001 + at, label=label))
        return sections

    found = reduce_items("average", each(range(4), counted))
    assert list(found) == [0]
    by_label = {i.label: i for i in found[0].items if not i.is_rusage}
    assert len(by_label) == len(found[0].items) - 1 == 4
    assert heading(by_label[b"others"]) == "average over 3 of 4 tasks: 1-3"
    assert by_name(by_label[b"others"])["a"].value == 20
    assert {by_label[name].n_tasks for name in (b"odd", b"even", b"all")} == {4}


def test_an_event_that_some_tasks_lack() -> None:
    tasks = each(range(4), lambda t: [item(events(a=None if t % 2 else float(t), b=None))])
    for task in (2, 3):
        tasks[task][1].data[0].how = 1 if task == 2 else -1
        tasks[task][1].data[0].modes = 1
    info = by_name(reduce_items("average", tasks)[0].items[1])
    # A scaled one, and modes that are not the same on all that have it.
    assert (info["a"].value, info["a"].how, info["a"].modes) == (1, 1, 0)
    assert (info["a"].spread[0].n, info["a"].reason) == (2, b"")
    assert (info["b"].how, info["b"].reason) == (-1, b"it is not here")


def test_a_partial_is_as_large_for_one_task_as_for_all() -> None:
    def counted(task: int) -> list[Item]:
        return [item(events(a=float(task % 7), b=float(task)), instr_id=s) for s in range(1, 9)]

    sizes = {
        n: reduce_items("statistics", each(range(n), counted))[0].largest for n in (1, 64, 256)
    }
    # Those of the group, of resource usage and of eight sections.
    ranges = 10 * 64 * 8
    assert max(sizes.values()) < sizes[1] + ranges
    # Nor does a list of tasks grow that has gaps everywhere.
    apart = each(range(0, 400, 2), counted)
    found = reduce_items("statistics", apart)[0]
    assert found.items[1].n_tasks == 200
    assert found.items[1].tasks.decode().endswith(",126 and 136 more")
    assert found.largest < sizes[1] + ranges


def test_too_many_scenarios_are_named() -> None:
    tasks = each(range(100), lambda t: [item(events(**{f"e{t}": 1.0}))])
    found = reduce_items("average", tasks, random.Random(1))
    text = found[0].items[0].description.decode()
    assert "tasks 64-99 by themselves: there are too many different scenarios" in text
    assert list(found) == list(range(80))


def test_history_adds_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [3.0, 5.0, 10.0]
    for at, value in enumerate(runs):
        tasks = each(range(2), lambda t, v=value: [item(events(a=v + t))])  # type: ignore[misc]
        section = reduce_items("history", tasks)[0].items[1]
        spread = by_name(section)["a"].spread[0]
        means = np.array(runs[: at + 1]) + 0.5
        assert by_name(section)["a"].value == pytest.approx(means.mean())
        assert (spread.n, spread.minimum, spread.maximum) == (at + 1, means.min(), means.max())
        if at:
            assert spread.deviation == pytest.approx(means.std(ddof=1))
        plural = "s" * (at > 0)
        assert f"and over {at + 1} run{plural}: " in heading(section)
    # Another program, another number of tasks and other events are kept apart.
    for program, n, event in (("other", 2, "a"), ("made up", 3, "a"), ("made up", 2, "b")):
        monkeypatch.setenv("HPM_AGGREGATE_PROGRAM", program)
        more = {task: [item(events(**{event: 1.0}))] for task in range(n)}
        section = reduce_items("history", more)[0].items[0]
        assert "over 1 run:" in heading(section)
    assert [file.name for file in tmp_path.iterdir()] == ["history"]


def test_history_names_the_tasks_of_this_run() -> None:
    """Groups that are shared out may come to other tasks in the next run."""
    for n, tasks in enumerate(((0, 2), (1, 3)), 1):
        section = reduce_items("history", each(tasks, lambda t: [item(events(a=float(t)))]))
        whole = section[tasks[0]].items[1]
        words = f"average over 2 tasks: {tasks[0]},{tasks[1]}"
        assert heading(whole).splitlines()[0] == words
        assert (whole.n_tasks, whole.tasks.decode()) == (2, f"{tasks[0]},{tasks[1]}")
        assert by_name(whole)["a"].spread[0].n == n


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "folder"])
def test_a_history_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    file = tmp_path / "history"
    tasks = each(range(2), lambda t: [item(events(a=float(t)))])
    reduce_items("history", tasks)
    whole = file.read_bytes()
    if damage == "folder":
        monkeypatch.setenv("HPM_HISTORY_FILE", str(tmp_path))
    else:
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        file.write_bytes({"cut": whole[:-1], "flipped": flipped, "other": b"text\n"}[damage])
    before = file.read_bytes()
    used, section = reduce_items("history", tasks)[0].items
    assert used.description.decode().splitlines()[-1].startswith("this run alone: HPM_HISTORY_FILE")
    assert by_name(section)["a"].value == 0.5
    assert "run" not in heading(section)
    assert file.read_bytes() == before


@given(data=st.binary(max_size=400), at=st.integers(0, 10**6), n=st.integers(0, 20))
def test_bytes_that_are_no_partial_are_refused(data: bytes, at: int, n: int) -> None:
    reduction = load("statistics")
    good = Blob()
    mine = each([0], lambda _: [item(events(a=1.0))])[0]
    vector = (Item * len(mine))(*mine)
    known = Blob()
    assert not reduction.partial(0, ctypes.byref(known), 0, len(vector), vector, ctypes.byref(good))
    bytes_ = bytearray(ctypes.string_at(good.data, good.size))
    at %= len(bytes_)
    bytes_[at : at + n] = data[:n]
    text = bytes(bytes_[: len(bytes_) - at] if n == 0 else bytes_)
    other = Blob(ctypes.cast(ctypes.create_string_buffer(text, len(text)), ctypes.c_void_p))
    other.size = len(text)
    # It is refused or it is numbers: nothing else becomes of it.
    assert reduction.merge(0, ctypes.byref(good), ctypes.byref(other)) in (0, 74, 12)
