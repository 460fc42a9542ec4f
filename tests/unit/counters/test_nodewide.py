"""Counting of whole CPUs: real counts, what is refused and why, sums over places.

The kernel's software PMU stands in the place of units that this machine has not: page faults (2) of
each CPU.
"""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import planted
import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st
from planted import plant

from gnomon.counters.component import RawCount, Target, make_value
from gnomon.counters.components.uncore import UncoreComponent
from gnomon.counters.sysfs_pmu import Encoding, online_cpus
from gnomon.counters.system_wide import NodeSpec, PmuEvent, explain, total

GOLDEN = Path(__file__).parents[2] / "golden"


# --- counting -------------------------------------------------------------------------------------


def software_units(root: Path, cpus: str) -> UncoreComponent:
    """Return a component with two units that are the kernel's software PMU."""
    files = trees.topology({0: 0, 1: 1})
    for number in range(2):
        files |= trees.pmu(
            f"uncore_soft_{number}",
            cpus,
            kind=trees.SOFTWARE,
            format={"event": "config:0-7"},
            events={"faults": "event=0x02", "switches": "event=0x03", "none": "event=0xfe",
                    "pages": "event=0x02", "pages.unit": "MiB", "pages.scale": "0.00390625"},
        )  # fmt: skip
    return UncoreComponent(plant(root / "sys", files))


@pytest.fixture
def soft(tmp_path: Path) -> UncoreComponent:
    cpus = online_cpus()
    component = software_units(tmp_path, f"{cpus[0]},{cpus[-1]}")
    state = component.availability()
    if not state.available:
        pytest.skip(f"no whole CPU may be counted here: {state.reason}")
    return component


def counted(
    component: UncoreComponent, names: list[str], work: Callable[[], object]
) -> list[float | None]:
    events = [event for name in names for event in component.resolve(name)]
    opened = component.open(events, Target(None, inherit=True, command=True))
    assert opened.refused == ()
    assert opened.counting is not None
    opened.counting.start(1)
    work()
    counts = opened.counting.stop()
    assert [tuple(c) for c in opened.counting.read()] == [tuple(c) for c in counts]
    opened.counting.close()
    return [make_value(e, *c).value for e, c in zip(opened.events, counts, strict=True)]


def test_every_unit_on_every_cpu_of_its_mask_is_added_up(soft: UncoreComponent) -> None:
    """Another process's faults too: it is the machine that is counted."""
    pages = 5000
    script = f"import planted; planted.touch_pages({pages})"
    cpus = len(set(online_cpus()))

    def work() -> None:
        subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[1], check=True)

    names = ["uncore_soft/faults/", "uncore_soft_0/faults/", "uncore_soft/pages/"]
    # Both units count the same, a moment apart, in which a busy machine may do much else.
    for _ in range(20):
        both, one, mib = counted(soft, names, work)
        assert both is not None
        assert one is not None
        assert mib is not None
        if cpus <= 2:
            assert one >= pages
        wanted = [pytest.approx(both, rel=0.02), pytest.approx(both * 4096 / 2**20, rel=0.02)]
        found = [2 * one, mib]
        if found == wanted:
            break
    assert found == wanted


def test_what_never_happens_is_zero(soft: UncoreComponent) -> None:
    (event,) = soft.resolve("uncore_soft/switches/")
    opened = soft.open([event, event._replace(name="again")], Target())
    assert opened.counting is not None
    opened.counting.start()
    first = opened.counting.read()
    assert all(count.enabled_ns == count.running_ns > 0 for count in first)
    opened.counting.close()


def test_braces_are_together_at_every_place(soft: UncoreComponent) -> None:
    names = ["uncore_soft/faults/", "uncore_soft/switches/", "uncore_soft_0/faults/"]
    events = [event._replace(group=0) for name in names for event in soft.resolve(name)]
    opened = soft.open(events, Target())
    assert [event.name for event in opened.events] == names[:2]
    (refused,) = opened.refused
    assert refused.event.name == names[2]
    assert "other units" in refused.reason
    assert opened.counting is not None
    opened.counting.start()
    planted.touch_pages(100)
    counts = opened.counting.stop()
    assert counts[0].enabled_ns == counts[1].enabled_ns
    opened.counting.close()


