"""Addresses of programs, the lines they are looked up to, and which build a file is."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gnomon.symbols import Address, SourceLine, reader_process, resolve_lines

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
    places, missing = resolve_lines(
        [one, Address(one.module, 1), Address(str(tmp_path / "without"), offset),
         Address("/no/such program", 1), Address(str(tmp_path / "f.c"), 1)]
    )  # fmt: skip
    assert places == {one: SourceLine(str(tmp_path / "f.c"), 2)}
    assert [why.reason for why in missing] == [
        "/no/such program is missing",
        f"{tmp_path / 'f.c'} is no ELF file",
        "1 start in with: it has no line numbers of them",
        "1 start in without: it has no line numbers of them",
    ]
    assert all(why.remedy for why in missing)


def test_without_the_reader_the_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_process, "_PROGRAM", Path("/no/such/folder/gnomon-symbols"))
    lines, (why,) = resolve_lines([Address("/bin/sh", 1)])
    assert (lines, why.remedy) == ({}, "install Gnomon again")
    assert why.reason.endswith("gnomon-symbols cannot be run: No such file or directory")


def test_another_file_at_its_place_has_no_lines_of_it(tmp_path: Path) -> None:
    one = compiled(tmp_path, "swim", "-g", f"-Wl,--build-id=0x{BUILD_ID}")
    wanted = {one._replace(build_id=BUILD_ID): SourceLine(str(tmp_path / "f.c"), 2)}
    assert resolve_lines(wanted) == (wanted, ())
    other = one._replace(build_id=BUILD_ID.replace("0", "f"))
    assert resolve_lines([other])[0] == {}
    # Without a build id, the file's time tells.
    bare = compiled(tmp_path, "swim", "-g", "-Wl,--build-id=none")
    os.utime(bare.module, (2000, 2000))
    assert list(resolve_lines([bare], ended=3000)[0]) == [bare]
    places, (why,) = resolve_lines([bare], ended=1000)
    assert (places, why.reason) == ({}, f"{bare.module} is not the file that ran")
    assert why.remedy
