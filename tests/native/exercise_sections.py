"""Uses every function of gnomon.sections._libhpm, and its errors; test_extension.py runs it."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from typing import Any

from exercise_steps import check_leaks, run

from gnomon import hpm
from gnomon.errors import SectionError
from gnomon.sections import _libhpm, api


def fails(kind: type[BaseException], call: Any, *arguments: object) -> None:
    try:
        call(*arguments)
    except kind:
        return
    raise AssertionError(f"{call} took {arguments}")


def beginning() -> None:
    fails(TypeError, hpm.hpmInit, "0", "sections")
    fails(TypeError, hpm.hpmInit, 0)
    fails(ValueError, hpm.hpmInit, 0, "sec\0tions")
    fails(TypeError, _libhpm.hpmInitOnce, "sections")
    fails(TypeError, _libhpm.hpmTerminate)
    fails(TypeError, _libhpm.connect, 1)
    hpm.hpmInit(0, "sections")
    hpm.init()
    assert hpm.error_count() == 0


def functions() -> None:
    before = hpm.error_count()
    for start, begin, stop, number in (
        (hpm.hpmStart, hpm.hpmStartx, hpm.hpmStop, 1),
        (hpm.hpmTstart, hpm.hpmTstartx, hpm.hpmTstop, 2),
    ):
        start(number, "label")
        begin(number + 10, hpm.HPM_ONLY_EXCLUSIVE, "ä\udcff")
        begin(number + 20, number, "")
        for other in (20, 10, 0):
            stop(number + other)
        fails(TypeError, start, number)
        fails(TypeError, start, number, 1)
        fails(TypeError, start, "1", "label")
        fails(TypeError, begin, number, "label")
        fails(TypeError, begin, number, "1", "label")
        fails(TypeError, stop, None)
        fails(TypeError, stop)
    assert hpm.error_count() == before
    for beyond in (0, -1, 1001, 2**31, -(2**31) - 1, 10**40, -(10**40)):
        hpm.hpmTstart(beyond, "label")
        hpm.hpmTstop(beyond)
    assert hpm.error_count() == before + 14
    seconds, counts = hpm.hpmGetTimeAndCounters(10**40)
    assert seconds > 0
    assert len(counts) == 1024
    assert len(hpm.hpmGetCounters()) == 2
    fails(TypeError, hpm.hpmGetTimeAndCounters, 1.5)


def labels() -> None:
    before = hpm.error_count()
    one = hpm.section("one")
    whole = hpm.section("one", whole_process=True)
    for section in (
        one,
        whole,
        hpm.section("two", parent=one),
        hpm.section("three", parent="one", whole_process=True),
        hpm.section("four", exclusive=True),
        hpm.section("five", parent=hpm.HPM_NO_PARENT),
        hpm.section("all", whole_process=True),
        hpm.section("six", parent="all"),
        hpm.section("seven", parent=hpm.section("all", whole_process=True)),
    ):
        with section as entered, section:
            assert entered is section
        fails(ZeroDivisionError, section(lambda: 1 // 0))
    assert hpm.section("one") is one
    # Its parent is the one that is there, not a thread's of the same label.
    assert ("all", False, hpm.HPM_AUTO_PARENT) not in api._made
    assert hpm.error_count() == before
    threads = [threading.Thread(target=section(lambda: None)) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hpm.error_count() == before
    fails(TypeError, _libhpm.Section)
    fails(TypeError, _libhpm.Section, b"", b"", 0, False, None, None)
    fails(TypeError, _libhpm.Section, b"", b"", 0, False, -1, 3)
    fails(TypeError, hpm.section, "x", "y")
    fails(TypeError, hpm.section)
    assert _libhpm.Section(b"", b"", 0, False, -1, None) is not None


def raising() -> None:
    hpm.init(raises=True)
    fails(SectionError, hpm.section("idle").__exit__)
    fails(SectionError, hpm.check)
    hpm.section("idle").__exit__(ValueError, ValueError(), None)
    childless = hpm.section("of nobody", parent=hpm.section("never started"))
    fails(SectionError, childless.__enter__)
    _libhpm.set_raising(False)
    before = hpm.error_count()
    childless.__exit__()
    assert hpm.error_count() == before + 1, "it was active"


def many() -> None:
    made = [hpm.section(f"number {i}") for i in range(500)]
    for section in made:
        section.__enter__()
    for section in made:
        section.__exit__(None, None, None)


def forks() -> None:
    with hpm.section("forked in"):
        child = os.fork()
        if not child:
            before = hpm.error_count()
            with hpm.section("child's"):
                hpm.section("forked in").__exit__()
            hpm.terminate()
            os._exit(hpm.error_count() - before)
        assert os.waitpid(child, 0)[1] == 0


def nothing_leaks() -> None:
    one, two = hpm.section("leaks"), hpm.section("leaks", exclusive=True)

    def once() -> None:
        for _ in range(100):
            with one, two, hpm.section("leaks"), hpm.section("leaks", whole_process=True):
                hpm.hpmGetCounters()
            hpm.hpmTstart(5, "ä\udcff")
            hpm.hpmTstop(5)
            _libhpm.Section(b"", b"", 0, False, one, two)

    once()
    counted = sys.getrefcount(one), sys.getrefcount(two), sys.getrefcount(_libhpm.Section)
    check_leaks(once, 20, __file__)
    assert (
        sys.getrefcount(one), sys.getrefcount(two), sys.getrefcount(_libhpm.Section)
    ) == counted  # fmt: skip


def ending() -> None:
    hpm.terminate()
    before = hpm.error_count()
    _libhpm.hpmTerminateOnce()
    assert hpm.error_count() == before
    with hpm.section("late"), hpm.section("one"):
        pass
    assert hpm.error_count() > before


def main() -> int:
    os.chdir(tempfile.mkdtemp())
    os.environ["GNOMON_EVENTS"] = "page-faults,task-clock"
    return run(beginning, functions, labels, raising, many, forks, nothing_leaks, ending)


if __name__ == "__main__":
    sys.exit(main())
