"""`gnomon bundle`: a run and its sources in one file, read in the place of the run."""

from __future__ import annotations

import json
import os
import random
import shutil
import zipfile
from pathlib import Path

import pytest
from made_runs import Row, made_run

from gnomon.cli import main
from gnomon.errors import GnomonError
from gnomon.model.tables import SCHEMAS
from gnomon.store import run_directory
from gnomon.store.run_bundle import open_bundle
from gnomon.view.session import Session

TEXT = "int f(void)\n{\n\treturn 42;\n}\n\xe9\n".encode("latin-1")
BUNDLE = "app.gnomon.zip"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the run `app`, of whose two sources one is there, and its bundle."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    source = tmp_path / "f.c"
    source.write_bytes(TEXT)
    os.utime(source, (1000, 1000))
    rows: list[Row] = [
        ("app", "f", str(source), 3, (600, 6, 1, 0)),
        ("app", "g", "/nowhere/g.c", 9, (400, 4, 0, 2)),
    ]
    made_run(tmp_path, rows, name="app")
    assert main(["bundle", "app"]) == 0
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(words) == status
    said = capsys.readouterr()
    return said.out if status == 0 else said.err


def repacked(change: dict[str, bytes | None], to: str = "other.gnomon.zip") -> Path:
    """Write the bundle anew, with other entries in the place of some, None for none."""
    with zipfile.ZipFile(BUNDLE) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.infolist():
            content = change.get(entry.filename, old.read(entry))
            if content is not None:
                new.writestr(entry, content)
    return Path(to)


@pytest.mark.usefixtures("here")
def test_a_bundle_is_the_run() -> None:
    before, after = run_directory.find("app"), run_directory.find(BUNDLE)
    for schema in SCHEMAS:
        assert after.rows(schema) == before.rows(schema)
    added = {"source_files", "files"}
    assert {k: v for k, v in after.head.items() if k not in added} == {
        k: v for k, v in before.head.items() if k not in added
    }


@pytest.mark.usefixtures("here")
def test_what_was_left_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["bundle", "app", "-o", "again.zip"]) == 0
    said = capsys.readouterr()
    assert said.out == "again.zip\n"
    assert "/nowhere/g.c" in said.err
    assert "f.c" not in said.err
    assert Path("again.zip").read_bytes() == Path(BUNDLE).read_bytes()
    assert "it exists already" in told(capsys, "bundle", "app", "-o", "again.zip", status=1)
    told(capsys, "bundle", "app", "-o", "again.zip", "--force")


def test_the_sources_are_read_where_they_are_nowhere_else(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("report", BUNDLE, "hotspots", "--by", "line", "--file", "f.c")
    before = told(capsys, *words)
    assert "return 42;" in before
    Path("f.c").unlink()
    shutil.rmtree("app.gnomon")
    assert told(capsys, *words) == before
    told(capsys, "import", BUNDLE, "--name", "copy")
    Path(BUNDLE).unlink()
    assert told(capsys, "report", "copy", *words[2:]) == before.replace(BUNDLE, "copy.gnomon")
    run = run_directory.find("copy")
    assert run.source_text(str(here / "f.c")) == TEXT
    assert run.source_text("/nowhere/g.c") is None


def test_a_bundle_of_a_bundle_is_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "import", BUNDLE, "--name", "copy")
    Path("f.c").unlink()
    told(capsys, "bundle", "copy")
    copy = open_bundle(Path("copy.gnomon.zip"))
    assert copy.source_text(str(here / "f.c")) == TEXT
    assert "not a run directory" in told(capsys, "bundle", BUNDLE, status=1)


def test_the_view_shows_the_packed_text(here: Path) -> None:
    Path("f.c").write_text("something else\n")
    session = Session()
    (opened,) = session.open([BUNDLE])
    assert opened.data.source_text(str(here / "f.c")) == TEXT
    session.end()


def test_a_source_that_changed_is_not_packed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("f.c").write_text("something else\n")
    assert main(["bundle", "app", "-o", "late.zip"]) == 0
    assert str(here / "f.c") in capsys.readouterr().err
    assert open_bundle(Path("late.zip")).source_text(str(here / "f.c")) is None


def test_capability_files_travel_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = here / "left"
    left.write_bytes(bytes(range(256)) * 100)
    run = run_directory.find("app")
    with run_directory.drafted("more") as draft:
        for schema in SCHEMAS:
            shutil.copyfile(run.file(schema), draft.folder / f"{schema.name}.parquet")
        draft.finish(run.head, (), {}, {"toy/left": left})
    told(capsys, "bundle", "more")
    told(capsys, "import", "more.gnomon.zip", "--name", "back")
    (kept,) = run_directory.find("back").kept("toy")
    assert kept.read_bytes() == left.read_bytes()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"run.json": b"{}"}, "not a run"),
        ({"run.json": b"["}, "not JSON"),
        ({"profile.parquet": None}, "profile.parquet: it is missing"),
        ({"profile.parquet": b"PAR1"}, "other.gnomon.zip: profile: it is damaged"),
    ],
)
def test_a_wrong_bundle_is_refused(
    capsys: pytest.CaptureFixture[str], change: dict[str, bytes | None], why: str
) -> None:
    said = told(capsys, "report", str(repacked(change)), "profile", status=1)
    assert why in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("here")
def test_a_table_that_is_compressed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(BUNDLE) as old, zipfile.ZipFile("bomb.gnomon.zip", "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "profile.parquet":
                entry.compress_type, content = zipfile.ZIP_DEFLATED, bytes(1 << 26)
            new.writestr(entry, content)
    assert "profile.parquet: it is compressed" in told(
        capsys, "report", "bomb.gnomon.zip", status=1
    )


def test_a_source_of_another_size_is_refused(here: Path) -> None:
    name = str(here / "f.c")
    place = open_bundle(Path(BUNDLE)).head["source_files"][name]
    other = open_bundle(repacked({f"files/{place}": TEXT + b"\n"}))
    with pytest.raises(GnomonError, match="another size"):
        other.source_text(name)


def test_a_name_that_leads_elsewhere_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(BUNDLE) as old:
        head = json.loads(old.read("run.json"))
    for place in ("../../etc/passwd", "sources/../../x", "/etc/passwd"):
        wrong = {**head, "files": {place: 1}, "source_files": {str(here / "f.c"): place}}
        path = repacked({"run.json": json.dumps(wrong).encode()})
        assert "'files' has" in told(capsys, "import", str(path), "--name", "out", status=1)
        assert not Path("out.gnomon").exists()


@pytest.mark.usefixtures("here")
def test_damaged_bundles_are_one_error_each(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    whole = Path(BUNDLE).read_bytes()
    rng = random.Random(16)
    damaged = Path("damaged.gnomon.zip")
    refused = 0
    for _ in range(300):
        content = bytearray(whole)
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
        else:
            for _ in range(rng.choice((1, 4, 40))):
                content[rng.randrange(len(content))] = rng.randrange(256)
        damaged.write_bytes(content)
        assert main(["report", str(damaged), "profile"]) in (0, 1)
        said = capsys.readouterr().err
        assert not said or (said.startswith(f"gnomon: {damaged}: ") and said.count("\n") == 1)
        refused += bool(said)
    assert refused > 200
