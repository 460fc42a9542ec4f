"""The index of runs: lists, tags, notes, deletion, and an index that is damaged or contested."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from repeated_runs import repeated_run

from gnomon.cli import main
from gnomon.errors import GnomonError, RunDirectoryError, UsageError
from gnomon.store import run_index
from gnomon.store.comparison.samples import side


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with three runs, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for at, name in enumerate(("first", "second", "third")):
        head = {"started": 1.7e9 + at, "command": ["./app", name], "exit_status": at or None}
        repeated_run(tmp_path, name, {"wall time": [1e8, 2e8]}, head=head)
    return tmp_path


def names(of: Path) -> list[str]:
    return [one.name for one in run_index.entries(of).entries]


def tags(of: Path) -> dict[str, tuple[str, ...]]:
    return {one.name: one.tags for one in run_index.entries(of).entries if one.tags}


def test_runs_are_listed_the_latest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "when", "ranks", "times", "wall", "time", "exit", "command"]
    assert [line.split()[0] for line in lines[1:]] == ["third", "second", "first"]
    assert lines[1].split()[-7:] == ["1", "2", "100", "ms", "2", "./app", "third"]
    assert " -  ./app first" in lines[3]
    assert max(map(len, lines)) <= 80
    assert names(folder) == ["third", "second", "first"]


def test_every_action_tells_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: str) -> object:
        assert main(["runs", *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert told("tag", "first", "main", "v1.2") == {"run": "first.gnomon", "tags": ["main", "v1.2"]}
    assert told("tag", "first", "main", "--remove") == {"run": "first.gnomon", "tags": ["v1.2"]}
    assert told("note", "second", "a b") == {"run": "second.gnomon", "note": "a b"}
    assert told("rebuild") == {"index": run_index.FILE, "runs": 3}
    assert told("delete", "--yes", "first", "third") == {
        "deleted": ["first.gnomon", "third.gnomon"]
    }
    (one,) = run_index.entries(folder).entries
    assert (one.name, one.note) == ("second", "a b")


def test_tags_and_notes_stay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "first.gnomon" / "run.json").read_bytes()
    assert main(["runs", "tag", "first", "main", "v1.2"]) == 0
    assert main(["runs", "tag", "first.gnomon", "main", "--remove"]) == 0
    assert main(["runs", "note", "second", "with \x1b[31mred"]) == 0
    told = capsys.readouterr().out
    assert told == "first.gnomon: main, v1.2\nfirst.gnomon: v1.2\n"
    assert tags(folder) == {"first": ("v1.2",)}
    assert main(["runs"]) == 0
    listed = capsys.readouterr().out
    assert "./app first   v1.2" in listed
    assert "second: with \\x1b[31mred" in listed
    assert main(["runs", "list", "--tag", "v1.2", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    assert (one["name"], one["tags"], one["exit_status"]) == ("first", ["v1.2"], None)
    assert (folder / "first.gnomon" / "run.json").read_bytes() == before
    exported = json.loads((folder / run_index.EXPORT).read_text())["runs"]
    assert [(one["name"], one["tags"], one["note"]) for one in exported] == [
        ("first", ["v1.2"], ""), ("second", [], "with \x1b[31mred"),
    ]  # fmt: skip
    assert main(["runs", "note", "second", ""]) == 0
    assert [one.note for one in run_index.entries(folder).entries] == ["", "", ""]


def test_sides_of_a_comparison_may_be_tags(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_index.tag(folder / "first.gnomon", ["old"])
    run_index.tag(folder / "second.gnomon", ["old"])
    run_index.tag(folder / "third.gnomon", ["new"])
    assert main(["compare", "@old", "@new"]) == 0
    assert "@old: ./app first, 2 runs, 4 executions" in capsys.readouterr().out
    assert main(["compare", "@old", "@none"]) == 1
    assert "no run here has this tag; there are: new, old" in capsys.readouterr().err


@pytest.mark.parametrize("bad", ["", "-x", "a b", "a,b", "@a", "x" * 65, "ä", "a\n"])
def test_what_is_no_tag_is_refused(folder: Path, bad: str) -> None:
    with pytest.raises(UsageError, match="a tag has up to 64 letters"):
        run_index.tag(folder / "first.gnomon", [bad])
    assert tags(folder) == {}


def test_a_run_of_the_same_name_is_another_one(folder: Path) -> None:
    run_index.tag(folder / "first.gnomon", ["main"])
    shutil.rmtree(folder / "first.gnomon")
    assert names(folder) == ["third", "second"]
    repeated_run(folder, "first", {"wall time": [1e8]}, head={"started": 1.8e9})
    assert names(folder) == ["first", "third", "second"]
    assert tags(folder) == {}


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"SQLite format 3\0" + bytes(100), b"\xff" * 5000, b"not an index",
    ],
)  # fmt: skip
def test_a_damaged_index_is_rebuilt_and_said(
    folder: Path, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    run_index.tag(folder / "first.gnomon", ["main"])
    run_index.note(folder / "first.gnomon", "a note")
    (folder / run_index.FILE).write_bytes(damage)
    assert main(["runs"]) == 0
    told = capsys.readouterr()
    assert "it was rebuilt, tags and notes are kept" in told.err
    assert told.err.count("\n") == 1
    assert "main" in told.out
    assert "a note" in told.out
    assert (folder / f"{run_index.FILE}.old").read_bytes() == damage
    assert main(["runs"]) == 0
    assert capsys.readouterr().err == ""


def test_an_index_of_a_later_version_is_rebuilt_and_kept(folder: Path) -> None:
    run_index.tag(folder / "first.gnomon", ["main"])
    with closing(sqlite3.connect(folder / run_index.FILE)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    listing = run_index.entries(folder)
    assert "it is of version 99, and this Gnomon keeps 1" in listing.said
    assert tags(folder) == {"first": ("main",)}
    assert (folder / f"{run_index.FILE}.old").exists()


def test_an_index_with_anything_else_in_it_is_not_used(folder: Path) -> None:
    run_index.tag(folder / "first.gnomon", ["main"])
    with closing(sqlite3.connect(folder / run_index.FILE)) as connection, connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON tags BEGIN DELETE FROM tags; END")
    run_index.tag(folder / "second.gnomon", ["other"])
    assert tags(folder) == {"first": ("main",), "second": ("other",)}


def test_tags_survive_without_either_file_only_as_far_as_they_can(folder: Path) -> None:
    run_index.tag(folder / "first.gnomon", ["main"])
    (folder / run_index.EXPORT).unlink()
    assert main(["runs", "rebuild"]) == 0
    assert tags(folder) == {"first": ("main",)}
    (folder / run_index.FILE).unlink()
    assert names(folder) == ["third", "second", "first"]
    assert tags(folder) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    document=st.one_of(
        st.binary(max_size=200),
        JSON.map(lambda value: json.dumps(value).encode()),
        st.lists(
            st.fixed_dictionaries({"name": JSON, "started": JSON, "tags": JSON, "note": JSON})
        ).map(lambda runs: json.dumps({"runs": runs}).encode()),
    )
)
@examples(60)
def test_any_copy_is_read_without_a_traceback(folder: Path, document: bytes) -> None:
    (folder / run_index.FILE).unlink(missing_ok=True)
    (folder / run_index.EXPORT).write_bytes(document)
    assert names(folder) == ["third", "second", "first"]


def _tag_many(folder: str, who: int) -> None:
    for at in range(10):
        run_index.tag(Path(folder) / "first.gnomon", [f"t{who}-{at}"])
        if at % 5 == 2:
            run_index.rebuild(Path(folder))


def test_concurrent_writers_lose_nothing(folder: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(_tag_many, str(folder), who) for who in range(4)]:
            done.result()
    expected = {f"t{who}-{at}" for who in range(4) for at in range(10)}
    assert set(tags(folder)["first"]) == expected
    exported = json.loads((folder / run_index.EXPORT).read_text())["runs"]
    assert set(exported[0]["tags"]) == expected


def test_a_folder_that_cannot_be_locked_gets_a_file_that_can(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NFS does it, which is not to be had here."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert run_index.tag(folder / "first.gnomon", ["main"]) == ("main",)
    assert tags(folder) == {"first": ("main",)}
    assert (folder / ".gnomon-runs.lock").exists()


def test_deletion_asks_or_wants_yes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_index.tag(folder / "first.gnomon", ["main"])
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["runs", "delete", "first"]) == 2
    assert "no terminal for the confirmation; give --yes" in capsys.readouterr().err
    assert main(["runs", "delete", "first", "none", "--yes"]) == 1
    assert (folder / "first.gnomon").exists()
    assert main(["runs", "delete", "first", "--yes"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gnomon-runs.json", ".gnomon-runs.sqlite", "second.gnomon", "third.gnomon",
    ]  # fmt: skip
    assert json.loads((folder / run_index.EXPORT).read_text())["runs"] == []


@pytest.mark.parametrize(("answer", "left"), [("n\n", 3), ("\n", 3), ("", 3), ("y\n", 2)])
def test_deletion_on_a_terminal(folder: Path, answer: str, left: int) -> None:
    ours, theirs = os.openpty()
    os.write(ours, answer.encode() or b"\x04")
    pid = os.fork()
    if not pid:
        os.dup2(theirs, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        import sys

        sys.stdin = open(0)  # noqa: SIM115
        os._exit(main(["runs", "delete", "first"]))
    _, status = os.waitpid(pid, 0)
    os.close(ours)
    os.close(theirs)
    assert len(names(folder)) == left
    assert os.waitstatus_to_exitcode(status) == (0 if left == 2 else 1)


def test_only_runs_are_deleted(folder: Path, tmp_path: Path) -> None:
    (folder / "link.gnomon").symlink_to(folder / "first.gnomon")
    for name in ("link.gnomon", "none.gnomon", "."):
        with pytest.raises(RunDirectoryError):
            run_index.delete(folder / name)
    assert (tmp_path / "first.gnomon" / "run.json").exists()


def test_damaged_runs_are_listed_and_can_be_deleted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "second.gnomon" / "run.json").write_text("{")
    assert main(["runs"]) == 0
    told = capsys.readouterr().out
    assert "(cannot be read)" in told
    assert "second.gnomon/run.json: at byte 1: not JSON" in " ".join(told.split())
    assert main(["runs", "tag", "second", "x"]) == 1
    assert main(["runs", "delete", "second", "--yes"]) == 0
    assert names(folder) == ["third", "first"]


def test_a_folder_that_cannot_be_written_is_listed(folder: Path) -> None:
    if os.geteuid() == 0:
        pid = os.fork()
        if not pid:
            try:
                folder.chmod(0o555)
                os.setresuid(65534, 65534, 65534)
                os._exit(0 if names(Path()) == ["third", "second", "first"] else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    else:
        folder.chmod(0o555)
        assert names(folder) == ["third", "second", "first"]
        folder.chmod(0o755)
    assert not (folder / run_index.FILE).exists()


def test_an_empty_or_missing_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == 1
    assert capsys.readouterr().out.startswith("no run in this directory; create one: gnomon run")
    assert main(["runs", "list", "none"]) == 1
    assert capsys.readouterr().err == "gnomon: none: no such directory\n"
    with pytest.raises(GnomonError):
        run_index.rebuild(tmp_path / "none")


def test_names_and_notes_that_are_no_utf8(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "first.gnomon").rename(folder / "caf\udce9.gnomon")
    for words in (
        ["tag", "caf\udce9", "main"], ["note", "caf\udce9", "in latin1: \udce9"], ["list"],
        ["rebuild"], ["delete", "--yes", "caf\udce9"],
    ):  # fmt: skip
        assert main(["runs", *words]) == 0
    assert capsys.readouterr().out.count("in latin1: \\udce9") == 1
    assert names(folder) == ["third", "second"]
    assert json.loads((folder / run_index.EXPORT).read_text())["runs"] == []


def test_a_run_that_one_is_in_is_known_by_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "first.gnomon" / "text").mkdir()
    before = sorted((folder / "first.gnomon").iterdir())
    monkeypatch.chdir(folder / "first.gnomon")
    assert main(["runs", "tag", ".", "main"]) == 0
    assert main(["export", ".", "--to", "openmetrics"]) == 0
    assert 'gnomon_run_info{run="first"' in capsys.readouterr().out
    assert main(["report", "../first.gnomon/text/.."]) == 0
    assert sorted((folder / "first.gnomon").iterdir()) == before
    assert tags(folder) == {"first": ("main",)}
    assert main(["runs", "delete", "--yes", "."]) == 0
    assert names(folder) == ["third", "second"]


def test_a_run_by_two_names_is_one_measurement(folder: Path) -> None:
    (folder / "again.gnomon").symlink_to("first.gnomon")
    with pytest.raises(UsageError, match="is named twice"):
        side(f"first,{folder}/first")
    with pytest.raises(UsageError, match="is named twice"):
        side("first,again")
