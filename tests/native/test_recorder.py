"""A preloaded library that records, made with what is installed, in processes of all fates."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from building import run
from recorder_programs import build_recorder, runtime_flags

from gnomon.store.record_file import SUFFIX, RecordFile, open_records


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_recorder(tmp_path_factory.mktemp("recorder"))


def sleep(
    built: Path,
    staging: Path,
    way: str,
    more: dict[str, str] | None = None,
    limit: Callable[[], None] | None = None,
) -> tuple[subprocess.CompletedProcess[str], dict[int, list[RecordFile]]]:
    """Return the program's end and the files by process, in the order of their beginnings."""
    staging.mkdir(exist_ok=True)
    preload = {"LD_PRELOAD": str(built / "libnaps.so"), "GNOMON_RUN_DIR": str(staging)}
    done = subprocess.run(
        [built / "sleeper", way],
        env=os.environ | preload | (more or {}),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    files: dict[int, list[RecordFile]] = {}
    for path in sorted(staging.iterdir()):
        if path.name.endswith(".refused"):  # what could not be made, and why
            assert not path.read_bytes()
            assert path.name.split(".")[-3:-1] == ["naps", str(errno.EFBIG)]
            continue
        assert path.name.endswith(f".naps{SUFFIX}")
        file = open_records(path)
        assert path.name.split(".")[-4] == str(file.pid)
        assert file.writer == "naps"
        files.setdefault(file.pid, []).append(file)
    return done, files


def naps_ms(file: RecordFile) -> list[int]:
    """Return how long the naps of a file were asked to be, after a look at all else of them."""
    naps = file.columns("nap")
    took_ns = file.to_ns(naps["end"]) - file.to_ns(naps["begin"])
    # The counter's rate is known to some parts in a thousand.
    assert (took_ns >= 0.99 * naps["asked_ns"]).all()
    assert file.texts("function") == {0: "nanosleep", 1: "usleep"}
    assert set(naps["function"].tolist()) <= {1}
    return [asked // 1_000_000 for asked in naps["asked_ns"].tolist()]


@pytest.mark.parametrize(
    ("way", "status", "closed", "naps"),
    [("exit", 0, True, 3), ("_exit", 3, False, 1), ("kill", -9, False, 1)],
)
def test_one_process(
    built: Path, tmp_path: Path, way: str, status: int, closed: bool, naps: int
) -> None:
    done, files = sleep(built, tmp_path / "staging", way)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    ((file,),) = files.values()
    assert naps_ms(file) == [1] * naps
    assert (file.closed, file.lost, file.stop_error) == (closed, 0, 0)
    assert file.rank == -1


def test_exec_begins_another_file(built: Path, tmp_path: Path) -> None:
    done, files = sleep(built, tmp_path / "staging", "exec")
    assert done.returncode == 0
    ((before, after),) = files.values()
    assert (naps_ms(before), before.closed) == ([1], False)
    assert (naps_ms(after), after.closed) == ([1, 1, 1], True)
    assert before.realtime_ns < after.realtime_ns


def test_a_child_has_a_file_if_it_records(built: Path, tmp_path: Path) -> None:
    done, files = sleep(built, tmp_path / "staging", "fork")
    assert done.stdout == "child 0\nchild 1\nparent\n"
    assert sorted(naps_ms(file) for (file,) in files.values()) == [[1], [20]]
    assert all(file.closed for (file,) in files.values())


def test_threads(built: Path, tmp_path: Path) -> None:
    _, files = sleep(built, tmp_path / "staging", "threads")
    ((file,),) = files.values()
    assert naps_ms(file) == [1] * 40
    assert len(set(file.columns("nap")["thread"].tolist())) == 4


def test_threads_of_a_child_that_all_record_first(built: Path, tmp_path: Path) -> None:
    _, files = sleep(built, tmp_path / "staging", "race")
    assert sorted(len(naps_ms(file)) for (file,) in files.values()) == [0, 4]


def test_the_rank_is_known(built: Path, tmp_path: Path) -> None:
    _, files = sleep(built, tmp_path / "staging", "exit", {"PMI_RANK": "5", "PMI_SIZE": "8"})
    ((file,),) = files.values()
    assert file.rank == 5


@pytest.mark.parametrize(
    "more",
    [
        {"GNOMON_RUN_DIR": ""},
        {"GNOMON_RUN_DIR": "relative/folder"},
        {"GNOMON_WITHOUT": "naps"},
        {"GNOMON_WITHOUT": "sections,naps,counters"},
    ],
)
def test_a_process_that_is_not_measured(built: Path, tmp_path: Path, more: dict[str, str]) -> None:
    done, files = sleep(built, tmp_path / "staging", "fork", more)
    assert done.stdout == "child 0\nchild 1\nparent\n"
    assert (done.stderr, files) == ("", {})


def test_another_capability_is_switched_off(built: Path, tmp_path: Path) -> None:
    _, files = sleep(built, tmp_path / "staging", "exit", {"GNOMON_WITHOUT": "nap,snaps"})
    assert len(files) == 1


def test_a_folder_that_cannot_be_written(built: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    done, files = sleep(
        built, tmp_path / "staging", "exit", {"GNOMON_RUN_DIR": str(tmp_path / "folder")}
    )
    assert (done.returncode, files) == (0, {})
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"gnomon: {tmp_path}/folder/")
    assert line.endswith(": naps records nothing: Not a directory; make the run's folder writable")


def test_a_full_pipe_for_its_messages_is_not_waited_for(built: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    preload = {"LD_PRELOAD": str(built / "libnaps.so"), "GNOMON_RUN_DIR": str(tmp_path / "folder")}
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writes, bytes(4096))
    os.set_blocking(writes, True)
    try:
        done = subprocess.run(
            [built / "sleeper", "exit"], env=os.environ | preload, stderr=writes, timeout=60,
            check=False,
        )  # fmt: skip
    finally:
        os.close(reads)
        os.close(writes)
    assert done.returncode == 0


def test_a_limit_of_file_sizes_is_no_signal(built: Path, tmp_path: Path) -> None:
    done, files = sleep(
        built,
        tmp_path / "staging",
        "exit",
        limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert (done.returncode, files) == (0, {})
    assert "ulimit -f" in done.stderr
    assert len(list((tmp_path / "staging").iterdir())) == 1


USER = """
#include <gnomon/recorder.h>
#include <gnomon/hpm_tree.h>
struct call { uint64_t begin; uint32_t peer[2]; char tag[8]; };
static const struct gn_record_field fields[] = {
	GN_RECORD_FIELD(struct call, begin, GN_RECORD_U64),
	GN_RECORD_FIELD(struct call, peer, GN_RECORD_U32),
	GN_RECORD_FIELD(struct call, tag, GN_RECORD_CHAR),
};
static const struct gn_record_kind kinds[] = {
	GN_RECORD_KIND("call", struct call, fields),
	GN_RECORD_TEXTS("name"),
};
static const struct gn_recorder_plan plan = {"toy", kinds, 2, 0, NULL};
int use(struct gn_record_stream *stream, const struct call *call);
int use(struct gn_record_stream *stream, const struct call *call)
{
	return gn_recorder_start(&plan) + gn_recorder_append(stream, 0, call);
}
"""


@pytest.mark.parametrize(
    "compiler", ["cc -std=c99", "c++ -xc++ -std=c++11", "c++ -xc++ -std=c++20"]
)
def test_the_headers_are_for_c_and_cpp(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "user.c").write_text(USER)
    flags = runtime_flags("--cflags")
    run(*compiler.split(), "-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fsyntax-only",
        *flags, tmp_path / "user.c")  # fmt: skip
