"""`gnomon run -r N`: several executions in one run."""

from __future__ import annotations

import sys
from pathlib import Path

from commands import gnomon

from gnomon.store import run_directory

# The second of its executions fails.
PROGRAM = """
import sys
from pathlib import Path
from gnomon import hpm
with hpm.section("work"):
    sum(range(10000))
ran = Path("ran")
text = ran.read_text() if ran.exists() else ""
ran.write_text(text + "x")
sys.exit(3 if text == "x" else 0)
"""


def values(run: run_directory.Run, metric: str) -> list[tuple[int, float]]:
    return run.query(
        "SELECT p.repetition, p.inclusive FROM profile p JOIN metrics m USING (metric) "
        "JOIN locations l USING (location) JOIN paths q USING (path) "
        f"WHERE m.name = '{metric}' AND l.kind = 'command' AND q.parent = -1 ORDER BY ALL"
    )


def test_executions_of_one_run_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    words = ("run", "-r", "3", "--name", "r", "--", sys.executable, "app.py")
    done = gnomon(*words, cwd=tmp_path)
    # The first that failed says how it went; the others ran all the same.
    assert done.returncode == 3, done.stderr
    assert (tmp_path / "ran").read_text() == "xxx"
    assert "means of 3 executions" in done.stderr
    run = run_directory.find(str(tmp_path / "r"))
    assert (run.head["repetitions"], run.head["exit_status"]) == (3, 3)
    for metric in ("wall time", "task-clock", "peak memory"):
        assert [repetition for repetition, _ in values(run, metric)] == [0, 1, 2]
    sections = run.query(
        "SELECT p.repetition, SUM(p.calls) FROM profile p JOIN paths USING (path) "
        "JOIN regions r USING (region) JOIN metrics m USING (metric) "
        "WHERE r.name = 'work' AND m.name = 'wall time' GROUP BY ALL ORDER BY ALL"
    )
    assert sections == [(0, 1), (1, 1), (2, 1)]
    assert [path.name for path in tmp_path.glob("*.raw")] == []
    (tmp_path / "ran").unlink()
    assert gnomon(*words[:3], "--name", "s", *words[5:], cwd=tmp_path).returncode == 3
    compared = gnomon("compare", "r", "s", cwd=tmp_path)
    assert compared.returncode == 0
    assert "3 executions" in compared.stdout
    assert "wall time" in compared.stdout


def test_a_program_is_run_at_least_once(tmp_path: Path) -> None:
    done = gnomon("run", "-r", "0", "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "-r 0: the number of repetitions must be at least 1" in done.stderr
    missing = gnomon("run", "-r", "2", "--", "./no-such-program", cwd=tmp_path)
    assert missing.returncode == 127
    assert list(tmp_path.iterdir()) == []
