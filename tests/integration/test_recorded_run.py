"""A capability whose library records: from the program's calls to rows of the run's tables."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from recorder_programs import build_recorder

from gnomon import capabilities
from gnomon.cli.main import main
from gnomon.launch.capability import Capability, Execution
from gnomon.launch.observer import Observer
from gnomon.model.capability_result import Collected
from gnomon.model.schemas import EVENTS
from gnomon.model.tables import LOCATIONS, PATHS, REGIONS, Table
from gnomon.store import run_directory
from gnomon.store.record_file import SUFFIX, open_records


class _Observer(Observer):
    def __init__(self, library: Path) -> None:
        self._library = str(library)

    def preloads(self) -> Sequence[str]:
        return [self._library]


class Naps(Capability):
    """Calls of usleep and nanosleep, each an event."""

    name = "naps"
    title = "calls of usleep and nanosleep"
    is_default = True

    def __init__(self, library: Path) -> None:
        self._library = library

    def observe(self, execution: Execution) -> Observer:  # noqa: ARG002
        return _Observer(self._library)

    def collect(self, folder: Path) -> Collected:
        locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
        paths.add(path=0, parent=-1, region=-1)
        for at, name in enumerate(("nanosleep", "usleep")):
            regions.add(region=at, kind="call", name=name, module="", file="", line=0)
            paths.add(path=at + 1, parent=0, region=at)
        events = []
        for path in sorted(folder.glob(f"*.{self.name}{SUFFIX}")):
            file = open_records(path)
            location = locations.add(
                location=len(locations), parent=-1, kind="process", host=file.host,
                rank=file.rank, pid=file.pid, tid=-1, name="",
            )  # fmt: skip
            naps = file.columns("nap")
            start = file.to_epoch_ns(naps["begin"])
            same = np.full(len(naps), location, np.int32)
            events.append(
                Table.of(
                    EVENTS,
                    {
                        "repetition": np.zeros(len(naps), np.int32),
                        "location": same,
                        "region": naps["function"].astype(np.int32),
                        "path": naps["function"].astype(np.int32) + np.int32(1),
                        "start_ns": start,
                        "duration_ns": file.to_epoch_ns(naps["end"]) - start,
                        "bytes": np.zeros(len(naps), np.int64),
                        "file": same * 0 - 1,
                    },
                    {"bytes": np.ones(len(naps), bool)},
                )
            )
        return Collected((locations, regions, paths, *events))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_recorder(tmp_path_factory.mktemp("recorder"))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    """Go to an empty folder; the capability is one more."""
    naps = Naps(built / "libnaps.so")
    monkeypatch.setattr(capabilities, "CAPABILITIES", (*capabilities.CAPABILITIES, naps))
    monkeypatch.chdir(tmp_path)
    shutil.copy(built / "sleeper", tmp_path)


def naps_of(name: str) -> list[tuple[int, str, int, float]]:
    """Return process, function, how many and their seconds."""
    return run_directory.find(name).query(
        "SELECT l.pid, r.name, count(*), sum(e.duration_ns) / 1e9 FROM events e "
        "JOIN locations l USING (location) JOIN regions r USING (region) "
        "WHERE r.kind <> 'thread' GROUP BY ALL ORDER BY count(*)"
    )


def test_calls_become_events() -> None:
    assert main(["run", "--name", "threads", "--", "./sleeper", "threads"]) == 0
    ((_, function, calls, seconds),) = naps_of("threads")
    assert (function, calls) == ("usleep", 40)
    assert seconds >= 0.039
    ((first,),) = run_directory.find("threads").query("SELECT min(start_ns) / 1e9 FROM events")
    assert abs(first - Path("threads.gnomon").stat().st_mtime) < 600


def test_each_process_has_its_own() -> None:
    assert main(["run", "--name", "fork", "--", "./sleeper", "fork"]) == 0
    rows = naps_of("fork")
    assert [(function, calls) for _, function, calls, _ in rows] == [("usleep", 1)] * 2
    assert len({pid for pid, _, _, _ in rows}) == 2


def test_what_was_recorded_before_a_kill() -> None:
    assert main(["run", "--name", "kill", "--", "sh", "-c", "./sleeper kill; exit 3"]) == 3
    ((_, function, calls, _),) = naps_of("kill")
    assert (function, calls) == ("usleep", 1)


def test_without_it() -> None:
    assert main(["run", "--name", "w", "--without", "naps", "--", "./sleeper", "exit"]) == 0
    assert naps_of("w") == []
