"""`gnomon import`, and files in the place of a run: found by how they begin."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from made_runs import Row, made_run

from gnomon import capabilities
from gnomon.cli import main
from gnomon.errors import RunDirectoryError
from gnomon.launch.capability import Capability
from gnomon.model.tables import SCHEMAS
from gnomon.store import run_directory, run_files
from gnomon.store.run import Run
from gnomon.store.run_files import READERS, Reader
from gnomon.store.run_import import import_file
from gnomon.view.folder_listing import listing
from gnomon.view.session import Session

ROWS: list[Row] = [("app", "f", "a.c", 3, (600, 6, 1, 0)), ("app", "g", "b.c", 9, (400, 4, 0, 2))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run `app`, and the same in the file `one.viz`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    made_run(tmp_path, ROWS, name="app")
    assert main(["export", "app", "--to", "viz", "-o", "one.viz"]) == 0
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(words) == status
    said = capsys.readouterr()
    assert (said.err == "") == (status == 0)
    return said.out or said.err


def test_what_was_imported_is_what_was_exported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "import", "one.viz") == "one.gnomon\n"
    before, after = run_directory.find("app"), run_directory.find("one.gnomon")
    for schema in SCHEMAS:
        assert sorted(map(str, after.rows(schema))) == sorted(map(str, before.rows(schema)))
    imported = {"file": str(here / "one.viz"), "format": "viz"}
    assert after.head == {**before.head, "imported": imported}
    assert json.loads((here / "one.gnomon" / "run.json").read_text()) == after.head
    for words in (["hotspots"], ["profile", "--by", "metric"], ["metrics", "--json"]):
        texts = {
            told(capsys, "report", name, *words).replace(name, "RUN").partition('"rows"')[2]
            or told(capsys, "report", name, *words).replace(name, "RUN")
            for name in ("app.gnomon", "one.gnomon", "one.viz")
        }
        assert len(texts) == 1
    assert told(capsys, "runs", "tag", "one", "kept") == "one.gnomon: kept\n"


@pytest.mark.usefixtures("here")
def test_names(capsys: pytest.CaptureFixture[str]) -> None:
    Path("inner").mkdir()
    shutil.copy("one.viz", "inner/Two.VIZ")
    assert told(capsys, "import", "inner/Two.VIZ") == "Two.gnomon\n"
    assert told(capsys, "import", "one.viz", "--name", "inner/x") == "inner/x.gnomon\n"
    none = "' names no run directory; choose a name such as first-run"
    taken = "app.gnomon: it exists already; choose another --name NAME"
    for words, status, why in (
        (["one.viz", "--name", "app"], 1, taken),
        *((["one.viz", "--name", name], 2, f"'{name}{none}") for name in ("", "/", "..")),
        ([""], 2, "import '': a file name is missing"),
        (
            ["one.viz", "--name", "no/such/x"], 1,
            "no/such/x.gnomon: no/such is not a directory that can be written",
        ),
    ):  # fmt: skip
        said = told(capsys, "import", *words, status=status)
        assert said.startswith(f"gnomon: {why}")
        assert said.count("\n") == 1
    assert told(capsys, "import", "one.viz", "--name", "app", "--force") == "app.gnomon\n"
    assert run_directory.find("app").head["imported"]["format"] == "viz"
    assert sorted(path.name for path in Path().glob(".*")) == []


def test_a_file_is_known_by_how_it_begins(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is called; and each command that takes a run takes it."""
    (here / "one.viz").rename(here / "results")
    for words in (
        ["report", "results"], ["export", "results", "--to", "csv"], ["compare", "app", "results"],
        ["report", "results", "hotspots", "--by", "line"], ["import", "results", "--name", "x"],
    ):  # fmt: skip
        told(capsys, *words)
    (opened,) = Session().open(["results"])
    assert (opened.kind, opened.title) == ("file", "results")
    # A run of that name comes first.
    assert told(capsys, "import", "results") == "results.gnomon\n"
    assert run_directory.find("results").path == Path("results.gnomon")


def test_what_begins_like_one(here: Path) -> None:
    reader = READERS[0]
    for start, is_one in (
        (b"<hpm version='2'>", True),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a\nb -->\n<hpm\n', True),
        (b"<hpm>", True),
        (b"<hpmcount>", False),
        (b"<!DOCTYPE hpm []><hpm>", False),
        (b"text <hpm>", False),
        (b"", False),
    ):
        assert reader.sniff(start) is is_one, start
    assert reader.sniff((here / "one.viz").read_bytes()[: run_files.SNIFFED_BYTES])


OTHERS: tuple[tuple[str, bytes, str], ...] = (
    ("a.gz", gzip.compress(b"x"), "it is a file compressed by gzip: unpack it first; Gnomon "),
    ("perf.data", b"PERFILE2" + bytes(90), "perf.data: at byte 98: its header is cut off; no perf"),
    ("a.txt", b"some text\n", "unknown format; Gnomon reads viz (sections and"),
    ("noise", random.Random(1).randbytes(5000), "unknown format; "),
    ("zeros", bytes(5000), "unknown format; "),
    ("empty", b"", "the file is empty\n"),
    ("bad.viz", b"some text\n", "bad.viz:1: no XML: syntax error; not a .viz file of Gnomon"),
    ("empty.viz", b"", "empty.viz:1: no XML: no element found"),
    ("cut.viz", b"<hpm version='1'><run ", "cut.viz:1: no XML"),
    ("x.out", b"<hpm><script/></hpm>", "x.out:1: version '' of the format; this Gnomon reads"),
)


