"""Code of hot functions in the bundle of a sampled program, read where the program is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import gnomon
from symbol_programs import run

from gnomon.store import function_code, run_directory

PROGRAM = Path(__file__).parents[1] / "programs" / "shares.c"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder with a sampled program and its run."""
    run("cc", "-O2", "-g", "-o", tmp_path / "shares", PROGRAM)
    assert gnomon("record", "--name", "app", "--", "./shares", "20000", cwd=tmp_path)
    return tmp_path


def test_hot_functions_are_packed_and_read_without_the_program(recorded: Path) -> None:
    disassembly = run("objdump", "-d", "--disassemble=work", recorded / "shares")
    wanted = b"".join(
        bytes.fromhex(line.split("\t")[1])
        for line in disassembly.splitlines()
        if line.startswith(" ") and line.count("\t") >= 1
    )
    gnomon("bundle", "app", cwd=recorded)
    elsewhere = recorded / "elsewhere"
    elsewhere.mkdir()
    shutil.move(recorded / "app.gnomon.zip", elsewhere)
    (recorded / "shares").unlink()
    bundle = elsewhere / "app.gnomon.zip"
    opened = run_directory.find(str(bundle))
    (module,) = (one for one in function_code.of_run(opened) if one.name == "shares")
    (work,) = (one for one in module.functions if one.name == "work")
    assert work.code == wanted
    ((build_id,),) = opened.query("SELECT build_id FROM modules WHERE name = 'shares'")
    assert (module.build_id, module.functions[0]) == (build_id, work)
    ((samples,),) = opened.query(
        "SELECT COUNT(*) FROM samples JOIN paths USING (path) JOIN regions USING (region) "
        "WHERE name = 'work'"
    )
    assert work.samples == samples
    assert "of 1 function" in gnomon("report", bundle, "run", cwd=elsewhere).stdout or (
        len(module.functions) > 1
    )
    # A directory of it has the code, and so has a bundle of that.
    gnomon("import", bundle, "--name", "again", cwd=elsewhere)
    again = run_directory.find(str(elsewhere / "again"))
    assert function_code.of_run(again) == function_code.of_run(opened)
    gnomon("bundle", "again", cwd=elsewhere)
    third = run_directory.find(str(elsewhere / "again.gnomon.zip"))
    assert function_code.of_run(third) == function_code.of_run(opened)


def test_a_program_that_is_not_there_any_more_is_told(recorded: Path) -> None:
    (recorded / "shares").unlink()
    said = gnomon("bundle", "app", cwd=recorded)
    assert "code of functions not packed: " in said.stderr
    assert "shares is missing" in said.stderr
