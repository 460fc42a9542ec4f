"""Says where the time of a test run went (--costs), and lets the files that take longest go first.

A plugin of pytest. Each worker takes the CPU time, its own and that of the processes that it
started and waited for, of each stage of each test; whoever sums the run up prints it by folder and
for the most expensive files. How long each file took is kept in pytest's cache: in the next run of
several workers, a long file does not begin when the others are done.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator, Iterable
from typing import Any

import pytest

KEPT = "gnomon/seconds of files"
SPENT = pytest.StashKey[float]()
CPU = "cpu_s"
"""What reports, and workers at their end, call their CPU time."""
MOST_FILES = 12


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --costs."""
    parser.addoption("--costs", action="store_true", help="say where the time of the tests went")


def pytest_configure(config: pytest.Config) -> None:
    """Sum up where the run is summed up."""
    if config.getoption("--costs") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Sums(config), "sums of costs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that took longest first, for workers that run files side by side."""
    if hasattr(config, "workerinput") and hasattr(config, "cache"):
        seconds: dict[str, float] = config.cache.get(KEPT, {})
        items.sort(key=lambda item: -seconds.get(file_of(item.nodeid), 0.0))


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def cpu_s() -> float:
    """Return the CPU time of this process and of all that it has waited for."""
    return sum(os.times()[:4])


def _measured(item: pytest.Item) -> Generator[None, object, object]:
    begun = cpu_s()
    try:
        return (yield)
    finally:
        item.stash[SPENT] = cpu_s() - begun


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Measure the first stage of a test."""
    return (yield from _measured(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure the test itself."""
    return (yield from _measured(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Measure its last stage."""
    return (yield from _measured(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report tell what the stage took: reports go from the workers to whoever sums up."""
    report = yield
    vars(report)[CPU] = item.stash.get(SPENT, 0.0)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell what a worker took in all: the rest of it is its start and the collection."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[CPU] = cpu_s()


class _Sums:
    """What the tests of a run took."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._cpu: dict[str, float] = defaultdict(float)
        self._wall: dict[str, float] = defaultdict(float)
        self._tests: dict[str, int] = defaultdict(int)
        self._of_workers = 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = file_of(report.nodeid)
        self._cpu[file] += vars(report).get(CPU, 0.0)
        self._wall[file] += report.duration
        self._tests[file] += report.when == "call"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._of_workers += getattr(node, "workeroutput", {}).get(CPU, 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if hasattr(self._config, "cache"):
            self._config.cache.set(KEPT, {**self._config.cache.get(KEPT, {}), **self._wall})
        if not self._cpu:
            return
        whole = max(self._of_workers + sum(os.times()[:2]), sum(self._cpu.values()))
        terminalreporter.section("where the time went", "-")
        terminalreporter.write_line("CPU seconds  of all  tests  folder")
        folders: dict[str, list[str]] = defaultdict(list)
        for file in self._cpu:
            folders["/".join(file.split("/")[:2])].append(file)
        rows = [self._row(files, whole, folder) for folder, files in folders.items()]
        rest = whole - sum(self._cpu.values())
        rows.append((rest, f"{rest:11.1f}  {rest / whole:6.0%}         workers' start, collection"))
        for _, line in sorted(rows, reverse=True):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"{whole:11.1f}          {sum(self._tests.values()):5}  all")
        terminalreporter.write_line("the most expensive files")
        most = sorted(self._cpu, key=lambda file: -self._cpu[file])[:MOST_FILES]
        for file in most:
            terminalreporter.write_line(self._row([file], whole, file)[1])

    def _row(self, files: Iterable[str], whole: float, name: str) -> tuple[float, str]:
        files = list(files)
        cpu = sum(self._cpu[file] for file in files)
        tests = sum(self._tests[file] for file in files)
        return cpu, f"{cpu:11.1f}  {cpu / whole:6.0%}  {tests:5}  {name}"
