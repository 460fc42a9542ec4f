"""Profiles of other tools: imports of large ones, and exports of a run of 100,000 stacks."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks import large_samples
from benchmarks.cost import Cost, cost_of, typical
from benchmarks.table import Row, Table

_GNOMON = str(Path(sys.executable).parent / "gnomon")
_EXPORTS = {"collapsed": ".collapsed", "speedscope": ".speedscope.json", "pprof": ".pb.gz",
            "firefox": ".json"}  # fmt: skip
_COPIES = 10
"""So often each sample of the profile of pprof is there again: a million in all."""
# The least that a reader in Python does: unpack, take lines apart, understand JSON.
_FLOORS = {
    "collapsed": "import sys\nfor line in open(sys.argv[1], 'rb'):\n"
    "    line.rsplit(None, 1)[0].split(b';')",
    "speedscope": "import sys, json\njson.loads(open(sys.argv[1], 'rb').read())",
    "pprof": "import sys, gzip\ngzip.open(sys.argv[1]).read()",
}


def _profile_of_a_million(file: Path) -> None:
    """Write each sample of a profile of pprof again and again."""
    from gnomon.store.profile_files.pprof_format import SAMPLE
    from gnomon.store.profile_files.protobuf import Wire, length_field

    def fail(offset: int, problem: str) -> None:
        raise ValueError(offset, problem)

    content = gzip.decompress(file.read_bytes())
    samples = b"".join(
        length_field(SAMPLE, content[begin:end])
        for number, begin, end in Wire(content, fail).fields(0, len(content))  # type: ignore[arg-type]
        if number == SAMPLE
    )
    file.write_bytes(gzip.compress(content + samples * (_COPIES - 1), 1))


def _peer(folder: Path, file: Path) -> Callable[[], Cost] | None:
    """Return what reads a file with the format's own tool, None where that is not installed."""
    if not file.name.endswith(".pb.gz") or shutil.which("go") is None:
        return None
    variables = os.environ | {"HOME": str(folder), "PPROF_TMPDIR": str(folder)}
    return lambda: cost_of("go", "tool", "pprof", "-top", "-output=/dev/null", file,
                           environment=variables)  # fmt: skip


def run(rounds: int) -> Table:
    """Return what exports and imports take, beside a floor and, of pprof, its own tool."""
    few = max(rounds // 4, 1)
    rows: list[Row] = []
    said = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "large.gnomon"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            apart.submit(large_samples.write, path).result()
        for to, ending in _EXPORTS.items():
            file = folder / f"large{ending}"
            costs = [cost_of(_GNOMON, "export", path, "--to", to, "-o", file) for _ in range(few)]
            rows += typical(costs).rows(f"export to {to}, {file.stat().st_size / 1e6:.0f} MB")
            said.append(f"export to {to}: at most {typical(costs).memory:.0f} MB of memory")
        _profile_of_a_million(folder / "large.pb.gz")
        for to, floor in _FLOORS.items():
            file = folder / f"large{_EXPORTS[to]}"
            what = f"{to}, {file.stat().st_size / 1e6:.0f} MB"
            subjects: dict[str, Callable[[], Cost] | None] = {
                f"import of {what}": lambda file=file: cost_of(  # type: ignore[misc]
                    _GNOMON, "import", file, "--name", folder / "again", "--force"
                ),
                "  floor": lambda file=file, floor=floor: cost_of(  # type: ignore[misc]
                    sys.executable, "-I", "-c", floor, file
                ),
                "  go tool pprof -top": _peer(folder, file),
            }
            costs_of: dict[str, list[Cost]] = {name: [] for name, one in subjects.items() if one}
            for _ in range(few):
                for name, subject in subjects.items():
                    if subject is not None:
                        costs_of[name].append(subject())
            medians = [typical(costs) for costs in costs_of.values()]
            for name, cost in zip(costs_of, medians, strict=True):
                rows += cost.rows(name)
            own, *others = medians
            ratios = ", ".join(
                f"{own.seconds / other.seconds:.2f} times {other_name.strip()} "
                f"({own.cpu_seconds / other.cpu_seconds:.2f} in CPU time)"
                for other_name, other in zip(list(costs_of)[1:], others, strict=True)
            )
            said.append(f"import of {to}: {ratios}; at most {own.memory:.0f} MB of memory")
    return Table("Profiles of other tools", "ms", rows, said)
