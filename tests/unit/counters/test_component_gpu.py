"""The gpu component: without a driver, and through pynvml on a stand-in for its library."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from planted import plant

from gnomon.counters.component import Target
from gnomon.counters.components.gpu import GpuComponent
from gnomon.counters.nvml import LIBRARY, QUANTITIES, explain, keep_from_children
from gnomon.errors import EventNameError, EventUnavailableError

SOURCE = Path(__file__).parents[2] / "programs" / "nvml_stand_in.c"
GNOMON = str(Path(sys.executable).parent / "gnomon")
START = """
import json, os, sys
from gnomon.counters.component import Target, make_value
from gnomon.counters.components.gpu import GpuComponent
from gnomon.errors import GnomonError
gpu = GpuComponent()

def opened(*names, target=Target()):
    return gpu.open([e for name in names for e in gpu.resolve(name)], target)

def values(found, counts):
    return {e.name: make_value(e, *c).value for e, c in zip(found.events, counts, strict=True)}

def show(what):
    print(json.dumps(what))
"""

Run = Callable[..., Any]


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.fail("there is no C compiler: run `make setup`")
    folder = tmp_path_factory.mktemp("nvml")
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-Wl,-soname,{LIBRARY}"]
    subprocess.run([compiler, *flags, "-o", str(folder / LIBRARY), str(SOURCE)], check=True)
    return folder


@pytest.fixture
def told(stand_in: Path) -> Run:
    """Return a function that runs Python with the stand-in and returns what it shows as JSON."""

    def run(script: str, what: str = "") -> Any:
        done = subprocess.run(
            [sys.executable, "-c", START + script],
            env=os.environ | {"LD_LIBRARY_PATH": str(stand_in), "NVML_STAND_IN": what},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def has_driver() -> bool:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


# --- without a GPU --------------------------------------------------------------------------------


@pytest.mark.skipif(has_driver(), reason="this machine has NVIDIA's driver")
def test_a_machine_without_a_driver_says_so(tmp_path: Path) -> None:
    state = GpuComponent(sys=tmp_path).availability()
    assert not state.available
    assert "no NVIDIA GPU and no driver" in state.reason
    assert state.remedy
    with pytest.raises(EventUnavailableError) as caught:
        GpuComponent(sys=tmp_path).resolve("gpu:::energy")
    assert caught.value.reason == state.reason


@pytest.mark.skipif(has_driver(), reason="this machine has NVIDIA's driver")
def test_a_gpu_without_its_driver_is_told_from_none(tmp_path: Path) -> None:
    plant(tmp_path, {
        "bus/pci/devices/0000:17:00.0/vendor": "0x10de\n",
        "bus/pci/devices/0000:17:00.0/class": "0x030200\n",
        "bus/pci/devices/0000:18:00.0/vendor": "0x8086\n",
        "bus/pci/devices/0000:18:00.0/class": "0x030000\n",
    })  # fmt: skip
    state = GpuComponent(sys=tmp_path).availability()
    assert not state.available
    assert "0000:17:00.0 is here" in state.reason
    assert "--gpus all" in state.remedy


def test_a_library_that_is_none(tmp_path: Path) -> None:
    plant(tmp_path, {LIBRARY: "garbage"})
    script = "show(list(gpu.availability()))"
    done = subprocess.run(
        [sys.executable, "-c", START + script],
        env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    available, reason, remedy, _ = json.loads(done.stdout)
    if not has_driver():
        assert not available
        assert "cannot be loaded" in reason
        assert remedy


def test_names() -> None:
    component = GpuComponent()
    for name in ("energy", "cycles", "power:::energy-pkg", "gpu/x/"):
        assert component.resolve(name) == ()
    with pytest.raises(EventNameError) as caught:
        component.resolve("gpu:::enrgy")
    assert caught.value.suggestions[0] == "gpu:::energy"


def test_naming_another_event_loads_nothing(told: Run) -> None:
    script = """
