"""The code of functions in programs, with symbols and without, against binutils."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from symbol_programs import compile_program, run

from gnomon.symbols import Module, code_of


def text_of(program: Path) -> tuple[int, bytes]:
    """Return the address of .text and its bytes."""
    (line,) = (one for one in run("objdump", "-h", program).splitlines() if " .text " in one)
    content = program.with_suffix(".text")
    run("objcopy", "-O", "binary", "-j", ".text", program, content)
    return int(line.split()[3], 16), content.read_bytes()


def functions(program: Path) -> dict[str, tuple[int, int]]:
    """Return start and size of the functions that have a size."""
    rows = (line.split() for line in run("nm", "-S", "--defined-only", program).splitlines())
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4
            and row[2] in "tT"}  # fmt: skip


@pytest.mark.parametrize("is_stripped", [False, True])
def test_functions_are_those_of_the_program(tmp_path: Path, is_stripped: bool) -> None:
    program = compile_program(tmp_path, "c", "-O2", "-fno-inline")
    known = {name: place for name, place in functions(program).items() if name != "_start"}
    begin, text = text_of(program)
    if is_stripped:
        run("strip", program)
    module = Module(str(program))
    inner = [start + size // 2 for start, size in known.values()]
    answers, failed = code_of({module: [*inner, 1 << 40]})
    assert not failed
    answer = answers[module]
    code = {one.start: one.code for one in answer.functions}
    wanted = {place for place in known.values() if begin <= place[0] < begin + len(text)}
    assert len(wanted) > 2
    for start, size in wanted:
        # Without symbols an unwind entry tells, in which no padding is.
        assert code[start] == text[start - begin : start - begin + size]
    assert answer.function_of[-1] == -1
    machine = re.search(r"Machine:\s+(.+)", run("readelf", "-h", program))
    assert machine
    assert (answer.machine == 62) == ("X86-64" in machine[1])


def test_what_is_no_program_is_told(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("#!/bin/sh\n")
    module, missing = Module(str(file)), Module(str(tmp_path / "none"))
    answers, failed = code_of({module: [0], missing: [0]})
    assert not answers
    assert "no ELF file" in failed[module]
    assert "is missing" in failed[missing]


def test_another_build_is_not_taken(tmp_path: Path) -> None:
    program = compile_program(tmp_path, "c", "-O2", "-Wl,--build-id")
    module = Module(str(program), "00" * 20)
    _, failed = code_of({module: [0]})
    assert "not the file that ran" in failed[module]
