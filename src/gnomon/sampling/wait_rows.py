"""Where threads waited, for what and how long.

A wait whose stack is known stands on its own path. Those that are not, because the kernel took the
stack of one in N or of none, are known by thread and duration: they are given to the stacks of
waits of the same thread (or else process) that took as long, to within a factor of two, in
proportion; what stands for them says that it is estimated. Where there is no such wait they have no
path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.named_tuple import NamedTuple
from gnomon.sampling import wait_reasons
from gnomon.sampling.sample_file import BY_INTERRUPT, KERNEL, NONE, RUNNABLE, SampleFile
from gnomon.sampling.wait_reasons import WaitFrame
from gnomon.symbols.code_frames import CodeFrame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.sampling.python_call_paths import SampledPaths

_CLASSES = 48
"""Of durations: GN_WAIT_DURATIONS of native/sampling/sample_file.h."""


class WaitRows(NamedTuple):
    """Parts of waits: what a thread waited for, and then for a CPU.

    Attributes:
        samples: the number of each one's sample; -1: it has none.
        threads: of each.
        start_ns: when it began, on the clock of the samples; 0 where there is no sample.
        ns: how long it took.
        nodes: where in the program's code, a node of `SampledPaths`, or `NONE`.
        reasons: what for.
        counts: how many waits it stands for; 0: for a part of one, or an estimate.
        woken_by: who ended it, "" where that is not known.
        held_by: the thread that had the lock, likewise.
    """

    samples: NDArray[np.int64]
    threads: NDArray[np.int64]
    start_ns: NDArray[np.uint64]
    ns: NDArray[np.float64]
    nodes: NDArray[np.uint32]
    reasons: Sequence[str]
    counts: NDArray[np.int64]
    woken_by: Sequence[str]
    held_by: Sequence[str]


def read_waits(
    samples: SampleFile, frames: Sequence[tuple[CodeFrame, ...]], sampled: SampledPaths
) -> WaitRows:
    """Return the waits of a task, those without a stack behind the others.

    Args:
        samples: of the task.
        frames: of each place, the outermost first.
        sampled: the paths with functions of Python, of which `nodes` are.
    """
    waits = samples.waits
    number = waits["sample"].astype(np.int64)
    own = samples.samples[number]
    begin = own["time_ns"].astype(np.uint64)
    duration = own["weight"].astype(np.uint64)
    end = begin + duration
    is_runnable = (waits["flags"].astype(np.int64) & RUNNABLE) != 0
    woken = waits["woken_ns"].astype(np.uint64)
    is_split = ~is_runnable & (woken > begin) & (woken < end)
    # What it waited for, and behind these what it then waited for a CPU.
    first_ns = np.where(is_split, woken - begin, duration).astype(np.float64)
    second = np.flatnonzero(is_split)
    reasons = _reasons(samples, frames, own["node"], waits["call"], is_runnable)
    woken_by = _wakers(samples, waits)
    nodes = _in_program(samples, sampled, sampled.of_samples[number])
    threads = own["thread"].astype(np.int64)
    with_stack = WaitRows(
        np.concatenate((number, number[second])),
        np.concatenate((threads, threads[second])),
        np.concatenate((begin, woken[second])),
        np.concatenate((first_ns, (end - woken)[second].astype(np.float64))),
        np.concatenate((nodes, nodes[second])),
        [*reasons, *([wait_reasons.CPU] * len(second))],
        np.concatenate((np.ones(len(number), np.int64), np.zeros(len(second), np.int64))),
        [*woken_by, *([""] * len(second))],
        [*_holders(samples, waits, threads, reasons), *([""] * len(second))],
    )
    return _with_rest(samples, with_stack)


# --- what for -------------------------------------------------------------------------------------


def _reasons(
    samples: SampleFile,
    frames: Sequence[tuple[CodeFrame, ...]],
    nodes: NDArray[np.uint32],
    calls: NDArray[np.uint8],
    is_runnable: NDArray[np.bool_],
) -> list[str]:
    reason_of_node: dict[tuple[int, int], str] = {}
    parents, places = samples.node_parents.tolist(), samples.node_places.tolist()
    is_kernel = [module.kind == KERNEL for module in samples.modules]
    of_place = samples.place_modules.tolist()
    reasons = []
    for node, call, runnable in zip(
        nodes.tolist(), calls.tolist(), is_runnable.tolist(), strict=True
    ):
        if runnable:
            reasons.append(wait_reasons.CPU)
            continue
        key = (node, call)
        if key not in reason_of_node:
            kernel: list[str] = []
            program: list[WaitFrame] = []
            node_above = node
            while node_above != NONE:
                place = places[node_above]
                for frame in reversed(frames[place]):
                    if is_kernel[of_place[place]]:
                        kernel.append(frame.function)
                    else:
                        program.append(WaitFrame(frame.function, frame.module))
                node_above = parents[node_above]
            reason_of_node[key] = wait_reasons.reason_of(kernel, program, call)
        reasons.append(reason_of_node[key])
    return reasons


def _in_program(
    samples: SampleFile, sampled: SampledPaths, nodes: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Return the nodes without the kernel's functions, which the reason stands for."""
    kinds = np.array([module.kind for module in samples.modules], np.int64)
    is_native = sampled.node_places < len(samples.place_modules)
    within = np.where(is_native, sampled.node_places, 0)
    is_kernel = np.zeros(len(within), bool)
    if len(samples.place_modules):
        is_kernel = is_native & (kinds[samples.place_modules[within]] == KERNEL)
    result = nodes.copy()
    while True:
        rest = np.flatnonzero(result != NONE)
        rest = rest[is_kernel[result[rest]]] if len(rest) else rest
        if not len(rest):
            return result
        result[rest] = sampled.node_parents[result[rest]]


