"""`gnomon io --advise`: what hurts in programs that hurt in one known way, and what would help."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from commands import GNOMON, gnomon, run
from mpi import OPEN_MPI
from mpi import environment as mpi_environment

SOURCE = Path(__file__).with_name("hurting.c")
DATA_BYTES = 8 << 20
Document = dict[str, Any]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hurting") / "hurting"
    done = run("gcc", "-g", "-O2", "-o", path, SOURCE)
    assert done.returncode == 0, done.stderr
    return path


def record(program: Path, folder: Path, *words: str, **options: Any) -> None:
    """Leave a run called `run`, of a program that finds a file `data`."""
    (folder / "data").write_bytes(os.urandom(DATA_BYTES))
    done = gnomon("io", "--trace", "--name", "run", "--", program, *words, cwd=folder, **options)
    assert done.returncode == 0, done.stderr


def advice(folder: Path, *options: str) -> Document:
    done = gnomon("io", "--advise", "run", "--json", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    document: Document = json.loads(done.stdout)
    return document


def finding(document: Document, kind: str, name: str) -> Document:
    (own,) = [
        one
        for one in document["findings"]
        if one["kind"] == kind and Path(one["path"]).name == name
    ]
    found: Document = own
    return found


@pytest.mark.parametrize(
    ("word", "kind", "name", "modules", "function"),
    [
        ("tiny-writes", "tiny writes", "log", "wb", "write_tiny"),
        ("tiny-reads", "tiny reads", "data", "pf", "read_tiny"),
        ("backward", "backward reads", "data", "pf", "read_backward"),
        ("strided", "strided reads", "data", "pf", "read_strided"),
        ("again", "read again", "data", "pf/cache_size=256k/page_size=64k", "read_again"),
        ("syncs", "waits for storage", "log", "", "write_and_sync"),
        ("opens", "open and close", "data", "", ""),
        ("direct", "misaligned direct I/O", "data", "", "read_direct"),
    ],
)
def test_what_hurts_is_found_with_its_call_site(
    program: Path, tmp_path: Path, word: str, kind: str, name: str, modules: str, function: str
) -> None:
    record(program, tmp_path, word)
    own = finding(advice(tmp_path), kind, name)
    assert own["modules"] == modules
    assert own["share"] > 0.1
    assert own["remedy"] or modules
    if function:
        assert own["site"]["function"] == function
        assert own["site"]["line"] > 0
        assert own["site"]["file"].endswith("hurting.c")


def test_many_small_files_are_one_finding(program: Path, tmp_path: Path) -> None:
    record(program, tmp_path, "many")
    own = finding(advice(tmp_path), "many small files", "many")
    assert own["figures"] == "500 opens of 500 files, 16 B moved by each"
    assert own["remedy"]
    assert own["modules"] == ""


@pytest.mark.parametrize(
    ("word", "name", "why"),
    [
        ("two-writers", "shared", "more than one process writes it"),
        ("writer-with-reader", "followed", "a process writes it while another one reads it"),
        ("mapped", "mapped", "it is mapped into memory"),
        ("appends", "appended", "it is opened for appending, which wb leaves alone"),
        ("synchronous", "synchronous",
         "it is opened for synchronous writes, which wb leaves alone"),
    ],
)  # fmt: skip
def test_modules_are_not_proposed_where_they_do_harm_or_nothing(
    program: Path, tmp_path: Path, word: str, name: str, why: str
) -> None:
    record(program, tmp_path, word)
    document = advice(tmp_path)
    own = finding(document, "tiny writes", name)
    assert (own["modules"], own["refused"]) == ("", why)
    assert name not in document["mio_files"]


def test_descriptors_of_others_are_left_alone(program: Path, tmp_path: Path) -> None:
    for name, why in (("out", "a process got its descriptor from another one"), ("pipe", "")):
        if name == "pipe":
            read, write = os.pipe()
            reader = subprocess.Popen(["cat"], stdin=read, stdout=subprocess.DEVNULL)
            os.close(read)
        else:
            write = os.open(tmp_path / name, os.O_CREAT | os.O_WRONLY)
        options = {"stdout": write, "stderr": subprocess.PIPE, "capture_output": False}
        (tmp_path / name).mkdir() if name == "pipe" else None
        record(program, tmp_path / ("" if name == "out" else name), "inherited", **options)
        os.close(write)
        if name == "pipe":
            assert reader.wait() == 0
            document = advice(tmp_path / name)
            assert [one["refused"] for one in document["findings"]] == ["it is a pipe"]
        else:
            document = advice(tmp_path)
            assert finding(document, "tiny writes", name)["refused"] == why
        assert document["mio_files"] == ""


def test_one_rank_that_does_all(tmp_path: Path) -> None:
    (tmp_path / "job.c").write_text(
        r"""
        #include <fcntl.h>
        #include <mpi.h>
        #include <unistd.h>
        static char block[1 << 20];
        int main(int n, char **words)
        {
            int rank;
            MPI_Init(&n, &words);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            if (!rank) {
                int fd = open("result", O_CREAT | O_WRONLY, 0600);
                for (int i = 0; i < 64; i++)
                    if (write(fd, block, sizeof(block)) < 0)
                        return 1;
                close(fd);
            }
            return MPI_Finalize();
        }
        """
    )
    done = run(OPEN_MPI.command("mpicc"), "-o", "job", "job.c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = gnomon(
        "io", "--name", "run", "--", OPEN_MPI.command("mpirun"), "--oversubscribe", "-n", "4",
        "./job", cwd=tmp_path, env=mpi_environment(OPEN_MPI),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (own,) = [one for one in advice(tmp_path)["findings"] if one["kind"] == "one rank does all"]
    assert own["figures"].startswith("rank 0 moved 64")
    assert own["figures"].endswith("of 4 ranks")
    assert own["remedy"]


# --- the proof ------------------------------------------------------------------------------------


def test_a_proposal_is_proved_on_a_scratch_file(program: Path, tmp_path: Path) -> None:
    record(program, tmp_path, "tiny-writes")
    log = tmp_path / "log"
    before = (log.read_bytes(), log.stat())
    document = advice(tmp_path)
    (proof,) = document["proofs"]
    assert (proof["problem"], proof["is_scratch"], proof["is_same"]) == ("", True, True)
    assert len(proof["without_seconds"]) == len(proof["with_seconds"]) >= 3
    assert proof["operations"] == 50002
    # 50 000 calls of the system against four.
    assert proof["helps"] is document["is_proved"] is True
    assert document["mio_files"] == "log [ wb ]"
    assert (log.read_bytes(), log.stat()) == before
    assert {path.name for path in tmp_path.iterdir()} == {"data", "log", "run.gnomon"}
    text = gnomon("io", "--advise", "run", cwd=tmp_path).stdout
    assert "MIO_FILES='log [ wb ]'" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_proposal_is_what_files_takes(program: Path, tmp_path: Path) -> None:
    record(program, tmp_path, "tiny-writes", "appends")
    content = (tmp_path / "log").read_bytes()
    proposal = advice(tmp_path)["mio_files"]
    done = gnomon(
        "io", "--name", "with", "--files", proposal, "--", program, "tiny-writes", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "log").read_bytes() == content
    text = gnomon("io", "--advise", "with", cwd=tmp_path).stdout
    assert "Files of this run had modules" in text


def test_a_run_of_sums_alone_says_how_to_prove_it(program: Path, tmp_path: Path) -> None:
    done = gnomon("io", "--name", "run", "--", program, "tiny-writes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = gnomon("io", "--advise", "run", cwd=tmp_path).stdout
    assert "MIO_FILES='log [ wb ]'" in text
    assert "--trace" in text
    document = advice(tmp_path)
    assert (document["is_proved"], document["proofs"]) == (False, [])
    own = finding(document, "tiny writes", "log")
    assert own["site"]["function"] == "write_tiny"


def test_a_file_that_is_gone_is_replaced(program: Path, tmp_path: Path) -> None:
    record(program, tmp_path, "backward")
    status = (tmp_path / "data").stat()
    (proof,) = advice(tmp_path)["proofs"]
    assert (proof["problem"], proof["is_scratch"], proof["is_same"]) == ("", False, True)
    assert proof["operations"] == 514
    assert (tmp_path / "data").stat().st_mtime_ns == status.st_mtime_ns
    (tmp_path / "data").unlink()
    (proof,) = advice(tmp_path, "--cold")["proofs"]
    assert (proof["problem"], proof["is_scratch"], proof["is_same"]) == ("", True, True)
    assert "the file is not there" in gnomon("io", "--advise", "run", cwd=tmp_path).stdout
    assert not (tmp_path / "data").exists()


def test_what_does_not_help_is_dropped(program: Path, tmp_path: Path) -> None:
    record(program, tmp_path, "again", "strided", "tiny-reads")
    document = advice(tmp_path)
    assert document["proofs"]
    for proof in document["proofs"]:
        without, with_modules = proof["without_seconds"], proof["with_seconds"]
        end = len(without) // 4
        assert proof["helps"] is (sorted(with_modules)[-1 - end] < sorted(without)[end])
        assert (proof["modules"] in document["mio_files"]) is proof["helps"]


def test_open_at_different_times_is_no_conflict(program: Path, tmp_path: Path) -> None:
    record(program, tmp_path, "writer-and-reader")
    assert finding(advice(tmp_path), "tiny writes", "followed")["modules"] == "wb"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_it_is_killed(
    program: Path, tmp_path: Path, number: signal.Signals
) -> None:
    record(program, tmp_path, "slow-writes")
    before = {path.name for path in tmp_path.iterdir()}
    process = subprocess.Popen(
        [GNOMON, "io", "--advise", "run", "--pauses"], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    helper = _helper_of(process.pid)
    sleep(0.2)
    assert {path.name for path in tmp_path.iterdir()} == before
    process.send_signal(number)
    assert process.wait(20) != 0
    end = monotonic() + 20
    while Path(f"/proc/{helper}").exists() and monotonic() < end:
        sleep(0.01)
    assert not Path(f"/proc/{helper}").exists()
    assert {path.name for path in tmp_path.iterdir()} == before


def _helper_of(pid: int) -> int:
    """Return the replay that a process has started, once it has a scratch file."""
    end = monotonic() + 30
    while monotonic() < end:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                files = [str(own.readlink()) for own in Path(f"/proc/{child}/fd").iterdir()]
            except OSError:
                continue
            if any(file.endswith(" (deleted)") and "memfd" not in file for file in files):
                return int(child)
        sleep(0.01)
    raise AssertionError("no replay began")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--advise", "run", "--", "true"), "--advise runs no program"),
        (("--advise", "run", "--name", "x"), "--name does not go with --advise"),
        (("--advise", "run", "--trace"), "--trace does not go with --advise"),
        (("--advise", "run", "--files", "a [ pf ]"), "--files does not go with --advise"),
        (("--advise", "run", "-r", "2"), "-r does not go with --advise"),
        (("--advise", "run", "--scratch", "missing"), "there is no such folder"),
        (("--cold", "--", "true"), "--cold goes with --advise RUN"),
        (("--json", "--", "true"), "--json goes with --advise RUN"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, words: Sequence[str], says: str
) -> None:
    done = gnomon("io", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_run_without_io_and_no_run(tmp_path: Path) -> None:
    assert gnomon("count", "--name", "run", "--", "true", cwd=tmp_path).returncode == 0
    done = gnomon("io", "--advise", "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "no calls on files were recorded; gnomon io --trace -- PROGRAM" in done.stderr
    assert gnomon("io", "--advise", "none", cwd=tmp_path).returncode == 1


def test_a_program_called_advise_runs(tmp_path: Path) -> None:
    program = tmp_path / "advise"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o700)
    done = gnomon("io", "--name", "run", "--", "./advise", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "ran\n")
