"""Lines of Python instructions, against those that the interpreter itself gives."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from gnomon.sampling.python_lines import LineTable

MODULES = ("argparse", "ast", "asyncio.tasks", "dataclasses", "inspect", "typing", "zipfile")


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


@pytest.mark.parametrize("name", MODULES)
def test_the_line_of_every_instruction_is_that_of_the_interpreter(name: str) -> None:
    path = Path(str(importlib.import_module(name).__file__))
    seen = 0
    for code in code_objects(compile(path.read_text(), path, "exec")):
        table = LineTable(code.co_firstlineno, code.co_linetable)
        for begin, end, line in code.co_lines():
            for offset in range(begin, end, 2):
                # An instruction without a line is one of the function.
                expected = code.co_firstlineno if line is None else line
                assert table.line(offset // 2) == expected, (code.co_qualname, offset)
                seen += 1
    assert seen > 1000


def test_before_the_first_instruction_stands_the_function() -> None:
    code = code_objects.__code__
    assert LineTable(code.co_firstlineno, code.co_linetable).line(-1) == code.co_firstlineno


def test_any_bytes_give_lines() -> None:
    random_bytes = random.Random(1)
    for _ in range(3000):
        table = LineTable(
            random_bytes.randint(-(2**31), 2**31 - 1),
            random_bytes.randbytes(random_bytes.randint(0, 60)),
        )
        for instruction in (-1, 0, 7, 1 << 20):
            assert table.line(instruction) >= 0