@pytest.mark.usefixtures("here")
def test_other_files_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for name, content, why in OTHERS:
        Path(name).write_bytes(content)
        for words in (
            ["import", name], ["report", name], ["compare", "app", name],
            ["export", name, "--to", "csv"], ["report", name, "profile", "--json"],
        ):  # fmt: skip
            said = told(capsys, *words, status=1)
            assert said.startswith(f"gnomon: {name}")
            assert why in said
            assert said.count("\n") == 1
        with pytest.raises(RunDirectoryError):
            Session().open([name])
    assert sorted(path.name for path in Path().glob("*.gnomon")) == ["app.gnomon"]
    assert list(Path().glob(".*")) == []


@pytest.mark.usefixtures("here")
def test_what_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe.viz")
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("locked.viz").write_bytes(b"<hpm ")
    for name, why in (
        ("pipe.viz", "pipe.viz: a named pipe, where a file is expected"),
        ("pipe", "pipe: nothing to import: a named pipe, where a file is expected"),
        ("/dev/zero", "/dev/zero: nothing to import: a device, where a file is expected"),
        ("folder", "folder: nothing to import: a directory, but not a run directory"),
        ("app.gnomon", "app.gnomon: nothing to import: it is a run directory"),
        ("none.viz", "none.viz: nothing to import: no such file"),
    ):
        said = told(capsys, "import", name, status=1)
        assert said.startswith(f"gnomon: {why}")
        assert said.count("\n") == 1
    said = told(capsys, "runs", "delete", "one.viz", "--yes", status=1)
    assert "gnomon import one.viz makes one of it" in said


def test_a_program_is_no_file_that_could_be_read(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name means its latest run; where there is none, what it is, is said."""
    shutil.copy("/bin/true", here / "tool")
    said = told(capsys, "report", "tool", status=1)
    why = "it is a program or library: measure it with gnomon run -- PROGRAM"
    assert said.startswith(f"gnomon: tool: {why}")
    assert told(capsys, "import", "tool", status=1).startswith(
        f"gnomon: tool: nothing to import: {why}"
    )
    for words in (["compare", "one.viz", "tool"], ["runs", "tag", "tool", "x"], ["view", "tool"]):
        assert f"tool: {why}" in told(capsys, *words, status=1), words
    (here / "app.gnomon").rename(here / "tool-20261122-221500.gnomon")
    assert told(capsys, "report", "tool").startswith("tool-20261122-221500.gnomon: ./app")


class Lines:
    """Files of lines `FUNCTION COUNT` below a first line `lines`, read as runs."""

    name = "lines"
    title = "functions and counts"
    suffixes = (".lines",)

    def sniff(self, start: bytes) -> bool:
        return start.startswith(b"lines\n")

    def open(self, path: Path) -> Run:
        rows = list(csv.reader(io.StringIO(path.read_text()), delimiter=" "))[1:]
        try:
            made: list[Row] = [("app", row[0], "x.c", 1, (int(row[1]), 0, 0, 0)) for row in rows]
        except (ValueError, IndexError):
            raise RunDirectoryError(f"{path}: no file of lines") from None
        return made_run(Path(tempfile.mkdtemp(dir=path.parent)), made)


def test_a_reader_of_ones_own(here: Path) -> None:
    own: Reader = Lines()
    readers = (*READERS, own)
    for name in ("a.lines", "b.viz"):  # the beginning counts more than the name
        (here / name).write_text("lines\nf 3\ng 4\n")
        run = run_directory.find(str(here / name), readers=readers)
        ((total,),) = run.query("SELECT SUM(exclusive) FROM profile WHERE path > 0")
        assert total == 7
    made = import_file(here / "a.lines", "mine", readers)
    assert run_directory.find(str(made)).head["imported"]["format"] == "lines"
    assert run_files.stem_of(Path("x/a.b.lines"), readers) == "a.b"
    (here / "c.lines").write_text("oops\nf x\n")
    with pytest.raises(RunDirectoryError, match=r"c\.lines: no file of lines"):
        run_directory.find(str(here / "c.lines"), readers=readers)
    (here / "d").write_text("?")
    with pytest.raises(RunDirectoryError, match=r"Gnomon reads viz \(.*\); lines \(functions and"):
        run_directory.find(str(here / "d"), readers=readers)


class WithLines(Capability):
    """Reads such files."""

    name = "with lines"
    title = "functions and counts"
    readers = (Lines(),)


def test_a_capabilitys_reader_is_asked_wherever_a_run_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "CAPABILITIES", (*capabilities.CAPABILITIES, WithLines()))
    (here / "counts").write_text("lines\nf 3\ng 4\n")
    (here / "other.lines").write_text("lines\nf 3\ng 6\n")
    assert "g" in told(capsys, "report", "counts", "hotspots")
    assert told(capsys, "export", "counts", "--to", "csv").count("\n") > 2
    assert "PAPI_TOT_INS" in told(capsys, "compare", "counts", "other.lines", "--per", "function")
    (opened,) = Session().open(["counts"])
    assert opened.data.metrics
    assert ("other.lines", "file") in {(one.name, one.kind) for one in listing(str(here)).entries}
    assert main(("import", "counts", "--name", "mine")) == 0
    said = capsys.readouterr()
    assert said.out == "mine.gnomon\n"
    assert said.err.startswith("gnomon: note: a note of many words")
    with pytest.raises(SystemExit):
        main(["import", "--help"])
    assert "  lines       functions and counts\n" in capsys.readouterr().out
