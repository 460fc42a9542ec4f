"""Every variable of the guide's section 3, on a real program with libhpm."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hpm_programs import compile_c, run

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include "libhpm.h"

int main(int argc, char **argv)
{
	const int id = argc > 1 ? atoi(argv[1]) : 1;

	hpmInit(0, "program");
	hpmStart(id, "outer call");
	hpmStart(2, "computing meaning of life");
	hpmStop(2);
	hpmStop(id);
	hpmTerminate(0);
	return hpm_error_count;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with two nested sections."""
    return compile_c(tmp_path_factory.mktemp("variables"), PROGRAM)


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


@pytest.mark.parametrize(
    ("variables", "endings"),
    [
        ({}, "hpm viz"),
        ({"HPM_ASC_OUTPUT": "Yes"}, "hpm"),
        ({"HPM_VIZ_OUTPUT": "1"}, "viz"),
        ({"HPM_CSV_OUTPUT": "y"}, "csv"),
        ({"HPM_CSV_OUTPUT": "y", "HPM_ASC_OUTPUT": "yep", "HPM_VIZ_OUTPUT": "no"}, "csv hpm"),
        ({"HPM_ASC_OUTPUT": "no"}, ""),
        ({"HPM_ASC_OUTPUT": ""}, "hpm viz"),
    ],
)
def test_which_files(
    program: Path, tmp_path: Path, variables: dict[str, str], endings: str
) -> None:
    done = run(program, folder=tmp_path, **variables)
    assert (done.stdout, done.stderr) == ("", "")
    assert names(tmp_path) == {f"program.{ending}" for ending in endings.split()}


@pytest.mark.parametrize("value", ["1", "yes", "YES"])
def test_standard_output_is_the_text(program: Path, tmp_path: Path, value: str) -> None:
    done = run(program, folder=tmp_path, HPM_STDOUT=value, HPM_PRINT_FORMULA=value)
    assert done.stdout == (tmp_path / "program.hpm").read_text()
    assert re.search(r"cpus_utilised .* = 1e-9 \* task_clock / wall_seconds", done.stdout)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("", r"program_{}"),
        ("out.put", r"out_{}\.put"),
        ("a.b.c", r"a\.b_{}\.c"),
        (".hidden", r"{}\.hidden"),
    ],
)
@pytest.mark.parametrize("task", ["", "3"])
def test_names(program: Path, tmp_path: Path, name: str, pattern: str, task: str) -> None:
    run(program, folder=tmp_path, HPM_OUTPUT_NAME=name, HPM_ASC_OUTPUT="y")
    assert names(tmp_path) == {f"{name or 'program'}.hpm"}
    (tmp_path / f"{name or 'program'}.hpm").unlink()
    ranks = {"OMPI_COMM_WORLD_RANK": task} if task else {}
    run(program, folder=tmp_path, HPM_OUTPUT_NAME=name, HPM_ASC_OUTPUT="y",
        HPM_UNIQUE_FILE_NAME="1", **ranks)  # fmt: skip
    unique = rf"[^._]+_{task or '[0-9]+'}_\d\d\.\d\d\.\d{{4}}_\d\d\.\d\d\.\d\d"
    (found,) = names(tmp_path)
    assert re.fullmatch(pattern.replace("{}", unique) + r"\.hpm", found), found


def test_more_sections_and_exclusive_values(program: Path, tmp_path: Path) -> None:
    done = run(program, "1001", folder=tmp_path, status=2)
    assert done.stderr.startswith("hpmcount ERROR - Illegal instance id specified: ")
    run(program, "1001", folder=tmp_path, HPM_NUM_INST_PTS="1002")
    text = (tmp_path / "program.hpm").read_text()
    assert "exclusive values" not in text
    assert "  parent: section 1001  outer call" in text
    run(program, "1001", folder=tmp_path, HPM_NUM_INST_PTS="1002", HPM_EXCLUSIVE_VALUES="y")
    text = (tmp_path / "program.hpm").read_text()
    blocks = [line.rpartition("[")[2] for line in text.splitlines() if line.startswith("section ")]
    assert blocks == ["inclusive and exclusive values]", "inclusive values]", "exclusive values]"]


def test_groups(program: Path, tmp_path: Path) -> None:
    run(program, folder=tmp_path, HPM_EVENT_SET="5,pagefaults", HPM_SLICE_DURATION="10")
    text = (tmp_path / "program.hpm").read_text()
    assert text.count("  group: 5 SCHED") == text.count("  group: 6 PAGEFAULTS") == 2
    done = run(program, folder=tmp_path, status=1, HPM_EVENT_SET="999")
    said = "hpmcount ERROR - pm_set_program_mygroup:\npm_api : event group ID is invalid"
    assert done.stderr.startswith(said)
    assert "  group: 0 DEFAULT" in (tmp_path / "program.hpm").read_text()


def test_events(program: Path, tmp_path: Path) -> None:
    wanted = "page-faults, no-such, nor-this,task-clock"
    done = run(program, folder=tmp_path, status=2, GNOMON_EVENTS=wanted)
    for name, line in zip(("no-such", "nor-this"), done.stderr.splitlines(), strict=True):
        assert line.startswith(f"hpmcount ERROR - event cannot be counted: event '{name}': ")
    text = (tmp_path / "program.hpm").read_text()
    assert len(re.findall(r"^  page-faults +\d", text, re.MULTILINE)) == 2
    assert re.search(r"^    1  no-such, nor-this$", text, re.MULTILINE)


@pytest.mark.parametrize("value", ["0", "no", "NO"])
def test_without_locks(program: Path, tmp_path: Path, value: str) -> None:
    assert run(program, folder=tmp_path, HPM_USE_PTHREAD_MUTEX=value).stderr == ""
    assert "section 2  computing" in (tmp_path / "program.hpm").read_text()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HPM_SLICE_DURATION", "9"),
        ("HPM_SLICE_DURATION", "30001"),
        ("HPM_NUM_INST_PTS", "many"),
        ("HPM_DIV_WEIGHT", "0"),
        ("HPM_MEM_LATENCY", "-4"),
        ("HPM_STDOUT", "perhaps"),
        ("HPM_USE_PTHREAD_MUTEX", "perhaps"),
    ],
)
def test_what_makes_no_sense_is_said_and_not_heeded(
    program: Path, tmp_path: Path, variable: str, value: str
) -> None:
    done = run(program, folder=tmp_path, **{variable: value})
    assert done.stderr.startswith(f"HPM WARNING - {variable}={value} ")
    assert done.stderr.count("\n") == 1
    assert names(tmp_path) == {"program.hpm", "program.viz"}
