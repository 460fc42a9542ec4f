"""Capabilities beside that of the page: one that preloads, and an observer that fails."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.launch.capability import Capability, Execution
from gnomon.launch.command import ProcessResult
from gnomon.launch.observer import Observer
from gnomon.model.collected import Collected

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
