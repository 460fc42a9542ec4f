"""The calls on files that are recorded, from calls.toml."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from gnomon.named_tuple import NamedTuple

POSIX, STDIO = "posix", "stdio"
"""Layers: calls of the system, and of what the C library keeps a buffer for."""

COPY, SOURCE = "copy", "copy source"
"""Groups: calls that copy from one file to another, as counted with each of the two."""
_DIRECTIONS = {"read": "read", "write": "write", COPY: "write", SOURCE: "read"}

OTHERS, STREAM_OTHERS = "other calls", "other stream calls"
WRITES_AND_SYNCS, STREAM_WRITES_AND_FLUSHES = "write and fsync", "fwrite and fflush"
"""What several calls are that others have one time for, of logs that are read as runs."""
_STREAM_SUMS = (STREAM_OTHERS, STREAM_WRITES_AND_FLUSHES)

_DECLARATION = re.compile(r"^(?P<result>.*?[ *])(?P<name>\w+)\((?P<parameters>.*)\)$")
_OF_PATH = re.compile(r"gn_io_named\(&call, (\w+), (\w+),")
_OF_STREAM = re.compile(r"gn_io_stream_(?:moved|used|flushed|sought)\(&call, (\w+),")
_PARAMETER_NAME = re.compile(r"\(\*(\w+)\)|(\w+)(?:\[\w*\])?$")


class Call(NamedTuple):
    """A function of C.

    Attributes:
        name: of the function.
        result: what it returns, "void" for nothing.
        parameters: as they are declared, without the dots of a variadic one.
        arguments: the parameters' names.
        group: what such calls do.
        layer: `POSIX` or `STDIO`.
        counted_as: the name that its calls have in tables.
        also: names that are the same function.
        variadic: what follows the parameters: "mode", "argument", "list" or "" for nothing.
        before: C that runs before it.
        then: C that runs behind it; `source` is the number of `source_name`.
        next: what is called in its place, "" for itself.
        missing: what it returns where the C library has no such function.
        shows: C that runs before it where files have modules of MIO.
        modules: C that is true where they did it, "" where they cannot.
        settles: arguments that are descriptors which the kernel has to know all of otherwise.
        after: C that runs behind it where files have modules.
    """

    name: str
    result: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    group: str
    layer: str
    counted_as: str
    also: tuple[str, ...]
    variadic: str
    before: str
    then: str
    next: str
    missing: str
    shows: str
    modules: str
    settles: tuple[str, ...]
    after: str

    @property
    def source_name(self) -> str:
        """The name that a copy has with the file that it reads, "" for other calls."""
        return f"{self.counted_as} source" if self.group == COPY else ""


@cache
def calls() -> tuple[Call, ...]:
    """Return all of them, in the order of the list."""
    with Path(__file__).with_name("calls.toml").open("rb") as file:
        entries = tomllib.load(file)["call"]
    return tuple(map(_call, entries))


def counted_names() -> tuple[str, ...]:
    """Return the names that calls are counted by, each once, in the order of the list."""
    of_sources = (call.source_name for call in calls() if call.source_name)
    return tuple(dict.fromkeys((*(call.counted_as for call in calls()), *of_sources)))


def layer_of(name: str) -> str:
    """Return the layer of a name that calls are counted by, `POSIX` for one that is not known."""
    return STDIO if name in _STREAM_SUMS else _layers().get(name, POSIX)


def group_of(name: str) -> str:
    """Return what calls of a name do, "" for one that is not known."""
    return _groups().get(name, "")


def direction_of(name: str) -> str:
    """Return whether calls of a name "read" or "write" the file they are counted with, or ""."""
    return _DIRECTIONS.get(group_of(name), "")


@cache
def _layers() -> dict[str, str]:
    return {call.counted_as: call.layer for call in calls()}


@cache
def _groups() -> dict[str, str]:
    of_sources = {call.source_name: SOURCE for call in calls() if call.source_name}
    return {call.counted_as: call.group for call in calls()} | of_sources


def _call(entry: dict[str, object]) -> Call:
    text = str(entry["c"])
    match = _DECLARATION.match(text)
    if match is None:
        raise ValueError(f"calls.toml: {text} is no declaration")
    parameters = _split(match["parameters"])
    is_variadic = "..." in parameters
    own = tuple(one for one in parameters if one not in ("...", "void"))
    also, arguments = entry.get("also", []), tuple(map(_name_of, own))
    settles = entry.get("settles", [name for name in arguments if name == "fd"])
    group, then = str(entry["group"]), str(entry["then"])
    return Call(
        name=match["name"],
        result=match["result"].strip(),
        parameters=own,
        arguments=arguments,
        group=group,
        layer=str(entry.get("layer", POSIX)),
        counted_as=str(entry.get("is", match["name"])),
        also=tuple(map(str, also)) if isinstance(also, list) else (),
        variadic=str(entry.get("variadic", "list")) if is_variadic else "",
        before=str(entry.get("before", "")),
        then=then,
        next=str(entry.get("next", "")),
        missing=str(entry.get("missing", "")),
        shows=str(entry.get("shows", _shown(then, group))),
        modules=str(entry.get("modules", "")),
        settles=tuple(map(str, settles)) if isinstance(settles, list) else (),
        after=str(entry.get("after", "")),
    )


def _shown(then: str, group: str) -> str:
    """Return what modules do for the path or stream that a call is of, "" for one that has none."""
    if match := _OF_PATH.match(then):
        changes = int(group == "size")
        return f"gn_io_show({match[1]}, {match[2]}, {changes})"
    match = _OF_STREAM.match(then)
    return f"gn_io_expose_stream({match[1]})" if match else ""


def _split(parameters: str) -> list[str]:
    """Return parameters, one of which may be a function with parameters of its own."""
    parts, depth, part = [], 0, ""
    for letter in parameters:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [*parts, part.strip()]


def _name_of(parameter: str) -> str:
    match = _PARAMETER_NAME.search(parameter)
    if match is None:
        raise ValueError(f"calls.toml: {parameter} has no name")
    return match[1] or match[2]
