"""What there is to say of samples as a whole: how many, what is missing in them, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gnomon.sampling import wait_tables
from gnomon.sampling.python_call_paths import unread_note
from gnomon.sampling.sample_file import (
    BAD_MEMORY,
    BEYOND_COPY,
    COMPLETE,
    GUESSED,
    KERNEL_ONLY,
    LOST,
    NO_MEMORY,
    NO_RULES,
    NOT_SAMPLED,
    SHORTENED,
    SPOILT,
    SWITCHES,
    THROTTLED,
    TOO_DEEP,
)

if TYPE_CHECKING:
    from gnomon.sampling.sample_file import SampleFile

_CUT_WORTH_SAYING = 0.01
_ESTIMATES_WORTH_SAYING = 0.1
"""Of the waiting time; the report on waits says any share."""
_CUT = {
    BEYOND_COPY: ("beyond_copy", "go on beyond the part that was copied"),
    NO_RULES: ("without_rules", "reach code without unwind information"),
    BAD_MEMORY: ("in_bad_memory", "lead to memory that is no stack"),
    TOO_DEEP: ("too_deep", "have more frames than are unwound"),
}
"""Of each end that leaves out callers: its name among the facts, and what to say of it."""


def facts_of(samples: SampleFile) -> Mapping[str, int]:
    """Return how many samples there are, what became of their stacks, what they cost.

    Returns:
        Numbers of samples, but `cpu_us`, the recorder's CPU time in microseconds.
    """
    is_wait = wait_tables.is_wait(samples)
    taken = samples.samples[~is_wait]
    flags, ends = taken["flags"], taken["end"]
    has_stack = (flags & KERNEL_ONLY) == 0
    losses = {
        kind: int(samples.losses["count"][samples.losses["kind"] == kind].sum())
        for kind in (LOST, THROTTLED, SPOILT, NO_MEMORY, NOT_SAMPLED, SWITCHES)
    }
    return {
        "samples": len(taken),
        "lost": losses[LOST] + losses[SPOILT],
        "throttled": losses[THROTTLED],
        "without_memory": losses[NO_MEMORY],
        "processes_without": losses[NOT_SAMPLED],
        "left_out": samples.left_out,
        "stacks": int(has_stack.sum()),
        "complete": int((has_stack & (ends == COMPLETE)).sum()),
        **{name: int((has_stack & (ends == end)).sum()) for end, (name, _) in _CUT.items()},
        "guessed": int(((flags & GUESSED) != 0).sum()),
        "shortened": int(((flags & SHORTENED) != 0).sum()),
        "cpu_us": samples.cpu_ns // 1000,
        **(
            {}
            if not any("is_wait" in event for event in samples.events)
            else {
                "waits": int(is_wait.sum()) + int(samples.rest["n"].sum()),
                "wait_stacks": int(is_wait.sum()),
                "wait_us": int(samples.samples["weight"][is_wait].sum()) // 1000,
                "wait_us_without": int(samples.rest["ns"].sum()) // 1000,
                "switches_per_second": losses[SWITCHES],
            }
        ),
    }


def notes(facts: Mapping[str, int]) -> Iterator[str]:
    """Yield what a user should know of the facts: what is missing, why, and what helps."""
    taken, lost, stacks = facts.get("samples", 0), facts.get("lost", 0), facts.get("stacks", 0)
    if lost:
        stacks_of_waits = facts.get("wait_stacks", 0)
        kinds = " samples and stacks of waits" if stacks_of_waits else ""
        yield (
            f"samples: {lost:,} of {taken + stacks_of_waits + lost:,}{kinds} were lost because "
            "the program made them faster than they were read; take fewer (a lower rate)"
        )
    if facts.get("throttled"):
        yield (
            f"samples: the kernel paused sampling {facts['throttled']:,} times to limit its cost; "
            "take fewer (a lower rate)"
        )
    if facts.get("processes_without"):
        yield (
            f"samples: {facts['processes_without']:,} Python processes are not in them, since no "
            "more events could be opened; raise the limit of open files (ulimit -Hn)"
        )
    missing = facts.get("without_memory", 0) + facts.get("shortened", 0)
    if missing:
        yield (
            f"samples: {missing:,} have no call path or a shortened one: there were more different "
            "call paths than are kept"
        )
    if facts.get("python_processes_unread"):
        yield unread_note(facts["python_processes_unread"])
    yield from _of_waits(facts)
    cut = stacks - facts.get("complete", 0)
    if cut > _CUT_WORTH_SAYING * stacks:
        yield (
            f"samples: {100 * cut / stacks:.1f} % of the stacks are not complete; these stand "
            f"below (truncated): {_reasons(facts, stacks)}"
        )


def _of_waits(facts: Mapping[str, int]) -> Iterator[str]:
    if facts.get("switches_per_second"):
        yield (
            f"waits: recorded for a while alone: threads leave their CPUs "
            f"{facts['switches_per_second']:,} times a second, and to record that would cost more "
            "than 2 %; --samples-off-cpu yes does all the same"
        )
    waits, stacks = facts.get("waits", 0), facts.get("wait_stacks", 0)
    without = facts.get("wait_us_without", 0)
    if without > _ESTIMATES_WORTH_SAYING * (facts.get("wait_us", 0) + without):
        yield (
            f"waits: the stacks of {stacks:,} of {waits:,} were taken; how long the others took is "
            "known, and estimated where they were"
        )


def _reasons(facts: Mapping[str, int], stacks: int) -> str:
    counted = sorted(((facts[name], text) for name, text in _CUT.values()), reverse=True)
    return ", ".join(f"{100 * n / stacks:.1f} % {text}" for n, text in counted if n)
