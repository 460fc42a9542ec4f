"""libhpm as its users meet it: C, Fortran and OpenMP programs, found, compiled and linked."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hpm_programs import GNOMON, HELLO, PACKAGE, ROOT, options, rows, run, value
from intervals import Model, notes_of

SOURCES = ROOT / "tests" / "native" / "sections"
INCLUDE = PACKAGE / "include"


def check_against_model(printed: str, table: list[dict[str, str]]) -> None:
    model = Model()
    model.play(notes_of(printed))
    assert len(model.numbers()) >= 8
    for number in model.numbers():
        for exclusive in (False, True):
            expected = model.expected(number, exclusive=exclusive)
            pages = value(table, number, "page-faults", exclusive=exclusive)
            wall_ns = 1e9 * value(table, number, "wall", exclusive=exclusive)
            # A section's first activation faults in what it is the first to need.
            assert expected.pages <= pages <= expected.pages + 40, (number, exclusive)
            # Two clocks, of which one is measured against the other.
            slack = 1000 + 0.01 * expected.most_ns
            assert expected.least_ns - slack <= wall_ns <= expected.most_ns + slack, (
                number, exclusive)  # fmt: skip
            starts = {row["calls"] for row in table if row["section"] == str(number)}
            assert starts == {str(expected.starts)}


COUNTED = {
    "GNOMON_EVENTS": "page-faults,task-clock",
    "HPM_EXCLUSIVE_VALUES": "yes",
    "HPM_CSV_OUTPUT": "yes",
}


@pytest.mark.parametrize("threads", ["1", "4"])
def test_an_openmp_program_measures_what_it_noted(tmp_path: Path, threads: str) -> None:
    run("cc", "-O1", "-fopenmp", "-D_GNU_SOURCE", SOURCES / "program.c", SOURCES / "trace.c",
        "-o", "program", *options("--cflags", "--libs"), folder=tmp_path)  # fmt: skip
    done = run("./program", threads, folder=tmp_path, **COUNTED)
    assert done.stderr == ""
    check_against_model(done.stdout, rows(tmp_path / "program.csv"))


def test_a_python_program_measures_what_it_noted(tmp_path: Path) -> None:
    run("cc", "-O1", "-D_GNU_SOURCE", "-fPIC", "-shared", SOURCES / "trace.c", "-o", "trace.so",
        folder=tmp_path)  # fmt: skip
    done = run(sys.executable, SOURCES / "program.py", "./trace.so", folder=tmp_path, **COUNTED)
    assert done.stderr == ""
    table = rows(tmp_path / "program.csv")
    check_against_model(done.stdout, table)
    assert 70 <= value(table, 900, "page-faults") <= 110
    assert 70 <= value(table, 901, "page-faults") <= 110


@pytest.mark.parametrize("linked", ["shared", "static"])
@pytest.mark.parametrize("source", ["include", "module"])
def test_a_fortran_program_measures_what_it_noted(tmp_path: Path, source: str, linked: str) -> None:
    text = (SOURCES / "program.F90").read_text()
    files = ["program.F90"]
    if source == "module":
        text = text.replace('#include "f_hpm.h"\n', "").replace(
            "   implicit none\n", "   use f_hpm\n   implicit none\n", 1
        )
        files.insert(0, options("--fortran")[0])
    (tmp_path / "program.F90").write_text(text)
    run("cc", "-O1", "-D_GNU_SOURCE", "-c", SOURCES / "trace.c", folder=tmp_path)
    flags = options("--cflags", "--libs", *(["--static"] if linked == "static" else []))
    run("gfortran", "-O1", "-Wall", *files, "trace.o", "-o", "program", *flags, folder=tmp_path)
    done = run("./program", folder=tmp_path, **COUNTED)
    assert done.stderr == ""
    check_against_model(done.stdout, rows(tmp_path / "program.csv"))


def test_f_hpm_h_is_fixed_form_too(tmp_path: Path) -> None:
    (tmp_path / "old.F").write_text(
        '      PROGRAM OLD\n      IMPLICIT NONE\n#include "f_hpm.h"\n'
        '      call f_hpminit( 0, "old" )\n'
        '      call f_hpmtstart( 2000, "too large" )\n'
        "      if (hpm_error_count .ne. 1) call exit(4)\n"
        "      if (.not. f_hpm_error()) call exit(5)\n"
        "      call f_hpmterminate( 0 )\n      END\n"
    )
    run("gfortran", "old.F", "-o", "old", *options("--cflags", "--libs"), folder=tmp_path)
    done = run("./old", folder=tmp_path)
    assert "Illegal instance id specified: f_hpmtstart(2000): " in done.stderr
    assert (tmp_path / "old.hpm").exists()


# --- what is exported, and what a compiler finds --------------------------------------------------


def symbols(library: Path, which: str) -> set[str]:
    lines = subprocess.run(
        ["nm", "-D", f"--{which}-only", "-P", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {line.split()[0].partition("@")[0] for line in lines}


def test_what_the_header_declares_is_exported_and_little_else(prefix: Path) -> None:
    header = (ROOT / "native" / "include" / "gnomon" / "libhpm.h").read_text()
    declared = set(re.findall(r"\b(hpm\w+)\(", header)) | {"hpm_error_count"}
    fortran = re.findall(r"\b(f_\w+)", (ROOT / "native" / "fortran" / "f_hpm.F90").read_text())
    for library in (prefix / "lib" / "libhpm.so.0", PACKAGE / "lib" / "libhpm.so.0"):
        found = symbols(library, "defined")
        c = {name for name in found if not name.startswith("f_")} - {"hpm_error_count_"}
        assert c == declared
        assert {f"{name}_" for name in fortran if name != "f_hpm"} <= found
        # Handlers of signals are set around the call of a plug-in and nowhere else: call_guard.c.
        assert not symbols(library, "undefined") & {"printf", "puts", "signal"}


@pytest.mark.parametrize(
    "compiler", ["cc -std=c99", "c++ -xc++ -std=c++11", "c++ -xc++ -std=c++20"]
)
def test_the_headers_stand_alone_in_c_and_cpp(compiler: str, tmp_path: Path) -> None:
    for header in ("libhpm.h", "hpm_data.h", "hpm_agg.h"):
        user = tmp_path / "user.c"
        user.write_text(f'#include "{header}"\nint use(void);\nint use(void) {{ return 0; }}\n')
        run(*compiler.split(), "-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fsyntax-only",
            f"-I{INCLUDE / 'gnomon'}", user, folder=tmp_path)  # fmt: skip


@pytest.mark.parametrize("place", ["installed", "wheel"])
@pytest.mark.parametrize("way", ["pkg-config", "cmake", "static"])
def test_programs_are_compiled_and_linked(
    prefix: Path, tmp_path: Path, place: str, way: str
) -> None:
    lib = prefix / "lib" if place == "installed" else PACKAGE / "lib"
    (tmp_path / "hello.c").write_text(HELLO)
    if way == "cmake":
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(hello C)\n"
            "find_package(hpm 0.1 REQUIRED)\nadd_executable(shared hello.c)\n"
            "target_link_libraries(shared PRIVATE hpm::hpm)\nadd_executable(hello hello.c)\n"
            "target_link_libraries(hello PRIVATE hpm::hpm-static)\n"
            "if(NOT EXISTS ${hpm_FORTRAN_SOURCE})\n  message(FATAL_ERROR none)\nendif()\n"
        )
        run("cmake", "-B", "build", "-G", "Ninja", f"-Dhpm_DIR={lib / 'cmake' / 'hpm'}",
            folder=tmp_path)  # fmt: skip
        run("cmake", "--build", "build", folder=tmp_path)
        run("build/shared", folder=tmp_path)
        (tmp_path / "hello.hpm").unlink()
        run("build/hello", folder=tmp_path)
    else:
        found = {"PKG_CONFIG_PATH": str(lib / "pkgconfig")}
        words = ["--static"] if way == "static" else []
        flags = run("pkg-config", "--cflags", "--libs", *words, "hpm", folder=tmp_path, **found)
        given = flags.stdout.replace("-lhpm", "-l:libhpm.a") if words else flags.stdout
        run("cc", "hello.c", "-o", "hello", *given.split(), folder=tmp_path)
        run("./hello", folder=tmp_path, LD_LIBRARY_PATH=str(lib))
    assert "section 1" in (tmp_path / "hello.hpm").read_text()
    # The plug-ins that came with it lie beside the library, wherever that is.
    program = "build/shared" if way == "cmake" else "./hello"
    plugin = lib / "gnomon" / "plugins" / "average.so" if way == "static" else "average"
    run(program, folder=tmp_path, LD_LIBRARY_PATH=str(lib), HPM_AGGREGATE=str(plugin))
    assert "average over 1 task: 0" in (tmp_path / "hello.hpm").read_text()


def test_a_cpp_program_links(tmp_path: Path) -> None:
    (tmp_path / "hello.cpp").write_text(HELLO)
    run("c++", "hello.cpp", "-o", "hello", *options("--cflags", "--libs"), folder=tmp_path)
    assert run("./hello", folder=tmp_path).stderr == ""
    assert (tmp_path / "hello.viz").exists()


def test_gnomon_config_compiles_and_links(tmp_path: Path) -> None:
    (tmp_path / "hello.c").write_text(HELLO)
    for more in ([], ["--static"]):
        words = run(GNOMON, "config", "--cflags", "--libs", *more, "hpm", folder=tmp_path)
        run("cc", "hello.c", "-o", "hello", *words.stdout.split(), folder=tmp_path)
        run("./hello", folder=tmp_path)
        (tmp_path / "hello.hpm").unlink()
    words = run(GNOMON, "config", "--cflags", "--libs", "gnomon", folder=tmp_path)
    (tmp_path / "sets.c").write_text(
        "#include <gnomon/gnomon.h>\nint main(void) { return gn_version() != GN_VERSION; }\n"
    )
    run("cc", "sets.c", "-o", "sets", *words.stdout.split(), folder=tmp_path)
    run("./sets", folder=tmp_path)
    refused = run(GNOMON, "config", "--fortran", "hpm_plugin", folder=tmp_path, status=2)
    assert "hpm_plugin has no Fortran module" in refused.stderr
    refused = run(GNOMON, "config", "hpm", folder=tmp_path, status=2)
    assert "nothing to print; give --cflags" in refused.stderr


@pytest.mark.parametrize(
    ("example", "program", "section"),
    [
        ("hpm-c", "relax", "section 30"),
        ("hpm-fortran", "heat", "one step"),
    ],
)
def test_the_examples_build_and_run(
    tmp_path: Path, example: str, program: str, section: str
) -> None:
    folder = shutil.copytree(ROOT / "examples" / example, tmp_path / "example")
    run("make", f"PKG_CONFIG_PATH={PACKAGE / 'lib' / 'pkgconfig'}", folder=folder)
    assert run(folder / program, folder=folder).stderr == ""
    assert section in (folder / f"{program}.hpm").read_text()
