"""libgnomon as its users meet it: installed, found, linked, and quiet."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from building import run

import gnomon

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "native" / "include" / "gnomon" / "gnomon.h"
PACKAGE = Path(gnomon.__path__[0])

CMAKE_USER = """
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(gnomon 0.1 REQUIRED)
add_executable(shared {source})
target_link_libraries(shared PRIVATE gnomon::gnomon)
add_executable(static {source})
target_link_libraries(static PRIVATE gnomon::gnomon-static)
if(NOT EXISTS ${{gnomon_FORTRAN_SOURCE}})
  message(FATAL_ERROR "no Fortran module at ${{gnomon_FORTRAN_SOURCE}}")
endif()
"""


# The functions of PAPI 7's low-level interface. Source: its manual pages, names only.
PAPI_CALLS = (
    "PAPI_accum", "PAPI_add_event", "PAPI_add_events", "PAPI_add_named_event",
    "PAPI_assign_eventset_component", "PAPI_attach", "PAPI_cleanup_eventset",
    "PAPI_create_eventset", "PAPI_destroy_eventset", "PAPI_detach",
    "PAPI_disable_component", "PAPI_disable_component_by_name", "PAPI_enum_cmp_event",
    "PAPI_enum_event", "PAPI_event_code_to_name", "PAPI_event_name_to_code",
    "PAPI_get_cmp_opt", "PAPI_get_component_index", "PAPI_get_component_info",
    "PAPI_get_dmem_info", "PAPI_get_event_component", "PAPI_get_event_info",
    "PAPI_get_eventset_component", "PAPI_get_executable_info", "PAPI_get_hardware_info",
    "PAPI_get_multiplex", "PAPI_get_opt", "PAPI_get_overflow_event_index",
    "PAPI_get_real_cyc", "PAPI_get_real_nsec", "PAPI_get_real_usec",
    "PAPI_get_shared_lib_info", "PAPI_get_thr_specific", "PAPI_get_virt_cyc",
    "PAPI_get_virt_nsec", "PAPI_get_virt_usec", "PAPI_is_initialized", "PAPI_library_init",
    "PAPI_list_events", "PAPI_list_threads", "PAPI_lock", "PAPI_multiplex_init",
    "PAPI_num_cmp_hwctrs", "PAPI_num_components", "PAPI_num_events", "PAPI_overflow",
    "PAPI_perror", "PAPI_profil", "PAPI_query_event", "PAPI_query_named_event", "PAPI_read",
    "PAPI_read_ts", "PAPI_register_thread", "PAPI_remove_event", "PAPI_remove_events",
    "PAPI_remove_named_event", "PAPI_reset", "PAPI_set_cmp_domain",
    "PAPI_set_cmp_granularity", "PAPI_set_debug", "PAPI_set_domain", "PAPI_set_granularity",
    "PAPI_set_multiplex", "PAPI_set_opt", "PAPI_set_thr_specific", "PAPI_shutdown",
    "PAPI_sprofil", "PAPI_start", "PAPI_state", "PAPI_stop", "PAPI_strerror",
    "PAPI_thread_id", "PAPI_thread_init", "PAPI_unlock", "PAPI_unregister_thread",
    "PAPI_write",
)  # fmt: skip


def declared() -> set[str]:
    """Return the functions of the header."""
    return set(re.findall(r"^GN_API[^;(]*?\b(gn_\w+)\(", HEADER.read_text(), re.MULTILINE))


def symbols(library: Path, which: str) -> set[str]:
    lines = run("nm", "-D", f"--{which}-only", "-P", library).splitlines()
    return {line.split()[0].partition("@")[0] for line in lines}


def libraries(prefix: Path) -> tuple[Path, Path]:
    return prefix / "lib" / "libgnomon.so.0", PACKAGE / "lib" / "libgnomon.so.0"


def test_what_the_header_declares_is_exported_and_nothing_else(prefix: Path) -> None:
    assert len(declared()) > 40
    for library in libraries(prefix):
        assert symbols(library, "defined") == declared()


def test_the_library_is_quiet_and_leaves_the_process_alone(prefix: Path) -> None:
    loud = {
        "printf", "puts", "putchar", "fputs", "fputc", "fprintf", "vfprintf", "perror",
        "__printf_chk", "__fprintf_chk", "__vfprintf_chk", "stdout", "stderr",
        "exit", "_exit", "abort", "atexit", "signal",
    }  # fmt: skip
    # sigaction(2) is overflow_signal.c's alone, and test_overflow.c says when.
    for library in libraries(prefix):
        assert symbols(library, "undefined") & loud == set()


def test_the_library_has_its_name_and_is_never_unloaded(prefix: Path) -> None:
    for library in libraries(prefix):
        dynamic = run("readelf", "-d", library)
        assert "soname: [libgnomon.so.0]" in dynamic
        assert "NODELETE" in dynamic
        assert "RPATH" not in dynamic
        assert "RUNPATH" not in dynamic


@pytest.mark.parametrize(
    "compiler",
    ["cc -xc -std=c99", "cc -xc -std=c11", "c++ -xc++ -std=c++11", "c++ -xc++ -std=c++20"],
)
def test_the_header_stands_alone_in_c_and_cpp(compiler: str, tmp_path: Path) -> None:
    user = tmp_path / "user.c"
    user.write_text(
        "#include <gnomon/gnomon.h>\n"
        "int use(void);\n"
        "int use(void)\n{\n"
        "\tstruct gn_options options = GN_OPTIONS_INIT;\n"
        "\treturn options.cpu == -1 && options.size == sizeof(options) ? GN_OK : GN_EINVAL;\n}\n"
    )
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fsyntax-only"]
    run(*compiler.split(), *strict, "-I", HEADER.parents[1], user)


def check_report(printed: str) -> None:
    counted = {line.split()[-1]: line.split()[0] for line in printed.splitlines() if "  " in line}
    assert float(counted["page-faults"]) >= 1
    assert float(counted["task-clock"]) > 0
    for line in printed.splitlines():
        if line.startswith("multiply:"):
            assert re.fullmatch(r"multiply: event 'PAPI_\w+': .+; .+", line)


@pytest.mark.parametrize("language", ["c", "fortran"])
@pytest.mark.parametrize("place", ["installed", "wheel"])
def test_the_examples_build_by_pkg_config_and_count(
    prefix: Path, tmp_path: Path, language: str, place: str
) -> None:
    if language == "fortran" and shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed: run `make setup`, or install the package gfortran")
    lib = prefix / "lib" if place == "installed" else PACKAGE / "lib"
    folder = shutil.copytree(ROOT / "examples" / f"{language}-counters", tmp_path / "example")
    run("make", "-C", folder, f"PKG_CONFIG_PATH={lib / 'pkgconfig'}")
    # That of the wheel is found without help: nobody has its folder in a search path.
    search = {"LD_LIBRARY_PATH": str(lib)} if place == "installed" else {}
    check_report(run(folder / "multiply", **search))


def test_the_example_of_a_profile_tells_functions_apart(prefix: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "c-overflow", tmp_path / "example")
    found = f"PKG_CONFIG_PATH={prefix / 'lib' / 'pkgconfig'}"
    run("make", "-C", folder, found)
    printed = run(folder / "profile", LD_LIBRARY_PATH=str(prefix / "lib"))
    rows = dict(re.findall(r"^(\w+) +([\d.]+) ms", printed, re.MULTILINE))
    assert {"multiply", "transpose", "all"} <= set(rows)
    assert float(rows["multiply"]) + float(rows["transpose"]) <= float(rows["all"])
    counted = re.search(r"^all +([\d.]+) ms  within ([\d.]+) ms; counted ([\d.]+) ms$",
                        printed, re.MULTILINE)  # fmt: skip
    assert counted
    total, error, count = map(float, counted.groups())
    assert abs(total - count) <= error + 0.1


def test_the_c_example_links_statically(prefix: Path, tmp_path: Path) -> None:
    found = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "--static", "gnomon", **found).split()
    flags = [flag.replace("-lgnomon", "-l:libgnomon.a") for flag in flags]
    source = ROOT / "examples" / "c-counters" / "multiply.c"
    run("cc", "-O2", "-o", tmp_path / "multiply", source, *flags)
    assert "libgnomon" not in run("readelf", "-d", tmp_path / "multiply")
    check_report(run(tmp_path / "multiply"))


def test_cmake_finds_the_package(prefix: Path, tmp_path: Path) -> None:
    source = ROOT / "examples" / "c-counters" / "multiply.c"
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_USER.format(source=source))
    for place in (prefix / "lib", PACKAGE / "lib"):
        build = tmp_path / place.parent.name
        run("cmake", "-S", tmp_path, "-B", build, "-G", "Ninja",
            f"-Dgnomon_DIR={place / 'cmake' / 'gnomon'}")  # fmt: skip
        run("cmake", "--build", build)
        for program in ("shared", "static"):
            check_report(run(build / program))


def test_the_fortran_module_declares_what_the_header_does() -> None:
    module = (ROOT / "native" / "fortran" / "gnomon.F90").read_text()
    assert set(re.findall(r"name='(gn_\w+)'", module)) == declared() - {"gn_set_add_all"}
    header = HEADER.read_text()
    for name, value in re.findall(r"\b(GN_[A-Z_]+) = (-?\d+),", header):
        assert re.search(rf"\b{name} = {value}\b", module), name


def test_every_papi_call_has_its_row() -> None:
    page = (ROOT / "docs" / "counters" / "c-api.md").read_text()
    for name in sorted(declared()):
        assert f"`{name}" in page, name
    for call in PAPI_CALLS:
        assert f"`{call}`" in page, call
