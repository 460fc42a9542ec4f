"""Answers that are kept by build id: found again, refreshed, refused, bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from symbol_programs import compile_program, instructions, run

from gnomon.symbols import Module, ModuleFrames, answer_cache, reader_process, resolve

BUILD = "0123456789abcdef"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GNOMON_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gnomon" / "symbols"


def program_of(folder: Path, *options: str) -> tuple[Module, list[int]]:
    program = compile_program(folder, "c", "-O2", "-g", f"-Wl,--build-id=0x{BUILD}", *options)
    return Module(str(program), BUILD), instructions(program)


def frames_of(module: Module, addresses: list[int]) -> ModuleFrames:
    return resolve({module: addresses}).frames[module]


def test_an_answer_is_found_again_without_the_reader(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, addresses = program_of(tmp_path)
    first = frames_of(module, addresses)
    assert [path.name for path in cache.iterdir()] == [BUILD]
    assert cache.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(reader_process, "_PROGRAM", Path("/no/such/reader"))
    few = addresses[10:20]
    again = frames_of(module, few)
    assert [again.at(one) for one in few] == [first.at(one) for one in few]
    assert again.has_debug
    assert again.has_symbols
    assert len(again.addresses) == 10


def test_new_addresses_are_added(tmp_path: Path, cache: Path) -> None:
    module, addresses = program_of(tmp_path)
    monotone = resolve({module: addresses}).frames[module]
    (cache / BUILD).unlink()
    for part in (addresses[::3], addresses[1::3], addresses):
        frames = frames_of(module, part)
        assert [frames.at(one) for one in part] == [monotone.at(one) for one in part]
    kept = answer_cache.load_answer(cache, BUILD, module.path)
    assert kept is not None
    assert len(kept.addresses) == len(addresses)


@pytest.mark.usefixtures("cache")
def test_another_file_or_new_debug_information_is_read(tmp_path: Path) -> None:
    module, addresses = program_of(tmp_path)
    debug = tmp_path / "program.debug"
    run("objcopy", "--only-keep-debug", module.path, debug)
    run("strip", module.path)
    run("objcopy", f"--add-gnu-debuglink={debug}", module.path)
    debug.rename(tmp_path / "away")
    assert not frames_of(module, addresses).has_debug
    (tmp_path / "away").rename(debug)
    assert frames_of(module, addresses).has_debug
    debug.unlink()
    assert not frames_of(module, addresses).has_debug
    Path(module.path).unlink()
    assert resolve({module: addresses}).unavailable[module].reason.endswith("is missing")


def test_it_can_be_turned_off(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_CACHE", "off")
    module, addresses = program_of(tmp_path)
    frames_of(module, addresses)
    assert not cache.exists()


def test_a_folder_that_cannot_be_written_is_no_matter(tmp_path: Path, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.touch()
    module, addresses = program_of(tmp_path)
    assert frames_of(module, addresses).has_debug


def test_it_keeps_what_was_used_last(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, addresses = program_of(tmp_path)
    frames = frames_of(module, addresses)
    size = (cache / BUILD).stat().st_size
    monkeypatch.setattr(answer_cache, "SIZE_MAX", 3 * size + size // 2)
    for number, name in enumerate(("aa", "bb", "cc", "dd")):
        answer_cache.save_answer(cache, name, module.path, (), frames)
        if (cache / "aa").exists():
            os.utime(cache / "aa", (1000, 1000))
        os.utime(cache / name, (2000 + number, 2000 + number))
    assert sorted(path.name for path in cache.iterdir()) == [BUILD, "cc", "dd"]


@given(data=st.data())
def test_a_damaged_file_is_as_if_it_were_not_there(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged"
    if not folder.exists():
        folder.mkdir()
        module, addresses = program_of(folder)
        frames = frames_of(module, addresses)
        answer_cache.save_answer(folder / "cache", BUILD, module.path, (), frames)
        (folder / "whole").write_bytes((folder / "cache" / BUILD).read_bytes())
    path = str(folder / "program")
    content = bytearray((folder / "whole").read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:position]
    else:
        content[position] ^= data.draw(st.integers(1, 255))
    (folder / "cache" / BUILD).write_bytes(content)
    assert answer_cache.load_answer(folder / "cache", BUILD, path) is None
