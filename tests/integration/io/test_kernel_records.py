"""What the kernel tells beside calls: pages of mapped files that are fetched, static programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from commands import GNOMON, WITHOUT_RIGHTS, run
from corpus import Program
from counted_io import report

TOUCHED = 50
"""Pages of each file; more than these the program may have fetched of itself."""


def fetched(folder: Path, *command: str | Path) -> tuple[list[int], dict[str, float | None]]:
    """Run a command that leaves the run r; return what it said, and pages by name of the file."""
    done = run(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    said = [min(int(word), TOUCHED) for word in done.stdout.splitlines()[0].split()]
    return said, {
        Path(file["path"]).name: file["fetched_pages"] for file in report(folder)["files"]
    }


def test_pages_are_those_that_the_kernel_counts(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program = Program("fetched.c").command(compiled)[0]
    said, files = fetched(tmp_path, GNOMON, "io", "--name", "r", "--", program)
    assert [files["own"], files["both"]] == said
    if any(said):
        text = " ".join(run(GNOMON, "report", "r", "io", cwd=tmp_path).stdout.split())
        assert "pages were fetched, 50 of" in text


def test_a_user_without_rights_has_them(compiled: Callable[..., Path], tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    program = Program("fetched.c").command(compiled)[0]
    command = (*WITHOUT_RIGHTS, GNOMON, "io", "--name", "r", "--", program)
    said, files = fetched(tmp_path, *command)
    # Where perf_event_paranoid forbids it, it is not known.
    assert [files["own"], files["both"]] in (said, [None, None])


def test_beside_counters_of_threads_it_is_not_known(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program = Program("fetched.c").command(compiled)[0]
    _, files = fetched(tmp_path, GNOMON, "run", "--with", "io", "--name", "r", "--", program)
    assert [files["own"], files["both"]] == [None, None]


def test_static_programs_that_a_program_executes_are_told(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    static = compiled("cc", "io/names.c", "-static", "-pthread")
    script = f"{static}; {static}; ls / > listed"
    done = run(GNOMON, "io", "--name", "r", "--", "sh", "-c", script, cwd=tmp_path)
    told = " ".join(done.stderr.split())
    assert f"{static}, executed 2 times, is statically linked" in told
    assert told.count("statically linked") == 1
    assert any(Path(file["path"]).name == "listed" for file in report(tmp_path)["files"])
