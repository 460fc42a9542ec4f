"""`gnomon config`: how to compile and link with Gnomon's libraries, without pkg-config or CMake."""

from __future__ import annotations

import argparse
from pathlib import Path

from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import UsageError

_LIBRARIES = ("hpm", "gnomon", "hpm_plugin", "mpi", "mio", "runtime")
_RUNTIME = ("libgnomon-runtime.a", "libgnomon-core.a")
_FORTRAN = {"hpm": "f_hpm.F90", "gnomon": "gnomon.F90", "mpi": "mpt.F90"}

# Libraries behind the source: linkers that keep only what is needed read from left to right.
_EPILOG = """\
examples:
  cc prog.c $(gnomon config --cflags --libs hpm) -o prog
  cc prog.c $(gnomon config --cflags --libs gnomon) -o prog
  mpicc -g prog.c $(gnomon config --cflags --libs mpi) -o prog"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon config`."""
    p = Parser(
        prog="gnomon config",
        description="Print compiler and linker options for libhpm (sections, as in IBM's HPM), "
        "libgnomon (event sets), libhpm_plugin (aggregators), libmpitrace (calls of MPI, for the "
        "MPI of mpicc or of the compiler in MPICC), libmio (Modular I/O) or the runtime (libraries "
        "that `gnomon run` preloads).",
        epilog=_EPILOG,
    )
    p.add_argument("library", choices=_LIBRARIES, help="which library")
    p.add_argument("--cflags", action="store_true", help="print compiler options")
    p.add_argument("--libs", action="store_true", help="print linker options")
    p.add_argument("--static", action="store_true", help="with --libs: for the static library")
    p.add_argument(
        "--fortran", action="store_true", help="print the path of the Fortran module's source"
    )
    p.add_argument("--libdir", action="store_true", help="print the directory of the libraries")
    p.add_argument("--includedir", action="store_true", help="print the directory of the headers")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the options that were asked for on one line and return 0.

    Raises:
        UsageError: nothing was asked for, or what the library has not, or a path holds what a
            shell would take apart.
        MpiError: there is no libmpitrace for the MPI, and none can be compiled.
    """
    import gnomon

    package = Path(gnomon.__path__[0])
    words = _words(package, arguments)
    if not words:
        raise UsageError("config: nothing to print; give --cflags, --libs or both")
    if any(" " in word or "'" in word for word in words):
        raise UsageError(
            f"config: the path {package} contains a space, which shells split; install Gnomon "
            "elsewhere, or use pkg-config"
        )
    print(" ".join(words))
    return 0


def _words(package: Path, arguments: argparse.Namespace) -> list[str]:
    name = arguments.library
    lib, include = package / "lib", package / "include"
    words: list[str] = []
    if arguments.cflags:
        words += [f"-I{include / 'gnomon'}"] if name not in ("gnomon", "runtime") else []
        words.append(f"-I{include}")
    if arguments.libs and name == "runtime":  # static: two preloaded libraries share nothing
        archives = [f"{lib / archive}" for archive in _RUNTIME]
        words += [*archives, "-Wl,--exclude-libs,ALL", "-Wl,-z,nodelete", "-lpthread", "-ldl"]
    elif arguments.libs and name == "mpi":
        words += _trace_library(is_static=arguments.static)
    elif arguments.libs and arguments.static:
        words += [str(lib / f"lib{name}.a"), "-lpthread", "-ldl", "-lm"]
    elif arguments.libs:
        words += [f"-L{lib}", f"-l{name}", f"-Wl,-rpath,{lib}"]
    if arguments.fortran and name not in _FORTRAN:
        raise UsageError(f"config: {name} has no Fortran module; only hpm, gnomon and mpi have one")
    if arguments.fortran:
        words.append(str(package / "fortran" / _FORTRAN[name]))
    if arguments.libdir and name == "mpi":
        from gnomon.mpi.trace_library import trace_library

        words.append(str(trace_library()))
    elif arguments.libdir:
        words.append(str(lib))
    if arguments.includedir:
        words.append(str(include if name in ("gnomon", "runtime") else include / "gnomon"))
    return words


def _trace_library(*, is_static: bool) -> list[str]:
    from gnomon.mpi.trace_library import STATIC, trace_library

    folder = trace_library()
    own = [str(folder / STATIC)] if is_static else [f"-L{folder}", "-lmpitrace"]
    own += [] if is_static else [f"-Wl,-rpath,{folder}"]
    # A program of Fortran has all that it calls here already; what this calls is in libraries for
    # Fortran that come behind.
    return [*own, "-Wl,--no-as-needed"]
