"""A run as OpenMetrics text, for Prometheus and its relatives.

Each metric is a gauge: the run is over, and its values stand still. Values are those of the
command, its processes and threads, and of sections and other regions; functions and lines would be
as many series as a program has lines. Units are the base units that the format asks for, and
decimal arithmetic makes them without losing a digit.

Source: OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md); what
`promtool check metrics` complains of.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal
from math import isfinite
from typing import Any

from gnomon.model.tables import METRICS
from gnomon.store.run import Run
from gnomon.units import printable

# unit: name of the base unit, and what makes it
_UNITS = {
    "": ("", "1"),
    "ns": ("seconds", "1e-9"),
    "s": ("seconds", "1"),
    "bytes": ("bytes", "1"),
    "KiB": ("bytes", "1024"),
    "MiB": ("bytes", "1048576"),
    "bytes/s": ("bytes_per_second", "1"),
    "MB/s": ("bytes_per_second", "1e6"),
    "MiB/s": ("bytes_per_second", "1048576"),
    "%": ("ratio", "1e-2"),
    "/s": ("per_second", "1"),
    "GHz": ("hertz", "1e9"),
    "J": ("joules", "1"),
    "W": ("watts", "1"),
    "V": ("volts", "1"),
    "A": ("amperes", "1"),
    "°C": ("celsius", "1"),
    "CPUs": ("cpus", "1"),
    "M": ("", "1e6"),
    "Mi": ("", "1048576"),
    "Mflop/s": ("operations_per_second", "1e6"),
    "Mflip/s": ("operations_per_second", "1e6"),
    "Minstr/s": ("instructions_per_second", "1e6"),
}
# promtool takes these for units that are not spelt out, wherever they stand.
_ABBREVIATED = frozenset(
    ("s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d")
)
_RESERVED_ENDS = ("_total", "_count", "_sum", "_bucket", "_created", "_info")
_TYPES = ("counter", "gauge", "histogram", "summary", "untyped", "info", "stateset")
_EXACT = Context(prec=400)
_VALUES = """
SELECT p.repetition, p.location, l.kind, l.host, l.rank, l.pid, l.tid, l.name, p.path, r.kind,
       r.name, t.parent, p.inclusive
FROM profile p JOIN locations l USING (location) JOIN paths t USING (path)
     JOIN regions r USING (region)
WHERE p.metric = {metric} AND r.kind NOT IN {code}
ORDER BY p.repetition, p.location, p.path
"""


def openmetrics(run: Run) -> Iterator[str]:
    """Yield a run as OpenMetrics text.

    Raises:
        RunDirectoryError: a table cannot be read.
    """
    head = run.head
    name = run.path.name.removesuffix(".gnomon")
    # A gauge: Prometheus's own format has no type for what is only told.
    yield from _family("gnomon_run_info", "gauge", "", "What was run.")
    facts = {"run": name, "command": shlex.join(head["command"])}
    yield f"gnomon_run_info{_labels(facts)} 1\n"
    yield from _family("gnomon_run_started_seconds", "gauge", "seconds", "When it was started.")
    yield f"gnomon_run_started_seconds{_labels({'run': name})} {_text(head['started'], '1')}\n"
    if head["exit_status"] is not None:
        yield from _family("gnomon_run_exit_status", "gauge", "", "How the program ended.")
        yield f"gnomon_run_exit_status{_labels({'run': name})} {head['exit_status']}\n"
    taken = {
        "gnomon_run_info",
        "gnomon_run_started_seconds",
        "gnomon_run_exit_status",
    }
    for metric in run.rows(METRICS):
        yield from _metric(run, name, metric, taken)
    yield "# EOF\n"


def _metric(run: Run, name: str, metric: Mapping[str, Any], taken: set[str]) -> Iterator[str]:
    unit, factor = _UNITS.get(metric["unit"], ("_".join(_words(metric["unit"])), "1"))
    family = _name(metric["name"], unit)
    n = 1
    while family in taken:
        n += 1
        family = _name(f"{metric['name']} {n}", unit)
    taken.add(family)
    started = False
    code = run.region_kinds.code()
    # A hostile run may have the same value twice; a series may not.
    seen: set[tuple[int, int, int]] = set()
    for rows in run.stream(_VALUES.format(metric=int(metric["metric"]), code=code)):
        lines = []
        for row in rows:
            repetition, location, kind, host, rank, pid, tid, label, path, *region, value = row
            if (repetition, location, path) in seen:
                continue
            seen.add((repetition, location, path))
            labels = {
                "run": name, "metric": metric["name"], "how": metric["how"],
                "repetition": str(repetition), "location": str(location), "kind": kind,
                "name": label, "host": host,
            }  # fmt: skip
            labels |= {key: str(one) for key, one in (("rank", rank), ("pid", pid), ("tid", tid))
                       if one >= 0}  # fmt: skip
            if region[2] != -1:
                labels |= {"region": region[1], "region_kind": region[0], "path": str(path)}
            lines.append(f"{family}{_labels(labels)} {_text(value, factor)}\n")
        if not started:
            about = metric["description"] or metric["formula"] or f"{metric['name']} of the run"
            yield from _family(family, "gauge", unit, f"{about} ({metric['how'] or 'unknown how'})")
            started = True
        yield "".join(lines)


def _family(name: str, kind: str, unit: str, about: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}\n"
    if unit:
        yield f"# UNIT {name} {unit}\n"
    escaped = _utf8(about).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    yield f"# HELP {name} {escaped}\n"


def _name(name: str, unit: str) -> str:
    """Return the name of a family, which ends with its unit."""
    words = _words(name)
    of_unit = unit.split("_") if unit else []
    while of_unit and words[-len(of_unit) :] == of_unit:
        words = words[: -len(of_unit)]
    found = "_".join(["gnomon", *words, *of_unit])
    return f"{found}_value" if found.endswith(_RESERVED_ENDS) or found == "gnomon" else found


def _words(text: str) -> list[str]:
    """Return the words that a name may have."""
    words: list[str] = []
    for word in re.findall(r"[a-z0-9]+", text.lower()):
        if word not in _ABBREVIATED:
            words.append(f"{word}s" if word in _TYPES else word)
        elif words:
            words[-1] += word
        else:
            words.append(f"of{word}")
    return words


def _labels(labels: Mapping[str, str]) -> str:
    pairs = (f'{key}="{_escaped(value)}"' for key, value in labels.items() if value)
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return _utf8(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _utf8(text: str) -> str:
    """Return a text without what a terminal would obey; the format has an escape for new lines."""
    return "\n".join(map(printable, text.split("\n")))


def _text(value: float, factor: str) -> str:
    """Return a number times a factor, exactly."""
    if not isfinite(value):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    # repr() has as many digits as it takes to read the same double again.
    return str(_EXACT.multiply(Decimal(repr(value)), Decimal(factor)).normalize(_EXACT))
