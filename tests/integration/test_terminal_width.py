"""Help and tables fit the terminal: 80 columns, and 60 with shortened names and fewer columns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import GNOMON, TOOLS, gnomon, run

from gnomon.cli import main
from gnomon.cli.main import COMMANDS, OTHER_NAMES


def overflowing(text: str, columns: int) -> list[str]:
    """Return the lines that are too long; a path or name is not broken, however long it is."""
    return [
        line
        for line in text.splitlines()
        if len(line) > columns and len(line.split()) > 1 and len(line.split()[-1]) < columns // 2
    ]


@pytest.mark.cpu
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize(
    "command",
    [
        "hardware",
        "components",
        "doctor",
        "clockres -i 100",
        "events",
        "groups",
        "presets",
        "presets --pmu emulated",
        "presets --detail",
        "presets --detail --pmu power10",
        "presets --detail --pmu amd64_fam19h_zen4",
        "events --check page-faults,task-clock",
        "events --fit page-faults,task-clock",
        "cost software -n 1,8 -i 10",
    ],
)
def test_reports_keep_to_the_width_of_the_terminal(
    command: str,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(command.split()) == 0
    assert overflowing(capfd.readouterr().out, columns) == []


@pytest.mark.parametrize("columns", [60, 120])
@pytest.mark.parametrize(
    "options",
    [
        ("--all",),
        ("--all", "-x"),
        ("-r", "3"),
        ("-r", "3", "--all", "-x"),
        ("--per", "process"),
        ("--per", "thread", "--all"),
        ("-A",),
        ("-g", "SCHED,PAGEFAULTS"),
    ],
    ids=" ".join,
)
def test_reports_of_programs_keep_to_the_width(options: tuple[str, ...], columns: int) -> None:
    environment = {**os.environ, "COLUMNS": str(columns)}
    done = run(GNOMON, "count", *options, "--", "true", env=environment)
    assert done.returncode == 0
    assert overflowing(done.stderr, columns) == []


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    source = folder / "a_file_with_a_long_name.c"
    name = "a_function_with_quite_a_long_name_for_a_table"
    source.write_text(
        f"int {name}(int n) {{ volatile int s = 0; while (n--) s += n; return s; }}\n"
        f"int main(int c, char **v) {{ (void)v; return {name}(c * 2000) & 0; }}\n"
    )
    program = folder / "program_with_a_long_name"
    run("cc", "-g", "-O1", "-o", program, source).check_returncode()
    for at in (1, 2):
        options = ("--pmu", "emulated", "--name", f"emulated{at}")
        command = ("--", f"./{program.name}", *("x" * at), "--an-option-of-some-length=" + "y" * 70)
        gnomon("count", *options, *command, cwd=folder).check_returncode()
        options = ("-r", "3", "--name", f"counted{at}")
        gnomon("count", *options, *command, cwd=folder).check_returncode()
    recorded = ("record", "--off-cpu", "--name", "recorded", "--")
    gnomon(
        *recorded, "sh", "-c", f"./{program.name} $(seq 20000); sleep 0.2; : {'y' * 70}", cwd=folder
    )
    return folder


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize(
    "command",
    [
        "report emulated1",
        "report emulated1 --per function",
        "report emulated1 --per function --counts",
        "report emulated1 --per line",
        "report emulated1 --per line --file a_file_with_a_long_name.c",
        "report emulated1 regions",
        "report emulated1 metrics",
        "report emulated1 profile",
        "report counted1",
        "report counted1 run",
        "report counted1 locations",
        "compare counted1 counted2",
        "compare emulated1 emulated2 --per function",
        "compare emulated1 emulated2 --per line",
        "runs",
    ],
)
@pytest.mark.usefixtures("valgrind")
def test_reports_of_runs_keep_to_the_width(
    runs: Path,
    command: str,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(runs)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(command.split()) == 0
    assert overflowing(capsys.readouterr().out, columns) == []


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "part",
    ["", "run", "profile", "tree", "callers main", "waits", "source a_file_with_a_long_name.c"],
)
@pytest.mark.usefixtures("valgrind")
def test_reports_of_sampled_runs_keep_to_the_width(
    runs: Path,
    part: str,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(runs)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["report", "recorded", *part.split()]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("recorded.gnomon: sh -c ")
    assert len(printed[0]) <= columns
    assert overflowing("\n".join(printed), columns) == []


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    try:
        status: object = main([*command.split(), "--help"])
    except SystemExit as ended:
        status = ended.code
    printed = capsys.readouterr()
    assert (status, printed.err) == (0, "")
    assert [line for line in printed.out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_help_of_classical_names_fits_80_columns(name: str) -> None:
    done = run(TOOLS / name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert overflowing(done.stdout, 80) == []
