"""Real and virtual time as a program sees them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from planted import plant

from gnomon.counters import timers

HAS_CYCLES = timers.cycles_per_second() is not None
needs_cycles = pytest.mark.skipif(
    not HAS_CYCLES, reason="no time counter of constant rate: see gnomon clockres"
)
REAL = ("real_ns", "real_us") + (("real_cycles",) if HAS_CYCLES else ())
VIRTUAL = ("virtual_ns", "virtual_us", "virtual_process_ns") + (
    ("virtual_cycles",) if HAS_CYCLES else ()
)


def spin(until_virtual_ns: int) -> None:
    while timers.virtual_ns() < until_virtual_ns:
        pass


@pytest.mark.parametrize("name", [*REAL, *VIRTUAL])
def test_time_never_runs_back(name: str) -> None:
    read = getattr(timers, name)
    seen = [read() for _ in range(20_000)]
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def test_a_sleep_takes_real_time_and_no_virtual_time() -> None:
    """Behaviour 25: a sleep adds under 0.1 s of virtual time."""
    units = {"virtual_ns": 1e9, "virtual_us": 1e6}
    if HAS_CYCLES:
        units["virtual_cycles"] = timers.cycles_per_second() or 0
    before = {name: getattr(timers, name)() for name in units}
    real_before_ns = timers.real_ns()
    time.sleep(1)
    assert timers.real_ns() - real_before_ns >= 1_000_000_000
    for name, per_second in units.items():
        assert (getattr(timers, name)() - before[name]) / per_second < 0.1


def test_work_takes_virtual_time_of_its_own_thread_only() -> None:
    begun_ns, process_ns = timers.virtual_ns(), timers.virtual_process_ns()
    spent = []

    def work() -> None:
        mine_ns = timers.virtual_ns()
        spin(mine_ns + 200_000_000)
        spent.append(timers.virtual_ns() - mine_ns)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert spent[0] >= 200_000_000
    assert timers.virtual_ns() - begun_ns < 100_000_000
    assert timers.virtual_process_ns() - process_ns >= 200_000_000


def test_units_agree() -> None:
    for unit_ns, unit_us in (
        (timers.real_ns, timers.real_us),
        (timers.virtual_ns, timers.virtual_us),
    ):
        before_ns = unit_ns()
        us = unit_us()
        after_ns = unit_ns()
        assert before_ns // 1000 <= us <= after_ns // 1000


@needs_cycles
def test_cycles_are_nanoseconds_times_the_rate() -> None:
    rate = timers.cycles_per_second()
    assert rate is not None
    # Whatever happens between two readings, the cycles lie between those around and within.
    around_ns = timers.real_ns()
    cycles = timers.real_cycles()
    within_ns = timers.real_ns()
    time.sleep(0.2)
    within_ns = timers.real_ns() - within_ns
    cycles = timers.real_cycles() - cycles
    around_ns = timers.real_ns() - around_ns
    assert within_ns * 0.99 <= cycles / rate * 1e9 <= around_ns * 1.01
    before_ns = timers.virtual_ns()
    virtual = timers.virtual_cycles() / rate * 1e9
    assert before_ns * 0.999 <= virtual <= timers.virtual_ns() * 1.001


def test_without_a_time_counter_there_are_no_cycles() -> None:
    program = (
        "from gnomon.counters import timers\n"
        "from gnomon.errors import TimerError\n"
        "assert timers.cycles_per_second() is None\n"
        "for read in (timers.real_cycles, timers.virtual_cycles):\n"
        "    try:\n"
        "        read()\n"
        "    except TimerError as error:\n"
        "        assert error.papi_name == 'PAPI_ECMP'\n"
        "        assert 'nanoseconds' in str(error)\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
        "assert timers.real_ns() > 0 and timers.virtual_us() > 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "GNOMON_CLOCK": "vdso"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("counter", "variable", "said"),
    [
        ("", "vdso", "reads no time counter on this architecture"),
        ("tsc", "vdso", "GNOMON_CLOCK=vdso"),
        ("tsc", "vdso ", "does not trust the TSC: it keeps time by hpet, acpi_pm"),
        ("cntvct", "vdso ", "does not run at one rate"),
    ],
)
def test_the_component_says_why_there_are_no_cycles(
    tmp_path: Path, counter: str, variable: str, said: str
) -> None:
    """POWER has no counter that we read: that is no fault of its rate."""
    folder = "devices/system/clocksource/clocksource0/available_clocksource"
    plant(tmp_path, {folder: "hpet acpi_pm\n"})
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from gnomon import _core\n"
        "from gnomon.counters.components.tsc import TscComponent\n"
        f"_core.clock_info(); _core.CLOCK_COUNTER = {counter!r}\n"
        f"os.environ['GNOMON_CLOCK'] = {variable!r}\n"
        f"print(TscComponent(Path({str(tmp_path)!r})).availability().reason)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "GNOMON_CLOCK": "vdso"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert said in done.stdout
