"""Writes what came of a test run to a file (--outcomes FILE), for whoever judges it afterwards.

A plugin of pytest: what it writes are the numbers of the closing line, and each test that did not
pass. With several workers it is the one that sums up who writes.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

import pytest

STAGES = ("setup", "call", "teardown")
NOT_COUNTED = ("", "rerun")  # how pytest files the stages that stand in no closing line


class Failure(NamedTuple):
    """Something that did not pass.

    Attributes:
        test: pytest's name of it.
        stage: setup, call or teardown of a test; anything else is no test that could be tried
            again: a module that cannot be collected, a worker that ended.
        category: where the closing line counts it: failed or error.
        message: the last line that says what was wrong.
    """

    test: str
    stage: str
    category: str
    message: str

    @property
    def is_of_a_test(self) -> bool:
        """Whether a test that ran to its end failed."""
        return self.stage in STAGES


class Outcomes(NamedTuple):
    """What came of a run.

    Attributes:
        status: pytest's exit status.
        counts: the numbers of the closing line, by their words there in the singular.
        passed: the tests among the failures that are also counted as passed, as those that fail
            when they clean up.
        failures: what did not pass.
        seconds: how long it took.
    """

    status: int
    counts: dict[str, int]
    passed: frozenset[str]
    failures: tuple[Failure, ...]
    seconds: float


def read(file: Path) -> Outcomes | None:
    """Return what a run wrote, None if it wrote nothing: it ended before its tests did."""
    try:
        document = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return Outcomes(
        document["status"],
        document["counts"],
        frozenset(document["passed"]),
        tuple(Failure(*row) for row in document["failures"]),
        document["seconds"],
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --outcomes."""
    parser.addoption("--outcomes", type=Path, metavar="FILE", help="write what came of it to FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Take the time from here on."""
    file = config.getoption("--outcomes")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(file.absolute()), "writer of outcomes")


class _Writer:
    """Writes the file at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._begun = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        stats = {
            category: [report for report in reports if getattr(report, "count_towards_summary", 1)]
            for category, reports in terminalreporter.stats.items()
            if category not in NOT_COUNTED
        }
        failures = [
            Failure(report.nodeid, getattr(report, "when", None) or "collect", category,
                    _last_line(report))
            for category in ("failed", "error")
            for report in stats.get(category, ())
        ]  # fmt: skip
        failed = {failure.test for failure in failures}
        passed = {report.nodeid for report in stats.get("passed", ())} & failed
        document = {
            "status": int(exitstatus),
            "counts": {category: len(reports) for category, reports in stats.items() if reports},
            "passed": sorted(passed),
            "failures": failures,
            "seconds": time.monotonic() - self._begun,
        }
        self._file.write_text(json.dumps(document))


def _last_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0] if crash is not None else lines[-1])[:300] if lines else "no message"
