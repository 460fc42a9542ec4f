"""PAPI's conditions that take other rights, other limits or another process to provoke."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import planted
import pytest

from gnomon.counters import EventSet
from gnomon.errors import (
    ComponentError,
    ComponentNameError,
    ComponentUsedError,
    DescriptorsError,
    EventPermissionError,
    ForkedError,
    RunningError,
)


def outcome(script: str, *prefix: str) -> list[str]:
    """Return the lines that a script prints, which runs behind a prefix of its command."""
    command = [*prefix, sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_REPORT = """
    except GnomonError as error:
        print(type(error).__name__, error.papi_name)
        print(error)
"""


def test_no_rights_is_eperm() -> None:
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid < 1:
        pytest.skip("everybody may count whole CPUs here: kernel.perf_event_paranoid is below 1")
    if os.geteuid() != 0:
        pytest.skip("only root can run something with fewer rights")
    said = outcome(
        "from gnomon.counters import EventSet\n"
        "from gnomon.errors import GnomonError\n"
        "if True:\n    try:\n        EventSet('page-faults', granularity='system')" + _REPORT,
        *planted.WITHOUT_RIGHTS,
    )
    assert said[0] == f"{EventPermissionError.__name__} PAPI_EPERM"
    for name in ("page-faults", "software", "EACCES", "perf_event_paranoid"):
        assert name in said[1]


def test_no_descriptor_left_is_ecount() -> None:
    said = outcome(
        "import resource\n"
        "from gnomon.counters import EventSet\n"
        "from gnomon.errors import GnomonError\n"
        "events = EventSet('page-faults')\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))\n"
        "if True:\n    try:\n"
        "        events.add('task-clock,cpu-clock,minor-faults,major-faults')"
        + _REPORT
        + "print(len(events))\n"
        "events.start()\n"
        "print(len(events.stop()))\n"
    )
    assert said[0] == f"{DescriptorsError.__name__} PAPI_ECOUNT"
    for name in ("software", "EMFILE", "limit of open files"):
        assert name in said[1]
    # All or nothing: the set is as it was.
    assert said[2:] == ["1", "1"]


@pytest.mark.parametrize("names", ["page-faults", "page-faults,tsc:::cycles", "io:::read_bytes"])
def test_childs_use_of_its_parents_set_is_enoevst(names: str) -> None:
    events = EventSet(names)
    events.start()
    calls: list[Callable[[], object]] = [
        events.read, events.read_at, events.stop, events.reset, events.accumulate,
        lambda: events.add("task-clock"), lambda: events.attach(os.getpid()), events.clear,
    ]  # fmt: skip
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for call in calls:
            try:
                call()
            except RunningError:
                said.append("PAPI_EISRUN")
            except ForkedError as error:
                said.append(error.papi_name)
        own = EventSet(names)
        with own:
            pass
        events.close()
        os.write(send, ",".join(said).encode())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    said = os.read(receive, 1000).decode().split(",")
    os.close(receive)
    os.close(send)
    assert status == 0
    assert said == ["PAPI_ENOEVST"] * len(calls)
    # The parent's goes on.
    assert len(events.stop()) == len(events)
    events.close()


def test_component_is_disabled_before_its_use_only() -> None:
    said = outcome(
        "from gnomon.counters import EventSet, disable_component\n"
        "from gnomon.errors import GnomonError\n"
        "disable_component('io')\n"
        "for name in ('io:::read_bytes', 'page-faults'):\n"
        "    try:\n"
        "        print(len(EventSet(name)))"
        + _REPORT
        + "for name in ('kernel', 'network', 'none'):\n"
        "    try:\n"
        "        print(disable_component(name))" + _REPORT
    )
    assert said[0] == f"{ComponentNameError.__name__} PAPI_ENOCMP"
    assert "io" in said[1]
    assert "disabled" in said[1]
    assert said[2] == "1"
    assert said[3] == f"{ComponentUsedError.__name__} PAPI_ENOINIT"
    assert "kernel" in said[4]
    assert said[5] == "None"
    assert said[6] == f"{ComponentError.__name__} PAPI_ENOCMP"
    assert "there are" in said[7]
