"""The uncore component on recorded machines: which units are opened on which CPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.component import Target
from gnomon.counters.components.uncore import UncoreComponent
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Scope

CAS_READ = 0x304
GOLDEN = Path(__file__).parents[2] / "golden"


def plan(component: UncoreComponent, name: str) -> dict[str, list[tuple[str, int, int]]]:
    """Return for each event of a name the (unit, CPU, config) that would be opened."""
    return {
        event.name: [(p.pmu, p.cpu, p.encoding.config) for p in event.spec.places]
        for event in component.resolve(name)
    }


@pytest.fixture
def intel(tmp_path: Path) -> UncoreComponent:
    return UncoreComponent(trees.intel_server(tmp_path))


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["uncore_imc/cas_count_read/", "imc/cas_count_read/", "uncore:::uncore_imc/cas_count_read/",
     "uncore_imc/event=0x04,umask=0x3/"],
)  # fmt: skip
def test_a_kind_of_unit_is_their_sum(name: str, intel: UncoreComponent) -> None:
    places = plan(intel, name)
    assert places == {
        name: [(f"uncore_imc_{n}", cpu, CAS_READ) for n in range(12) for cpu in (0, 28)]
    }
    (event,) = intel.resolve(name)
    assert event.info.scope is Scope.NODE
    is_named = "cas" in name
    assert event.info.unit == ("MiB" if is_named else "")
    # One count is a cache line.
    assert event.unit_factor == (64 / 2**20 if is_named else 1)


def test_one_unit(intel: UncoreComponent) -> None:
    name = "uncore_imc_10/cas_count_read/"
    assert plan(intel, name) == {
        name: [("uncore_imc_10", 0, CAS_READ), ("uncore_imc_10", 28, CAS_READ)]
    }


@pytest.mark.parametrize(
    "name",
    [
        "uncore_imc_*/cas_count_read/",
        "imc_*/cas_count_read/",
        "uncore_imc/cas_count_read,per=unit/",
    ],
)
def test_slices_by_unit(name: str, intel: UncoreComponent) -> None:
    """As with perf, a pattern means those that have the event: not uncore_imc_free_running_0."""
    found = plan(intel, name)
    units = [f"uncore_imc_{n}" for n in range(12)]
    assert list(found) == [f"{unit}/cas_count_read/" for unit in units]
    for unit, places in zip(units, found.values(), strict=True):
        assert places == [(unit, 0, CAS_READ), (unit, 28, CAS_READ)]
    with pytest.raises(EventNameError, match="cas_count_raed"):
        intel.resolve("uncore_imc_*/cas_count_raed/")


def test_slices_by_socket(intel: UncoreComponent) -> None:
    found = plan(intel, "uncore_imc/cas_count_read,per=socket/")
    assert found == {
        f"uncore_imc/cas_count_read,socket={socket}/": [
            (f"uncore_imc_{n}", cpu, CAS_READ) for n in range(12)
        ]
        for socket, cpu in ((0, 0), (1, 28))
    }
    both = plan(intel, "uncore_imc_[01]/cas_count_read,per=socket/")
    assert list(both) == [
        f"uncore_imc_{n}/cas_count_read,socket={socket}/" for n in (0, 1) for socket in (0, 1)
    ]
    # What a slice is called can be typed.
    for name, places in (found | both).items():
        assert plan(intel, name) == {name: places}
    with pytest.raises(EventNameError, match="only on 0, 1"):
        intel.resolve("uncore_imc/cas_count_read,socket=2/")
    with pytest.raises(EventNameError, match="per=core"):
        intel.resolve("uncore_imc/cas_count_read,per=core/")


def test_units_without_named_events_take_parameters(intel: UncoreComponent) -> None:
    (places,) = plan(intel, "uncore_cha/event=0x50,umask=0x1003/").values()
    assert [(unit, cpu) for unit, cpu, _ in places] == [
        (f"uncore_cha_{n}", cpu) for n in range(3) for cpu in (0, 28)
    ]
    assert {config for _, _, config in places} == {0x10_0000_0350}


@pytest.mark.parametrize(
    ("tree", "name", "places"),
    [
        (trees.amd_server, "amd_l3/event=0x04,umask=0xff,enallslices,enallcores/",
         [("amd_l3", 0, 0xC000_0000_FF04), ("amd_l3", 8, 0xC000_0000_FF04)]),
        (trees.amd_server, "amd_df/event=0x1f,umask=0xffe/", [("amd_df", 0, 0x0F00_FE1F)]),
        (trees.amd_server, "amd_umc/event=0x0a,rdwrmask=1/",
         [("amd_umc_0", 0, 0x10A), ("amd_umc_1", 0, 0x10A)]),
        (trees.arm_server, "arm_cmn/hnf_mc_reqs/", [("arm_cmn_0", 0, 0xD0005)]),
        (trees.arm_server, "arm_dsu/l3d_cache/", [("arm_dsu_0", 0, 0x2B), ("arm_dsu_1", 4, 0x2B)]),
    ],
)  # fmt: skip
def test_units_of_amd_and_arm(
    tree: Callable[[Path], Path], name: str, places: list[tuple[str, int, int]], tmp_path: Path
) -> None:
    assert plan(UncoreComponent(tree(tmp_path)), name) == {name: places}


@pytest.mark.parametrize(
    "tree", [trees.intel_server, trees.intel_laptop, trees.amd_server, trees.arm_server]
)
def test_every_listed_name_resolves_to_itself(tree: Callable[[Path], Path], tmp_path: Path) -> None:
    component = UncoreComponent(tree(tmp_path))
    for info in component.events():
        (event,) = component.resolve(info.name)
        assert event.info == info


def test_listing(intel: UncoreComponent) -> None:
    listed = {info.name: info for info in intel.events()}
    assert listed["uncore_imc/cas_count_write/"].unit == "MiB"
    assert "uncore_imc_0 to uncore_imc_11" in listed["uncore_imc/clockticks/"].description
    assert "uncore_imc_free_running_0/data_read/" in listed
    assert not any(name.startswith(("power", "msr", "cpu")) for name in listed)


def test_recorded_machines_of_other_tests() -> None:
    """Whole trees of a hybrid client and of an Arm server."""
    hybrid = UncoreComponent(GOLDEN / "sysfs-hybrid")
    assert {info.name for info in hybrid.events()} == {
        "uncore_imc_free_running_0/data_read/", "uncore_imc_free_running_0/data_write/"
    }  # fmt: skip
    assert plan(hybrid, "cbox/event=0x22,umask=0x41/") == {
        "cbox/event=0x22,umask=0x41/": [("uncore_cbox_0", 0, 0x4122)]
    }
    arm = UncoreComponent(GOLDEN / "sysfs-arm64")
    assert next(info.name for info in arm.events()) == "arm_cmn_0/dtc_cycles/"


@pytest.mark.parametrize(
    "name",
    ["cycles", "cpu/event=0x3c/", "msr/tsc/", "power/energy-pkg/", "arm_spe_0/ts_enable/",
     "uncore_xyz/event=1/", "sched:sched_switch", "io:::rchar", "skl::L1D:REPLACEMENT",
     "uncore_imc", "breakpoint/x/", "a/b/c/"],
)  # fmt: skip
def test_names_of_others_are_left_to_them(name: str, tmp_path: Path) -> None:
    trees.arm_server(tmp_path)
    assert UncoreComponent(trees.intel_server(tmp_path)).resolve(name) == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("uncore_imc/cas_count_raed/", "cas_count_read"),
        ("uncore_imc/cas_count_read/u", "every mode"),
        ("uncore_imc/event=0x100/", "does not fit its 8 bits"),
        ("uncore_imc//", "no event"),
        ("uncore_imc/per=unit/", "no event"),
        ("uncore:::uncore_imd/clockticks/", "no such event here"),
        ("uncore:::clockticks", "no such event here"),
        ("uncore_imc/cas_count_read,,/", "empty term"),
    ],
)
def test_wrong_names_are_explained(name: str, message: str, intel: UncoreComponent) -> None:
    with pytest.raises(EventNameError, match=message):
        intel.resolve(name)


def test_units_that_cannot_be_added_up(tmp_path: Path) -> None:
    tree = trees.intel_server(tmp_path)
    events = tree / trees.PMUS / "uncore_imc_3/events"
    (events / "cas_count_read.scale").write_text("1\n")
    component = UncoreComponent(tree)
    with pytest.raises(EventUnavailableError, match="per=unit"):
        component.resolve("uncore_imc/cas_count_read/")
    assert len(component.resolve("uncore_imc/cas_count_read,per=unit/")) == 12
    (tree / trees.PMUS / "uncore_imc_3/cpumask").write_text("\n")
    with pytest.raises(EventUnavailableError, match="cpumask is empty"):
        component.resolve("uncore_imc/clockticks/")


# --- hostile trees --------------------------------------------------------------------------------

TEXT = st.one_of(
    st.text(max_size=30),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(["", "\0", "nan", "1e999", "9" * 5000, "0-99999999999", "event=?", "a=b,c"]),
)


@given(TEXT, TEXT, TEXT, TEXT, TEXT)
def test_garbage_is_unavailable_but_never_an_error(
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    cpumask: str,
    alias: str,
    scale: str,
    socket: str,
) -> None:
    root = tmp_path_factory.mktemp("garbage")
    tree = trees.arm_server(root)
    for path, text in {
        "arm_cmn_0/type": kind, "arm_dsu_0/cpumask": cpumask, "arm_dsu_1/events/l3d_cache": alias,
        "arm_dsu_1/events/l3d_cache.scale": scale, "arm_cmn_0/events/dtc_cycles.unit": scale,
    }.items():  # fmt: skip
        (tree / trees.PMUS / path).write_text(text, errors="replace")
    (tree / "devices/system/cpu/cpu0/topology/physical_package_id").write_text(
        socket, errors="replace"
    )
    component = UncoreComponent(tree)
    component.availability()
    for info in component.events():
        for name in (info.name, info.name.replace("/", "/per=socket,", 1)):
            try:
                events = component.resolve(name)
            except (EventNameError, EventUnavailableError):
                continue
            opened = component.open(events, Target())
            assert len(opened.events) + len(opened.refused) == len(events)
