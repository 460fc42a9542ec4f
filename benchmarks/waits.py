"""What it costs a thread to leave its CPU and return while its waits are recorded.

Two processes pass a byte back and forth on one CPU, and say what a switch took; where every stack
is taken, also with sleeps of the one, after which caches are cold. Beside them
nothing is sampled but page faults, of which there are none: a clock alone, which the kernel stops
and starts at each switch, costs as much as all of this. `perf record` is the peer, without stacks
and with those that it copies. All times are CPU time of the two.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.table import Row, Table, interleaved, verdict

_SOURCE = Path(__file__).parents[1] / "tests" / "programs" / "switches.c"
_GNOMON = str(Path(sys.executable).with_name("gnomon"))
_PERF = "perf"
_DWARF = ("-e", "context-switches", "-c", "1", "--call-graph", "dwarf")
_WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
# Rounds: as many as have their stacks taken before these are thinned out, more than a second's, and
# with a sleep of so many nanoseconds in every sixteenth: 4,000 switches a second with cold caches.
_FEW, _MANY, _BURSTS = ("2000",), ("150000",), ("3200", "8000000")
_DURATION_LIMIT_US, _STACK_LIMIT_US, _SHARE_LIMIT = 1.2, 3.6, 2.0
# Stacks that are taken in a second before one in N is (native/sampling/sampler.c).
_STACKS_MOST = 5_000


def run(rounds: int) -> Table:
    """Return nanoseconds a switch, with what recording adds to them."""
    if _PARANOID.read_text().strip() != "2":
        raise SystemExit(
            "waits: without rights means kernel.perf_event_paranoid=2: sudo sysctl "
            "kernel.perf_event_paranoid=2"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "switches"
        subprocess.run(["gcc", "-O2", "-o", program, _SOURCE], check=True)

        def switch(words: Sequence[str], *profiler: str) -> Callable[[], float]:
            return lambda: _switch_ns([*profiler, str(program), *words], folder)

        gnomon = (_GNOMON, "record", "--force", "--name", "w", "-e", "page-faults", "-c",
                  "1000000000")  # fmt: skip
        waits = (*gnomon, "--off-cpu", "--")
        perf = (_PERF, "record", "-q", "-o", "perf.data")
        found = interleaved(
            rounds,
            {
                "bare": switch(_MANY),
                "gnomon record, no waits": switch(_MANY, *gnomon, "--"),
                "durations (no rights)": switch(_MANY, *_WITHOUT_RIGHTS, *waits),
                "one stack in N, who woke": switch(_MANY, *waits),
                "every stack, who woke": switch(_FEW, *waits),
                "no waits, few switches": switch(_FEW, *gnomon, "--"),
                "perf --switch-events": switch(_MANY, *perf, "-e", "dummy", "--switch-events"),
                "perf dwarf, every stack": switch(_FEW, *perf, *_DWARF),
                "no waits, in bursts": switch(_BURSTS, *gnomon, "--"),
                "every stack, in bursts": switch(_BURSTS, *waits),
                "perf dwarf, in bursts": switch(_BURSTS, *perf, *_DWARF),
            },
        )
    floor, few = found["gnomon record, no waits"], found["no waits, few switches"]
    durations = 1e-3 * (found["durations (no rights)"] - floor)
    thinned = 1e-3 * (found["one stack in N, who woke"] - floor)
    every = 1e-3 * (found["every stack, who woke"] - few)
    limits = [
        verdict("durations, more a switch", durations, _DURATION_LIMIT_US, "us"),
        verdict("one stack in N and who woke, more a switch", thinned, _STACK_LIMIT_US, "us"),
        verdict("every stack and who woke, more a switch", every, _STACK_LIMIT_US, "us"),
        verdict("the most stacks of a second", 1e-4 * every * _STACKS_MOST, _SHARE_LIMIT, "%"),
    ]
    rows = [Row(name, "floor" if name == "bare" else "", value) for name, value in found.items()]
    return Table("waits", "ns a switch", rows, limits)


def _switch_ns(command: Sequence[str], folder: Path) -> float:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])
