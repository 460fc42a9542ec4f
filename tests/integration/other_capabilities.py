"""Capabilities beside that of the page: one that preloads, and an observer that fails."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.launch.capability import Capability, Execution
from gnomon.launch.observer import Observer
from gnomon.launch.process_result import ProcessResult
from gnomon.model.capability_result import Collected
from gnomon.model.schemas import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS
from gnomon.model.tables import Table

# Leaves a file when it is loaded, and says what the program was started with.
OTHER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%d." NAME, getenv("FOLDER_" NAME), (int)getpid());
	fclose(fopen(path, "w"));
}
"""


def library(folder: Path, name: str) -> Path:
    """Return a library that leaves a file PID.NAME where FOLDER_NAME says."""
    source, made = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(OTHER)
    words = ["cc", "-shared", "-fPIC", f'-DNAME="{name}"', "-o", str(made), str(source)]
    subprocess.run(words, check=True)
    return made


class Second(Capability):
    """Preloads a library of its own."""

    name = "second"
    title = "whether a library was loaded"
    is_default = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def observe(self, execution: Execution) -> Observer:
        return SecondObserver(self._path, execution.folder)

    def collect(self, folder: Path) -> Collected:
        left = sorted(path.name for path in folder.glob("*.second"))
        return Collected(warnings=(f"second left {len(left)} files",))


class SecondObserver(Observer):
    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder

    def environment(self) -> Mapping[str, str]:
        return {"FOLDER_second": str(self._folder)}

    def preloads(self) -> Sequence[str]:
        return [str(self._path)]


class Failing(SecondObserver):
    """Fails where it is told to."""

    def __init__(self, where: str) -> None:
        self._where = where

    def _fail(self, where: str) -> None:
        if where == self._where:
            raise OSError(f"no {where}")

    def environment(self) -> Mapping[str, str]:
        return {}

    def preloads(self) -> Sequence[str]:
        return ()

    def attach(self, pid: int) -> None:
        assert Path(f"/proc/{pid}").exists()
        self._fail("attach")

    def begin(self) -> None:
        self._fail("begin")

    def due_ms(self) -> float | None:
        return 1

    def drain(self) -> None:
        self._fail("drain")

    def finish(self) -> None:
        self._fail("finish")

    def result(self, process: ProcessResult) -> Collected:
        self._fail("result")
        return Collected(warnings=(f"it took {process.wall_ns > 0}",))


def repeating() -> Collected:
    """Return a process under two numbers, with a value of the same metric of each."""
    metrics = Table(METRICS)
    metrics.add(
        metric=0, name="bytes sent", unit="bytes", formula="", how="counted", component="twice",
        domain="user", scope="process", description="of send(2)",
    )  # fmt: skip
    locations = [(number, -1, "process", "h", -1, 7, -1, "") for number in (0, 1)]
    profile = Table(PROFILE)
    for location in (0, 1):
        profile.add(
            repetition=0, location=location, path=1, metric=0, inclusive=5, exclusive=5, calls=1
        )
    regions = [(number, "io", name, "", "", 0) for number, name in enumerate(("program", "send"))]
    tables = (
        Table(LOCATIONS, locations),
        Table(REGIONS, regions),
        Table(PATHS, [(0, -1, 0), (1, 0, 1)]),
        metrics,
        profile,
    )
    return Collected(tables)


class Twice(Capability):
    """Gives a value twice for one place, when it is asked for what is in a folder or at once."""

    name = "twice"
    title = "bytes sent, by mistake twice"
    is_default = True

    def __init__(self, way: str) -> None:
        self._way = way

    def observe(self, execution: Execution) -> Observer:
        del execution
        return TwiceObserver() if self._way == "result" else Observer()

    def collect(self, folder: Path) -> Collected:
        del folder
        given = repeating()
        if self._way == "collect in pieces":
            return given._replace(tables=(table for table in given.tables))
        return given if self._way == "collect" else Collected()


class TwiceObserver(Observer):
    def result(self, process: ProcessResult) -> Collected:
        del process
        return repeating()
