"""docs/write-a-capability.md, followed step by step: its files, its line, its commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from page_capability import PAGE, ROOT, calls, run, write_files

from gnomon.cli.main import main
from gnomon.store import run_directory
from gnomon.store.record_file import open_records
from gnomon.view import table_registry
from gnomon.view.data_table import TableQuery
from gnomon.view.open_run import OpenRun
from gnomon.view.session import Session


@pytest.mark.long
def test_a_folder_a_line_and_make_build_are_all(tmp_path: Path) -> None:
    """The page in a copy of the sources, built and installed as `make build` does."""
    copy, site = tmp_path / "copy", tmp_path / "site"
    listed = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src/gnomon/view/static", copy / "src/gnomon/view/static")
    write_files(copy)
    added, line = re.findall(
        r"^(from gnomon.writes.*)\n\n(CAPABILITIES: .*)$", PAGE.read_text(), re.MULTILINE
    )[0]
    registry = copy / "src/gnomon/capabilities.py"
    text = re.sub(r"^CAPABILITIES: .*$", line, registry.read_text(), flags=re.MULTILINE)
    own = "from gnomon.launch.capability import Capability\n"
    assert own in text
    registry.write_text(text.replace(own, f"{own}{added}\n"))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-qq")
    run(*pip, "--no-build-isolation", "--no-deps", "--target", site, copy)
    assert sorted(path.name for path in (site / "gnomon/writes").iterdir() if path.is_file()) == [
        "__init__.py", "capability.py", "libgnomon_writes.so", "messages.py", "report.py",
        "states.py",
    ]  # fmt: skip
    assert not (site / "gnomon/writes/native").exists()
    done = subprocess.run(
        [sys.executable, "-m", "gnomon", "run", "--with", "writes", "--name", "r", "--",
         "sh", "-c", "echo a; echo b"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "a\nb\n"), done.stderr
    assert calls(tmp_path / "r") == [2]


def its_part_of_the_report(capfd: pytest.CaptureFixture[str]) -> None:
    def told(*words: str, status: int = 0) -> str:
        assert main(["report", "first", *words]) == status
        said = capfd.readouterr()
        return said.err if status else said.out

    assert re.search(r"1100 +2 +\d+", told("sizes"))
    Draft202012Validator(json.loads(told("--schema"))).validate(json.loads(told("sizes", "--json")))
    (row,) = json.loads(told("sizes", "--json"))["rows"]
    assert (row["total"], row["calls"], row["how"]) == (1100, 2, "counted")
    told("sizes", "-o", "x.csv")
    assert Path("x.csv").read_text().startswith("pid,metric,unit,how,total,calls\n")
    Path("x.csv").unlink()
    assert "did you mean sizes? It has values, profile, tree, run, " in told("size", status=2)
    assert "--by rank does not apply to sizes" in told("sizes", "--by", "rank", status=2)
    with pytest.raises(SystemExit):
        main(["report", "--help"])
    assert "  sizes          bytes that each process wrote" in capfd.readouterr().out


# Its numbers alone.
WRITES = ("--without", "samples", "--with", "writes")
WRITING = "import os\nfor size in (1, 100, 1000): os.write(1, b'x' * size)\n"


def test_it_counts(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = (sys.executable, "-c", WRITING)
    words = ["--without", "samples", "--writes-least", "100", "--name", "first"]
    assert main(["run", *words, "--", *program]) == 0
    assert capfd.readouterr().out == "x" * 1101
    assert calls(here / "first") == [2]
    assert calls(here / "first", "bytes written") == [1100]
    run = run_directory.find(str(here / "first"))
    ((started, wall),) = [(run.head["started"], run.head["wall_seconds"])]
    events = run.query(
        "SELECT start_ns, duration_ns, bytes, r.name, l.kind FROM events JOIN regions r "
        "USING (region) JOIN locations l USING (location) ORDER BY start_ns"
    )
    assert [event[2:] for event in events] == [
        (100, "write", "process"),
        (1000, "write", "process"),
    ]
    for start_ns, duration_ns, *_ in events:
        assert started <= start_ns / 1e9 <= started + wall + 1
        assert 0 < duration_ns < wall * 1e9
    assert main(["report", "first", "profile", "--by", "process", "-e", "write calls"]) == 0
    assert re.search(r"\b2\b", capfd.readouterr().out)
    its_part_of_the_report(capfd)
    head = json.loads((here / "first.gnomon" / "run.json").read_text())
    assert [each["name"] for each in head["capabilities"] if each["used"]] == [
        "counters", "sections", "writes",
    ]  # fmt: skip
    assert main(["run", "--with", "writes", "--name", "all", "--", *program]) == 0
    assert calls(here / "all") == [3]
    assert main(["run", "--name", "none", "--", *program]) == 0
    assert calls(here / "none") == []


def test_its_option_is_in_the_help_and_checked(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = " ".join(capfd.readouterr().out.split())
    assert "--writes-least BYTES record calls of at least so many bytes (default: 0)" in shown
    assert main(["run", "--writes-least", "-1", "--", "true"]) == 2
    assert "--writes-least -1: must be at least 0\n" in capfd.readouterr().err
    assert main(["run", "--writes-least", "many", "--", "true"]) == 2
    assert "--writes-least many: not a whole number\n" in capfd.readouterr().err
    assert list(here.iterdir()) == []


def test_its_command_is_listed_and_works(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    look = capfd.readouterr().out.partition("\nlook:\n")[2].partition("\n\n")[0]
    assert re.search(r"^  writes +list how often the processes of runs called", look, re.MULTILINE)
    program = (sys.executable, "-c", WRITING)
    assert main(["run", "--with", "writes", "--name", "r", "--", *program]) == 0
    capfd.readouterr()
    assert (here / "r.gnomon").is_dir()
    assert main(["writes", "r"]) == 0
    assert re.fullmatch(r"r  \d+  3\n", capfd.readouterr().out)
    assert main(["writes", "r", "--least", "4"]) == 0
    assert capfd.readouterr().out == ""
    assert main(["writes", "r", "--least", "few"]) == 2
    assert "gnomon: --least few: not a whole number\n" in capfd.readouterr().err
    assert main(["writs"]) == 2
    assert "did you mean writes?" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        main(["help", "writes"])
    shown = capfd.readouterr().out
    assert "--least N" in shown
    assert re.search(r"^  RUN +run to look at; there may be several$", shown, re.MULTILINE)
    assert re.search(r"^usage: gnomon writes .*RUN", shown)
    assert main(["completion", "bash"]) == 0
    completion = capfd.readouterr().out
    assert "writes" in completion
    assert "--writes-least" in completion


def test_the_doctor_looks_at_what_it_needs(
    here: Path, written: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    library = here / "library.so"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(written, "_LIBRARY", library)
        assert main(["doctor", "--json"]) == 0
        checks = {one["name"]: one for one in json.loads(capfd.readouterr().out)["checks"]}
        assert checks["writes"]["state"] == "missing"
        assert checks["writes"]["remedy"].startswith("build Gnomon again")
        assert {"machine", "valgrind (optional)"} <= checks.keys()
        assert main(["run", "--with", "writes", "--", "true"]) == 2
        assert f"--with writes: {library} is not there; build Gnomon" in capfd.readouterr().err
    assert main(["doctor"]) == 0
    assert re.search(r"^ok +writes ", capfd.readouterr().out, re.MULTILINE)


def kept(run: Path) -> dict[str, list[int]]:
    """Return the bytes of each call by the files that the capability keeps in a run, by folder."""
    return {
        file.parent.name: open_records(file).columns("call")["bytes"].tolist()
        for file in run_directory.find(str(run)).kept("writes")
    }


def test_its_files_stay_in_the_run(here: Path) -> None:
    program = (sys.executable, "-c", "import os; os.write(1, b'ab')")
    assert main(["run", "--with", "writes", "--name", "r", "--", *program]) == 0
    assert kept(here / "r") == {"writes": [2]}
    assert main(["run", "--with", "writes", "--name", "s", "-r", "2", "--", *program]) == 0
    assert kept(here / "s") == {"repetition.0": [2], "repetition.1": [2]}
    assert calls(here / "s") == [1, 1]


def test_repair_collects_what_was_left(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = "import os; os.mkdir('r.gnomon'); os.write(1, b'ab')"
    words = ["run", "--with", "writes", "--name", "r", "--", sys.executable, "-c", script]
    pid = os.fork()
    if not pid:  # what holds the staging folder must have ended
        os._exit(main(words))
    assert os.waitpid(pid, 0)[1] == 0
    assert "gnomon repair r" in capfd.readouterr().err
    (here / "r.gnomon").rmdir()
    assert main(["repair", "r"]) == 0
    assert calls(here / "r") == [1]
    assert kept(here / "r") == {"writes": [2]}


def rows_shown(opened: OpenRun, wanted: TableQuery) -> dict[str, Any]:
    """Return the first rows of a table in the view."""
    source, query = table_registry.source_of(wanted)
    return source.page(opened, query, 0, 10)


def test_its_page_is_in_the_view(here: Path) -> None:
    assert (
        main(["run", "--with", "writes", "--name", "r", "--", sys.executable, "-c", WRITING]) == 0
    )
    (opened,) = Session().open([str(here / "r.gnomon")])
    assert "page:writes" in [table["name"] for table in table_registry.of_run(opened)]
    page = rows_shown(opened, TableQuery("page:writes"))
    shown = [column["name"] for column in page["columns"]]
    assert {"location:name", "start_ns", "duration_ns", "bytes"} <= set(shown)
    assert sorted(row[shown.index("bytes")] for row in page["rows"]) == [1, 100, 1000]


SENDING = """
import os, time
out, to = os.pipe()
if not os.fork():
    os.close(to)
    time.sleep(0.2)
    while os.read(out, 64): pass
    os._exit(0)
