"""Functions, inlined calls and lines of addresses, against what binutils says of them."""

from __future__ import annotations

import lzma
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from symbol_programs import (
    by_addr2line,
    by_llvm_symbolizer,
    compile_program,
    instructions,
    run,
    symbol_of,
)

from gnomon.symbols import Frame, Module, ModuleFrames, reader_process, resolve
from gnomon.symbols.resolver import DEBUG_FOLDERS

FORMATS = [
    ("c", "-gdwarf-4"), ("c", "-gdwarf-5"), ("c", "-gdwarf-2"), ("c", "-gdwarf-3"),
    ("cxx", "-gdwarf-4"), ("cxx", "-gdwarf-5"), ("fortran", "-gdwarf-4"), ("fortran", "-gdwarf-5"),
]  # fmt: skip


def frames_of(
    program: Path, addresses: list[int], debug_folders: str = DEBUG_FOLDERS
) -> ModuleFrames:
    module = Module(str(program))
    resolution = resolve({module: addresses}, debug_folders=debug_folders)
    assert not resolution.unavailable
    return resolution.frames[module]


def chain(frames: ModuleFrames, address: int) -> list[tuple[str, str, int]]:
    return [(frame.function, frame.file, frame.line) for frame in frames.at(address)]


def functions(frames: ModuleFrames, addresses: list[int]) -> set[str]:
    return {frame.function for address in addresses for frame in frames.at(address)}


def last_part(name: str) -> str:
    """Return the last part of a name, without parameters.

    Of static functions and lambdas, which have no linkage name, others say that part alone where
    they are inlined, and the symbol where they are not.
    """
    name = name.partition(" [clone")[0].replace("operator()", "operator")
    while "(" in name:
        name = re.sub(r"\([^()]*\)( const)?", "", name)
    return name.rpartition("::")[2].strip()


@pytest.mark.parametrize(("language", "form"), FORMATS)
@pytest.mark.parametrize("packing", ["none", "zlib"])
def test_every_instruction_is_where_addr2line_says(
    tmp_path: Path, language: str, form: str, packing: str
) -> None:
    program = compile_program(
        tmp_path, language, "-O2", "-g", form, f"-Wl,--compress-debug-sections={packing}"
    )
    addresses = instructions(program)
    frames = frames_of(program, addresses)
    n_inlined = 0
    for address, wanted in by_addr2line(program, addresses).items():
        found = chain(frames, address)
        n_inlined += len(found) > 1
        # Of Fortran addr2line says the bare name, and of symbols without lines no file.
        if language == "fortran":
            found = [(name.rpartition("::")[2], file, line) for name, file, line in found]
            wanted = [(name.rpartition("_MOD_")[2], file, line) for name, file, line in wanted]
        # binutils 2.40 says the outer function's name for a lambda that is inlined in it.
        if language != "cxx":
            assert [one[0] for one in found] == [one[0] for one in wanted], hex(address)
        if wanted[-1][2]:
            assert [one[1:] for one in found] == [one[1:] for one in wanted], hex(address)
    assert n_inlined > 5 or language == "fortran"


def test_inlined_functions_of_cxx_are_those_of_llvm_symbolizer(tmp_path: Path) -> None:
    if shutil.which("llvm-symbolizer") is None:
        pytest.skip("no llvm-symbolizer here; install llvm")
    program = compile_program(tmp_path, "cxx", "-O2", "-g")
    addresses = instructions(program)
    frames = frames_of(program, addresses)
    for address, wanted in by_llvm_symbolizer(program, addresses).items():
        if any(one[0].startswith("_Z") for one in wanted):  # it gives up on some
            continue
        names = [last_part(one[0]) for one in chain(frames, address)]
        assert names == [last_part(one[0]) for one in wanted], hex(address)


def test_names_are_those_of_the_source(tmp_path: Path) -> None:
    cxx = compile_program(tmp_path, "cxx", "-O2", "-g")
    names = functions(frames_of(cxx, instructions(cxx)), instructions(cxx))
    assert "solver::Grid<int>::sum() const" in names
    assert "solver::Grid<int>::operator()(int) const" in names
    assert "solver::step" in names
    assert "solver::step::{lambda}::operator()" in names
    fortran = compile_program(tmp_path, "fortran", "-O0", "-g")
    addresses = instructions(fortran)
    assert "heat::relax" in functions(frames_of(fortran, addresses), addresses)


