"""The first engine of the emulated PMU: Valgrind's cachegrind, with caches and branches simulated.

Source: Valgrind manual, chapters 2 (core), 3.2 (function wrapping) and 5 (cachegrind).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from gnomon.counters.component import Availability
from gnomon.counters.emulation.caches import Cache, Caches
from gnomon.counters.emulation.engine import EmulatedCount, EmulatedRun, EngineCommand
from gnomon.counters.emulation.process_images import COUNTS, LOG, processes
from gnomon.errors import EmulationError
from gnomon.model.symbol_names import module_procedure

_Q = EmulatedCount
# cachegrind's names of its counts, and what they are.
_COUNTS = {
    "Ir": _Q.INSTRUCTIONS,
    "I1mr": _Q.L1_INSTRUCTION_MISSES,
    "ILmr": _Q.LL_INSTRUCTION_MISSES,
    "Dr": _Q.LOADS,
    "D1mr": _Q.L1_LOAD_MISSES,
    "DLmr": _Q.LL_LOAD_MISSES,
    "Dw": _Q.STORES,
    "D1mw": _Q.L1_STORE_MISSES,
    "DLmw": _Q.LL_STORE_MISSES,
    "Bc": _Q.CONDITIONAL_BRANCHES,
    "Bcm": _Q.CONDITIONAL_MISSES,
    "Bi": _Q.INDIRECT_BRANCHES,
    "Bim": _Q.INDIRECT_MISSES,
}
_WRAPPERS = Path(__file__).parents[2] / "lib" / "libgnomon-valgrind.so"
_TOOL = re.compile(r"cachegrind-(?P<platform>[\w]+-linux)")
_INSTALL = "install Valgrind: on Debian and Ubuntu, apt-get install valgrind"
_BAD_BYTES = re.compile(r"unhandled instruction bytes:((?: 0x[0-9A-F]{1,2})+)", re.IGNORECASE)
_BAD_PLACE = re.compile(r"Unrecognised instruction at address 0x[0-9a-f]+\.\n"
                        r"==\d+==    at 0x[0-9A-F]+: (.+)")  # fmt: skip
_EVEX = 0x62
_PAGE_BYTES = 4096
_POINTER_BYTES = 8
# How often the path of Valgrind's tools stands above the stack: VALGRIND_LIB, LD_PRELOAD twice.
_PATHS = 3
_PADDING = "GNOMON_STACK_PADDING"


class Valgrind:
    """Runs programs under cachegrind."""

    name = "valgrind"
    quantities = tuple(_COUNTS.values())
    slowdown = "40 to 100 times as long, one thread at a time"
    exactness = (
        "instructions, loads, stores, conditional and indirect branches are exact counts of user "
        "code (rep movs and its like: each round); cache and branch misses are simulated: two "
        "cache levels, no prefetching, no other program beside it"
    )

    @property
    def title(self) -> str:
        """Return name and version."""
        return self._version

    def availability(self) -> Availability:
        """Return whether Valgrind is installed, with cachegrind."""
        if self._program is None:
            return Availability(False, "Valgrind is not installed", _INSTALL)
        if not os.access(self._program, os.X_OK):
            return Availability(False, f"{self._program} may not be executed", _INSTALL)
        if self._library is None:
            return Availability(
                False, f"no cachegrind belongs to {self._program}",
                "install Valgrind whole, or set VALGRIND_LIB to the folder that has its tools",
            )  # fmt: skip
        return Availability(True)

    def prepare(
        self, caches: Caches, folder: Path, command: Sequence[str], environment: Sequence[bytes]
    ) -> EngineCommand:
        """Return how to run a program whose counts are to be left in a folder."""
        if self._program is None or self._library is None:
            state = self.availability()
            raise EmulationError(f"{state.reason}; {state.remedy}")
        if not self._version:
            raise EmulationError(f"{self._program} does not run; {_INSTALL}")
        words = (
            str(self._program),
            "--tool=cachegrind",
            "--cache-sim=yes",
            "--branch-sim=yes",
            "--trace-children=yes",
            f"--I1={_option(caches.instructions)}",
            f"--D1={_option(caches.data)}",
            f"--LL={_option(caches.last)}",
            f"--cachegrind-out-file={_literal(folder / COUNTS)}.%p",
            f"--log-file={_literal(folder / LOG)}.%p",
            "--vgdb=no",
            "--",
        )
        tools = self._with_wrappers(self._library, folder)
        return EngineCommand(words, _placed(tools, command, environment))

    def harvest(self, folder: Path) -> EmulatedRun:
        """Return the results that Valgrind left in the folder."""
        return processes(folder, tuple(_COUNTS))

    def explain(self, folder: Path, signal: int) -> str:
        """Return which instruction Valgrind does not know, if that ended a process."""
        del signal
        for log in sorted(folder.glob(f"{LOG}.*")):
            text = log.read_text(errors="replace")
            unknown = _BAD_BYTES.search(text)
            if unknown is None:
                continue
            code = bytes(int(byte, 16) for byte in unknown[1].split())
            place = _BAD_PLACE.search(text)
            where = f" in {module_procedure(place[1])}" if place else ""
            if code.lstrip(b"\x66\xf2\xf3\x67\x2e\x3e")[:1] == bytes([_EVEX]):
                return (
                    f"the program executes AVX-512{where}, which Valgrind cannot emulate; build "
                    "the program (and its libraries) without it: -mno-avx512f, or "
                    "-march=x86-64-v3 instead of -march=native"
                )
            return (
                f"Valgrind does not know the instruction {code[:8].hex(' ')}{where}; build the "
                "program for an older processor (-march=x86-64-v3 or -v2), or use a newer Valgrind"
            )
        return ""

    def _with_wrappers(self, library: Path, folder: Path) -> Path:
        """Return a folder of Valgrind's tools that also loads our wrappers into the program."""
        if not _WRAPPERS.exists():
            return library
        tools = folder / "valgrind"
        try:
            tools.mkdir()
            for file in library.iterdir():
                (tools / file.name).symlink_to(file)
                platform = _TOOL.fullmatch(file.name)
                # Ours are built for the processor that Gnomon is built for.
                if platform and platform["platform"] == self._platform:
                    preload = tools / f"vgpreload_cachegrind-{platform['platform']}.so"
                    preload.symlink_to(_WRAPPERS)
        except OSError as error:
            raise EmulationError(
                f"{tools}: cannot be prepared: {error.strerror}; set TMPDIR to a folder with space"
            ) from None
        return tools

    @cached_property
    def _program(self) -> Path | None:
        program = shutil.which("valgrind")
        if program is None:
            return None
        # Debian's is a script that changes the program's environment before it calls this.
        real = Path(program).with_name("valgrind.bin")
        return real if real.exists() else Path(program)

    @cached_property
    def _version(self) -> str:
        if self._program is None:
            return ""
        import subprocess

        try:
            done = subprocess.run(
                [self._program, "--version"], capture_output=True, text=True, timeout=60,
                check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
            return ""
        return done.stdout.strip().replace("valgrind-", "Valgrind ")

    @cached_property
    def _library(self) -> Path | None:
        """The folder that has Valgrind's tools."""
        assert self._program is not None
        prefix = self._program.resolve().parent.parent
        given = os.environ.get("VALGRIND_LIB")
        places = [Path(given)] if given else []
        places += [prefix / "libexec/valgrind", prefix / "lib/valgrind", prefix / "lib64/valgrind"]
        places += (prefix / "lib").glob("*-linux-gnu*/valgrind")
        return next((place for place in places if any(place.glob("cachegrind-*-linux"))), None)

    @cached_property
    def _platform(self) -> str:
        names = {"x86_64": "amd64-linux", "aarch64": "arm64-linux"}
        return names.get(os.uname().machine, "")


def _placed(tools: Path, command: Sequence[str], environment: Sequence[bytes]) -> dict[str, str]:
    """Return the variables by which Valgrind finds its tools and the stack begins where always.

    Arguments and environment lie above the stack. Their size would decide where in a page the
    program's own variables are, and so how often its strings straddle lines and pages: in a C++
    program of short strings that moved the instructions by 1.4 %.
    """
    folder = str(tools)
    strings = [*environment, *map(os.fsencode, command)]
    taken = sum(len(one) + 1 + _POINTER_BYTES for one in strings) + _PATHS * len(folder)
    return {"VALGRIND_LIB": folder, _PADDING: "." * (-taken % _PAGE_BYTES)}


def _option(cache: Cache) -> str:
    return f"{cache.size},{cache.ways},{cache.line}"


def _literal(path: Path) -> str:
    """Return a path with what Valgrind would expand in it made literal."""
    return str(path).replace("%", "%%")
