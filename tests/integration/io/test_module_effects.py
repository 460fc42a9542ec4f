"""What modules of MIO hold of a file is there whenever somebody looks, however a program ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import SOURCES
from test_modules import ran, with_modules

GNOMON = Path(sys.executable).with_name("gnomon")
HOLDING = ("wb", "wb/size=4k", "trace | wb | pf")
LOOKS = ("stat", "open", "system", "popen", "spawn", "subprocess", "fork", "dup", "lock", "map",
         "sendfile", "truncate")  # fmt: skip
ENDS = ("end", "exec", "_exit", "abort", "fault", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT",
        "SIGUSR1", "SIGALRM", "SIGSEGV", "SIGXCPU")  # fmt: skip


@pytest.mark.parametrize("stack", HOLDING)
@pytest.mark.parametrize("way", [*LOOKS, *ENDS])
def test_what_is_held_is_there_when_somebody_looks(way: str, stack: str, tmp_path: Path) -> None:
    command: list[str | Path] = [sys.executable, SOURCES / "io" / "ended.py", way]
    plain = ran(command, tmp_path / "plain", {})
    assert "data" in plain[2]
    assert ran(command, tmp_path / "modules", with_modules(stack, tmp_path)) == plain


@pytest.mark.parametrize("stack", HOLDING)
def test_lines_of_a_handler_are_whole(
    stack: str, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program = compiled("cc", "io/handler_writes.c", "-O1")
    status, said, left = ran([program], tmp_path / "modules", with_modules(stack, tmp_path))
    of_main, of_handler = map(int, said.split())
    content = left["lines"].content
    assert isinstance(content, bytes)
    lines = content.splitlines()
    assert (status, len(lines)) == (0, of_main + of_handler)
    assert (lines.count(b"main"), lines.count(b"handler")) == (of_main, of_handler)


@pytest.mark.parametrize("stack", ["", "wb | pf"])
def test_children_do_not_wait_for_what_the_loader_had_at_the_fork(
    stack: str, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program = compiled("cc", "io/loading.c", "-O1", "-pthread")
    (tmp_path / "run").mkdir()
    variables = with_modules(stack, tmp_path) | {"GNOMON_RUN_DIR": str(tmp_path / "run")}
    assert ran([program, "libm.so.6"], tmp_path / "work", variables) == (
        0, "0 of 150 failed\n", {},
    )  # fmt: skip
    assert len(list((tmp_path / "run").glob("*.io.totals"))) == 151


def gnomon(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GNOMON, *words], cwd=folder, capture_output=True, text=True, check=False)


def test_a_malformed_text_is_refused_before_the_program_starts(tmp_path: Path) -> None:
    done = gnomon(tmp_path, "io", "--files", "*.d [ pf/pagesize=1m ]", "--", "touch", "started")
    assert done.returncode == 2
    assert done.stderr == (
        "gnomon: MIO_FILES: pf has no option 'pagesize'\n  *.d [ pf/pagesize=1m ]\n           ^\n"
    )
    assert not (tmp_path / "started").exists()


def test_a_malformed_variable_is_refused_before_the_program_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIO_FILES", "*.d [ pf ")
    done = gnomon(tmp_path, "io", "--", "touch", "started")
    assert done.returncode == 2
    assert done.stderr.startswith("gnomon: MIO_FILES: ']' is missing")
    assert not (tmp_path / "started").exists()


def test_files_in_toml_get_their_modules(tmp_path: Path) -> None:
    (tmp_path / "files.toml").write_text(
        'defaults = ["trace/stats={toml.stats}"]\n'
        '[[files]]\nnames = ["data"]\nmodules = ["trace", { name = "wb", size = "4k" }]\n'
    )
    script = SOURCES / "io" / "ended.py"
    done = gnomon(tmp_path, "io", "--name", "r", "--files", "files.toml", "--", sys.executable,
                  script, "end")  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = (tmp_path / "toml.stats").read_text()
    assert "Trace close: program <-> wb: data: (8005/" in told
    report = json.loads(gnomon(tmp_path, "report", "r", "io", "--json").stdout)
    assert report["coverage"]["with_modules"] >= 1
    assert report["coverage"]["is_complete"] is None
    (file,) = (own for own in report["files"] if own["path"] == str(tmp_path / "data"))
    (write,) = (own for own in file["operations"] if own["name"] == "write")
    assert (write["calls"], write["bytes"]) == (1001, 8005)
    assert "files had modules of MIO" in gnomon(tmp_path, "report", "r", "io").stdout


@pytest.mark.parametrize("written", ["kept/data", "./kept/../kept/data", "link", "ABSOLUTE"])
def test_a_template_from_the_root_is_compared_with_where_the_file_is(
    written: str, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "data").touch()
    (tmp_path / "link").symlink_to("kept/data")
    written = written.replace("ABSOLUTE", str(tmp_path / "kept" / "data"))
    script = f"import os; fd = os.open({written!r}, os.O_WRONLY | os.O_CREAT); os.write(fd, b'x')"
    files = f"{tmp_path / 'kept'}/d* [ trace/stats={{told}} ]"
    done = gnomon(tmp_path, "io", "--files", files, "--", sys.executable, "-c", script)
    assert done.returncode == 0, done.stderr
    assert "no file had modules" not in done.stderr
    assert "Trace close" in (tmp_path / "told").read_text()


def test_files_that_are_made_are_where_their_folder_is(tmp_path: Path) -> None:
    script = "import os; os.open('new', os.O_WRONLY | os.O_CREAT)"
    files = f"{tmp_path}/n* [ trace/stats={{told}} ]"
    gnomon(tmp_path, "io", "--files", files, "--", sys.executable, "-c", script)
    assert "Trace close" in (tmp_path / "told").read_text()


def test_modules_that_no_file_had_are_told(tmp_path: Path) -> None:
    done = gnomon(tmp_path, "io", "--files", "other/* [ wb ]", "--", sys.executable, "-c", "pass")
    assert "no file had modules" in done.stderr


@pytest.mark.parametrize("stack", [*HOLDING, "pf"])
@pytest.mark.parametrize(
    "way", ["clone", "_Fork", "message", "cancel", "threads", "vfork", "limit", "signal"]
)
def test_what_others_get_is_whole(
    way: str, stack: str, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    command: list[str | Path] = [compiled("cc", "io/sharing.c", "-O1", "-pthread"), way]
    plain = ran(command, tmp_path / "plain", {})
    assert ran(command, tmp_path / "modules", with_modules(stack, tmp_path)) == plain


def test_a_trace_ends_no_program_at_its_limit_of_sizes(tmp_path: Path) -> None:
    script = (
        "import os, resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "fd = os.open('/dev/null', os.O_WRONLY); [os.write(fd, b'x') for _ in range(30000)];"
        "os._exit(3)"
    )
    done = gnomon(tmp_path, "io", "--trace", "--name", "r", "--", "/usr/bin/env", "python3", "-c",
                  script)  # fmt: skip
    assert done.returncode == 3, done.stderr
