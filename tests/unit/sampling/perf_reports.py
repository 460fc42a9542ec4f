"""What perf report says of a file, and what Gnomon reads in it, by function: the same or not."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from gnomon.sampling.perf_data.profile import open_perf_data
from gnomon.store.run import Run

KERNEL = "[kernel]"
UNKNOWN = "[unknown]"


def need_perf() -> None:
    """Fail with the remedy where perf is missing."""
    if not shutil.which("perf"):
        pytest.fail("there is no perf to compare with: make setup installs it")


class Share(NamedTuple):
    """The period and the number of samples of a function."""

    period: float
    samples: int


Shares = dict[tuple[str, str], Share]
"""By module and function."""


def perf_report(path: Path, *options: str) -> str:
    """Return what perf report prints, without call chains."""
    command = [
        "perf",
        "report",
        "-i",
        str(path),
        "--stdio",
        "--no-children",
        "-g",
        "none",
        "--no-group",
    ]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    return done.stdout


def shares_of_perf(path: Path) -> dict[str, Shares]:
    """Return what perf report says of each event."""
    text = perf_report(path, "-t", "|", "-F", "period,sample,dso,symbol")
    events: dict[str, Shares] = {}
    own: dict[tuple[str, str], list[float]] = {}
    for line in text.splitlines():
        if event := re.match(r"# Samples: \S+ +of events? '(.*)'", line):
            own = defaultdict(lambda: [0.0, 0.0])
            events[event[1]] = own  # type: ignore[assignment]
        elif line.count("|") == 3 and not line.startswith("#"):
            period, samples, module, symbol = (part.strip() for part in line.split("|"))
            key = (module_of_perf(module), function(symbol[4:]))
            own[key][0] += float(period)
            own[key][1] += float(samples)
    return {
        name: {key: Share(period, int(n)) for key, (period, n) in shares.items()}
        for name, shares in events.items()
    }


def module_of_perf(name: str) -> str:
    """Return the module as Gnomon has it."""
    if name.startswith(("[kernel", "[guest.kernel")):
        return KERNEL
    return UNKNOWN if name in ("[unknown]", "//anon") or name.startswith("[JIT]") else name


def function(symbol: str) -> str:
    """Return a function without what compilers append; "" of one without a name."""
    if re.match(r"(0x)?[0-9a-f]{16}$", symbol):
        return ""
    # IPC of branches stands in a column of its own.
    return re.sub(r"(\.(constprop|isra|part|cold)(\.\d+)?)+$", "", symbol.split("  ")[0].strip())


SAMPLES = """
SELECT m.name, s.path, SUM(s.weight), COUNT(*) FROM samples s JOIN metrics m USING (metric)
GROUP BY m.name, s.path
"""


def physical_functions(run: Run) -> dict[int, tuple[str, str]]:
    """Return module and function of each path; of what was put into another one, that one's."""
    rows = run.query(
        "SELECT path, parent, module, name, inlined FROM paths JOIN regions USING (region)"
    )
    paths = {int(path): (int(parent), str(module), str(name), inlined)
             for path, parent, module, name, inlined in rows}  # fmt: skip
    functions = {}
    for path in paths:
        at = path
        while paths[at][3]:
            at = paths[at][0]
        functions[path] = paths[at][1:3]
    return functions


def shares_of_gnomon(run: Run) -> dict[str, Shares]:
    """Return what samples of a run stand for, of each metric, in the units of perf."""
    events: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(
        lambda: defaultdict(lambda: [0.0, 0.0])
    )
    units = {str(name): str(unit) for name, unit in run.query("SELECT name, unit FROM metrics")}
    functions = physical_functions(run)
    for metric, path, weight, n in run.query(SAMPLES):
        module, name = functions[int(path)]
        is_unnamed = name.startswith(f"{module}+0x") or name == module
        key = (
            UNKNOWN if module in ("[unknown]", "[jit]") else module,
            "" if is_unnamed else function(name),
        )
        own = events[str(metric)][key]
        own[0] += float(weight) * (1e9 if units[str(metric)] == "s" else 1)
        own[1] += int(n)
    return {
        name: {key: Share(round(period), int(n)) for key, (period, n) in shares.items()}
        for name, shares in events.items()
    }


def opened(path: Path) -> Run:
    return open_perf_data(path)


def total(shares: Shares) -> Share:
    return Share(
        sum(one.period for one in shares.values()), sum(one.samples for one in shares.values())
    )


def by_module(shares: Shares) -> dict[str, Share]:
    """Return the sums of each module."""
    modules: dict[str, Share] = {}
    for (module, _), one in shares.items():
        before = modules.get(module, Share(0, 0))
        modules[module] = Share(before.period + one.period, before.samples + one.samples)
    return modules
