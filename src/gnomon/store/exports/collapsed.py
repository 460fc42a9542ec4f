"""A run as collapsed stacks: a line for each stack, its frames from the program down, its weight.

What flamegraph.pl, inferno, speedscope and others read. Functions are frames, not lines; `_[k]`
marks those of the kernel and `_[i]` inlined ones, as stackcollapse-perf.pl does; a Python function
has its file in parentheses behind it, as py-spy writes it. Weights are whole numbers: of times
microseconds, of sizes bytes.

Source: brendangregg/FlameGraph, stackcollapse-perf.pl; py-spy, src/flamegraph.rs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gnomon.model.inlining import PYTHON
from gnomon.store.exports.stacks import (
    FRAMES_MOST,
    SIZE_BYTES,
    TIME_SECONDS,
    CodeRegion,
    RunStacks,
    Thread,
    too_many_frames,
)
from gnomon.store.profile_files.collapsed import KERNEL
from gnomon.store.run import Run

_MICROSECONDS = 1e6
_LINES_AT_ONCE = 1000


def collapsed(run: Run, metric: str = "", *, threads: bool = False) -> Iterator[str]:
    """Yield a run as collapsed stacks, sorted.

    Args:
        run: the run.
        metric: whose values; "" for the first with values of calls, sampled ones before others.
        threads: keep those of each thread apart, below a frame PROGRAM-PID/TID.

    Raises:
        RunDirectoryError: a table cannot be read, or nothing in the run can be added up.
        UsageError: no metric has that name.
    """
    stacks = RunStacks(run)
    row = stacks.metric(metric)
    unit = str(row["unit"])
    factor = TIME_SECONDS[unit] * _MICROSECONDS if unit in TIME_SECONDS else SIZE_BYTES.get(unit, 1)
    weights: dict[str, float] = {}
    texts = _Texts(stacks)
    for location, path, value in _values(stacks, row, by_thread=threads):
        text = texts.of(location, path)
        if text:
            weights[text] = weights.get(text, 0.0) + value * factor
    lines = [f"{text} {round(weight)}\n" for text, weight in sorted(weights.items())
             if round(weight)]  # fmt: skip
    if not lines:
        raise stacks.nothing()
    for begin in range(0, len(lines), _LINES_AT_ONCE):
        yield "".join(lines[begin : begin + _LINES_AT_ONCE])


def _values(
    stacks: RunStacks, metric: Mapping[str, Any], *, by_thread: bool
) -> Iterable[tuple[int, int, float]]:
    """Yield location (-1 for all together), path and value."""
    if by_thread and metric["metric"] in stacks.has_threads():
        return ((one.location, one.path, one.value) for one in stacks.of_threads(metric))
    return ((-1, path, value) for path, value in stacks.of_run(metric)[0])


class _Texts:
    """The stacks as text, those of callers kept for what they call."""

    def __init__(self, stacks: RunStacks) -> None:
        self._stacks = stacks
        self._frames = {number: _text(region) for number, region in stacks.regions.items()}
        self._threads = stacks.threads()
        self._n_frames = 0
        self._known: dict[int, list[str]] = {}

    def of(self, location: int, path: int) -> str:
        stack = self._known.get(path)
        if stack is None:
            stack = self._known[path] = [self._frames[one] for one in self._stacks.stack(path)]
            self._n_frames += len(stack)
            if self._n_frames > FRAMES_MOST:
                raise too_many_frames(self._stacks.run)
        if not stack:
            return ""
        if location < 0:
            return ";".join(stack)
        return ";".join([_thread_text(self._threads[location]), *stack[1:]])


def _thread_text(thread: Thread) -> str:
    name = _without_separators(thread.name or thread.process or "thread")
    pid = str(thread.pid) if thread.pid >= 0 else "?"
    return f"{name}-{pid}/{max(thread.tid, 0)}"


def _text(region: CodeRegion) -> str:
    name = region.name
    if region.module == PYTHON and region.file:
        name = f"{name} ({region.file})"
    mark = "_[k]" if region.module == KERNEL else "_[i]" if region.is_inlined else ""
    return _without_separators(name) + mark


def _without_separators(text: str) -> str:
    """Return a name that ends neither the frame nor the line."""
    return " ".join(text.replace(";", ":").split())