from gnomon.counters.event_resolver import resolve
resolve("task-clock,io:::rchar")
show([m for m in ("ctypes", "pynvml", "gnomon.counters.nvml") if m in sys.modules])
"""
    assert told(script) == []


# --- with one -------------------------------------------------------------------------------------


def test_events_that_the_gpus_tell(told: Run) -> None:
    """Of the old GPU only what it has; a sum only where every GPU tells its part."""
    names = told("show([[i.name, i.unit, i.gauge] for i in gpu.events()])")
    units = {name: unit for name, unit, _ in names}
    assert len(units) == len(names)
    assert units["gpu:::power"] == "W"
    assert units["gpu:::energy:0"] == "J"
    assert {"gpu:::energy", "gpu:::energy:1", "gpu:::nvlink_tx_bytes:1"}.isdisjoint(units)
    # This driver has no nvmlDeviceGetViolationStatus.
    assert not [name for name in units if "throttled" in name]
    assert {f"gpu:::{q.name}:0" for q in QUANTITIES if "throttled" not in q.name} <= set(units)


def test_values_and_units(told: Run) -> None:
    script = """
names = ["energy:0", "power:0", "power", "utilisation:0", "memory_utilisation:0", "sm_clock:0",
         "memory_clock:0", "temperature:1", "pcie_tx:0", "pcie_rx:0", "ecc_corrected:0",
         "nvlink_tx_bytes:0", "power:GPU-5f6a0b1c-0001-0002-0003-000000000002"]
found = opened(*("gpu:::" + n for n in names))
assert not found.refused, found.refused
found.counting.start()
found.counting.read()
show(values(found, found.counting.stop()))
"""
    got = {name.removeprefix("gpu:::"): value for name, value in told(script).items()}
    assert got.pop("energy:0") > 0
    assert got.pop("nvlink_tx_bytes:0") % (100 * 1024) == 0
    expected = {
        "power:0": 312.5, "power": 372.5, "utilisation:0": 87, "memory_utilisation:0": 41,
        "sm_clock:0": 1980, "memory_clock:0": 2619, "temperature:1": 55, "pcie_tx:0": 1500,
        "pcie_rx:0": 2500, "ecc_corrected:0": 0,
        "power:GPU-5f6a0b1c-0001-0002-0003-000000000002": 60,
    }  # fmt: skip
    assert got == pytest.approx(expected)


def test_energy_is_what_was_used_since_the_start(told: Run) -> None:
    """The stand-in's GPU takes 2.5 J between any two questions."""
    script = """
found = opened("gpu:::energy:0")
found.counting.start()
first = values(found, found.counting.read())
show([first, values(found, found.counting.read()), values(found, found.counting.stop())])
"""
    assert [v["gpu:::energy:0"] for v in told(script)] == pytest.approx([2.5, 5.0, 7.5])


def test_what_a_gpu_does_not_tell_is_refused_with_the_reason(told: Run) -> None:
    script = """
found = opened("gpu:::energy:1", "gpu:::energy", "gpu:::power:1", "gpu:::power_throttled_ns:0")
show([[[r.event.name, r.reason, r.remedy] for r in found.refused], [e.name for e in found.events]])
"""
    refused, kept = told(script)
    assert kept == ["gpu:::power:1"]
    reasons = {name: reason for name, reason, _ in refused}
    assert reasons["gpu:::energy:1"] == reasons["gpu:::energy"]
    assert "GPU 1 (Tesla K80) does not provide it" in reasons["gpu:::energy"]
    assert "driver is too old" in reasons["gpu:::power_throttled_ns:0"]
    assert all(remedy for _, _, remedy in refused)


def test_gpus_that_are_not_there(told: Run) -> None:
    script = """
def why(name):
    try:
        return str(gpu.resolve(name))
    except GnomonError as error:
        return str(error)
show([why("gpu:::power:2"), why("gpu:::utilisation"), why("gpu:::power:GPU-x")])
"""
    two, sum_of_shares, uuid = told(script)
    assert "no such GPU; did you mean gpu:::power:0 or gpu:::power:1" in two
    assert "no sum over GPUs" in sum_of_shares
    assert "no such GPU" in uuid


@pytest.mark.parametrize(
    ("what", "reason", "remedy"),
    [
        ("init=18", "different versions", "restart"),
        ("init=9", "kernel driver is not loaded", "modprobe nvidia"),
        ("init=4", "/dev/nvidia", "group"),
        ("init=15", "lost", "dmesg"),
        ("init=999", "unknown error", "dmesg"),
        ("init=777", "NVML's error 777", "nvmlReturn_t"),
        ("gpus=0", "has no GPU", "--gpus all"),
    ],
)
def test_a_driver_that_does_not_work(what: str, reason: str, remedy: str, told: Run) -> None:
    available, why, what_to_do, _ = told("show(list(gpu.availability()))", what)
    assert not available
    assert reason in why
    assert remedy in what_to_do


