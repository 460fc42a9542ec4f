"""Sections of a Python program: libhpm's functions, and `with section("label")` above them.

Users write `from gnomon import hpm`, which gathers what is here and libhpm's own functions. Those
with the guide's names (source: HPM Toolkit users guide 3.2.2, section 3.7) take the program's
numbers. Sections with labels alone take theirs from libhpm, one for each label and thread, above
those that programs choose, and begin by themselves what `hpmInit` begins.

There is one libhpm in a process: what C code marks is in the same output.
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import allocate_lock
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from gnomon.errors import SectionError
from gnomon.sections import _libhpm
from gnomon.sections._libhpm import (
    HPM_AUTO_PARENT,
    HPM_NO_PARENT,
    HPM_ONLY_EXCLUSIVE,
    error_count,
)

F = TypeVar("F", bound=Callable[..., Any])

# Flags of code objects; `inspect` takes 10 ms to import.
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200

_beginning = allocate_lock()
_made: dict[tuple[str, bool, Section | int], Section] = {}
_done = {"begin": False, "follow forks": False, "finalize children": False}


# --- sections by their labels ---------------------------------------------------------------------


class Section(_libhpm.Section):
    """A part of a program: `with` it, or a decorator of functions. `section()` makes it.

    It may be entered any number of times, in itself too: then its time and counts go on until the
    outermost end. Each thread has its own values of it, unless it counts the whole process.
    """

    __slots__ = ()

    def __call__(self, function: F) -> F:
        """Return the function, each of whose calls is this section.

        Of a coroutine function the section lasts until the coroutine's end, and of a generator
        until the generator's: what others do meanwhile on the thread is in it.

        Raises:
            SectionError: for an asynchronous generator, which nothing runs to its end.
        """
        from functools import wraps

        if isinstance(function, classmethod | staticmethod):
            return cast("F", type(function)(self(function.__func__)))
        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if flags & _ASYNC_GENERATOR:
            raise SectionError(
                f"function '{_name_of(function)}': an asynchronous generator cannot be a section; "
                "use `with hpm.section(...)` inside it"
            )

        @wraps(function)
        def counted(*arguments: object, **named: object) -> object:
            with self:
                return function(*arguments, **named)

        @wraps(function)
        async def awaited(*arguments: object, **named: object) -> object:
            with self:
                return await function(*arguments, **named)

        @wraps(function)
        def generated(*arguments: object, **named: object) -> Generator[Any, Any, Any]:
            with self:
                return (yield from function(*arguments, **named))

        kinds = {_COROUTINE: awaited, _GENERATOR: generated, 0: counted}
        return cast("F", kinds[flags & (_COROUTINE | _GENERATOR)])


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))


def _text(label: object) -> bytes:
    if not isinstance(label, str):
        raise SectionError(f"section {label!r}: a label is a str; write section('...')")
    if "\0" in label:
        raise SectionError(f"section {label!r}: a label has no zero bytes; leave them out")
    return label.encode("utf-8", "replace")


def _make(
    label: object,
    *,
    whole_process: bool = False,
    parent: object = None,
    exclusive: bool = False,
) -> object:
    """Return the section of these; called where there is none of the label alone."""
    function: Any = label
    if callable(function) or isinstance(function, classmethod):  # @hpm.section without a label
        module = getattr(function, "__module__", "__main__")
        name = _name_of(function) if module == "__main__" else f"{module}.{_name_of(function)}"
        made = _section(name, whole_process, parent, exclusive, _place_of(function))
        return made(function)
    return _section(label, whole_process, parent, exclusive, None)


def _place_of(function: object) -> tuple[str, int] | None:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else None


def _section(
    label: object,
    whole_process: bool,
    parent: object,
    exclusive: bool,
    place: tuple[str, int] | None,
) -> Section:
    text = _text(label)
    assert isinstance(label, str)
    whole = bool(whole_process)
    related = _related(label, whole, parent, exclusive, place)
    key = (label, whole, related)
    found = _made.get(key)
    if found is not None:
        return found
    is_plain = related == HPM_AUTO_PARENT
    root = None if is_plain else _section(label, whole, None, False, place)
    file, line = place or _caller()
    new_section = Section(text, os.fsencode(file), line, whole, related, root)
    # Of two threads that make it at once, both get that of the first.
    new_section = _made.setdefault(key, new_section)
    if is_plain and not whole:
        _libhpm.by_label[label] = new_section
    return new_section


def _related(
    label: str,
    whole: bool,
    parent: object,
    exclusive: bool,
    place: tuple[str, int] | None,
) -> Section | int:
    """Return the parent as libhpm gets it."""
    if exclusive and parent not in (None, HPM_AUTO_PARENT, HPM_ONLY_EXCLUSIVE):
        raise SectionError(
            f"section '{label}': `exclusive` goes with the automatic parent only; leave out "
            "`parent`, or set HPM_EXCLUSIVE_VALUES=yes"
        )
    if exclusive:
        return HPM_ONLY_EXCLUSIVE
    if parent is None:
        return HPM_AUTO_PARENT
    if isinstance(parent, str):
        # A thread's section may be in one of the whole process that is there already.
        of_all = None if whole else _made.get((parent, True, HPM_AUTO_PARENT))
        is_thread = (parent, False, HPM_AUTO_PARENT) in _made
        return of_all if of_all and not is_thread else _section(parent, whole, None, False, place)
    if isinstance(parent, Section):
        return parent
    if isinstance(parent, int) and HPM_NO_PARENT <= parent <= HPM_AUTO_PARENT:
        return parent
    raise SectionError(
        f"section '{label}': its parent cannot be {parent!r}; give a section, its label, or "
        "HPM_NO_PARENT"
    )


def _caller() -> tuple[str, int]:
    """Return file and line of the nearest caller outside of this file."""
    frame = sys._getframe()
    here = frame.f_code.co_filename
    while frame.f_back is not None and frame.f_code.co_filename == here:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


if TYPE_CHECKING:

    @overload
    def section(
        label: str,
        *,
        whole_process: bool = False,
        parent: Section | str | int | None = None,
        exclusive: bool = False,
    ) -> Section: ...
    @overload
    def section(label: F) -> F: ...
    def section(
        label: object,
        *,
        whole_process: bool = False,
        parent: Section | str | int | None = None,
        exclusive: bool = False,
    ) -> object:
        """Return the section of this label, for `with` or as a decorator; the same each time.

        As a decorator without a label it is called as the function.

        Args:
            label: its name in the output.
            whole_process: count all threads and processes (`hpmStart`), not the calling thread.
            parent: the section, or its label, whose exclusive values are to be without this one;
                HPM_NO_PARENT for none; without it the last one that this thread entered.
            exclusive: write exclusive values of this one, as HPM_ONLY_EXCLUSIVE does.

        Raises:
            SectionError: a label or parent that is none. What goes wrong in libhpm does not raise:
                it is told on stderr, once, and counted (`check()`).
        """
else:
    section = _libhpm.section


# --- beginning and end ----------------------------------------------------------------------------


def init(name: str | None = None, *, raises: bool = False) -> None:
    """Begin, unless that was done; sections do it themselves where it was not.

    Args:
        name: of the output, where HPM_OUTPUT_NAME says none; by default that of the program,
            `sys.argv[0]`. In a process that `multiprocessing` has started afresh, its number is
            added.
        raises: let sections with labels raise SectionError where libhpm finds a mistake. Without it
            a program that is measured does what it does when it is not.
    """
    if raises:
        _libhpm.set_raising(True)
    _begin(name)


def terminate() -> None:
    """Stop what is active and write the output; the end of the program does it, too."""
    hpmTerminate(0)


def check() -> None:
    """Raise SectionError if a call of libhpm went wrong, in Python or C.

    Raises:
        SectionError: says how many; the lines on stderr say what.
    """
    wrong = error_count()
    if wrong:
        raise SectionError(
            f"libhpm: {wrong} call{'s' if wrong > 1 else ''} went wrong; the lines on stderr that "
            "begin with 'hpmcount ERROR' say which, and what to do"
        )


def hpmInit(taskID: int, progName: str, /) -> None:
    """Begin; `progName` is the name of the output, `taskID` means nothing any more."""
    _follow_forks()
    if _is_child():
        _finalize_child()
    _name_python()
    _libhpm.hpmInit(taskID, progName)


def hpmTerminate(taskID: int, /) -> None:
    """Stop what is active and write the output."""
    # What HPM_STDOUT=yes prints comes after what the program printed.
    flush = getattr(sys.stdout, "flush", None)
    try:
        if flush is not None and not getattr(sys.stdout, "closed", False):
            flush()
    finally:
        _libhpm.hpmTerminate(taskID)


def _begin(name: str | None = None) -> None:
    if _done["begin"]:
        return
    with _beginning:
        _follow_forks()
        _name_python()
        if _is_child():
            _finalize_child()
            _begin_as_child(name or _program_name())
        else:
            _libhpm.hpmInitOnce(os.fsencode(name or _name_in_job(_program_name())))
        _done["begin"] = True


def _at_exit() -> None:
    """Write the output of a program that Ctrl-C ends: Python then kills itself by the signal.

    The exit handlers of C, one of which libhpm has, are not called; Python's own are.
    """
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        _libhpm.hpmTerminateOnce()


def _name_python() -> None:
    """Say which Python a plug-in that is written in it runs with."""
    if os.environ.get("HPM_AGGREGATE") and sys.executable:
        os.environ.setdefault("HPM_PYTHON", sys.executable)


def _begin_as_child(name: str) -> None:
    """Begin with the process number in the name: the parent writes files of that name, too."""
    number = f"_{os.getpid()}"
    output = os.environ.get("HPM_OUTPUT_NAME")
    if output:
        os.environ["HPM_OUTPUT_NAME"] = output + number
    _libhpm.hpmInitOnce(os.fsencode(name + number))
    if output:
        os.environ["HPM_OUTPUT_NAME"] = output


def _name_in_job(name: str) -> str:
    """Return the name of a task's own output: those of a job do not write over each other.

    Where a plug-in puts them together, libhpm names what is written in the same way.
    """
    is_unique = os.environ.get("HPM_UNIQUE_FILE_NAME", "")[:1] in ("Y", "y", "1")
    if is_unique or os.environ.get("HPM_AGGREGATE"):
        return name
    from gnomon.launch.job import job

    own = job()
    return f"{name}_{own.task}" if own is not None and own.task else name


def _program_name() -> str:
    first = sys.argv[0] if getattr(sys, "argv", None) else ""
    folder, _, name = first.rpartition("/")
    stem, _, ending = name.rpartition(".")
    if stem == "__main__":
        name = folder.rpartition("/")[2]
    elif stem and ending in ("py", "pyw", "pyc", "pyz"):
        name = stem
    return "python" if name in ("", "-", "-c", "-m") else name


# --- processes that multiprocessing makes ---------------------------------------------------------


def _is_child() -> bool:
    """Return whether multiprocessing made this process."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _follow_forks() -> None:
    if not _done["follow forks"]:
        _done["follow forks"] = True
        os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def _before_fork() -> None:
    """Let children of multiprocessing write their output: they end without exit handlers."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not _done["finalize children"]:
        _done["finalize children"] = True
        util.register_after_fork(Section, _finalize_child)


def _after_fork() -> None:
    global _beginning
    _beginning = allocate_lock()  # another thread of the parent may have had it
    _libhpm.forked()


def _finalize_child(*_: object) -> None:
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # After those that people have registered.
        util.Finalize(None, _libhpm.hpmTerminateOnce, exitpriority=-1000)


_libhpm.connect(_make, _begin)
# Early, so that it comes after what the program registers.
atexit.register(_at_exit)
