"""Advice as text, and as rows for --json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.io.findings import Finding
from gnomon.io.io_text import place_label
from gnomon.terminal_text import filled, share, short_path, suffixes, table
from gnomon.units import duration, number, percent, printable, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.io.advice import Advice, Proof
    from gnomon.io.replay import Comparison

_INDENT = "     "
_PATH_LEAST = 12
_NS = 1e9
_CACHED_MOST = 0.05


def lines(advice: Advice, title: str, width: int) -> Iterator[str]:
    """Yield the text for people.

    Args:
        advice: all of it.
        title: of the run.
        width: columns of the terminal.
    """
    yield title
    if advice.had_modules:
        text = (
            "Files of this run had modules: its times are with them. Better advise on one without."
        )
        yield from filled(text, width)
    if not advice.findings:
        yield from filled(
            f"nothing that takes 1 % of the {quantity(advice.seconds, 's')} in calls on files "
            "hurts in a way that is known",
            width,
        )
        return
    if advice.events_missing:
        text = (
            f"{number(advice.events_missing)} calls are missing from the trace, as there was no "
            "room for them: what is replayed is not all that the files saw. A larger --trace-mb "
            "has room."
        )
        yield from filled(text, width)
    yield "what hurts"
    for position, finding in enumerate(advice.findings, 1):
        yield from _finding_lines(position, finding, advice, width)
    yield "what would help"
    yield from _proposal_lines(advice, width)


def _finding_lines(number: int, finding: Finding, advice: Advice, width: int) -> Iterator[str]:
    head = f"{number:3}. {finding.kind}"
    room = max(width - len(head) - 2, _PATH_LEAST)
    yield f"{head}: {short_path(printable(finding.path), room)}" if finding.path else head
    part = share(finding.seconds, advice.seconds)
    what = f"{finding.figures}: {part} of I/O time, {quantity(finding.seconds, 's')}"
    yield from filled(what, width, _INDENT, _INDENT)
    place = advice.places.get(finding.site)
    if place is not None:
        yield from filled(f"most by {place_label(place)}", width, _INDENT, _INDENT)
    yield from filled(f"{_capital(finding.why)}.", width, _INDENT, _INDENT)
    if finding.remedy:
        yield from filled(f"{_capital(finding.remedy)}.", width, _INDENT, _INDENT)
    if finding.refused:
        module = finding.rule.partition("/")[0]
        yield from filled(f"{module} is not proposed: {finding.refused}.", width, _INDENT, _INDENT)
    elif finding.rule:
        yield f"{_INDENT}Module: {finding.rule}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _proposal_lines(advice: Advice, width: int) -> Iterator[str]:
    if not advice.proposed:
        yield from filled("no module: see above what to change in the program", width, "  ", "  ")
        return
    if advice.mio_files:
        # One line, so that it can be copied.
        yield f"  MIO_FILES='{advice.mio_files}'"
        yield from filled(
            "Say it to gnomon io --files, or in the environment of a program that calls libmio.",
            width, "  ", "  ",
        )  # fmt: skip
    elif advice.is_traced:
        yield "  no module: none of those that were tried helps"
    if not advice.is_traced:
        yield from filled(
            "Not proved: the run has sums alone. gnomon io --trace -- PROGRAM records what can be "
            "replayed.",
            width, "  ", "  ",
        )  # fmt: skip
        return
    yield from _proof_lines(advice, width)


def _proof_lines(advice: Advice, width: int) -> Iterator[str]:
    proofs = [own for own in advice.proofs if own.comparison is not None]
    if proofs:
        names = suffixes({own.path for own in proofs})
        rows = [_proof_row(own, names[own.path]) for own in proofs]
        yield from table(("without", "with", "saved", "verdict", "file: modules"), rows, width,
                         len(rows))  # fmt: skip
        if advice.mio_files:
            yield f"  saved in all: {quantity(advice.saved, 's')}"
        for proof in proofs:
            yield from filled(_remark(proof, names[proof.path]), width, "  ", "    ")
        yield from filled(_how(advice), width, "  ", "  ")
    for proof in advice.proofs:
        if proof.problem:
            text = f"{proof.path}: not replayed: {proof.problem}"
            yield from filled(printable(text), width, "  ", "    ")
    left_out = len(advice.proposed) - len(advice.proofs)
    if left_out > 0:
        yield f"  {left_out} more files with less time were not replayed"


def _proof_row(proof: Proof, name: str) -> tuple[str, ...]:
    comparison = proof.comparison
    assert comparison is not None
    without, with_modules = comparison.seconds
    return (
        quantity(without, "s"), quantity(with_modules, "s"), _saved(comparison.saved),
        _verdict(comparison),
        printable(f"{name}: {proof.modules}"),
    )  # fmt: skip


def _saved(seconds: float) -> str:
    return duration(seconds * _NS) if seconds >= 0 else f"-{duration(-seconds * _NS)}"


def _verdict(comparison: Comparison) -> str:
    if not comparison.is_same:
        return "differs"
    return "helps" if comparison.helps else "no help"


def _remark(proof: Proof, name: str) -> str:
    comparison, operations = proof.comparison, proof.operations
    assert comparison is not None
    assert operations is not None
    (fastest, slowest), (fastest_with, slowest_with) = comparison.ranges
    text = (
        f"{name}: without {_range(fastest, slowest)}, with "
        f"{_range(fastest_with, slowest_with)} ({len(comparison.without)} each); "
        f"{quantity(operations.seconds, 's')} in the run"
    )
    first = comparison.without[0]
    if first.is_scratch:
        text += "; on a scratch file"
        if not operations.writes:
            text += ", as the file is not there, or shorter than it was"
    if first.read_bytes:
        text += f"; {_cache_text(comparison.cached)}"
    if operations.left_out:
        text += f"; {operations.left_out} calls left out"
    if operations.later:
        text += (
            f"; its first {operations.operations} operations, not {operations.later} later calls"
        )
    if proof.process[1] > 1:
        text += f"; one of {proof.process[1]} processes"
    if first.failures:
        text += f"; {first.failures} calls failed"
    if not comparison.is_same:
        text += "; the bytes that were moved are not the same in all"
    return printable(text)


def _range(least: float, most: float) -> str:
    return f"{quantity(least, 's')} to {quantity(most, 's')}"


def _is_in_memory(comparison: Comparison) -> bool:
    return comparison.cached is None or comparison.cached > _CACHED_MOST


def _cache_text(cached: float | None) -> str:
    if cached is None:
        return "not known how much of it was in memory"
    if cached <= _CACHED_MOST:
        return "read from storage"
    return f"cached: {percent(100 * cached)} of it in memory"


def _how(advice: Advice) -> str:
    comparisons = [own.comparison for own in advice.proofs if own.comparison is not None]
    temperature = ""
    reads = [own for own in comparisons if own.without[0].read_bytes]
    if reads and (advice.is_cold or all(_is_in_memory(own) for own in reads)):
        temperature = (
            " What is read is each time fetched from storage, as far as the kernel lets go of it."
            if advice.is_cold
            else " What is read is in memory, as it was in the run; --cold fetches it from storage."
        )
    return (
        "Each was replayed without and with modules in turn, three times or, where that did not "
        "tell, up to nine; medians are shown. It helps if replays with it were shorter than those "
        f"without, beyond their spread.{temperature}"
    )


# --- JSON -----------------------------------------------------------------------------------------


def document(advice: Advice) -> dict[str, Any]:
    """Return it as JSON has it."""
    return {
        "run": advice.run,
        "seconds": advice.seconds,
        "is_traced": advice.is_traced,
        "is_cold": advice.is_cold,
        "had_modules": advice.had_modules,
        "events_missing": advice.events_missing,
        "mio_files": advice.mio_files,
        "is_proved": bool(advice.mio_files) and advice.is_traced,
        "saved_seconds": advice.saved,
        "findings": [_finding_row(own, advice) for own in advice.findings],
        "proofs": [_proof_document(own) for own in advice.proofs],
    }


def _finding_row(finding: Finding, advice: Advice) -> dict[str, Any]:
    place = advice.places.get(finding.site)
    return {
        "kind": finding.kind,
        "path": finding.path,
        "calls": finding.calls,
        "seconds": finding.seconds,
        "share": finding.share,
        "figures": finding.figures,
        "why": finding.why,
        "remedy": finding.remedy,
        "modules": "" if finding.refused else finding.rule,
        "refused": finding.refused,
        "site": None
        if place is None
        else {
            "name": place.routine,
            "function": place.function,
            "module": place.module,
            "file": place.file,
            "line": place.line,
        },
    }


def _proof_document(proof: Proof) -> dict[str, Any]:
    comparison, operations = proof.comparison, proof.operations
    row: dict[str, Any] = {
        "path": proof.path,
        "modules": proof.modules,
        "problem": proof.problem,
        "helps": proof.helps,
    }
    if comparison is not None and operations is not None:
        row |= {
            "saved_seconds": comparison.saved,
            "without_seconds": [own.seconds for own in comparison.without],
            "with_seconds": [own.seconds for own in comparison.with_modules],
            "recorded_seconds": operations.seconds,
            "operations": operations.operations,
            "left_out": operations.left_out,
            "later": operations.later,
            "is_scratch": comparison.without[0].is_scratch,
            "is_same": comparison.is_same,
            "cached_share": comparison.cached,
        }
    return row