def test_every_descriptor_is_given_back(soft: UncoreComponent) -> None:
    """Also of an event that opens at its first place and not at a later one."""
    events = [e for name in ("faults", "none") for e in soft.resolve(f"uncore_soft/{name}/")]
    (known, unknown) = events
    half = unknown._replace(spec=NodeSpec((known.spec.places[0], *unknown.spec.places[1:])))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        opened = soft.open([known, half], Target())
        assert [event.name for event in opened.events] == [known.name]
        assert opened.counting is not None
        opened.counting.start()
        opened.counting.stop()
        opened.counting.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_one_that_the_kernel_does_not_have_leaves_the_others(soft: UncoreComponent) -> None:
    names = ["uncore_soft/faults/", "uncore_soft/none/"]
    for group in (None, 0):
        events = [e._replace(group=group) for name in names for e in soft.resolve(name)]
        opened = soft.open(events, Target())
        assert [event.name for event in opened.events] == names[:1]
        (refused,) = opened.refused
        assert refused.errno in (errno.ENOENT, errno.EINVAL)
        assert "PMU 'uncore_soft_0'" in refused.reason
        assert opened.counting is not None
        opened.counting.close()


def test_a_unit_of_another_machine_is_refused(tmp_path: Path) -> None:
    intel = UncoreComponent(trees.intel_server(tmp_path))
    opened = intel.open(intel.resolve("uncore_imc/cas_count_read/"), Target())
    assert opened.counting is None
    (refused,) = opened.refused
    assert refused.remedy
    if refused.errno == errno.ENOENT:
        assert "uncore_imc_0" in refused.reason
    assert not intel.availability().available


# --- rights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "debian"), [(1, False), (2, False), (4, True)])
def test_without_rights_the_level_that_lets_whole_cpus_be_counted_is_named(
    level: int, debian: bool, tmp_path: Path
) -> None:
    plant(tmp_path, {
        "proc/sys/kernel/perf_event_paranoid": f"{level}\n",
        "proc/self/status": "CapEff:\t0000000000000000\nSeccomp:\t0\n",
        "proc/self/uid_map": "0 0 4294967295\n",
    })  # fmt: skip
    place = PmuEvent("uncore_imc_0", 0, Encoding(20, 1))
    reason, remedy, number = explain(errno.EACCES, place, tmp_path)
    assert f"kernel.perf_event_paranoid is {level}" in reason
    assert "uncore_imc_0" in reason
    # Level 1, which is enough for one's own processes, is not for whole CPUs.
    assert "sysctl kernel.perf_event_paranoid=0" in remedy
    assert number == errno.EACCES
    assert debian == (level > 2)


def test_somebody_without_rights_is_refused_by_this_kernel(tmp_path: Path) -> None:
    software_units(tmp_path, "0")
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from gnomon.counters.components.uncore import UncoreComponent\n"
        "print(json.dumps(list(UncoreComponent(Path(sys.argv[1])).availability())))\n"
    )
    # The tree is of this machine as far as rights go.
    (tmp_path / "proc").symlink_to("/proc")
    command = [*planted.WITHOUT_RIGHTS, sys.executable, "-c", script, str(tmp_path / "sys")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing runs without rights here: {done.stderr[-200:]}")
    available, reason, remedy, number = json.loads(done.stdout)
    assert available == (level <= 0)
    if not available:
        assert number in (errno.EACCES, errno.EPERM)
        assert "whole CPU" in reason
        assert "kernel.perf_event_paranoid=0" in remedy


# --- sums over places -----------------------------------------------------------------------------


def test_places_that_were_started_one_after_the_other_are_not_scaled() -> None:
    assert total([(5, 1000, 1000), (7, 990, 990)]) == RawCount(12, 1000, 1000)


def test_a_place_without_a_counter_leaves_nothing_measured() -> None:
    assert total([(5, 1000, 1000), (0, 1000, 0)]).running_ns == 0


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(1000, 10**12), st.floats(0.01, 1)),
                min_size=1, max_size=8))  # fmt: skip
def test_multiplexed_places_are_scaled_one_by_one(rows: list[tuple[int, int, float]]) -> None:
    counts = [(raw, enabled, max(int(enabled * share), 1)) for raw, enabled, share in rows]
    result = total(counts)
    info = UncoreComponent(GOLDEN / "sysfs-arm64").resolve("arm_cmn/dtc_cycles/")[0]
    value = make_value(info, *result)
    expected = sum(raw * enabled / running for raw, enabled, running in counts)
    assert value.value == pytest.approx(expected, rel=1e-3, abs=2000)
    assert result.running_ns <= result.enabled_ns
    is_scaled = any(enabled != running for _, enabled, running in counts)
    assert (value.how.value == "scaled") == is_scaled
