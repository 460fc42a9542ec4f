"""Capabilities that fail, share a run or record less than there was: what a run says of it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from other_capabilities import Failing, Second, Twice, library
from page_capability import calls, register, run

from gnomon import capabilities
from gnomon.cli.main import main
from gnomon.store import run_directory


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("collect", "writes: not collected: internal error: ZeroDivisionError: no"),
        ("files_to_keep", "writes: its files are not kept: internal error: ZeroDivisionError"),
    ],
)
def test_what_it_cannot_read_costs_a_warning(
    here: Path, written: ModuleType, monkeypatch: pytest.MonkeyPatch, method: str, said: str
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(written.Writes, method, fail)
    assert main(["run", "--with", "writes", "--name", "r", "--", sys.executable, "-c", ""]) == 0
    warnings = run_directory.find(str(here / "r")).head["warnings"]
    assert any(warning.startswith(said) for warning in warnings)


def test_names_and_files_that_are_none_are_not_kept(
    here: Path, written: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = here / "link"
    link.symlink_to("/etc/passwd")
    odd = {"../up": link, "link": link, "none": here / "none"}
    monkeypatch.setattr(written.Writes, "files_to_keep", lambda *_: odd)
    assert main(["run", "--with", "writes", "--name", "r", "--", "true"]) == 0
    said = " ".join(run_directory.find(str(here / "r")).head["warnings"])
    assert "writes/../up: not kept in the run: a name in its path is none that a file can" in said
    assert "writes/link: not kept in the run: not a regular file" in said
    assert "writes/none: not kept in the run: not a regular file" in said
    assert not (here / "r.gnomon" / "files").exists()


def test_two_that_preload_and_the_users_own(
    here: Path, monkeypatch: pytest.MonkeyPatch, written: ModuleType,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    own, second = library(here, "own"), library(here, "second")
    left = here / "left"
    left.mkdir()
    monkeypatch.setenv("LD_PRELOAD", str(own))
    monkeypatch.setenv("FOLDER_own", str(left))
    register(monkeypatch, *capabilities.CAPABILITIES, Second(second))
    program = (sys.executable, "-c", "import os; os.write(1, os.environb[b'LD_PRELOAD'])")
    assert (
        main(["run", "--with", "writes", "--without", "samples", "--name", "r", "--", *program])
        == 0
    )
    mine = Path(written.__file__ or "").with_name("libgnomon_writes.so")
    assert capfd.readouterr().out == f"{own}:{mine}:{second}"
    assert len(list(left.glob("*.own"))) == 1
    assert calls(here / "r") == [1]
    warnings = run_directory.find("r").head["warnings"]
    assert "second left 1 files" in warnings


@pytest.mark.parametrize("where", ["begin", "drain", "finish", "result", ""])
def test_one_that_fails_costs_its_own_numbers_only(
    here: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(Second, "observe", lambda *_: Failing(where))
    register(monkeypatch, *capabilities.CAPABILITIES, Second(here))
    script = "sleep 0.1; exit 4"
    assert main(["run", "--with", "writes", "--name", "r", "--", "sh", "-c", script]) == 4
    head = run_directory.find("r").head
    said = f"second: not measured: no {where}" if where else "it took True"
    assert said in head["warnings"]
    metrics = {name for (name,) in run_directory.find("r").query("SELECT name FROM metrics")}
    assert {"task-clock", "wall time", "write calls"} <= metrics


def test_one_that_cannot_attach_keeps_the_program_from_running(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Second, "observe", lambda *_: Failing("attach"))
    register(monkeypatch, *capabilities.CAPABILITIES, Second(here))
    assert main(["run", "--name", "r", "--", "touch", "ran"]) == 1
    said = "second: cannot observe the program: no attach; omit it: --without second\n"
    assert capfd.readouterr().err == f"gnomon: {said}"
    assert list(here.iterdir()) == []


EXECUTING = f"""
echo a; echo b
exec {sys.executable} -c "import os; os.write(1, b'z')"
"""


def warnings_of(run: str) -> list[str]:
    said: list[str] = run_directory.find(run).head["warnings"]
    return said


@pytest.mark.parametrize("repeat", [(), ("-r", "2")], ids=["once", "twice"])
def test_what_a_process_executes_is_the_same_process(here: Path, repeat: tuple[str, ...]) -> None:
    program = ("sh", "-c", EXECUTING)
    assert main(["run", "--with", "writes", *repeat, "--name", "r", "--", *program]) == 0
    times = 2 if repeat else 1
    assert calls(here / "r") == [3] * times
    assert calls(here / "r", "bytes written") == [5] * times
    assert not any("writes" in said for said in warnings_of("r"))


# The limit is that of the program alone.
LIMITED = """
import os, resource
out = os.open("/dev/null", os.O_WRONLY)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
for _ in range(40000): os.write(out, b"x")
"""


def test_a_recording_that_ended_early_says_so(here: Path) -> None:
    program = (sys.executable, "-c", LIMITED)
    assert main(["run", "--with", "writes", "--name", "r", "--", *program]) == 0
    (count,) = calls(here / "r")
    (said,) = [one for one in warnings_of("r") if one.startswith("writes: ")]
    found = re.fullmatch(
        r"writes: recording of process \d+ ended early \(File too large\): (\d+) records are "
        r"missing",
        said,
    )
    assert found
    assert int(found[1]) + count == 40000


@pytest.mark.usefixtures("here")
def test_a_process_that_could_not_be_recorded_is_named() -> None:
    script = f"ulimit -f 0; exec {sys.executable} -c ''"
    assert main(["run", "--with", "writes", "--name", "r", "--", "sh", "-c", script]) == 0
    (said,) = [one for one in warnings_of("r") if one.startswith("writes: ")]
    assert re.fullmatch(r"writes: nothing was recorded of process \d+: File too large", said)


def test_a_program_that_loads_no_library_is_named(here: Path) -> None:
    (here / "p.c").write_text("int main(void) { return 0; }\n")
    run("cc", "-static", "-o", here / "static", here / "p.c")
    run("cc", "-o", here / "elevated", here / "p.c")
    os.chown(here / "elevated", 65534, 65534)
    (here / "elevated").chmod(0o4755)
    for name, why in (("static", "statically linked"), ("elevated", "set-user-ID")):
        program = str(here / name)
        assert main(["run", "--with", "writes", "--name", name, "--", program]) == 0
        (said,) = [one for one in warnings_of(name) if one.startswith("writes: ")]
        assert said.startswith(f"writes: no process was recorded: {program} is ")
        assert why in said


def test_a_record_file_that_cannot_be_read_costs_itself_alone(here: Path) -> None:
    script = (
        "import os, pathlib; os.write(1, b'ab');"
        "pathlib.Path(os.environ['GNOMON_RUN_DIR'], 'h.1.2.writes.gnrec').write_bytes(b'none')"
    )
    program = (sys.executable, "-c", script)
    assert main(["run", "--with", "writes", "--name", "r", "--", *program]) == 0
    assert calls(here / "r", "bytes written") == [len("ab" + "none")]
    (said,) = [one for one in warnings_of("r") if one.startswith("writes: ")]
    assert said.startswith("writes: h.1.2.writes.gnrec: cannot be read: ")


@pytest.mark.usefixtures("here")
def test_processes_left_behind_are_cut_off_and_it_says_so() -> None:
    script = "import os, time\nif not os.fork():\n os.write(1, b'x'); time.sleep(1); os._exit(0)\n"
    script += "os.write(1, b'y'); time.sleep(0.3); os._exit(0)"
    program = (sys.executable, "-c", script)
    assert (
        main(["run", "--with", "writes", "--without", "counters", "--name", "r", "--", *program])
        == 0
    )
    (said,) = [one for one in warnings_of("r") if one.startswith("writes: ")]
    assert said.endswith("left processes behind; what these recorded after its end is missing")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("way", ["collect", "collect in pieces", "result"])
@pytest.mark.parametrize("times", ["1", "2"])
def test_values_given_twice_for_a_place_are_no_silence(
    monkeypatch: pytest.MonkeyPatch, way: str, times: str
) -> None:
    register(monkeypatch, *capabilities.CAPABILITIES, Twice(way))
    assert main(["run", "-r", times, "--name", "r", "--", "true"]) == 0
    said = [one for one in warnings_of("r") if one.startswith("twice: ")]
    assert said[0].startswith("twice: bytes sent: ")
    assert "the first is used; please report this bug of twice" in said[0]
    assert [
        value
        for (value,) in run_directory.find("r").query(
            "SELECT inclusive FROM profile JOIN metrics m USING (metric) "
            "JOIN locations l USING (location) "
            "WHERE m.name = 'bytes sent' AND l.kind = 'process'"
        )
    ] == [5] * int(times)
