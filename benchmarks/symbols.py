"""Functions, inlined calls and lines of 10,000 addresses in a large library with debug information.

The library is this Python's own where it has debug information, else a program that is generated.
Peers name the same addresses: addr2line and llvm-symbolizer.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.table import Row, Table, interleaved, verdict
from gnomon.symbols import Module, resolve

_N = 10_000
_COLD_MS, _CACHED_MS = 250, 100
_FUNCTIONS = 20_000


def run(rounds: int) -> Table:
    """Return the times to name addresses: cold, cached, and by others."""
    library = _library()
    notes = _output("readelf", "-n", str(library))
    build_id = notes.partition("Build ID: ")[2].split()[0] if "Build ID" in notes else ""
    addresses = _addresses(library)
    text = "".join(f"{address:#x}\n" for address in addresses)
    module = Module(str(library), build_id)
    with tempfile.TemporaryDirectory() as folder:
        before = {name: os.environ.get(name) for name in ("XDG_CACHE_HOME", "GNOMON_CACHE")}
        os.environ["XDG_CACHE_HOME"] = folder
        subjects = {
            "cold": partial(_ours, module, addresses, is_cached=False),
            "cached": partial(_ours, module, addresses, is_cached=True),
        }
        commands = {
            "addr2line": ["addr2line", "-f", "-i", "-C", "-e", str(library)],
            "llvm-symbolizer": ["llvm-symbolizer", "-f", "-i", "-C", "-e", str(library)],
        }
        for name, command in commands.items():
            if shutil.which(name):
                subjects[name] = partial(_peer, command, text)
        medians = interleaved(max(3, rounds // 4), subjects)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    roles = {"addr2line": "peer"}
    return Table(
        f"{_N} addresses of {library.name}, {library.stat().st_size / 1e6:.0f} MB",
        "ms",
        [Row(name, roles.get(name, ""), value) for name, value in medians.items()],
        [
            verdict("cold", medians["cold"], _COLD_MS, "ms"),
            verdict("cached", medians["cached"], _CACHED_MS, "ms"),
        ],
    )


def _ours(module: Module, addresses: list[int], *, is_cached: bool) -> float:
    """Return the time of it; the cache has what the round before left there."""
    os.environ["GNOMON_CACHE"] = "on" if is_cached else "off"
    begin = time.perf_counter()
    resolution = resolve({module: addresses})
    wall = time.perf_counter() - begin
    assert len(resolution.frames[module].frames) >= len(addresses)
    return 1e3 * wall


def _peer(command: list[str], text: str) -> float:
    begin = time.perf_counter()
    subprocess.run(command, input=text.encode(), stdout=subprocess.DEVNULL, check=True)
    return 1e3 * (time.perf_counter() - begin)


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _library() -> Path:
    name, folder = sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LIBDIR")
    own = Path(folder or "") / str(name)
    if own.is_file() and ".debug_info" in _output("readelf", "-SW", str(own)):
        return own
    print(f"{sys.executable} has no debug information: a generated program", file=sys.stderr)
    build = Path(__file__).parent.parent / "build" / "bench"
    build.mkdir(parents=True, exist_ok=True)
    source = build / "functions.c"
    source.write_text(
        "static volatile int sink;\n"
        "static inline int inner(int x) { sink += x; return 3 * sink; }\n"
        + "".join(
            f"int f{i}(int x)\n{{\n\tfor (int i = 0; i < x; i++)\n\t\tsink += inner(i);\n"
            f"\treturn inner(x) + {i};\n}}\n"
            for i in range(_FUNCTIONS)
        )
    )
    library = build / "functions.so"
    command = ["cc", "-O2", "-g", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    return library


def _addresses(library: Path) -> list[int]:
    for line in _output("readelf", "-SW", str(library)).splitlines():
        words = line.partition("]")[2].split()
        if words[:1] == [".text"]:
            begin, size = int(words[2], 16), int(words[4], 16)
            chosen = random.Random(1)
            return [begin + chosen.randrange(size) for _ in range(_N)]
    raise AssertionError("no code")
