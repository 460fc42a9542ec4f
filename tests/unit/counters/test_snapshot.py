"""Differences of numbers from files: what is certain is counted, the rest is not measured."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.component import RawCount, Target
from gnomon.counters.gauge_sampler import GaugeSampler
from gnomon.counters.procfs import (
    ProcessFiles,
    keyed,
    kilobytes,
    read_errno,
    read_number,
    read_text,
    stat_fields,
    whole,
)
from gnomon.counters.snapshot_counters import (
    PROCESS,
    CountedField,
    Snapshot,
    SnapshotSession,
    Sources,
    Unit,
    current,
    difference,
)
from gnomon.errors import EventSetError, NotRunningError
from gnomon.model.value import Scope

ONE = CountedField(("n",), "a", Scope.NODE)
SUM = CountedField(("n",), None, Scope.NODE)
GAUGE = CountedField(("n",), "a", Scope.NODE, gauge=True)


def unit(number: int, identity: int = 1, **more: object) -> Unit:
    return Unit({"n": number}, identity, **more)  # type: ignore[arg-type]


@given(st.integers(0, 2**64), st.integers(0, 2**64))
def test_a_difference_is_never_negative_or_invented(before: int, after: int) -> None:
    grown = difference(ONE, {"a": unit(before)}, {"a": unit(after)})
    assert grown == (after - before if after >= before else None)


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**80])
def test_a_number_beyond_64_bits_is_not_measured(number: int) -> None:
    """A disk of 2^62 sectors makes more bytes than a count holds."""
    now = {"a": unit(number)}
    sources = Sources(lambda: now, lambda _pid: pytest.fail("no process"), lambda _f, _n: {})
    counting = SnapshotSession([GAUGE], Target(), sources)
    counting.start()
    (count,) = counting.stop()
    assert (count.raw, count.running_ns) == (0, 0)
    assert count.enabled_ns > 0


def test_whole_numbers_are_those_of_64_bits() -> None:
    assert whole("18446744073709551615") == 2**64 - 1
    for text in ("18446744073709551616", "99999999999999999999", "9" * 5000, "-1", "+1", "1_0", ""):
        assert whole(text) is None


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**31 - 1))
def test_a_counter_of_known_width_wraps(before: int, step: int) -> None:
    wraps = {"n": 2**32}
    after = (before + step) % 2**32
    assert difference(ONE, {"a": unit(before)}, {"a": unit(after, wraps=wraps)}) == step


@pytest.mark.parametrize(
    ("base", "now", "expected"),
    [
        pytest.param({}, {"a": unit(7, 5)}, 7, id="created after the start"),
        pytest.param({"b": unit(0, 6)}, {"a": unit(7, 5)}, None, id="older than one at the start"),
        pytest.param({}, {"a": unit(7, 0)}, None, id="of unknown age"),
        pytest.param({"a": unit(1)}, {}, None, id="vanished"),
        pytest.param({"a": unit(1, 1)}, {"a": unit(9, 2)}, None, id="replaced"),
        pytest.param({"a": unit(9)}, {"a": unit(1)}, None, id="set back"),
        pytest.param(
            {"a": unit(9)}, {"a": unit(1, wraps={"n": 2**32})}, None, id="set back, could wrap"
        ),
        pytest.param({"a": Unit({}, 1)}, {"a": unit(1)}, None, id="unreadable at the start"),
        pytest.param({"a": unit(1)}, {"a": Unit({}, 1)}, None, id="unreadable now"),
    ],
)
def test_a_unit_that_changed(base: Snapshot, now: Snapshot, expected: int | None) -> None:
    assert difference(ONE, base, now) == expected


def test_a_sum_covers_summed_units_only_and_every_one_of_them() -> None:
    base = {"a": unit(1), "b": unit(2, 2), "c": unit(50, 3, summed=False)}
    now = {"a": unit(11), "b": unit(5, 2), "c": unit(99, 3, summed=False), "d": unit(4, 4)}
    assert difference(SUM, base, now) == 10 + 3 + 4
    del now["a"]
    assert difference(SUM, base, now) is None
    assert difference(SUM, {}, {}) is None


def test_factor_and_several_fields() -> None:
    tally = CountedField(("n", "m"), "a", Scope.NODE, factor=512)
    base = {"a": Unit({"n": 1, "m": 2}, 1)}
    now = {"a": Unit({"n": 4, "m": 6}, 1)}
    assert difference(tally, base, now) == (3 + 4) * 512
    assert current(tally, now) == (4 + 6) * 512
    assert current(tally, {"a": Unit({"n": 4}, 1)}) is None


# --- the life of a counting -----------------------------------------------------------------------


class Numbers:
    """A source of the machine's numbers that a test sets."""

    def __init__(self) -> None:
        self.now: Snapshot = {"a": unit(0)}

    def sources(self) -> Sources:
        return Sources(lambda: self.now, _no_process, lambda _files, _fields: {})


def _no_process(pid: int) -> ProcessFiles:
    raise ProcessLookupError(pid)