os.close(out)
for size in (10, 100, 30): os.write(to, b"x" * size)
os.close(to)
os.wait()
"""


def rows_of(part: str, run: str, capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capfd.readouterr()
    assert main(["report", run, part, "--json", "--top", "0"]) == 0
    rows: list[dict[str, Any]] = json.loads(capfd.readouterr().out)["rows"]
    return rows


def test_it_records_messages_between_processes(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = (sys.executable, "-c", SENDING)
    assert main(["run", "--with", "writes", "--name", "r", "-r", "2", "--", *program]) == 0
    run = run_directory.find(str(here / "r"))
    rows = rows_of("messages", "r", capfd)
    assert [(row["repetition"], row["bytes"]) for row in rows] == [
        (n, size) for n in (0, 1) for size in (10, 100, 30)
    ]
    pids = dict(run.query("SELECT location, pid FROM locations WHERE kind = 'process'"))
    for row in rows:
        assert pids[row["sender_location"]] != pids[row["receiver_location"]]
        assert 0 <= row["send_ns"] < row["receive_ns"]
        assert row["receive_ns"] / 1e9 <= run.head["ended"] - run.head["started"] + 1
        assert row["tag"] is row["communicator"] is None
    assert run.query("SELECT COUNT(*) FROM events JOIN messages ON start_ns = send_ns") == [(6,)]
    assert main(["report", "r", "messages"]) == 0
    assert re.search(rf"100 B +process {pids[rows[0]['sender_location']]} ", capfd.readouterr().out)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "reading",
    ["os.readv(out, [bytearray(64)])", "os.read(out, 1)"],
    ids=["by another call", "in part"],
)
def test_a_receiver_that_is_not_certain_is_not_told(
    capfd: pytest.CaptureFixture[str], reading: str
) -> None:
    script = f"import os; out, to = os.pipe(); os.write(to, b'abc'); {reading}"
    program = (sys.executable, "-c", script)
    assert main(["run", "--with", "writes", "--name", "r", "--", *program]) == 0
    (row,) = rows_of("messages", "r", capfd)
    assert (row["receiver"], row["receive_ns"], row["bytes"]) == ("", None, 3)
    assert main(["report", "r", "messages"]) == 0
    assert "3 B" in capfd.readouterr().out


def test_it_samples_what_the_program_does(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = (sys.executable, "-c", "import os, time; time.sleep(0.5); os.write(1, b'x')")
    assert main(["run", *WRITES, "--name", "r", "-r", "2", "--", *program]) == 0
    run = run_directory.find(str(here / "r"))
    rows = rows_of("samples", "r", capfd)
    assert {row["repetition"] for row in rows} == {0, 1}
    for row in rows:
        assert 0 <= row["time_ns"] / 1e9 <= run.head["ended"] - run.head["started"] + 1
        assert row["weight"] > 0
        assert row["address"] is None
    known = run.query(
        "SELECT DISTINCT r.kind, m.name, m.how, m.unit, l.pid > 0 FROM samples JOIN paths "
        "USING (path) JOIN regions r USING (region) JOIN metrics m USING (metric) "
        "JOIN locations l USING (location)"
    )
    assert known == [("state", "time by state", "sampled", "ns", True)]
    sums = (
        "SELECT repetition, path, SUM(weight) FROM samples GROUP BY ALL ORDER BY ALL",
        "SELECT repetition, path, exclusive FROM profile JOIN metrics m USING (metric) "
        "WHERE m.name = 'time by state' AND path > 0 ORDER BY ALL",
    )
    assert run.query(sums[0]) == run.query(sums[1])
    assert main(["report", "r", "samples", "--top", "0"]) == 0
    assert re.search(r"s +process \d+ .* sleeping +time by", capfd.readouterr().out)
    # A process is one location, whoever tells of it.
    assert run.query(
        "SELECT COUNT(DISTINCT location), COUNT(DISTINCT pid) FROM (SELECT location FROM samples "
        "UNION SELECT location FROM events) JOIN locations USING (location)"
    ) == [(2, 2)]


def test_messages_and_samples_are_in_the_view(here: Path) -> None:
    program = (sys.executable, "-c", SENDING)
    assert main(["run", "--with", "writes", "--name", "r", "--", *program]) == 0
    (opened,) = Session().open([str(here / "r.gnomon")])
    page = rows_shown(opened, TableQuery("rows:messages"))
    names = [column["name"] for column in page["columns"]]
    (sender, receiver) = {
        (row[names.index("sender")], row[names.index("receiver")]) for row in page["rows"]
    }.pop()
    numbers = [one.location for one in opened.data.locations]
    for location in (sender, receiver):  # those of a process are what it sent and received
        wanted = TableQuery("rows:messages", location=numbers.index(location))
        assert rows_shown(opened, wanted)["total"] == 3
    page = rows_shown(opened, TableQuery("rows:samples"))
    names = [column["name"] for column in page["columns"]]
    assert {row[names.index("metric:name")] for row in page["rows"]} == {"time by state"}


def test_what_a_killed_program_recorded_is_there(here: Path) -> None:
    script = "import os; os.write(1, b'ab'); os.kill(os.getpid(), 9)"
    pid = os.fork()
    if not pid:  # it ends as the program does
        os._exit(
            # Samples are read by a database, of which a forked process has no threads.
            main(
                [
                    "run",
                    "--with",
                    "writes",
                    "--without",
                    "samples",
                    "--name",
                    "r",
                    "--",
                    sys.executable,
                    "-c",
                    script,
                ]
            )
        )
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == 9
    assert calls(here / "r", "bytes written") == [2]