def test_a_gpu_that_is_lost_meanwhile_is_not_measured(told: Run) -> None:
    script = """
found = opened("gpu:::energy:0", "gpu:::power:0")
found.counting.start()
import ctypes
ctypes.CDLL(None).setenv(b"NVML_STAND_IN", b"lost", 1)
show([values(found, found.counting.stop()), opened("gpu:::power:0").refused[0].reason])
"""
    values, reason = told(script)
    assert values == {"gpu:::energy:0": None, "gpu:::power:0": None}
    assert "GPU 0 (NVIDIA H100 80GB HBM3): the GPU is lost" in reason


def test_a_child_made_by_fork_begins_anew(told: Run) -> None:
    """The stand-in refuses a process that has not initialised it, its parent's child too."""
    script = """
from gnomon.errors import ForkedError
found = opened("gpu:::power:0")
found.counting.start()
reader, writer = os.pipe()
if os.fork() == 0:
    own = opened("gpu:::power:0")
    own.counting.start()
    try:
        found.counting.read()
        parents = "read"
    except ForkedError:
        parents = "refused"
    text = json.dumps([values(own, own.counting.stop()), parents])
    os.write(writer, text.encode())
    os._exit(0)
os.wait()
show([json.loads(os.read(reader, 1000)), values(found, found.counting.stop())])
"""
    assert told(script) == [[{"gpu:::power:0": 312.5}, "refused"], {"gpu:::power:0": 312.5}]


def test_gauges_of_a_command_are_sampled(told: Run) -> None:
    script = """
import time
command = Target(None, inherit=True, command=True)
found = opened("gpu:::memory_used:0", "gpu:::power:0", target=command)
found.counting.start(1)
time.sleep(0.1)
show([values(found, found.counting.stop()), [e.info.how for e in found.events], found.notes])
"""
    got, how, notes = told(script)
    assert got == {"gpu:::memory_used:0": 3 << 30, "gpu:::power:0": 312.5}
    assert how == ["sampled", "sampled"]
    assert len(notes) == 2


def test_count_reports_gpus_and_the_program_inherits_nothing(
    stand_in: Path, tmp_path: Path
) -> None:
    events = "gpu:::energy:0,gpu:::power:0,gpu:::energy:1,task-clock"
    done = subprocess.run(
        [GNOMON, "count", "--json", "-o", "-", "-e", events, "--", "sleep", "0.1"],
        env=os.environ | {"LD_LIBRARY_PATH": str(stand_in)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(done.stdout)
    counters = {row["event"]: row for row in document["counters"]}
    assert counters["gpu:::power:0"]["value"] == pytest.approx(312.5)
    assert counters["gpu:::power:0"]["unit"] == "W"
    assert counters["gpu:::power:0"]["how"] == "sampled"
    assert counters["gpu:::energy:0"]["value"] > 0
    (away,) = document["unavailable"]
    assert "Tesla K80" in away["reason"]


def test_files_of_the_driver_are_closed_at_exec(tmp_path: Path) -> None:
    for name in ("nvidiactl", "nvidia0", "other"):
        (tmp_path / name).write_text("")
    files = {n: os.open(tmp_path / n, os.O_RDONLY) for n in ("nvidiactl", "nvidia0", "other")}
    for fd in files.values():
        os.set_inheritable(fd, True)
    keep_from_children(str(tmp_path / "nvidia"))
    assert {n: os.get_inheritable(fd) for n, fd in files.items()} == {
        "nvidiactl": False, "nvidia0": False, "other": True,
    }  # fmt: skip
    for fd in files.values():
        os.close(fd)


def test_every_error_has_a_remedy() -> None:
    for number in (*range(1, 31), 999, -1):
        for gpu in ("", "GPU 0 (x)"):
            reason, remedy, same = explain(number, gpu)
            assert reason
            assert remedy
            assert same == number


def test_a_command_has_no_cpu_of_its_own_there() -> None:
    """What is no event of it is nothing to open."""
    assert GpuComponent().open([], Target()).counting is None