def values(counts: tuple[RawCount, ...]) -> list[int | None]:
    assert all(count.enabled_ns > 0 for count in counts)
    assert all(count.running_ns in (0, count.enabled_ns) for count in counts)
    return [count.raw if count.running_ns else None for count in counts]


def test_start_read_stop_and_start_again() -> None:
    numbers = Numbers()
    counting = SnapshotSession([ONE, GAUGE], Target(), numbers.sources())
    with pytest.raises(NotRunningError):
        counting.read()
    with pytest.raises(NotRunningError):
        counting.stop()
    numbers.now = {"a": unit(10)}
    counting.start()
    numbers.now = {"a": unit(15)}
    assert values(counting.read()) == [5, 15]
    numbers.now = {"a": unit(17)}
    final = counting.stop()
    assert values(final) == [7, 17]
    numbers.now = {"a": unit(30)}
    assert counting.read() == final
    with pytest.raises(NotRunningError):
        counting.stop()
    counting.start()
    assert values(counting.read()) == [0, 30]
    numbers.now = {}
    assert values(counting.stop()) == [None, None]
    counting.close()


def test_the_machine_is_read_before_a_command_is_spawned() -> None:
    numbers = Numbers()
    numbers.now = {"a": unit(100)}
    counting = SnapshotSession([ONE], Target(pid=None, command=True), numbers.sources())
    numbers.now = {"a": unit(130)}  # the program ran ahead of start
    counting.start(12345)
    numbers.now = {"a": unit(150)}
    assert values(counting.stop()) == [50]
    counting.start(12346)  # a second run begins where it begins
    numbers.now = {"a": unit(151)}
    assert values(counting.stop()) == [1]


def test_a_command_needs_its_process() -> None:
    tally = CountedField(("n",), PROCESS, Scope.PROCESS)
    counting = SnapshotSession([tally], Target(None, command=True), Numbers().sources())
    with pytest.raises(EventSetError):
        counting.start()
    counting.start(12345)  # that is not there: not an error, but not measured either
    assert values(counting.stop()) == [None]


# --- sampling -------------------------------------------------------------------------------------


def test_gauges_keep_their_last_or_highest_value() -> None:
    series: Iterator[tuple[int | None, ...]] = iter([(1, 1), (9, 9), (4, 4), (None, None)])
    sampler = GaugeSampler(lambda: next(series), (False, True))
    assert [sampler.look() for _ in range(4)] == [(1, 1), (9, 9), (4, 9), (4, 9)]
    assert sampler.samples == 3


def test_the_sampling_thread_takes_no_signals_and_ends() -> None:
    seen: list[str] = []
    sampled = threading.Event()

    def sample() -> tuple[int | None, ...]:
        if threading.current_thread().name == "gnomon-gauges":
            seen.append(keyed(read_text("/proc/thread-self/status") or "")["SigBlk"])
            sampled.set()
        return (1,)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    sampler = GaugeSampler(sample, (False,))
    sampler.start()
    assert sampled.wait(60)
    sampler.stop()
    assert not any(thread.name == "gnomon-gauges" for thread in threading.enumerate())
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    blocked = int(seen[0], 16)
    assert all(blocked >> number - 1 & 1 for number in (signal.SIGINT, signal.SIGCHLD))


# --- files ----------------------------------------------------------------------------------------


@given(st.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    number = whole(text)
    assert number is None or (0 <= number < 10**20 and text.isascii())
    kilobytes(text)
    keyed(text)
    stat_fields(text)


def test_names_with_blanks_and_brackets_do_not_shift_stat() -> None:
    fields = stat_fields("12 (a) R 1) (b)) S 77 1 2 0 -1 4194304 10\n")
    assert (fields[3], fields[4], fields[9], fields[10]) == ("S", "77", "4194304", "10")


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert read_text(tmp_path / "none") is None
    assert read_text(tmp_path) is None
    assert read_text("a\0b") is None
    assert read_errno(tmp_path / "none") != 0
    (tmp_path / "garbage").write_bytes(b"\xff\xfe12\n")
    assert read_number(tmp_path / "garbage") is None
    (tmp_path / "long").write_text("x" * 200_000)
    assert len(read_text(tmp_path / "long") or "") == 200_000
    assert read_text(tmp_path / "long", most_bytes=10) == "x" * 10


def test_files_opened_while_a_process_lives_outlive_it() -> None:
    gate, ours = os.pipe()
    pid = os.posix_spawn(
        "/bin/cat",
        ["cat"],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, gate, 0), (os.POSIX_SPAWN_CLOSE, ours)],
    )
    files = ProcessFiles(Path("/proc"), pid, ["io", "nothing"])
    try:
        assert not files.awaits_exec()
        assert "nothing" in files.errors
        os.close(ours)
        os.close(gate)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert "rchar" in (files.read("io") or "")
        assert stat_fields(files.read("stat") or "")[3] == "Z"
        os.waitpid(pid, 0)
        assert files.read("io") is None
        assert files.reopen("stat") is None
    finally:
        files.close()
    with pytest.raises(ProcessLookupError):
        ProcessFiles(Path("/proc"), pid, ["io"])
