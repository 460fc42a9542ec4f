"""Call stacks that libhpm leaves of the places where sections start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import GnomonError
from gnomon.model.inlining import PYTHON
from gnomon.sections.start_stacks import read_start_stacks, resolve_stacks, stacks_of_processes
from gnomon.symbols import Address
from gnomon.symbols.code_frames import CodeFrame

BEGIN = "gnomon section stacks 1\n"


def written(folder: Path, content: bytes, stem: str = "p") -> Path:
    path = folder / f"{stem}.hpmstacks"
    path.write_bytes(content)
    return path


def test_whole_places_are_read(tmp_path: Path) -> None:
    text = (
        BEGIN
        + "place 1\nframe 113c 00ff /bin/a b\nframe 5 - -\nend\n"
        + "place 2\npython 7 f.<locals>.g\t/x/y z.py\npython 0 h\t<string>\nend\n"
        + "place 3\nframe nonsense\nend\nplace 4\nend\nplace 1\nframe 0 - /other\nend\n"
        + "place 5\nframe 1 - /cut\n"
    )
    assert read_start_stacks(written(tmp_path, text.encode())) == {
        1: (Address("/bin/a b", 0x113C, "00ff"), Address("", 5)),
        2: (CodeFrame("f.<locals>.g", PYTHON, "/x/y z.py", 7), CodeFrame("h", PYTHON, "<string>")),
    }


@pytest.mark.parametrize("content", [b"", b"gnomon section stacks 2\n", b"\x7fELF"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(GnomonError, match=r"p\.hpmstacks: byte 0: "):
        read_start_stacks(written(tmp_path, content))


def test_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.hpmstacks").symlink_to("/dev/zero")
    with pytest.raises(GnomonError, match="not a regular file"):
        read_start_stacks(tmp_path / "link.hpmstacks")


@given(st.binary(max_size=200))
def test_nothing_behind_the_beginning_crashes(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = written(tmp_path_factory.getbasetemp(), BEGIN.encode() + content)
    for number, stack in read_start_stacks(path).items():
        assert number >= 0
        assert stack


def test_what_has_no_name_is_called_by_its_address() -> None:
    missing = Address("/nowhere/lib.so.1", 0x10)
    function = CodeFrame("f", PYTHON, "a.py", 3)
    stack = (function, missing, Address("", 0x20))
    functions, unavailable = resolve_stacks([stack])
    assert functions[stack] == (
        function, CodeFrame("lib.so.1+0x10", "lib.so.1"), CodeFrame("[unknown]", "[unknown]"),
    )  # fmt: skip
    assert [why.event for why in unavailable] == ["names of lib.so.1"]


def test_processes_are_read_each_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    good = BEGIN + "place 1\npython 1 f\ta.py\nend\n"
    written(tmp_path, good.encode(), "a")
    written(tmp_path, good.encode(), "b")
    written(tmp_path, b"nonsense", "c")
    warnings: list[str] = []
    functions, _ = stacks_of_processes(["a", "b", "c", "d"], tmp_path, warnings)
    assert functions == {stem: {1: (CodeFrame("f", PYTHON, "a.py", 1),)} for stem in ("a", "b")}
    assert len(warnings) == 1
    assert warnings[0].startswith("call paths of process c: ")


def test_code_that_was_compiled_into_a_function_stands_below_it() -> None:
    stack = (Address(sys.executable, 0x1),)
    functions, _ = resolve_stacks([stack])
    assert functions[stack]
    assert all(function.function for function in functions[stack])