def test_debug_information_that_zstd_compressed(tmp_path: Path) -> None:
    program = compile_program(tmp_path, "c", "-O2", "-g")
    packed = tmp_path / "packed"
    command = ["objcopy", "--compress-debug-sections=zstd", str(program), str(packed)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this objcopy has no zstd; install binutils 2.40 or newer")
    addresses = instructions(program)
    assert "zstd" in run("readelf", "-tW", packed).lower()
    plain, compressed = frames_of(program, addresses), frames_of(packed, addresses)
    assert [compressed.at(one) for one in addresses] == [plain.at(one) for one in addresses]


def test_names_with_link_time_optimization(tmp_path: Path) -> None:
    # Code, and the declarations of what was inlined into it, are in different units.
    program = compile_program(tmp_path, "cxx", "-O2", "-g", "-flto")
    addresses = instructions(program)
    names = functions(frames_of(program, addresses), addresses)
    assert {"solver::step", "solver::step::{lambda}::operator()"} <= names


def test_functions_of_symbols_begin_where_nm_says(tmp_path: Path) -> None:
    program = compile_program(tmp_path, "c", "-O2")
    for name in ("visible", "hidden", "main"):
        start = symbol_of(program, name)
        frames = frames_of(program, [start, start + 3])
        assert frames.at(start + 3) == (Frame(name, "", 0, False, start),)


def test_a_stripped_function_has_the_name_of_its_unwind_entry(tmp_path: Path) -> None:
    program = compile_program(tmp_path, "c", "-O2")
    start = symbol_of(program, "hidden")
    addresses = instructions(program)
    named = frames_of(program, addresses)
    run("strip", program)
    stripped = frames_of(program, addresses)
    assert stripped.at(start + 4) == (Frame(f"program+{start:#x}", "", 0, False, start),)
    for address in addresses:
        (own,) = named.at(address)
        if own.function in ("visible", "hidden", "main"):
            assert stripped.at(address)[0].start == own.start
    assert not stripped.has_debug


@pytest.mark.parametrize("place", ["beside", ".debug", "below", "build id"])
def test_debug_information_in_a_file_of_its_own(tmp_path: Path, place: str) -> None:
    program = compile_program(tmp_path, "c", "-O2", "-g", "-Wl,--build-id")
    addresses = instructions(program)
    whole = frames_of(program, addresses)
    debug = tmp_path / "program.debug"
    folders = tmp_path / "debug"
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    if place != "build id":
        # Without build ids in the way the checksum decides.
        for file in (program, debug):
            run("objcopy", "--remove-section=.note.gnu.build-id", file)
        run("objcopy", f"--add-gnu-debuglink={debug}", program)
    target = {
        "beside": debug,
        ".debug": tmp_path / ".debug" / debug.name,
        "below": folders / str(tmp_path.resolve())[1:] / debug.name,
        "build id": folders / ".build-id",
    }[place]
    if place == "build id":
        notes = run("readelf", "-n", program)
        digits = notes.rpartition("Build ID: ")[2].split()[0]
        target = target / digits[:2] / f"{digits[2:]}.debug"
    target.parent.mkdir(parents=True, exist_ok=True)
    debug.rename(target)
    split = frames_of(program, addresses, debug_folders=str(folders))
    assert [split.at(address) for address in addresses] == [whole.at(one) for one in addresses]
    assert split.has_debug
    # Another file of that name is not believed.
    (tmp_path / "other").mkdir()
    shutil.copy(compile_program(tmp_path / "other", "c", "-O1", "-g", "-Wl,--build-id"), target)
    assert not frames_of(program, addresses, debug_folders=str(folders)).has_debug


def test_symbols_of_minidebuginfo(tmp_path: Path) -> None:
    program = compile_program(tmp_path, "c", "-O2")
    start = symbol_of(program, "hidden")
    mini, packed = tmp_path / "mini", tmp_path / "mini.xz"
    run("objcopy", "-S", "--remove-section=.comment", "--keep-symbol=hidden", program, mini)
    packed.write_bytes(lzma.compress(mini.read_bytes()))
    run("strip", program)
    run("objcopy", f"--add-section=.gnu_debugdata={packed}", program)
    assert frames_of(program, [start]).at(start)[0].function == "hidden"


def test_rust_names_and_lines(tmp_path: Path) -> None:
    source = tmp_path / "p.rs"
    source.write_text(
        "use std::hint::black_box;\n"
        "pub struct Grid<T>(pub Vec<T>);\n"
        "impl<T: Copy + Into<u64>> Grid<T> {\n"
        "    #[inline(never)]\n"
        "    pub fn total(&self) -> u64 { self.0.iter().map(|&x| black_box(x.into())).sum() }\n"
        "}\n"
        'fn main() { println!("{}", Grid(vec![1u32, 2]).total()); }\n'
    )
    if shutil.which("rustc") is None:
        pytest.skip("no rustc here; install rustc")
    program = tmp_path / "p"
    for scheme in ("legacy", "v0"):
        options = ["-C", "opt-level=2", "-g", "-C", f"symbol-mangling-version={scheme}"]
        if scheme == "legacy":
            options += ["-Z", "unstable-options"]
        done = subprocess.run(
            ["rustc", *options, "-o", program, source], check=False, capture_output=True,
            env={**os.environ, "RUSTC_BOOTSTRAP": "1"},
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"rustc does not make {scheme} names: {done.stderr[-200:]!r}")
        names = run("nm", program).splitlines()
        start = next(
            int(line.split()[0], 16) for line in names if "Grid" in line and "total" in line
        )
        outer = frames_of(program, [start]).at(start)[-1]
        assert outer.function in ("p::Grid<T>::total", "<p::Grid<u32>>::total")
        assert Path(outer.file).name == "p.rs"


def test_addresses_in_no_code_have_no_name(tmp_path: Path) -> None:
    program = compile_program(tmp_path, "c", "-O2", "-g")
    odd = [0, 1, 1 << 40, (1 << 64) - 1]
    frames = frames_of(program, odd)
    assert [frames.at(address) for address in odd] == [(Frame("", "", 0, False, 0),)] * 4
    assert frames.at(77) == ()
    assert len(frames_of(program, []).addresses) == 0


def test_stubs_are_named_by_what_they_call(tmp_path: Path) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("stubs are named on x86-64")
    for option in ("-fcf-protection=none", "-fcf-protection=full"):
        program = compile_program(tmp_path, "cxx", "-O1", "-Wl,-z,lazy", option)
        listing = run("objdump", "-d", "-C", program)
        stubs = re.findall(r"^([0-9a-f]+) <(.+@plt)>:$", listing, re.MULTILINE)
        named = {int(start, 16): name.partition("@")[0] for start, name in stubs}
        frames = frames_of(program, list(named))
        assert len(named) >= 3
        for start, name in named.items():
            own = frames.at(start)[0]
            assert own.function.partition("@plt")[0] == name, own
            assert own.start == start


def test_many_addresses_of_a_system_library(tmp_path: Path) -> None:
    program = compile_program(tmp_path, "c", "-O0")
    libc = Path(run("ldd", program).partition("libc.so.6 => ")[2].split()[0])
    exported = [line.split() for line in run("nm", "-D", libc).splitlines()]
    starts = {
        int(line[0], 16): line[2].partition("@")[0]
        for line in exported
        if len(line) == 3 and line[1] in "TWi"
    }
    addresses = np.array(sorted(starts), np.uint64)
    frames = frames_of(libc, addresses.tolist())
    names = {line[2].partition("@")[0] for line in exported if len(line) == 3}
    for start in starts:
        outer = frames.at(start)[-1]
        assert outer.start == start
        assert outer.function in names or frames.has_debug


def test_what_it_cannot_read_is_said(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program\n" * 10)
    program = compile_program(tmp_path, "c", "-Wl,--build-id=0x0123456789")
    program_of = Module(str(program), "0123456789")
    other = Module(str(program), "9876543210")
    names = [Module(str(text)), Module("/no/such"), Module(str(tmp_path)), other]
    resolution = resolve({module: [1] for module in (*names, program_of)})
    assert [resolution.unavailable[module].reason for module in names] == [
        f"{text} is no ELF file", "/no/such is missing", f"{tmp_path} is missing",
        f"{program} is not the file that ran",
    ]  # fmt: skip
    assert set(resolution.frames) == {program_of}


def test_a_crash_costs_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader is the real one, but for one file, which kills it."""
    bad = tmp_path / "bad"
    bad.write_bytes(b"\x7fELF")
    good = compile_program(tmp_path, "c", "-O2", "-g")
    crashing = tmp_path / "reader"
    crashing.write_text(
        f"#!/bin/sh\ncd '{tmp_path}'\n[ -e once ] && {{ rm once; kill -SEGV $$; }}\n"
        f"exec '{reader_process._PROGRAM}' \"$@\"\n"
    )
    crashing.chmod(0o755)
    (tmp_path / "once").touch()
    monkeypatch.setattr(reader_process, "_PROGRAM", crashing)
    modules = [Module(str(bad)), Module(str(good))]
    start = symbol_of(good, "hidden")
    resolution = resolve({module: [start] for module in modules})
    assert resolution.unavailable[modules[0]].reason == (
        f"{bad} cannot be read: gnomon-symbols was ended by Segmentation fault over it"
    )
    assert resolution.frames[modules[1]].at(start)[-1].function == "hidden"


def test_a_reader_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_program(tmp_path, "c")
    slow = tmp_path / "reader"
    slow.write_text("#!/bin/sh\nkill -ALRM $$\n")
    slow.chmod(0o755)
    monkeypatch.setattr(reader_process, "_PROGRAM", slow)
    resolution = resolve({Module(str(program)): [1]})
    (why,) = resolution.unavailable.values()
    assert why.reason == f"{program} took more than {reader_process.SECONDS_MAX} s to read"
