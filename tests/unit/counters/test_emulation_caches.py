"""The caches that are simulated: this machine's as sysfs tells them, or as given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.emulation.caches import Cache, choose, of_machine
from gnomon.errors import UsageError

Recorded = dict[str, tuple[str, str, str, str, str]]
# level, type, size, ways, line: an Intel Xeon's, whose last level has no power of two sets.
XEON: Recorded = {
    "index0": ("1", "Data", "48K", "12", "64"),
    "index1": ("1", "Instruction", "32K", "8", "64"),
    "index2": ("2", "Unified", "2048K", "16", "64"),
    "index3": ("3", "Unified", "491520K", "16", "64"),
}
FILES = ("level", "type", "size", "ways_of_associativity", "coherency_line_size")


def recorded(folder: Path, caches: Recorded) -> Path:
    for index, words in caches.items():
        place = folder / "devices/system/cpu/cpu0/cache" / index
        place.mkdir(parents=True, exist_ok=True)
        for name, word in zip(FILES, words, strict=True):
            (place / name).write_text(word + "\n")
    return folder


def test_machines_caches(tmp_path: Path) -> None:
    caches = of_machine(recorded(tmp_path, XEON))
    assert caches.data == Cache(48 << 10, 12, 64)
    assert caches.instructions == Cache(32 << 10, 8, 64)
    # As cachegrind does it: the size stays, sets go down to a power of two, ways up.
    assert caches.last == Cache(480 << 20, 30, 64)
    assert caches.last.sets == 1 << 18
    assert caches.remarks == (
        "LL: 480 MiB 30-way, 64-byte lines is simulated for 480 MiB 16-way, 64-byte lines",
    )


def test_two_levels_only(tmp_path: Path) -> None:
    """An Arm core without a third level; its caches tell no instruction cache."""
    levels = {
        "index0": ("1", "Data", "64K", "4", "64"),
        "index1": ("2", "Unified", "1M", "8", "64"),
    }
    caches = of_machine(recorded(tmp_path, levels))
    assert caches.last == Cache(1 << 20, 8, 64)
    assert "I1: not known on this machine; 32 KiB 8-way, 64-byte lines is simulated" in (
        caches.remarks
    )


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    caches = of_machine(tmp_path)
    assert caches.last.sets & (caches.last.sets - 1) == 0
    assert len(caches.remarks) == 3


def test_fully_associative(tmp_path: Path) -> None:
    caches = of_machine(recorded(tmp_path, {"index0": ("1", "Data", "4K", "0", "64")}))
    assert caches.data == Cache(4096, 64, 64)


def test_given_caches_replace_the_machines(tmp_path: Path) -> None:
    caches = choose(["ll=8M,16,64", "D1=32KiB,8,64"], recorded(tmp_path, XEON))
    assert caches.last == Cache(8 << 20, 16, 64)
    assert caches.data == Cache(32 << 10, 8, 64)
    assert caches.remarks == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "write level=size,ways,line"),
        ("L2=1M,8,64", "with level I1, D1 or LL"),
        ("D1=32K,8", "D1=32K,8,64"),
        ("D1=32K,8,48", "a power of two bytes"),
        ("D1=32K,8,8", "16 or more"),
        ("D1=0,8,64", "not 0 bytes"),
        ("D1=32K,0,64", "no whole number"),
        ("D1=33000,8,64", "no whole number"),
        ("D1=96K,8,64", "power of two, and 192 is not"),
        ("LL=999999999999,16,64", "4 GiB"),
        ("D1=64,1,64", "more than one line"),
    ],
)
def test_caches_that_cannot_be(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        choose([text], recorded(tmp_path, XEON))
    assert f"--cache {text}:" in str(caught.value)


def test_the_last_level_is_not_the_smallest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is smaller than"):
        choose(["LL=1K,1,64"], recorded(tmp_path, XEON))


words = st.one_of(
    st.sampled_from(["1", "2", "Data", "Unified", "Instruction", "32K", "64", "0", "8", "-1"]),
    st.text(max_size=8),
    st.integers(0, 2**70).map(str),
)


@given(caches=st.lists(st.tuples(words, words, words, words, words), max_size=5))
def test_whatever_sysfs_says_something_can_be_simulated(
    caches: list[tuple[str, str, str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    sysfs = recorded(
        tmp_path_factory.mktemp("sys"), {f"index{at}": each for at, each in enumerate(caches)}
    )
    found = of_machine(sysfs)
    for cache in (found.instructions, found.data, found.last):
        assert cache.sets > 0
        assert cache.sets & (cache.sets - 1) == 0
        assert cache.sets * cache.ways * cache.line == cache.size