# --- who ------------------------------------------------------------------------------------------


def _wakers(samples: SampleFile, waits: NDArray[np.void]) -> list[str]:
    threads = {thread.number: thread.name for thread in samples.threads}
    texts = []
    for waker, flags, woken in waits[["waker", "flags", "woken_ns"]].tolist():
        if not woken:
            texts.append("")
        elif flags & BY_INTERRUPT:
            texts.append("interrupt")
        elif waker in threads:
            texts.append(f"{threads[waker]} ({waker})")
        else:
            texts.append(f"another process (thread {waker})" if waker else "kernel")
    return texts


def _holders(
    samples: SampleFile,
    waits: NDArray[np.void],
    threads: NDArray[np.int64],
    reasons: Sequence[str],
) -> list[str]:
    names = {(one.process, one.number): one.name for one in samples.threads}
    texts = []
    for holder, thread, reason in zip(
        waits["holder"].tolist(), threads.tolist(), reasons, strict=True
    ):
        own = samples.threads[thread]
        name = names.get((own.process, holder))
        is_known = reason == wait_reasons.LOCK and name is not None and holder != own.number
        texts.append(f"{name} ({holder})" if is_known else "")
    return texts


# --- waits without stacks -------------------------------------------------------------------------


def _with_rest(samples: SampleFile, with_stack: WaitRows) -> WaitRows:
    """Return the waits and, behind them, those without a stack by the stacks of others."""
    rest = samples.rest
    if not len(rest):
        return with_stack
    processes = np.array([thread.process for thread in samples.threads], np.int64)
    kind = rest["is_runnable"].astype(np.int64) != 0
    class_ = np.minimum(rest["duration"].astype(np.int64), _CLASSES - 1)
    thread = rest["thread"].astype(np.int64)
    key = (thread * 2 + kind) * _CLASSES + class_
    keys, of_key = np.unique(key, return_inverse=True)
    left, n = (
        np.bincount(of_key.reshape(-1), rest[name].astype(np.float64)).astype(np.float64)
        for name in ("ns", "n")
    )
    is_cpu = np.array([reason == wait_reasons.CPU for reason in with_stack.reasons], np.int64)
    durations = np.clip(np.floor(np.log2(np.maximum(with_stack.ns, 1))), 0, _CLASSES - 1)
    own = (with_stack.threads * 2 + is_cpu) * _CLASSES + durations.astype(np.int64)
    parts = [with_stack]
    for group in (lambda numbers: numbers, lambda numbers: processes[numbers]):
        parts.append(_shared(with_stack, own, keys, left, group))
    left_out = np.flatnonzero(left > 0)
    of_thread, of_kind = keys[left_out] // (2 * _CLASSES), keys[left_out] // _CLASSES % 2
    none = [""] * len(left_out)
    parts.append(
        WaitRows(
            np.full(len(left_out), -1, np.int64),
            of_thread,
            np.zeros(len(left_out), np.uint64),
            left[left_out],
            np.full(len(left_out), NONE, np.uint32),
            [wait_reasons.CPU if cpu else wait_reasons.NO_STACK for cpu in of_kind.tolist()],
            n[left_out].astype(np.int64),
            none,
            none,
        )
    )
    return _joined(parts)


