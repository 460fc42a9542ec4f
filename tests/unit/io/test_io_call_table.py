"""docs/io/calls.md is made of the list of calls, and tells of all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gnomon.io.calls import STDIO, calls, counted_names, group_of, layer_of

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "io" / "calls.md"
REMEDY = "run .venv/bin/python packaging/io_call_table.py"


def test_the_page_is_what_the_list_makes(tmp_path: Path) -> None:
    page = tmp_path / "calls.md"
    subprocess.run([sys.executable, ROOT / "packaging" / "io_call_table.py", page], check=True)
    assert page.read_text() == PAGE.read_text(), REMEDY


def test_the_page_has_every_name() -> None:
    text = PAGE.read_text()
    missing = [
        name for call in calls() for name in (call.name, *call.also) if f"`{name}`" not in text
    ]
    assert not missing


def test_no_name_is_there_twice() -> None:
    names = [name for call in calls() for name in (call.name, *call.also)]
    assert sorted(set(names)) == sorted(names)


def test_calls_of_a_name_are_of_one_layer_and_group() -> None:
    for call in calls():
        assert layer_of(call.counted_as) == call.layer
        assert group_of(call.counted_as) == call.group


def test_stdio_is_a_layer_of_its_own() -> None:
    assert layer_of("fread") == STDIO
    assert layer_of("read") != STDIO
    assert {"fread", "read", "open", "stat", "mmap"} <= set(counted_names())
