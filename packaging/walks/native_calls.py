"""What gdb runs: record which C functions of Gnomon handle a value in the program it was given.

    GNOMON_WALKS_LOG=LOG GNOMON_WALKS_VALUE=VALUE gdb --batch -x native_calls.py --args PROGRAM ...

LOG gets lines as python_calls.py writes them. A function *gets* the value if an argument, or what
it points to, holds it, *gives* it if its result does or what an argument points to and did not
before, and *passes* it if a function that it called got it. The names of registers are x86-64's.
Of the environment: GNOMON_WALKS_FIRST is a function before which none is of interest,
GNOMON_WALKS_LAST one by which the value has reached its end.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gdb

Forms = frozenset[str]
"""In which forms something holds the value: text, number, encoding."""
Function = tuple[str, str]
"""A file of ours and a function in it."""

DEPTH = 4
ELEMENTS = 48
TEXT = 512


class Value:
    """What the value looks like in memory."""

    def __init__(self, looks: dict[str, Any]) -> None:
        self.text = looks.get("text")
        self.number = looks.get("number")
        self.above = looks.get("above", 0)
        self.encoding = looks.get("encoding", {})

    def forms_in(self, data: Any, depth: int = DEPTH) -> Forms:
        """Return in which of its forms memory that data name holds it."""
        try:
            return self._forms_in(data, depth)
        except (gdb.MemoryError, gdb.error, UnicodeError):
            return frozenset()

    def _forms_in(self, data: Any, depth: int) -> Forms:
        kind = data.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_PTR:
            if int(data) == 0:
                return frozenset()
            return self._forms_behind(data, kind.target().strip_typedefs(), depth)
        if kind.code == gdb.TYPE_CODE_ARRAY:
            target = kind.target().strip_typedefs()
            if target.sizeof == 1:
                return self._text_form(data)
            last = min(kind.range()[1], ELEMENTS - 1)
            return self._forms_in_all((data[i] for i in range(last + 1)), depth)
        if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return self._forms_in_fields(data, kind, depth)
        if kind.code == gdb.TYPE_CODE_INT and kind.sizeof > 2:
            return self._number_form(int(data))
        if kind.code == gdb.TYPE_CODE_FLT:
            return self._number_form(float(data))
        return frozenset()

    def _forms_in_all(self, parts: Iterable[Any], depth: int) -> Forms:
        return frozenset().union(*(self.forms_in(part, depth) for part in parts))

    def _number_form(self, number: float) -> Forms:
        is_it = self.number is not None and self.number <= number <= self.number + self.above
        return frozenset(["number"] if is_it else [])

    def _text_form(self, data: Any) -> Forms:
        is_it = self.text is not None and self.text in data.string("utf-8", "replace")[:TEXT]
        return frozenset(["text"] if is_it else [])

    def _forms_behind(self, pointer: Any, target: Any, depth: int) -> Forms:
        if target.code == gdb.TYPE_CODE_INT and target.sizeof == 1:
            return self._text_form(pointer)
        if target.name == "_object" or depth == 0:
            return frozenset()
        if target.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT):
            return self._forms_in_all((pointer[i] for i in range(ELEMENTS)), depth - 1)
        if target.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_PTR):
            return self.forms_in(pointer.dereference(), depth - 1)
        return frozenset()

    def _forms_in_fields(self, data: Any, kind: Any, depth: int) -> Forms:
        names = [field.name for field in kind.fields() if field.name]
        if self.encoding and all(
            name in names and int(data[name]) == number for name, number in self.encoding.items()
        ):
            return frozenset(["encoding"])
        return self._forms_in_all((data[name] for name in names), depth)


class Call:
    """A call of a C function, as in python_calls.py."""

    def __init__(
        self, number: int, parent: int, function: Function, pointer: int, back: int
    ) -> None:
        self.number, self.parent = number, parent
        self.file, self.function = function
        self.pointer = pointer
        self.back = back
        self.began = time.monotonic_ns()
        self.gets = self.passes = self.gives = False
        self.outputs = []
        self.result = None

    def is_opaque(self) -> bool:
        """Return whether the result is an object of Python's, which gdb cannot look into."""
        is_pointer = self.result is not None and self.result.code == gdb.TYPE_CODE_PTR
        return is_pointer and self.result.target().strip_typedefs().name == "_object"


def function_addresses(library: str) -> dict[int, Function]:
    """Return the file and name of each function that a library has of native/, by its address."""
    table = subprocess.run(["nm", "--defined-only", library], stdout=subprocess.PIPE, text=True)
    rows = (line.split() for line in table.stdout.splitlines())
    names = {int(row[0], 16): row[2].partition(".")[0] for row in rows if row[1] in "tT"}
    command = ["addr2line", "-e", library, *map(hex, names)]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    functions = {}
    for (address, name), line in zip(names.items(), lines, strict=True):
        _, found, path = line.partition(":")[0].rpartition("/native/")
        if found:
            functions[address] = (f"native/{path}", name)
    return functions


def load_offset(library: Any, functions: dict[int, Function]) -> int:
    """Return how far from the addresses in its file a library was loaded."""
    for address, (_file, name) in functions.items():
        symbol = library.lookup_global_symbol(name)
        if symbol is not None:
            return int(symbol.value().address) - address
    return 0