def _shared(
    with_stack: WaitRows,
    own: NDArray[np.int64],
    keys: NDArray[np.int64],
    left: NDArray[np.float64],
    group: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> WaitRows:
    """Return estimates by the stacks of waits of the same group, kind and duration.

    Args:
        with_stack: the waits with stacks.
        own: of each thread, kind and duration as one number.
        keys: the same of those without.
        left: nanoseconds of each of these; what is shared out is taken off.
        group: what a thread's number is, to be compared.
    """
    per_thread = 2 * _CLASSES
    wanted = group(keys // per_thread) * per_thread + keys % per_thread
    offered = group(own // per_thread) * per_thread + own % per_thread
    groups, of_offer = np.unique(offered, return_inverse=True)
    of_offer = of_offer.reshape(-1)
    sums = np.bincount(of_offer, with_stack.ns, len(groups))
    place = np.searchsorted(groups, wanted)
    place = np.where(place < len(groups), place, 0)
    has = (
        (groups[place] == wanted) & (sums[place] > 0) if len(groups) else np.zeros(len(keys), bool)
    )
    rows: list[NDArray[np.int64]] = []
    ns: list[NDArray[np.float64]] = []
    threads: list[NDArray[np.int64]] = []
    order = np.argsort(of_offer, kind="stable")
    bounds = np.searchsorted(of_offer[order], np.arange(len(groups) + 1))
    for number in np.flatnonzero(has & (left > 0)).tolist():
        offer = int(place[number])
        members = order[bounds[offer] : bounds[offer + 1]]
        rows.append(members)
        ns.append(with_stack.ns[members] * (left[number] / sums[offer]))
        threads.append(np.full(len(members), keys[number] // per_thread, np.int64))
        left[number] = 0
    taken = np.concatenate(rows) if rows else np.empty(0, np.int64)
    none = [""] * len(taken)
    return WaitRows(
        np.full(len(taken), -1, np.int64),
        np.concatenate(threads) if threads else np.empty(0, np.int64),
        np.zeros(len(taken), np.uint64),
        np.concatenate(ns) if ns else np.empty(0),
        with_stack.nodes[taken],
        [wait_reasons.estimated(with_stack.reasons[row]) for row in taken.tolist()],
        np.zeros(len(taken), np.int64),
        none,
        none,
    )


def _joined(parts: Sequence[WaitRows]) -> WaitRows:
    columns: list[Any] = list(zip(*parts, strict=True))
    joined: list[Any] = [
        np.concatenate(column)
        if isinstance(column[0], np.ndarray)
        else [text for texts in column for text in texts]
        for column in columns
    ]
    return WaitRows(*joined)
