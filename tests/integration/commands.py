"""Running gnomon and perf as their users do, and reading what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(sys.executable).parent
GNOMON = str(TOOLS / "gnomon")
HPMCOUNT = str(TOOLS / "hpmcount")
# Without it the layout of a program's memory differs from run to run, and with it the number of
# its page faults.
SAME_LAYOUT = ("setarch", "-R")

# Root's files stay readable, so that the same installation runs; everything else is forbidden.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")

# What --per says where the kernel cannot do it (Linux 6.1, for one), before the program runs.
NO_EXIT_RECORDS = "does not report the counts of exiting threads"

Document = dict[str, Any]


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Return what came of a command; its output is text, its input is empty."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run([str(word) for word in command], check=False, **(given | options))
    if NO_EXIT_RECORDS in (done.stderr or ""):
        pytest.skip(done.stderr.strip())
    return done


def run_bytes(*command: str | bytes | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Return what came of a command, its output as bytes."""
    given: dict[str, Any] = {"capture_output": True} | options
    if "input" not in given:
        given["stdin"] = subprocess.DEVNULL
    done = subprocess.run(command, check=False, **given)
    if NO_EXIT_RECORDS.encode() in (done.stderr or b""):
        pytest.skip(done.stderr.decode(errors="replace").strip())
    return done


def gnomon(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Return what came of `gnomon` with these arguments."""
    return run(GNOMON, *arguments, **options)


def counted(
    folder: Path,
    *arguments: str | Path,
    status: int = 0,
    under: Sequence[str] = (),
    **options: Any,
) -> Document:
    """Return the document of a `gnomon count` whose report goes to a file only.

    The status is what subprocess calls it: negative for a signal.
    """
    file = folder / "count.json"
    file.unlink(missing_ok=True)
    done = run(*under, GNOMON, "count", "-n", "-o", file, *arguments, **options)
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    document: Document = json.loads(file.read_text())
    return document


def values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a document's counters by event."""
    return {counter["event"]: counter["value"] for counter in document["counters"]}


def perf_program() -> str | None:
    """Return perf: the one that `make setup` has linked, or the one of PATH."""
    own = TOOLS / "perf"
    return str(own) if own.exists() else shutil.which("perf")


def perf_counted(
    folder: Path,
    events: Iterable[str],
    *command: str | Path,
    status: int | None = 0,
    under: Sequence[str] = (),
    **options: Any,
) -> dict[str, float]:
    """Return what `perf stat` counts of a command; task-clock in ns, as gnomon gives it.

    Status None is any: what perf makes of a killed program differs between its versions, and
    perf 6.1 returns 0 for one in forty programs that end at once with another status.
    """
    file = folder / "perf.csv"
    perf = perf_program()
    assert perf is not None
    done = run(*under, perf, "stat", "-x;", "-o", file, "-e", ",".join(events), "--", *command,
               **options)  # fmt: skip
    said = f"status {done.returncode}\n{done.stdout}{done.stderr}"
    assert status in (None, done.returncode), said
    counts = {}
    for line in file.read_text().splitlines():
        fields = line.split(";")
        if len(fields) > 2 and not line.startswith("#"):
            scale = 1e6 if fields[1] == "msec" else 1
            counts[fields[2]] = float(fields[0]) * scale
    return counts


def task_sum(document: Mapping[str, Any], rows: str, event: str) -> int:
    """Return the sum of an event over `threads` or `processes`; fails if one has no count."""
    found = [row["values"][event] for row in document[rows]]
    assert None not in found, f"{event}: a row without a count"
    return sum(found)


def emulated(folder: Path, *arguments: str | Path, **options: Any) -> Document:
    """Return the document of a program that ran on the emulated PMU."""
    return counted(folder, "--pmu", "emulated", *arguments, **options)