class Recorder:
    """Goes through the program from call to call."""

    def __init__(self, log: str, value: Value) -> None:
        self.log = Path(log).open("a", encoding="utf-8")  # noqa: SIM115
        self.value = value
        self.functions = {}
        self.breakpoints = []
        self.returns = {}
        self.stack = []
        self.number = 0
        self.first = os.environ.get("GNOMON_WALKS_FIRST", "")
        self.last = os.environ.get("GNOMON_WALKS_LAST", "")
        self.later: dict[int, Function] = {}
        self.syscall = None
        self.libraries = []

    def load(self, event: Any) -> None:
        """Remember a library that the program has loaded."""
        self.libraries.append(event.new_objfile)

    def add_functions(self) -> None:
        """Stop at each function of the libraries of Gnomon's that were loaded."""
        for library in self.libraries:
            if f"{os.sep}gnomon{os.sep}" not in library.filename:
                continue
            addresses = function_addresses(library.filename)
            offset = load_offset(library, addresses)
            for address, function in addresses.items():
                if self.first and function[1] != self.first:
                    self.later[address + offset] = function
                    continue
                self.functions[address + offset] = function
                at = gdb.Breakpoint(f"*{address + offset:#x}", internal=True)
                self.breakpoints.append(at)
            if self.value.encoding and not self.syscall:
                self.syscall = gdb.Breakpoint("*syscall", internal=True)
        self.libraries.clear()

    def run(self) -> None:
        """Run the program to its end."""
        gdb.events.new_objfile.connect(self.load)
        gdb.execute("set stop-on-solib-events 1")
        gdb.execute("run", to_string=True)
        while gdb.selected_thread() is not None:
            self.add_functions()
            frame = gdb.newest_frame()
            pc = int(frame.pc())
            if self.value.encoding and frame.name() == "syscall" and self.is_opened(frame):
                self.finish()
                return
            if pc in self.returns:
                self.leave(frame, pc)
            if pc in self.functions:
                self.stop_everywhere()
                self.enter(frame, pc)
                if self.stack[-1].function == self.last:
                    self.stack[-1].gets = True
                    if len(self.stack) > 1:
                        self.stack[-2].passes = True
                    self.finish()
                    return
            gdb.execute("continue", to_string=True)

    def enter(self, frame: Any, pc: int) -> None:
        """Look at the arguments of a call."""
        pointer = int(frame.read_register("sp"))
        while self.stack and self.stack[-1].pointer < pointer:
            self.end(self.stack.pop())
        older = frame.older()
        back = int(older.pc()) if older else 0
        self.number -= 1
        parent = self.stack[-1].number if self.stack else 0
        call = Call(self.number, parent, self.functions[pc], pointer, back)
        if frame.function() is not None:
            call.result = frame.function().type.target().strip_typedefs()
        for symbol in frame.block():
            if symbol.is_argument:
                argument = frame.read_var(symbol)
                forms = self.value.forms_in(argument)
                call.gets |= bool(forms)
                if argument.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
                    argument.fetch_lazy()
                    call.outputs.append((argument, forms))
        if call.gets and self.stack:
            self.stack[-1].passes = True
        self.stack.append(call)
        if back and back not in self.returns:
            self.returns[back] = gdb.Breakpoint(f"*{back:#x}", internal=True)

    def stop_everywhere(self) -> None:
        """Stop at each function, now that the first of interest is called."""
        self.first = ""
        for address in self.later:
            self.breakpoints.append(gdb.Breakpoint(f"*{address:#x}", internal=True))
        self.functions.update(self.later)
        self.later.clear()

    def is_opened(self, frame: Any) -> bool:
        """Return whether perf_event_open(2) is called for the value."""
        kind = gdb.lookup_type("struct perf_event_attr").pointer()
        return "encoding" in self.value.forms_in(frame.read_register("rsi").cast(kind))

    def finish(self) -> None:
        """Let the program go on without being looked at, once the value is where it was to go."""
        now = time.monotonic_ns()
        self.log.write(json.dumps({"end": now, "how": self.last or "opened"}) + "\n")
        for call in self.stack:
            self.end(call)
        gdb.execute("set stop-on-solib-events 0")
        gdb.execute("delete")
        syscalls = [self.syscall] if self.syscall else []
        for breakpoint in [*syscalls, *self.breakpoints, *self.returns.values()]:
            breakpoint.delete()
        gdb.execute("continue", to_string=True)

    def leave(self, frame: Any, pc: int) -> None:
        """Look at what a call that has ended gave."""
        pointer = int(frame.read_register("sp"))
        while self.stack and self.stack[-1].pointer < pointer:
            call = self.stack.pop()
            if call.back == pc:
                call.gives = any(
                    self.value.forms_in(output) - before for output, before in call.outputs
                )
                call.gives |= self.gives_result(frame, call)
            self.end(call)
        # Code of others that called a function of ours is not to stop each time it runs.
        if not any(call.back == pc for call in self.stack):
            self.returns.pop(pc).delete()

    def gives_result(self, frame: Any, call: Call) -> bool:
        """Return whether the result holds the value."""
        kind = call.result
        if kind is None or kind.code not in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_INT):
            return False
        return bool(self.value.forms_in(frame.read_register("rax").cast(kind)))

    def end(self, call: Call) -> None:
        """Write a call that handled the value."""
        if call.gets or call.passes or call.gives:
            names = ("number", "parent", "file", "function", "began", "gets", "passes", "gives")
            fields = {"opaque": call.is_opaque()}
            fields |= {name: getattr(call, name) for name in names}
            self.log.write(json.dumps(fields | {"ended": time.monotonic_ns()}) + "\n")
            self.log.flush()


def main() -> None:
    """Record."""
    for setting in ("pagination off", "confirm off", "debuginfod enabled off"):
        gdb.execute(f"set {setting}")
    gdb.execute("handle all nostop noprint pass", to_string=True)
    looks = json.loads(os.environ["GNOMON_WALKS_VALUE"])
    Recorder(os.environ["GNOMON_WALKS_LOG"], Value(looks)).run()


main()
