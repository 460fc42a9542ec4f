"""`xprofiler`: its options to the letter, the configuration file, and the reports of each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from profiled_programs import build, profile

from gnomon.callgraph.xprofiler_settings import read_settings
from gnomon.cli import xprofiler
from gnomon.errors import UsageError


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return a program and its gmon.out file."""
    program = build(tmp_path_factory.mktemp("xprofiler"))
    return str(program), str(profile(program))


def entries(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, object]]:
    """Return the entries of the call graph profile by function."""
    assert xprofiler([*words, "--report", "graph", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return {entry["function"]: entry for entry in data["graph"]}


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert xprofiler(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("xprofiler: ")
    assert err.count("\n") == 1
    return err


def test_reports_are_of_files_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--report", "flat")
    assert "name a program and its gmon.out files" in said


def test_a_sum_that_is_added_to_its_parts_is_told(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, file = files
    former = tmp_path / "gmon.sum"
    former.write_bytes(Path(file).read_bytes())
    assert xprofiler([program, file, str(former), "--report", "flat"]) == 0
    assert capsys.readouterr().err.count(f"note: {former}: a sum of files") == 1
    assert xprofiler([program, str(former), "--report", "flat"]) == 0
    assert capsys.readouterr().err == ""


def test_what_options_leave_out(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    every = set(entries(capsys, *files))
    assert {"main", "even", "odd", "leaf", "middle", "fibonacci"} <= every
    # middle calls leaf, which main calls, too; even and odd are called by main alone.
    assert set(entries(capsys, "-e", "middle", *files)) == every - {"middle"}
    cycle = {"even", "odd", "<cycle 1 as a whole>"}
    assert set(entries(capsys, *files, "-e", "even")) == every - cycle
    assert set(entries(capsys, *files, "-f", "middle")) == {"middle", "leaf"}
    dropped = entries(capsys, *files, "-E", "even")
    # Without any sample elsewhere main has no time left, and no entry.
    assert set(dropped) | {"main"} == every - cycle
    left = dropped.get("main", {"self": 0.0, "children": 0.0})
    total = float(str(left["self"])) + float(str(left["children"]))
    whole = entries(capsys, *files)["main"]
    assert total < float(str(whole["self"])) + float(str(whole["children"]))
    counted = entries(capsys, *files, "-F", "middle")
    assert set(counted) == {"middle", "leaf"}
    callers = counted["middle"]["callers"]
    assert [(one["function"], one["self"], one["children"]) for one in callers] == [  # type: ignore[attr-defined]
        ("main", 0, 0)
    ]
    # -f goes before -e, -F before -E.
    assert set(entries(capsys, *files, "-e", "leaf", "-f", "middle")) == {"middle", "leaf"}
    assert set(entries(capsys, *files, "-E", "leaf", "-F", "middle")) == {"middle", "leaf"}


def test_field_descriptions_and_unused_functions(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*words: str) -> str:
        assert xprofiler([*words, *files, "--report", "flat"]) == 0
        return capsys.readouterr().out

    assert "by which the list is sorted" in printed()
    assert "by which the list is sorted" not in printed("-b")
    assert " never\n" in printed("-z")
    assert " never\n" not in printed()


CONFIG = """
[xprofiler]
display_max = 3
hidden = ["even"]
source_paths = ["src", "@"]
"""


def test_a_configuration_file(
    files: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    path = tmp_path / "x.toml"
    path.write_text(CONFIG)
    settings = read_settings(path)
    assert (settings.display_max, settings.source_paths) == (3, ("src", "@"))
    assert settings.selection.hidden == ("even",)
    assert "even" not in entries(capsys, "-c", str(path), *files)
    assert xprofiler(["-c", str(path), "-disp_max", "7", *files, "--report", "index"]) == 0
    assert "-disp_max is ignored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("display_max = 3", ":1: unknown key 'display_max'"),
        ("[xprofiler]\ndisplay_max = 5001", ":2: 'display_max' must be a whole number from 0"),
        ("[xprofiler]\nhiden = ['f']", ":2: unknown key 'hiden'; did you mean hidden?"),
        ("[xprofiler]\n\nshown = 'f'", ":3: 'shown' must be a list of strings"),
        ("[xprofiler", ":1: not TOML"),
        (
            "[xprofiler]\n\nlibrary_paths = ['/', '/nowhere']",
            ":3: library_paths: /nowhere: there is no such directory",
        ),
        (
            "[xprofiler]\nsource_paths = ['@', '/:/nowhere']",
            ":2: source_paths: /nowhere: there is no such directory",
        ),
        ('[xprofiler]\nshown = ["\\u0007"]', ":2: 'shown' must hold strings of printable"),
    ],
)
def test_configuration_files_that_are_wrong(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_settings(path)
    assert f"{path}{said}" in str(caught.value)


def test_functions_of_a_configuration_file_that_are_not_there(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.toml"
    path.write_text('[xprofiler]\nhidden = ["leaf"]\nshown = [\n"evne"]\n')
    said = f"{path}:3: shown: evne: the profile has no such function; did you mean even"
    # The page would show it, too, but could not say where it is from.
    for words in (("--report", "graph"), ("--no-browser",)):
        assert said in refused(capsys, "-c", str(path), *files, *words)
    path.write_text('[xprofiler]\nhidden = ["leaf"]\n')
    err = refused(capsys, "-c", str(path), *files, "-e", "nobody", "--report", "graph")
    assert err.startswith("xprofiler: -e nobody: the profile has no such function")


def test_options_that_would_do_nothing(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for words, said in (
        (("--json",), "--json is of reports, not of the page; add --report LIST"),
        (("-o", "x.txt"), "-o is of reports, not of the page; add --report LIST"),
        (("-a", "@:/nowhere"), "-a /nowhere: there is no such directory"),
        (("-a", "/nowhere", "--report", "flat"), "-a /nowhere: there is no such directory"),
        (("-disp_max", ""), "-disp_max '': must be a whole number from 0 to 5000"),
        (("-c", ""), "-c '': the name of a configuration file is missing"),
        (("-c", str(tmp_path / "pipe")), "pipe: a named pipe, where a configuration file is"),
        (("-c", str(tmp_path)), ": a directory, where a configuration file is expected"),
    ):
        assert said in refused(capsys, *words, *files)


def test_what_makes_no_sense(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "from 0 to 5000" in refused(capsys, "-disp_max", "5001", *files)
    assert "from 0 to 5000" in refused(capsys, "-disp_max", "-1", *files)
    assert "there is no such directory" in refused(capsys, "-L", "/nowhere", *files)
    assert "no such function" in refused(capsys, "-e", "nobody", *files, "--report", "graph")
    assert "No such file" in refused(capsys, "-c", "/nowhere.toml", *files)
    assert "which files?" in refused(capsys, "-s")
