"""`.ci/run` on small test suites: what fails once is flaky, what fails twice fails the run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from outcomes import Failure, Outcomes
from second_try import MOST, after, closing_line, judge, tries_again

# They are of what judges the tests, not of Gnomon.
pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
# Whatever `fails_once` is called for fails in the first run and in no other.
CONFTEST = """
from pathlib import Path
import pytest

pytest_plugins = ["outcomes"]

def fails_once(name):
    mark = Path(__file__).parent / f"{name}.mark"
    if not mark.exists():
        mark.touch()
        pytest.fail(f"by chance: {name}")
"""
MAKEFILE = """
test:
	@echo "made before the tests"
	@.venv/bin/python -m pytest -q -p no:cacheprovider $(OPTIONS) $(ARGS)
"""
FINE = "from conftest import fails_once\nimport pytest\ndef test_fine(): pass\n"
NEVER = "def test_never(): assert 1 == 2\n"
CHANCE = "def test_chance(): fails_once('chance')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a `make test` of its own, where `.ci/run` is this repository's."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    for name in ("outcomes.py", "second_try.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests\ntestpaths = tests\n")
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    return tmp_path


def ci(project: Path, options: str = "", **suites: str) -> tuple[int, list[str]]:
    """Return the exit status of `.ci/run` and what it printed, line by line."""
    for name, text in suites.items():
        (project / "tests" / f"test_{name}.py").write_text(text)
    # What a worker is told of its run is not for the runs in here, and few plugins are.
    env = {key: text for key, text in os.environ.items() if not key.startswith("PYTEST_")}
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OPTIONS": options}
    done = subprocess.run(
        [project / ".ci" / "run"], env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()


def closing(lines: list[str]) -> str:
    """Return the last line without its time; it has to be a closing line."""
    found = re.fullmatch(r"(.+) in \d+\.\d\ds( \(\d+:\d\d:\d\d\))?", lines[-1])
    assert found, lines[-1]
    return found[1]


def test_nothing_fails(project: Path) -> None:
    status, lines = ci(project, fine=FINE + "def test_away(): pytest.skip('not here')\n")
    assert (status, closing(lines)) == (0, "1 passed, 1 skipped")
    assert lines[0] == "made before the tests"
    assert not any("second try" in line for line in lines)


@pytest.mark.parametrize("options", ["", "-p xdist -n 2 --dist loadfile"])
def test_what_fails_once_is_flaky(project: Path, options: str) -> None:
    odd = """
