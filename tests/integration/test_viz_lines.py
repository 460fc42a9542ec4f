"""NAME.viz of a C or Fortran program: its sections stand on the lines that start them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from commands import gnomon
from hpm_programs import run as run_program
from lxml import etree
from run_programs import EXAMPLES, flags

import gnomon as package
from gnomon.store import viz
from gnomon.view.session import Session

SCHEMA = Path(package.__path__[0]) / "hpm" / "viz.xsd"
SOURCE = r"""
#include <signal.h>
#include <stdlib.h>
#include "libhpm.h"
int main(int argc, char **argv)
{
	hpmInit(0, "swim");
	hpmStart(1, "all");
	for (int i = 0; i < 3; i++) {
		hpmTstart(2, "step");
		hpmTstop(2);
	}
	hpmPlace(3, "told.f90", 7);
	hpmTstart(3, "told");
	hpmTstop(3);
	hpmStop(1);
	if (argc > 1)
		raise(SIGKILL);
	hpmTerminate(0);
	return 0;
}
"""


def numbers_of(source: str) -> dict[str, int]:
    """Return the line of each start by its label."""
    starts = (
        (line.split(chr(34))[1], at)
        for at, line in enumerate(source.splitlines(), 1)
        if "start(" in line.lower()
    )
    return dict(starts)


def checked(file: Path) -> Path:
    """Return a file that meets the schema."""
    schema = etree.XMLSchema(etree.parse(SCHEMA))
    assert schema.validate(etree.parse(file)), schema.error_log
    return file


def measured(folder: Path, *options: str, killed: bool = False) -> Path:
    """Return the .viz file of the program, compiled with options."""
    (folder / "swim.c").write_text(SOURCE)
    run_program("cc", *options, "-o", "swim", "swim.c", *flags(), folder=folder)
    done = subprocess.run(
        ["./swim", *["killed"] * killed], cwd=folder, env=os.environ | {"HPM_STDOUT": "no"},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (-signal.SIGKILL if killed else 0, "")
    if killed:
        assert gnomon("repair", "swim.hpmraw", cwd=folder).returncode == 0
    return checked(folder / "swim.viz")


def lines_of(file: Path) -> dict[str, tuple[str, int]]:
    """Return the file and line of each section."""
    regions = next(one for one in viz.read_viz(file).tables if one.schema.name == "regions")
    return {
        str(one["name"]): (str(one["file"]), int(str(one["line"])))
        for one in list(regions.dicts())[1:]
    }


@pytest.mark.parametrize("killed", [False, True], ids=["ends", "killed"])
def test_sections_of_c_have_their_lines(tmp_path: Path, killed: bool) -> None:
    file = measured(tmp_path, "-g", "-O1", killed=killed)
    at = numbers_of(SOURCE)
    source = str(tmp_path / "swim.c")
    assert lines_of(file) == {
        "all": (source, at["all"]), "step": (source, at["step"]), "told": ("told.f90", 7),
    }  # fmt: skip
    (opened,) = Session().open([str(file)])
    assert source in opened.source_files()
    report = gnomon("report", file, "regions", cwd=tmp_path)
    assert f"swim.c:{at['step']}" in report.stdout
    exported = gnomon("export", file, "--to", "speedscope", "-o", "out.json", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert "swim.c" in (tmp_path / "out.json").read_text()


def test_sections_of_fortran_have_their_lines(tmp_path: Path) -> None:
    source = EXAMPLES / "hpm-fortran" / "heat.F90"
    run_program("gfortran", "-O2", "-g", "-fopenmp", "-o", "heat", str(source), *flags(),
                folder=tmp_path)  # fmt: skip
    done = subprocess.run(
        ["./heat"], cwd=tmp_path, check=False, capture_output=True,
        env=os.environ | {"HPM_OUTPUT_NAME": "heat", "OMP_NUM_THREADS": "2"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = source.read_text().splitlines()
    found = lines_of(checked(tmp_path / "heat.viz"))
    assert len(found) > 1
    for name, (file, line) in found.items():
        assert (Path(file).name, name in text[line - 1]) == (source.name, True), (name, line)


def test_what_has_no_line_is_said(tmp_path: Path) -> None:
    file = measured(tmp_path, "-g0", "-s")
    assert set(lines_of(file).values()) == {("", 0), ("told.f90", 7)}
    (why,) = (one for one in viz.read_viz(file).head["unavailable"] if "lines" in one["event"])
    assert why["reason"] == "2 starts in swim: it has no line numbers of them"
    shutil.copy("/bin/true", tmp_path / "swim")
    (why,) = (one for one in viz.read_viz(file).head["unavailable"] if "lines" in one["event"])
    assert (why["reason"], why["remedy"]) == (
        f"{tmp_path / 'swim'} is not the file that ran", "measure again after a new build",
    )  # fmt: skip
