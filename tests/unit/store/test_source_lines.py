"""Addresses of programs, the lines they are looked up to, and which build a file is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.store import source_lines
from gnomon.store.build_ids import build_id
from gnomon.store.source_lines import Address, SourceLine

SOURCE = "int f(void)\n{\n\treturn 7;\n}\nint main(void)\n{\n\treturn f();\n}\n"
BUILD_ID = "0123456789abcdef0123456789abcdef01234567"


def compiled(folder: Path, name: str, *options: str) -> Address:
    """Return where f is in a program of that name; 0 if it has no symbols."""
    (folder / "f.c").write_text(SOURCE)
    command = ["cc", "-no-pie", "-O0", *options, "-o", name, "f.c"]
    subprocess.run(command, cwd=folder, check=True)
    nm = subprocess.run(["nm", name], cwd=folder, check=False, capture_output=True, text=True)
    found = re.search(r"^([0-9a-f]+) T f$", nm.stdout, re.MULTILINE)
    return Address(str(folder / name), int(found[1], 16) if found else 0)


def test_lines_of_a_program_and_why_there_are_none(tmp_path: Path) -> None:
    one = compiled(tmp_path, "with", "-g")
    offset = compiled(tmp_path, "without", "-s").offset or one.offset
    places, missing = source_lines.resolve(
        [one, Address(one.module, 1), Address(str(tmp_path / "without"), offset),
         Address("/no/such program", 1), Address(str(tmp_path / "f.c"), 1)]
    )  # fmt: skip
    assert places == {one: SourceLine(str(tmp_path / "f.c"), 2)}
    assert [why.reason for why in missing] == [
        "/no/such program is missing",
        "1 start in f.c: it has no line numbers of them",
        "1 start in with: it has no line numbers of them",
        "1 start in without: it has no line numbers of them",
    ]
    assert all(why.remedy for why in missing)


def test_without_a_tool_the_reason_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such/folder")
    assert shutil.which("addr2line") is None
    places, (why,) = source_lines.resolve([Address("/bin/sh", 1)])
    assert (places, why.remedy) == ({}, "install binutils")


def test_the_build_id_is_that_of_the_file(tmp_path: Path) -> None:
    kept = Path(compiled(tmp_path, "kept", f"-Wl,--build-id=0x{BUILD_ID}").module)
    assert build_id(kept) == BUILD_ID
    assert build_id(Path(compiled(tmp_path, "none", "-Wl,--build-id=none").module)) == ""
    assert build_id(tmp_path / "f.c") == ""


@given(st.binary(max_size=200))
def test_no_content_is_too_much_for_a_build_id(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd"
    for begin in (b"", b"\x7fELF\x02\x01", b"\x7fELF\x01\x02"):
        path.write_bytes(begin + content)
        assert len(build_id(path)) <= 2 * len(content)


def test_another_file_at_its_place_has_no_lines_of_it(tmp_path: Path) -> None:
    one = compiled(tmp_path, "swim", "-g", f"-Wl,--build-id=0x{BUILD_ID}")
    wanted = {one._replace(build_id=BUILD_ID): SourceLine(str(tmp_path / "f.c"), 2)}
    assert source_lines.resolve(wanted) == (wanted, ())
    other = one._replace(build_id=BUILD_ID.replace("0", "f"))
    assert source_lines.resolve([other])[0] == {}
    # Without a build id, the file's time tells.
    bare = compiled(tmp_path, "swim", "-g", "-Wl,--build-id=none")
    os.utime(bare.module, (2000, 2000))
    assert list(source_lines.resolve([bare], ended=3000)[0]) == [bare]
    places, (why,) = source_lines.resolve([bare], ended=1000)
    assert (places, why.reason) == ({}, f"{bare.module} is not the file that ran")
    assert why.remedy
