"""Judges a test run: what failed in it is tried once more, each test alone, one after the other.

    second_try.py OUTCOMES STATUS [PYTEST'S OPTION...]

OUTCOMES is what the run wrote (tests/outcomes.py), STATUS what it ended with. What passes now is
flaky: it is printed with both outcomes, and does not fail the run. What fails twice does; so does
whatever is no failure of a test (a worker that ended, a module that cannot be collected), more than
ten failures, which are no chance, and a run without a test. The last line is pytest's closing line,
with what came of the second try in it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from outcomes import Failure, Outcomes, read

MOST = 10
"""So many tests are tried again; more than that do not fail by chance."""

_TESTS_FAILED = 1  # pytest.ExitCode.TESTS_FAILED
_ORDER = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warnings", "error")


def tries_again(run: Outcomes) -> str:
    """Return why a run's failures are not tried again, "" if they are."""
    if run.status != _TESTS_FAILED:
        return f"pytest ended with status {run.status}: this is not about single tests"
    for failure in run.failures:
        if not failure.is_of_a_test:
            return f"{failure.test}: {failure.message}: no test that could be tried again"
    tests = {failure.test for failure in run.failures}
    if len(tests) > MOST:
        return f"{len(tests)} tests failed, and at most {MOST} are tried again"
    return "" if tests else "it failed without a failed test"


def after(run: Outcomes, flaky: Sequence[str], seconds: float) -> Outcomes:
    """Return what came of a run in the end.

    Args:
        run: what came of it first.
        flaky: the tests that failed then, and passed when they were tried again.
        seconds: how long that took.
    """
    counts = dict(run.counts)
    for failure in run.failures:
        if failure.test in flaky:
            counts[failure.category] -= 1
    counts["passed"] = counts.get("passed", 0) + len(set(flaky) - run.passed)
    left = tuple(failure for failure in run.failures if failure.test not in flaky)
    return run._replace(
        status=_TESTS_FAILED if left else 0,
        counts=counts,
        failures=left,
        seconds=run.seconds + seconds,
    )


def closing_line(run: Outcomes) -> str:
    """Return a run's closing line as pytest writes it."""
    parts = [
        f"{run.counts[name]} {name}{'s' * (name == 'error' and run.counts[name] > 1)}"
        for name in _ORDER
        if run.counts.get(name)
    ]
    minutes, seconds = divmod(int(run.seconds), 60)
    hours, minutes = divmod(minutes, 60)
    long = f" ({hours}:{minutes:02}:{seconds:02})" if run.seconds >= 60 else ""
    return f"{', '.join(parts) or 'no tests ran'} in {run.seconds:.2f}s{long}"


def judge(run: Outcomes, again: Callable[[str], Outcomes | None]) -> Outcomes:
    """Return what came of a run in the end, and print how.

    Args:
        run: what came of it first.
        again: runs a test alone.
    """
    if run.status == 0:
        if run.counts.get("passed"):
            return run
        print("second try: no test passed: an empty run proves nothing")
        return run._replace(status=_TESTS_FAILED)
    reason = tries_again(run)
    if reason:
        print(f"second try: none: {reason}")
        return run
    flaky, seconds = [], 0.0
    for test in dict.fromkeys(failure.test for failure in run.failures):
        print(f"second try: {test}, alone", flush=True)
        second = again(test)
        seconds += second.seconds if second else 0
        if second is not None and second.status == 0 and second.counts.get("passed") == 1:
            flaky.append(test)
            _print_flaky([f for f in run.failures if f.test == test], second.seconds)
        else:
            print(f"second try: {test} did not pass alone either")
    if flaky:
        print("flaky tests stand in docs/testing.md until they are mended")
    return after(run, flaky, seconds)


def _print_flaky(failures: Sequence[Failure], seconds: float) -> None:
    print(f"flaky: {failures[0].test}")
    for failure in failures:
        print(f"  first, beside others: {failure.category} in {failure.stage}: {failure.message}")
    print(f"  then, alone: passed in {seconds:.2f} s")


def _run_alone(test: str, options: Sequence[str]) -> Outcomes | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.json"
        command = [sys.executable, "-m", "pytest", "-q", *options, f"--outcomes={file}", test]
        subprocess.run(command, check=False, stdin=subprocess.DEVNULL)
        return read(file)


def main(arguments: Sequence[str]) -> int:
    """Judge a run; return 0 if it passed."""
    file, status, *options = arguments
    run = read(Path(file))
    if run is None:
        print(f"second try: none: the run ended with status {status} before it had summed up")
        return int(status) or 1
    ended = judge(run, lambda test: _run_alone(test, options))
    if not ended.status and not run.status and int(status):
        print(f"second try: all tests passed, and the run ended with status {status}")
        ended = ended._replace(status=int(status))
    print(closing_line(ended), flush=True)
    return ended.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
