"""Workers side by side, and the tests that are alone among them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from turns import made_once

ROOT = Path(__file__).parents[2]
# A test suite: `left` and `right` can only end if they run side by side; then `right` is followed
# by tests that are alone, `left` by others.
SUITE = """
import os, time
from pathlib import Path
import pytest

LOG = Path(os.environ["LOG"])

def tell(what):
    with LOG.open("a") as log:
        log.write(what + "\\n")

def meet(me, other):
    tell("meets " + me)
    for _ in range(6000):
        if f"meets {other}" in LOG.read_text():
            return
        time.sleep(0.01)
    pytest.fail(f"{other} never came")

def begin_and_end(name):
    tell("begin " + name)
    time.sleep(0.01)
    tell("end " + name)
"""
FILES = {
    "left": """
def test_left():
    meet("left", "right")

@pytest.mark.parametrize("number", range(40))
def test_beside(number):
    begin_and_end(f"beside {number}")
""",
    "right": """
def test_right():
    meet("right", "left")

@pytest.mark.alone
@pytest.mark.parametrize("number", range(10))
def test_alone(number):
    begin_and_end(f"alone {number}")
""",
}


@pytest.mark.long
def test_whoever_is_alone_is_alone_and_others_run_side_by_side(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / f"test_{name}.py").write_text(SUITE + text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = alone\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "conftest",
         "-p", "no:cacheprovider", "--basetemp", tmp_path / "base", tmp_path],
        cwd=tmp_path,
        env=os.environ | {
            "LOG": str(tmp_path / "log"), "GNOMON_TEST_INSTALLED": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests/native"))),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    log = (tmp_path / "log").read_text().splitlines()
    assert len(log) == 2 * 51
    for at, line in enumerate(log):
        if line.startswith("begin alone"):
            assert log[at + 1] == line.replace("begin", "end")


def test_what_could_not_be_made_is_left_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")
    own = tmp_path / "gw7"
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        if len(made) == 1:
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        made_once(own, "built", make)
    assert made_once(own, "built", make) == made_once(own, "built", make)
    assert made == [tmp_path / "built"] * 2
