"""What `strace -f -y` writes: calls, whole again where others came between, signals and ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_LINE = re.compile(r"(?:\[pid +)?(\d+)\]? +(.*)")
_CALL = re.compile(r"(\w+)\(")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>\s?")
_SIGNAL = re.compile(r"--- (SIG\w+|stopped by SIG\w+)\b.*---$")
_EXITED = re.compile(r"\+\+\+ exited with (\d+) \+\+\+$")
_KILLED = re.compile(r"\+\+\+ killed by (SIG\w+)(?: \(core dumped\))? \+\+\+$")
_RESULT = re.compile(r"\s*= (\?|-?0x[0-9a-f]+|-?\d+)(?:<|\b|\s|$)(.*)", re.DOTALL)
_ERROR = re.compile(r"\s*(E[A-Z0-9]+)\b")
_UNFINISHED = re.compile(r"\s*<unfinished \.\.\.>(?:\)\s*= \?)?$")
_OPENING, _CLOSING = "([{", ")]}"


class Call(NamedTuple):
    """A system call. No `result`: it did not return. `returned` is the text behind the `=`."""

    task: int
    name: str
    arguments: tuple[str, ...]
    result: int | None
    error: str | None = None
    returned: str = ""


class Signal(NamedTuple):
    """A signal that reached a task."""

    task: int
    name: str


class End(NamedTuple):
    """How a task ended: its status, or the signal that killed it."""

    task: int
    status: int | None
    signal: str | None = None


Event = Call | Signal | End


class UnreadableError(ValueError):
    """A line is none that strace writes."""


def _after_string(text: str, start: int) -> int:
    """Return the offset behind the string that begins at `start`."""
    offset = start + 1
    while offset < len(text) and text[offset] != '"':
        offset += 2 if text[offset] == "\\" else 1
    return offset + 1


def _after_path(text: str, start: int) -> int:
    """Return the offset behind the `<path>` of a descriptor; paths hold no `>` but as `\\76`."""
    end = text.find(">", start)
    return len(text) if end < 0 else end + 1


def _begins_path(text: str, offset: int) -> bool:
    """What is behind a descriptor's number, or AT_FDCWD: a shift has two of them."""
    if text[offset] != "<" or text.startswith("<<", offset):
        return False
    return re.search(r"(?:\b\d+|AT_FDCWD)$", text[:offset][-9:]) is not None


def split_arguments(text: str) -> tuple[list[str], str]:
    """Return the arguments that `text` begins with, and what is behind their parenthesis."""
    arguments: list[str] = []
    offset = begin = depth = 0
    while offset < len(text):
        character = text[offset]
        if character == '"':
            offset = _after_string(text, offset)
            continue
        if _begins_path(text, offset):
            offset = _after_path(text, offset)
            continue
        if text.startswith("/*", offset):
            offset = text.index("*/", offset) + 2
            continue
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING and depth:
            depth -= 1
        elif character == ")" or (character == "," and not depth):
            arguments.append(text[begin:offset].strip())
            begin = offset + 1
            if character == ")":
                return [word for word in arguments if word], text[begin:]
        offset += 1
    rest = text[begin:].strip()
    return [word for word in [*arguments, rest] if word], ""


def parse_call(task: int, text: str) -> Call:
    """Return a call from its whole text; one without `= result` did not return."""
    start = _CALL.match(text)
    if start is None:
        raise UnreadableError(text)
    arguments, rest = split_arguments(text[start.end() :])
    result = _RESULT.match(rest)
    if result is None:
        if rest.strip():
            raise UnreadableError(text)
        return Call(task, start[1], tuple(arguments), None)
    value = None if result[1] == "?" else int(result[1], 0)
    error = _ERROR.match(result[2]) if value in (None, -1) else None
    returned = rest.split("= ", 1)[1].strip()
    return Call(task, start[1], tuple(arguments), value, error[1] if error else None, returned)


def _other_event(task: int, text: str) -> Event | None:
    """Return the event of a line that is no call's; None for one that says nothing to us."""
    if signal := _SIGNAL.match(text):
        return Signal(task, signal[1].removeprefix("stopped by "))
    if exited := _EXITED.match(text):
        return End(task, int(exited[1]))
    if killed := _KILLED.match(text):
        return End(task, None, killed[1])
    # "superseded by execve in pid N", "exited with 0 (...)" of later versions.
    if text.startswith(("+++ ", "---")):
        return None
    raise UnreadableError(text)


def events(lines: Iterable[str]) -> Iterator[Event]:
    """Yield what strace saw, each call where it began.

    A call that others interrupted in the log is held until the rest of it comes: and with it, what
    came between, so that the order stays that of the calls' beginnings.
    """
    held: list[Event | None] = []
    begun: dict[int, tuple[int, str]] = {}  # by task: its place in `held`, its text so far
    for line in lines:
        matched = _LINE.fullmatch(line.rstrip("\n"))
        if matched is None:
            raise UnreadableError(line)
        task, text = int(matched[1]), matched[2]
        resumed = _RESUMED.match(text)
        place = len(held)
        if resumed is not None:
            if task not in begun:
                raise UnreadableError(line)
            place, before = begun.pop(task)
            text = before + text[resumed.end() :]
        else:
            held.append(None)
        unfinished = _UNFINISHED.search(text)
        if unfinished and not unfinished[0].rstrip().endswith("?"):
            begun[task] = (place, text[: unfinished.start()])
        elif unfinished:
            held[place] = parse_call(task, text[: unfinished.start()])
        else:
            is_call = _CALL.match(text) is not None
            held[place] = parse_call(task, text) if is_call else _other_event(task, text)
        if not begun:
            yield from (event for event in held if event is not None)
            held = []
    # Killed within a call: nothing more is said of it.
    for task, (place, text) in begun.items():
        held[place] = parse_call(task, text)
    yield from (event for event in held if event is not None)
