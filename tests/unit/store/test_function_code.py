"""The file of functions' code in a bundle: what was written is read, and nothing else."""

from __future__ import annotations

import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.errors import FormatError
from gnomon.store import function_code
from gnomon.store.file_head import HEAD_BYTES
from gnomon.store.function_code import Function, ModuleCode, decoded, encoded

FILE = Path("functions")
NUMBERS = st.integers(0, 2**63 - 1)
FUNCTIONS = st.builds(
    Function, name=st.text(max_size=20), address=NUMBERS, samples=NUMBERS,
    code=st.binary(max_size=40),
)  # fmt: skip
MODULES = st.builds(
    ModuleCode, name=st.text(max_size=9), path=st.text(max_size=9), build_id=st.text(max_size=9),
    machine=st.integers(0, 65535), functions=st.lists(FUNCTIONS, max_size=3).map(tuple),
)  # fmt: skip
TWO = (
    ModuleCode("app", "/bin/app", "0a", 62, (Function("f", 4096, 9, b"\xc3"),)),
    ModuleCode("lib.so", "/lib.so", "", 62, (Function("g", 16, 2, b"\x90\xc3"),
                                            Function("", 32, 1, b""))),
)  # fmt: skip


@given(st.lists(MODULES, max_size=3).map(tuple))
@examples(50)
def test_what_was_written_is_read(modules: tuple[ModuleCode, ...]) -> None:
    assert decoded(FILE, encoded(modules)) == modules


def test_a_damaged_file_is_refused_with_its_name() -> None:
    whole = encoded(TWO)
    for end in range(len(whole)):
        with pytest.raises(FormatError, match=r"^functions"):
            decoded(FILE, whole[:end])
    changed = random.Random(5)
    for _ in range(300):
        damaged = bytearray(whole)
        at = changed.randrange(len(damaged))
        damaged[at] ^= 1 << changed.randrange(8)
        try:
            modules = decoded(FILE, bytes(damaged))
        except FormatError:
            continue
        assert modules == TWO  # a bit that nobody has to know


def with_index(change: Callable[[Any], object]) -> bytes:
    """Return a file with another index and the right checksum."""
    whole = encoded(TWO)
    (size,) = struct.unpack_from("=I", whole, HEAD_BYTES + 4)
    index = json.loads(whole[HEAD_BYTES + 8 : HEAD_BYTES + 8 + size])
    index = change(index) or index
    text = json.dumps(index).encode()
    rest = struct.pack("=I", len(text)) + text + whole[HEAD_BYTES + 8 + size :]
    return whole[:HEAD_BYTES] + struct.pack("=I", zlib.crc32(rest)) + rest


def function_with(**values: object) -> Callable[[Any], object]:
    return lambda index: index["modules"][0]["functions"][0].update(values)


@pytest.mark.parametrize(
    "change",
    [
        lambda _: [1],
        lambda _: {"modules": 3},
        lambda index: index["modules"].pop(),
        lambda index: index["modules"][0].pop("machine"),
        lambda index: index["modules"][0].update(machine=1 << 20),
        lambda index: index["modules"][0].update(path=None),
        function_with(size=4),
        function_with(size=-1),
        function_with(size=True),
        function_with(size=1 << 70),
        function_with(address=-1),
        function_with(address=1 << 64),
        function_with(samples=1.5),
        function_with(name=5),
        function_with(name="x" * 5000),
    ],
)
def test_an_index_that_makes_no_sense_is_refused(change: Callable[[Any], object]) -> None:
    with pytest.raises(FormatError, match="makes no sense"):
        decoded(FILE, with_index(change))
    assert decoded(FILE, with_index(lambda index: index)) == TWO


def test_a_bundle_with_damaged_code_says_so(tmp_path: Path, capsys: Any) -> None:
    from made_runs import made_run

    from gnomon.cli import main

    run = made_run(tmp_path, [("app", "f", "", 0, (600, 6, 1, 0))], name="app")
    bundle = tmp_path / "app.gnomon.zip"
    content = encoded(TWO)[:-1] + b"\0"
    with zipfile.ZipFile(bundle, "w") as archive:
        head = {**run.head, "files": {function_code.NAME: len(content)}}
        archive.writestr("run.json", json.dumps(head))
        for schema in run.schemas:
            archive.write(run.file(schema), f"{schema.name}.parquet")
        archive.writestr(f"files/{function_code.NAME}", content)
    assert main(["report", str(bundle), "run"]) == 0
    assert "checksum" in " ".join(capsys.readouterr().out.split())
