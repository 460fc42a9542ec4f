"""Lists of events to sample: groups, precision, what the samples of each carry."""

from __future__ import annotations

import errno

import pytest

from gnomon.errors import UsageError
from gnomon.sampling import rights
from gnomon.sampling.data_sources import words
from gnomon.sampling.sampled_events import SampledEvent, SampledEvents, choose
from gnomon.sampling.sampling_observer import describe

ADDRESS, BRANCHES = 1 << 3, 1 << 11


def chosen(*lists: str, rate: int = 99, period: int | None = None) -> SampledEvents:
    return choose(lists, rate, period)


def leaders(events: SampledEvents) -> list[tuple[str, int]]:
    return [(sampled.event.name, sampled.leader) for sampled in events.events]


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        (["cpu-clock,page-faults"], [0, 1]),
        (["{cpu-clock,page-faults}"], [0, 0]),
        (["{cpu-clock,page-faults,cpu-migrations}:S,minor-faults"], [0, 0, 0, 3]),
        (["minor-faults,{cpu-clock,page-faults}:S"], [0, 1, 1]),
        (["{cpu-clock,page-faults},{task-clock,minor-faults}:S"], [0, 0, 2, 2]),
        (["{cpu-clock,page-faults}", "{task-clock,minor-faults}"], [0, 0, 2, 2]),
        (["{cpu-clock}"], [0]),
    ],
)
def test_the_first_event_of_a_group_is_sampled(lists: list[str], expected: list[int]) -> None:
    assert [leader for _, leader in leaders(chosen(*lists))] == expected


def test_others_of_a_group_are_said_to_be_read_with_it() -> None:
    events = chosen("{cpu-clock,page-faults}").events
    described = [describe(sampled, events) for sampled in events]
    assert "read_with" not in described[0]
    assert described[1]["read_with"] == "cpu-clock"
    assert (described[1]["period"], described[1]["is_frequency"]) == (99, True)


@pytest.mark.parametrize(
    ("name", "carries"),
    [("page-faults", True), ("faults", True), ("minor-faults", True), ("major-faults", True),
     ("cpu-clock", False), ("context-switches", False)],
)  # fmt: skip
def test_faults_carry_the_address_that_was_touched(name: str, carries: bool) -> None:
    (sampled,) = chosen(name).events
    assert sampled.sample_type == (ADDRESS if carries else 0)


def test_precise_events_carry_address_latency_and_source() -> None:
    (clock,) = chosen("cpu-clock").events
    precise = SampledEvent(clock.event, 1000, False, 0, precise=2)
    assert precise.sample_type == ADDRESS | 1 << 14 | 1 << 15


def test_branches_are_of_cycles_unless_events_are_named() -> None:
    (cycles,) = choose([], 99, None, has_branches=True).events
    assert (cycles.event.name, cycles.sample_type) == ("cycles", BRANCHES)
    assert cycles._replace(precise=1).sample_type == ADDRESS | 1 << 14 | 1 << 15 | BRANCHES
    user = cycles.narrowed()
    assert user is not None
    assert (user.sample_type, user.is_user_only) == (BRANCHES, True)
    without = choose([], 99, None).events
    assert [(sampled.event.name, sampled.sample_type) for sampled in without] == [("cpu-clock", 0)]


def test_branches_are_of_events_that_are_sampled() -> None:
    events = choose(["{cycles,page-faults},instructions"], 99, None, has_branches=True).events
    assert [sampled.sample_type for sampled in events] == [BRANCHES, ADDRESS, BRANCHES]


@pytest.mark.parametrize("names", ["cpu-clock", "cycles,page-faults", "{task-clock,cycles}"])
def test_only_a_pmu_has_branches(names: str) -> None:
    why = "only events of a PMU have branches; sample one of these"
    with pytest.raises(UsageError, match=why):
        choose([names], 99, None, has_branches=True)


@pytest.mark.parametrize(
    ("number", "has_pmu", "reason", "remedy"),
    [
        (errno.EOPNOTSUPP, True, "its PMU records no branches", "Intel with LBR"),
        (errno.EINVAL, True, "records no branches with this event and rate", "branch-brs"),
        (errno.EOPNOTSUPP, False, "no core PMU", ""),
        (errno.ENOENT, False, "no core PMU", ""),
    ],
)
def test_a_pmu_without_branches_is_said(
    monkeypatch: pytest.MonkeyPatch, number: int, has_pmu: bool, reason: str, remedy: str
) -> None:
    monkeypatch.setattr(rights, "core_pmus", lambda: ("cpu",) if has_pmu else ())
    refusal = rights.branch_refusal(number)
    assert refusal is not None
    assert reason in refusal[0]
    assert remedy in refusal[1]
    assert refusal[1].endswith("or sample without branches")
    # No counter but a real one has any.
    assert "emulated" not in refusal[1]


def test_other_refusals_are_not_of_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rights, "core_pmus", lambda: ("cpu",))
    assert rights.branch_refusal(errno.ENOENT) is None
    assert rights.branch_refusal(errno.EMFILE) is None


@pytest.mark.parametrize("name", ["page-faults:p", "page-faults:upp", "page-faults:P"])
def test_what_no_pmu_counts_cannot_be_precise(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: only events of a PMU can be precise"):
        chosen(name)


@pytest.mark.parametrize(
    "text", ["{cpu-clock", "{cpu-clock,page-faults}:X", "{cpu-clock}:Sx", "}:S"]
)
def test_malformed_groups_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        chosen(text)


def test_a_period_is_of_those_that_are_sampled() -> None:
    assert len(chosen("{page-faults,cpu-clock}", period=1).events) == 2
    with pytest.raises(UsageError, match="a period of 1 ns of cpu-clock"):
        chosen("{cpu-clock,page-faults}", period=1)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (0, ""),
        # PERF_MEM_NA of the kernel.
        (0x01 | 0x01 << 5 | 0x01 << 19 | 0x01 << 24 | 0x01 << 26, ""),
        (0x02 | (0x02 | 0x08) << 5 | 0x02 << 19, "load, L1 hit"),
        (0x04 | (0x04 | 0x20) << 5 | 0x10 << 19 | 0x02 << 24,
         "store, L2 miss, snoop hit modified, locked"),
        (0x02 | 0x02 << 5 | 13 << 33 | 1 << 37, "load, remote RAM hit"),
        (0x02 | (0x02 | 0x100) << 5 | (0x04 | 0x20) << 26,
         "load, remote RAM (1 hop) hit, TLB miss, page walk"),
    ],
)  # fmt: skip
def test_data_sources_in_words(source: int, said: str) -> None:
    assert words(source) == said
