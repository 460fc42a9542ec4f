"""Run a command of Gnomon and record which of its Python functions handle a value.

    python python_calls.py LOG VALUE COMMAND ARGUMENT...

LOG gets a line of JSON for each call of a function of Gnomon that handled the value (see `Call`),
and for each end that the value reached. VALUE says in JSON what it looks like (see `Value`).
The environment's GNOMON_WALKS_PAGE is the folder of a page that `gnomon view` is to serve.
"""

from __future__ import annotations

import argparse
import array
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

DEPTH = 9
PARTS = 20_000
PACKAGE = f"{os.sep}site-packages{os.sep}gnomon{os.sep}"


class Value:
    """What the value looks like: part of a text, a number, or the first numbers of an encoding."""

    def __init__(self, looks: dict[str, Any]) -> None:
        self._text = looks.get("text")
        self._bytes = self._text.encode() if self._text else None
        self._number = looks.get("number")
        self._encoding = tuple(looks.get("encoding", {}).values())

    def is_in(self, data: Any, depth: int = DEPTH) -> bool:
        """Return whether data hold it; an object that is more than data is not looked into."""
        kind = type(data)
        if kind is str:
            return self._text is not None and self._text in data
        if kind in (bytes, bytearray):
            return self._bytes is not None and self._bytes in data
        if kind in (int, float):
            return self._number is not None and data == self._number
        if kind.__module__ == "numpy":
            return self._number is not None and self._is_in_array(data)
        if isinstance(data, tuple) and self._is_encoding(data):
            return True
        return depth > 0 and any(self.is_in(part, depth - 1) for part in _parts(data))

    def _is_encoding(self, data: tuple[Any, ...]) -> bool:
        count = len(self._encoding)
        return 0 < count < len(data) and data[:count] == self._encoding

    def _is_in_array(self, data: Any) -> bool:
        if getattr(data, "dtype", None) is None or data.dtype.kind not in "iuf":
            return False
        return bool((data == self._number).any())


def _parts(data: Any) -> Iterable[Any]:
    if isinstance(data, dict):
        return [*list(data)[:PARTS], *list(data.values())[:PARTS]]
    if isinstance(data, (list, tuple, set, frozenset, array.array)):
        return list(data)[:PARTS]
    if isinstance(data, BaseException):
        return [*data.args, *vars(data).values()]
    if isinstance(data, argparse.Namespace):
        return list(vars(data).values())
    if type(data).__module__.startswith("gnomon.model."):
        return [getattr(data, name, None) for name in (*_slots(type(data)), *_fields(data))]
    if "__dataclass_fields__" in type(data).__dict__:
        return [getattr(data, name, None) for name in data.__dataclass_fields__]
    return ()


def _slots(kind: type) -> tuple[str, ...]:
    return tuple(getattr(kind, "__slots__", ()))


def _fields(data: Any) -> tuple[str, ...]:
    return tuple(getattr(data, "__dict__", ()))


class Call:
    """A call of a function of Gnomon.

    Attributes:
        gets: an argument held the value.
        passes: an argument of a function that it called held the value.
        takes: the result of a function that it called held the value.
        gives: its result held the value, or `self` then did; an exception is none of its results.
    """

    def __init__(self, number: int, parent: int, file: str, function: str) -> None:
        self.number = number
        self.parent = parent
        self.file = file
        self.function = function
        self.began = time.monotonic_ns()
        self.gets = self.passes = self.takes = self.gives = False


class Recorder:
    """Writes down the calls that handle the value."""

    def __init__(self, log: Path, value: Value) -> None:
        self._log = log.open("a", encoding="utf-8", buffering=1)
        self._value = value
        self._names: dict[CodeType, tuple[str, str] | None] = {}
        self._calls: dict[FrameType, Call] = {}
        self._numbers = itertools.count(1)
        self._pid = os.getpid()
        self._raised: BaseException | None = None

    def begin(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """Look at a call: what sys.settrace wants."""
        name = self._name(frame.f_code)
        if name is None or os.getpid() != self._pid:
            return None
        parent = self._calls.get(frame.f_back) if frame.f_back else None
        call = Call(next(self._numbers), parent.number if parent else 0, *name)
        self._calls[frame] = call
        call.gets = self._value.is_in(_arguments(frame))
        if call.gets and parent:
            parent.passes = True
        frame.f_trace_lines = False
        return self._look

    def _look(self, frame: FrameType, event: str, argument: Any) -> Any:
        call = self._calls.get(frame)
        if call is None:
            return None
        if event == "exception":
            raised = argument[1]
            if raised is not self._raised and self._value.is_in(raised):
                self.end("raised")
            self._raised = raised
        elif event == "return":
            del self._calls[frame]
            call.gives = self._value.is_in(argument) or (call.gets and self._is_kept(frame))
            parent = self._calls.get(frame.f_back) if frame.f_back else None
            if call.gives and parent:
                parent.takes = True
            self._write(call)
        return self._look

    def _is_kept(self, frame: FrameType) -> bool:
        owner = frame.f_locals.get("self")
        kept = list(getattr(owner, "__dict__", {}).values())
        return isinstance(owner, BaseException) or self._value.is_in(kept)

    def _name(self, code: CodeType) -> tuple[str, str] | None:
        try:
            return self._names[code]
        except KeyError:
            _, found, path = code.co_filename.rpartition(PACKAGE)
            is_ours = found and not code.co_name.startswith("<mod")
            self._names[code] = (f"src/gnomon/{path}", code.co_qualname) if is_ours else None
            return self._names[code]

    def _write(self, call: Call) -> None:
        if call.gets or call.passes or call.takes or call.gives:
            self._log.write(json.dumps(vars(call) | {"ended": time.monotonic_ns()}) + "\n")

    def end(self, how: str) -> None:
        """Write that the value is now where it was to go."""
        self._log.write(json.dumps({"end": time.monotonic_ns(), "how": how}) + "\n")

    def close(self) -> None:
        """Write the calls that have not ended."""
        for call in self._calls.values():
            self._write(call)


class Screen:
    """The standard error, which a value reaches when it is written there."""

    def __init__(self, stream: Any, recorder: Recorder, value: Value) -> None:
        self._stream = stream
        self._recorder = recorder
        self._value = value

    def write(self, text: str) -> int:
        """Write."""
        if self._value.is_in(text):
            self._recorder.end("written")
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _arguments(frame: FrameType) -> list[Any]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    given = frame.f_locals
    return [given.get(name) for name in code.co_varnames[:count] if name not in ("self", "cls")]


def main() -> int:
    """Run the command with the recorder on."""
    log, looks, *words = sys.argv[1:]
    from gnomon.cli.main import main as gnomon

    if page := os.environ.get("GNOMON_WALKS_PAGE"):
        from gnomon.view import server

        server.STATIC = Path(page)
    value = Value(json.loads(looks))
    recorder = Recorder(Path(log), value)
    sys.stderr = Screen(sys.stderr, recorder, value)  # type: ignore[assignment]
    threading.settrace(recorder.begin)
    sys.settrace(recorder.begin)
    try:
        return gnomon(words)
    finally:
        sys.settrace(None)
        recorder.close()


if __name__ == "__main__":
    sys.exit(main())