@pytest.mark.parametrize("text", ["a b", "x::y - z", "$HOME '\\"", "[", "-k"])
def test_odd(text): fails_once(str(ord(text[0])))

class TestOfAClass:
    def test_in_it(self): fails_once("in it")
"""
    status, lines = ci(project, options, fine=FINE + CHANCE + odd, other=FINE)
    assert (status, closing(lines)) == (0, "9 passed")
    flaky = [line for line in lines if line.startswith("flaky: ")]
    assert len(flaky) == 7
    at = lines.index("flaky: tests/test_fine.py::test_chance")
    assert lines[at + 1] == "  first, beside others: failed in call: Failed: by chance: chance"
    assert re.fullmatch(r"  then, alone: passed in \d+\.\d\d s", lines[at + 2])


def test_what_fails_twice_fails(project: Path) -> None:
    status, lines = ci(project, fine=FINE + CHANCE + NEVER)
    assert (status, closing(lines)) == (1, "1 failed, 2 passed")
    assert "flaky: tests/test_fine.py::test_chance" in lines
    assert "second try: tests/test_fine.py::test_never did not pass alone either" in lines


def test_fixtures_that_fail_by_chance(project: Path) -> None:
    fixtures = """
@pytest.fixture
def begins(): fails_once("begins")
@pytest.fixture
def ends():
    yield
    fails_once("ends")
def test_begins(begins): pass
def test_ends(ends): fails_once("between")
def test_cleans_up(ends): pass
"""
    status, lines = ci(project, fine=FINE + fixtures.replace('"ends"', '"ends" * 2'), other=FINE)
    assert (status, closing(lines)) == (0, "5 passed")
    assert "  first, beside others: error in setup: Failed: by chance: begins" in lines
    assert "  first, beside others: error in teardown: Failed: by chance: endsends" in lines


def test_the_skipped_has_not_passed(project: Path) -> None:
    away = "def test_away():\n    fails_once('away')\n    pytest.skip('not today')\n"
    status, lines = ci(project, fine=FINE + away)
    assert (status, closing(lines)) == (1, "1 failed, 1 passed")


@pytest.mark.parametrize("number", [MOST, MOST + 1])
def test_ten_fail_and_more_than_ten(project: Path, number: int) -> None:
    many = f"@pytest.mark.parametrize('n', range({number}))\ndef test_n(n): fails_once(n)\n"
    status, lines = ci(project, fine=FINE + many)
    if number == MOST:
        assert (status, closing(lines)) == (0, "11 passed")
    else:
        assert (status, closing(lines)) == (1, "11 failed, 1 passed")
        assert "second try: none: 11 tests failed, and at most 10 are tried again" in lines


def test_a_worker_ends(project: Path) -> None:
    ends = "import os\nfrom pathlib import Path\ndef test_ends():\n    fails_or_ends()\n"
    ends += "def fails_or_ends():\n    mark = Path(__file__).with_suffix('.mark')\n"
    ends += "    if not mark.exists():\n        mark.touch()\n        os._exit(3)\n"
    status, lines = ci(project, "-p xdist -n 2", fine=FINE, ends=ends)
    assert (status, closing(lines)) == (1, "1 failed, 1 passed")
    assert any("no test that could be tried again" in line for line in lines)


def test_the_run_itself_ends(project: Path) -> None:
    status, lines = ci(project, fine=FINE, ends="import os\ndef test_ends(): os._exit(0)\n")
    assert status == 1
    assert lines[-1] == "second try: none: the run ended with status 0 before it had summed up"


@pytest.mark.parametrize("options", ["", "-p xdist -n 2"])
def test_a_module_that_cannot_be_collected(project: Path, options: str) -> None:
    once = "from conftest import fails_once\nfails_once('collected')\n"
    status, lines = ci(project, options, fine=FINE, broken=once + "def test_fine(): pass\n")
    assert status != 0
    assert any(line.startswith("second try: none: ") for line in lines)
    assert "error" in closing(lines)


def test_a_run_without_a_test(project: Path) -> None:
    status, lines = ci(project)
    assert status != 0
    assert closing(lines) == "no tests ran"
    status, lines = ci(project, fine="import pytest\ndef test_away(): pytest.skip('not here')\n")
    assert (status, closing(lines)) == (1, "1 skipped")
    assert "second try: no test passed: an empty run proves nothing" in lines


def test_make_fails_before_and_after(project: Path) -> None:
    makefile = (project / "Makefile").read_text()
    (project / "Makefile").write_text(makefile.replace("@echo", "@false\n\t@echo"))
    status, lines = ci(project, fine=FINE)
    assert status == 2
    assert lines[-1] == "second try: none: the run ended with status 2 before it had summed up"
    (project / "Makefile").write_text(makefile + "\t@false\n")
    status, lines = ci(project, fine=FINE)
    assert (status, closing(lines)) == (2, "1 passed")


def outcomes(status: int, *failures: Failure, **counts: int) -> Outcomes:
    return Outcomes(status, counts, frozenset(), failures, 0.0)


def test_a_second_try_that_ends_without_a_word() -> None:
    run = outcomes(1, Failure("a", "call", "failed", "x"), failed=1, passed=2)
    assert judge(run, lambda _: None).counts == {"failed": 1, "passed": 2}
    ended = judge(run, lambda _: outcomes(0, deselected=1))
    assert (ended.status, ended.counts["failed"]) == (1, 1)
    assert tries_again(outcomes(1)) == "it failed without a failed test"


def test_closing_line() -> None:
    counts = {"skipped": 3, "passed": 5286, "warnings": 1, "error": 2, "failed": 0, "deselected": 4}
    run = Outcomes(1, counts, frozenset("b"), (Failure("b", "teardown", "error", "x"),), 3723.456)
    line = "5286 passed, 3 skipped, 4 deselected, 1 warnings, 2 errors in 3723.46s (1:02:03)"
    assert closing_line(run) == line
    assert after(run, ["b"], 1.0).counts["passed"] == 5286
    assert after(run, ["b"], 1.0).counts["error"] == 1
    assert closing_line(run._replace(counts={}, seconds=0.1)) == "no tests ran in 0.10s"
