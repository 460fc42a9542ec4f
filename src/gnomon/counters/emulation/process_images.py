"""What each process did itself, put together from what Valgrind left of its images.

An image is one execution of one program in one process. A process has several if it executes
one program after another, and a forked child begins one with its parent's counts in it.
`native/emulation/forks.c` explains the marks in Valgrind's logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import add
from pathlib import Path

from gnomon.counters.emulation.cachegrind import CachegrindFile, ParsedTexts, read
from gnomon.counters.emulation.engine import EmulatedRun, Line, ProcessCounts
from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple

COUNTS = "counts"
LOG = "log"

_MARK = re.compile(r"^\*\*\d+\*\* gnomon-mark (image|fork|exec|lost) (\d{1,18}) ([0-9a-f]{1,16})$",
                   re.MULTILINE)  # fmt: skip
_PARENT = re.compile(r"^==\d+== Parent PID: (\d{1,18})$", re.MULTILINE)
_LOG_LIMIT_BYTES = 16 << 20
# Of the counts, the one that grows with everything a process does.
_INSTRUCTIONS = 0


class _Log(NamedTuple):
    """What one of Valgrind's logs says of the process that it is named after.

    Attributes:
        parent: number of the parent, 0 if unknown.
        image: id of the image that its counts are of; None for programs without our wrappers.
        probe: (fork or exec, pid, image) if it is a probe's, else None.
        lost: a probe could not be made.
    """

    parent: int
    image: str | None
    probe: tuple[str, int, str] | None
    lost: bool


def processes(folder: Path, order: tuple[str, ...]) -> EmulatedRun:
    """Return the counts of every process, from the files that Valgrind left in a folder.

    Args:
        folder: with `counts.PID` and `log.PID` for every process and probe.
        order: cachegrind's names of the counts, as they must be.

    Raises:
        FormatError: a file is damaged.
    """
    logs = {pid: _read_log(file) for pid, file in _numbered(folder, LOG)}
    files = {pid: _checked(file, order) for pid, file in _numbered(folder, COUNTS)}
    begun: dict[str, CachegrindFile] = {}
    left: dict[int, dict[str, CachegrindFile]] = {}
    for number, log in logs.items():
        if log.probe is None or number not in files:
            continue
        why, pid, image = log.probe
        if why == "fork":
            begun[image] = files[number]
        else:
            images = left.setdefault(pid, {})
            before = images.get(image)
            # An execve that failed leaves a probe too; the latest one has it all.
            if before is None or before.totals[_INSTRUCTIONS] < files[number].totals[_INSTRUCTIONS]:
                images[image] = files[number]
    probes = {number for number, log in logs.items() if log.probe is not None}
    emulated = []
    seen = ParsedTexts({}, {})
    for pid in sorted((files.keys() | left.keys()) - probes):
        log = logs.get(pid, _Log(0, None, None, False))
        images = left.get(pid, {})
        if pid in files:
            images.pop(log.image or "", None)
        pieces = list(images.items())
        if pid in files:
            pieces.append((log.image or "", files[pid]))
        emulated.append(_process(pid, log.parent, pieces, begun, seen))
    troubles = tuple(_troubles(logs, files, probes))
    doubt = "; ".join(short for _, short in troubles)
    return EmulatedRun(tuple(emulated), tuple(sentence for sentence, _ in troubles), doubt)


def _process(
    pid: int,
    parent: int,
    pieces: list[tuple[str, CachegrindFile]],
    begun: Mapping[str, CachegrindFile],
    seen: ParsedTexts,
) -> ProcessCounts:
    lines: dict[Line, tuple[int, ...]] = {}
    for image, piece in pieces:
        for line, own in piece.lines(begun.get(image), seen).items():
            known = lines.get(line)
            lines[line] = tuple(map(add, known, own)) if known else own
    width = len(pieces[-1][1].events)
    totals = tuple(map(sum, zip(*lines.values(), strict=True))) if lines else (0,) * width
    return ProcessCounts(pid, parent, pieces[-1][1].command, totals, lines)


def _troubles(
    logs: Mapping[int, _Log], files: Mapping[int, CachegrindFile], probes: set[int]
) -> Iterable[tuple[str, str]]:
    """Yield a sentence on each trouble, and what it makes of the totals in a few words."""
    gone = sorted(logs.keys() - files.keys() - probes)
    if gone:
        yield (
            f"{_listed(gone)} left no counts: killed by SIGKILL, or executed a program that "
            "Valgrind cannot run (set-user-ID, another architecture)",
            f"incomplete, without {_listed(gone)}",
        )
    unseen = sorted(
        pid
        for pid, log in logs.items()
        if pid in files and log.image is None and log.parent in files
        and pid not in probes and files[pid].command == files[log.parent].command
    )  # fmt: skip
    if unseen:
        yield (
            f"{_listed(unseen)}: forked, it seems, by a program without the C library's fork (a "
            "static one): what the parent did before the fork is counted again",
            "too much: a parent's counts again in each fork",
        )
    lost = sorted(pid for pid, log in logs.items() if log.lost)
    if lost:
        yield (
            f"{_listed(lost)}: no probe could be forked, so what the parent did before the fork is "
            "counted again, or what was done before executing another program is not "
            "(raise ulimit -u)",
            f"not certain: see the note on {_listed(lost)}",
        )


def _listed(pids: list[int]) -> str:
    shown = ", ".join(map(str, pids[:3])) + (f" and {len(pids) - 3} more" if len(pids) > 3 else "")
    return f"process{'es' if len(pids) > 1 else ''} {shown}"


def _numbered(folder: Path, kind: str) -> Iterable[tuple[int, Path]]:
    for file in folder.glob(f"{kind}.*"):
        number = file.suffix[1:]
        if number.isdigit():
            yield int(number), file


def _read_log(path: Path) -> _Log:
    try:
        with path.open("rb") as file:
            text = file.read(_LOG_LIMIT_BYTES).decode(errors="replace")
    except OSError:
        text = ""
    marks = _MARK.findall(text)
    images = [image for kind, _, image in marks if kind == "image"]
    probe = next(((kind, int(pid), image) for kind, pid, image in marks
                  if kind in ("fork", "exec")), None)  # fmt: skip
    parents = _PARENT.findall(text)
    return _Log(
        int(parents[-1]) if parents else 0,
        images[-1] if images else None,
        probe,
        any(kind == "lost" for kind, _, _ in marks),
    )


def _checked(path: Path, order: tuple[str, ...]) -> CachegrindFile:
    file = read(path)
    if file.events != order:
        raise FormatError(
            path, 0, f"it counts {' '.join(file.events)}, and not {' '.join(order)} in this order"
        )
    return file
