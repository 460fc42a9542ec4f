"""A callgrind.out file of some 20 MB, instructions and simulated caches, read by Gnomon and others.

It is made here, of the C compiler as it compiles a source of ours. The floor is to read the file's
bytes. gprof2dot is measured where it is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.table import Row, Table, interleaved, verdict
from gnomon.store.profile_files.callgrind import fill_callgrind, open_callgrind

_SOURCE = Path(__file__).parents[1] / "native" / "profiles" / "callgrind.c"
_READ_MS = 2000
_ANNOTATE = "callgrind_annotate"


def run(rounds: int) -> Table:
    """Return the times to read the file, by Gnomon in steps and by other tools."""
    with tempfile.TemporaryDirectory() as folder:
        path = _written(Path(folder))
        subjects: dict[str, Callable[[], float]] = {
            "its bytes": partial(_timed, path.read_bytes),
            "to tables": partial(_timed, partial(_tables, path)),
            "to a run": partial(_timed, partial(open_callgrind, path)),
            "gnomon callgraph": partial(
                _command, [sys.executable, "-m", "gnomon", "callgraph", str(path)]
            ),
            _ANNOTATE: partial(_command, [_ANNOTATE, str(path)]),
        }
        if shutil.which("gprof2dot"):
            subjects["gprof2dot"] = partial(_command, ["gprof2dot", "-f", "callgrind", str(path)])
        medians = interleaved(max(3, rounds // 4), subjects)
        size = path.stat().st_size / 1e6
    roles = {"its bytes": "floor", _ANNOTATE: "peer", "gprof2dot": "peer"}
    annotate = medians[_ANNOTATE]
    title = f"callgrind.out of {size:.0f} MB"
    return Table(
        title,
        "ms",
        [Row(name, roles.get(name, ""), value) for name, value in medians.items()],
        [
            f"{title}; {_ANNOTATE} takes {annotate / medians['to a run']:.1f} times as long as "
            f"to a run, {annotate / medians['gnomon callgraph']:.1f} times as long as callgraph",
            verdict("to a run", medians["to a run"], _READ_MS, "ms"),
            verdict("gnomon callgraph", medians["gnomon callgraph"], _READ_MS, "ms"),
        ],
    )


def _written(folder: Path) -> Path:
    if not shutil.which("valgrind"):
        raise SystemExit("callgrind: there is no valgrind to write the file with")
    compiler = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True
    ).stdout.strip()
    source, path = folder / "source.i", folder / "callgrind.out"
    native = _SOURCE.parents[1]
    folders = [f"-I{native / name}" for name in ("include", "profiles", "tables")]
    subprocess.run(["gcc", "-E", *folders, str(_SOURCE), "-o", str(source)], check=True)
    subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes",
                    "--cache-sim=yes", "--branch-sim=yes",
                    f"--callgrind-out-file={path}", compiler, "-O2", "-g",
                    "-fpreprocessed", "-quiet", "-o", "/dev/null", str(source)],
                   check=True, stderr=subprocess.DEVNULL)  # fmt: skip
    return path


def _tables(path: Path) -> None:
    with path.open("rb") as file:
        fill_callgrind(path, file, lambda _: None)


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return 1e3 * (time.perf_counter() - begin)


def _command(command: Sequence[str]) -> float:
    return _timed(partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL))
