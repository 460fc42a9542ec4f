"""Raw files of libhpm that are not what they seem: `gnomon repair` refuses them, or makes do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

import gnomon

PACKAGE = Path(gnomon.__path__[0])
# Another build of it, with sanitizers say.
REPAIR = Path(os.environ.get("GNOMON_TEST_REPAIR", PACKAGE / "lib" / "hpm-repair"))
CLEAN = {
    name: value for name, value in os.environ.items() if not name.startswith(("HPM_", "GNOMON_"))
}

PROGRAM = """
#include <signal.h>
#include "libhpm.h"
int main(void)
{
	hpmInit(0, "raw");
	hpmStart(1, "outer");
	hpmTstart(2, "inner");
	hpmTstop(2);
	hpmStop(1);
	hpmTstart(3, "active");
	raise(SIGKILL);
}
"""


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a raw file that is as it should be."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "raw.c").write_text(PROGRAM)
    lib, include = PACKAGE / "lib", PACKAGE / "include" / "gnomon"
    subprocess.run(
        ["cc", "raw.c", "-o", "raw", f"-I{include}", f"-L{lib}", "-lhpm", f"-Wl,-rpath,{lib}"],
        cwd=folder, check=True,
    )  # fmt: skip
    events = "page-faults,task-clock,no-such-event"
    wanted = CLEAN | {"GNOMON_EVENTS": events, "HPM_EXCLUSIVE_VALUES": "yes", "HPM_STDOUT": "no"}
    done = subprocess.run(["./raw"], cwd=folder, env=wanted, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    # The file is longer than its contents; fewer bytes make better examples.
    return (folder / "raw.hpmraw").read_bytes()[:40_000]


def repair(folder: Path, content: bytes) -> subprocess.CompletedProcess[str]:
    """Repair such a file; it is refused with one line that names it, or written."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "x.hpmraw").write_bytes(content)
    done = subprocess.run(
        [REPAIR, "x.hpmraw"], cwd=folder, env=CLEAN, capture_output=True, text=True,
        errors="replace", check=False, timeout=120,
    )  # fmt: skip
    names = {file.name for file in folder.iterdir()}
    assert done.returncode in (0, 1), done.stderr
    assert names <= {"x.hpmraw", "x.hpm", "x.viz", "x.csv"}
    assert (folder / "x.hpmraw").read_bytes() == content
    if done.returncode:
        assert names == {"x.hpmraw"}
        assert done.stderr.startswith("x.hpmraw: ")
        assert done.stderr.count("\n") == 1
    return done


def test_the_file_is_as_it_should_be(raw: bytes, tmp_path: Path) -> None:
    assert repair(tmp_path / "x", raw).stderr == ""
    text = (tmp_path / "x" / "x.hpm").read_text()
    assert "section 1  outer" in text
    assert "section 2  inner" in text


@pytest.mark.parametrize(
    ("at", "what", "said"),
    [
        (0, b"X", "byte 0: it does not begin as raw files of libhpm do"),
        (8, b"\x01\x02\x03\x04", "byte 8: it was written with another byte order; "),
        (12, b"\x63", "byte 12: it has version 99, and this Gnomon reads 3; "),
        (16, b"\xff", "byte 16: flags 0xff are not known; "),
        (20, b"\x07", "byte 20: sections of "),
    ],
)
def test_what_is_refused_says_where(
    raw: bytes, tmp_path: Path, at: int, what: bytes, said: str
) -> None:
    assert said in repair(tmp_path / "x", raw[:at] + what + raw[at + len(what) :]).stderr


@pytest.mark.parametrize("length", [0, 1, 100, 4000, 9000])
def test_files_that_were_cut_off_are_refused(raw: bytes, tmp_path: Path, length: int) -> None:
    said = repair(tmp_path / "x", raw[:length]).stderr
    assert "cut off" in said


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, said in (
        ("none", "No such file or directory"),
        (".", "not a regular file"),
        ("pipe", "not a regular file"),
    ):
        done = subprocess.run(
            [REPAIR, name], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 1
        assert said in done.stderr


FUZZ = examples(150)


@FUZZ
@given(data=st.data())
def test_any_bytes_changed(raw: bytes, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 6))):
        # Mostly where the numbers are: the header, and the sections at the end.
        at = data.draw(
            st.one_of(st.integers(0, 250), st.integers(0, len(raw) - 1), st.integers(3800, 4400))
        )
        new = data.draw(
            st.one_of(st.binary(min_size=1, max_size=8), st.just(b"\xff" * 8), st.just(b"\0" * 8))
        )
        content[at : at + len(new)] = new
    repair(tmp_path / "x", bytes(content))


@FUZZ
@given(length=st.integers(0, 40_000), more=st.binary(max_size=64))
def test_any_length(raw: bytes, tmp_path: Path, length: int, more: bytes) -> None:
    repair(tmp_path / "x", raw[:length] + more)


@FUZZ
@given(content=st.binary(max_size=6000))
def test_anything_behind_a_good_beginning(raw: bytes, tmp_path: Path, content: bytes) -> None:
    repair(tmp_path / "x", raw[:24] + content)
