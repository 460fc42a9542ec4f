"""Programs of `gnomon run` that end in odd ways: their status is theirs, and a run is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import mpi
import pytest
from commands import GNOMON, gnomon

from gnomon.cli.main import main
from gnomon.store import run_directory, staging


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exec 0<&- 1>&- 2>&- 3>&- 4>&- 5>&-; exit 6", 6),
        ("(trap '' HUP; sleep 0.5 >/dev/null 2>&1 &); exit 2", 2),
        ("cd / && exit 3", 3),
        ("exec setsid -w sh -c 'exit 4'", 4),
    ],
    ids=["closes all", "leaves a process", "changes folder", "a new session"],
)
def test_what_a_program_does_to_itself_is_its_business(
    tmp_path: Path, script: str, status: int
) -> None:
    done = gnomon("run", "--name", "r", "--", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert run_directory.find(str(tmp_path / "r")).head["exit_status"] == status
    assert [path.name for path in tmp_path.iterdir()] == ["r.gnomon"]


def test_a_program_that_removes_what_is_measured(tmp_path: Path) -> None:
    done = gnomon("run", "--name", "r", "--", "sh", "-c", "rm -r *.raw; exit 5", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (5, 1)
    assert "r.gnomon.raw: it was removed while the program ran" in done.stderr


def test_a_run_that_cannot_be_written_is_kept_for_repair(tmp_path: Path) -> None:
    done = gnomon("run", "--name", "r", "--", "sh", "-c", "mkdir r.gnomon; exit 5", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (5, 1)
    assert "it exists already" in done.stderr
    assert done.stderr.endswith("then: gnomon repair r\n")
    (tmp_path / "r.gnomon").rmdir()
    assert gnomon("repair", "r", cwd=tmp_path).returncode == 0
    assert run_directory.find(str(tmp_path / "r")).head["exit_status"] == 5
    again = gnomon("repair", "r", cwd=tmp_path)
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    assert "this run is complete; nothing to repair" in again.stderr
    none = gnomon("repair", "other", cwd=tmp_path)
    assert (none.returncode, none.stderr.count("\n")) == (1, 1)
    assert none.stderr.startswith("gnomon: other: no such file, and no other.gnomon.raw")
    # What has no rows is no table.
    ranks = gnomon("report", "r", "profile", "--by", "rank", "-o", "r.csv", cwd=tmp_path)
    assert (ranks.returncode, ranks.stdout) == (1, "")
    assert ranks.stderr.startswith("gnomon: r.csv: not written: the run has no such values")
    assert not (tmp_path / "r.csv").exists()


def test_ctrl_c_while_the_run_is_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gnomon.launch import run_assembly

    def interrupted(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as changed:
        changed.setattr(run_assembly, "assemble_run", interrupted)
        assert main(["run", "--name", "r", "--", "sh", "-c", "exit 4"]) == 4
    said = capsys.readouterr().err
    assert said.strip().count("\n") == 0
    assert "the measured data is kept: gnomon repair r" in said
    (part,) = staging.parts(staging.raw_of("r"))
    assert part.end is not None
    assert part.end["exit_status"] == 4


def test_ctrl_c_is_the_programs(tmp_path: Path) -> None:
    script = "trap 'echo stopped; exit 4' INT; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        ["env", "--default-signal=INT", GNOMON, "run", "--name", "r", "--", "sh", "-c", script],
        cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (4, "stopped\n"), err
    assert run_directory.find(str(tmp_path / "r")).head["exit_status"] == 4


def test_a_killed_rank_says_what_to_do(tmp_path: Path) -> None:
    # A rank that is killed before its program begins leaves nothing: all of them are there.
    others = "[ -e 0 ] && [ -e 1 ] && [ -e 3 ]"
    script = (
        f": > $PMI_RANK; [ $PMI_RANK = 2 ] || exec sleep 20; until {others}; do sleep 0.05; done; "
        "kill -KILL $$"
    )
    done = mpi.launch(
        mpi.MPICH, 4, GNOMON, "run", "--name", "j", "--", "sh", "-c", script,
        folder=tmp_path, status=None,
    )  # fmt: skip
    assert "rank 2 failed" in done.err
    assert "gnomon repair j" in done.err
    # What measures the ranks outlives the launcher, which has killed them.
    mpi.settled(tmp_path)
    head = run_directory.find(str(tmp_path / "j")).head
    assert (head["signal"], head["ranks"]) == (signal.SIGKILL, 4)


def test_what_is_repaired_can_have_another_name(tmp_path: Path) -> None:
    assert gnomon("run", "--name", "taken", "--", "true", cwd=tmp_path).returncode == 0
    for left in ("a", "b"):
        script = f"mkdir {left}.gnomon; exit 5"
        gnomon("run", "--name", left, "--", "sh", "-c", script, cwd=tmp_path)
        refused = gnomon("repair", left, cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert "choose another --name NAME" in refused.stderr
    done = gnomon("repair", "a", "--name", "other", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "other.gnomon\n"), done.stderr
    refused = gnomon("repair", "b", "--name", "taken", cwd=tmp_path)
    assert refused.stderr.startswith("gnomon: taken.gnomon: it exists already")
    done = gnomon("repair", "b", "--name", "taken", "--force", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "taken.gnomon\n"), done.stderr
    for name in ("other", "taken"):
        assert run_directory.find(str(tmp_path / name)).head["exit_status"] == 5
    assert not list(tmp_path.glob("*.raw"))
    (tmp_path / "c.hpmraw").touch()
    for words, said in (
        (["c.hpmraw", "--name", "c"], "--name applies to a gnomon run, and c.hpmraw is a"),
        (["c.hpmraw", "--force"], "--force applies to a gnomon run, and c.hpmraw is a"),
        (["-a", "average", "c.hpmraw", "--name", "c"], "--name applies to a gnomon run"),
        (["a", "b", "--name", "c"], "--name needs exactly one gnomon run"),
    ):
        refused = gnomon("repair", *words, cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert said in refused.stderr


def test_a_name_that_is_taken_can_be_taken_over(tmp_path: Path) -> None:
    for command in (("run", "--name"), ("count", "--name"), ("count", "--run")):
        assert gnomon(*command, "n", "--force", "--", "true", cwd=tmp_path).returncode == 0
        refused = gnomon(*command, "n", "--", "true", cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert refused.stderr.endswith("choose another --name NAME, or replace it by --force\n")
        done = gnomon(*command, "n", "--force", "--", "sh", "-c", "exit 3", cwd=tmp_path)
        assert done.returncode == 3
        assert run_directory.find(str(tmp_path / "n")).head["exit_status"] == 3
        assert gnomon(*command[:1], "--force", "--", "true", cwd=tmp_path).returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["n.gnomon"]


def test_times_of_a_run_are_those_of_the_program(tmp_path: Path) -> None:
    begun = time.time()
    assert gnomon("run", "--name", "t", "--", "sleep", "0.1", cwd=tmp_path).returncode == 0
    head = run_directory.find(str(tmp_path / "t.gnomon")).head
    assert begun <= head["started"] <= head["ended"] <= time.time()
    assert head["wall_seconds"] >= 0.1
