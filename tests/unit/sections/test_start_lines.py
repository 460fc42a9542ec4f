"""Addresses that libhpm leaves of sections."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import GnomonError
from gnomon.sections import start_lines
from gnomon.symbols import Address

BEGIN = "gnomon places 1\n"


def written(folder: Path, content: bytes) -> Path:
    path = folder / "p.hpmplaces"
    path.write_bytes(content)
    return path


def test_whole_lines_are_read_and_the_first_of_a_number_holds(tmp_path: Path) -> None:
    text = (
        BEGIN
        + "1 113c /bin/a b\n2 0 /lib/ü.so\n1 ff /bin/other\nnonsense\n3 12 relative\n4 1f /cut"
    )
    assert start_lines.read_start_lines(written(tmp_path, text.encode())) == {
        1: Address("/bin/a b", 0x113C), 2: Address("/lib/ü.so", 0),
    }  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"gnomon places 2\n1 1 /a\n", b"\x7fELF"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(GnomonError, match=r"p\.hpmplaces: byte 0: "):
        start_lines.read_start_lines(written(tmp_path, content))


def test_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.hpmplaces").symlink_to("/dev/zero")
    with pytest.raises(GnomonError, match="not a regular file"):
        start_lines.read_start_lines(tmp_path / "link.hpmplaces")


@given(st.binary(max_size=200))
def test_nothing_behind_the_beginning_crashes(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = written(tmp_path_factory.getbasetemp(), BEGIN.encode() + content)
    for number, address in start_lines.read_start_lines(path).items():
        assert number >= 0
        assert address.module.startswith("/")
        assert "\0" not in address.module
