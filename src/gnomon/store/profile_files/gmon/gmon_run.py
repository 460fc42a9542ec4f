"""gmon.out files as a run: samples and arcs of the functions of their program.

Samples have no callers: each function that has some is a path of its own below the program, with
the code that was inlined into it below. What calls came to the file does not say; `gnomon
callgraph` estimates it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from gnomon.model.metric import CPU_TIME
from gnomon.model.tables import ARCS, SAMPLES, Table
from gnomon.store.profile_files import profile_file
from gnomon.store.profile_files.gmon import function_times, gmon_sum
from gnomon.store.profile_files.gmon.function_times import bin_parts
from gnomon.store.profile_files.gmon.gmon_file import (
    FORMAT,
    SECONDS,
    parse,
    read_gmon,
    says_nothing,
)
from gnomon.store.profile_files.gmon.instruction_starts import with_instruction_starts
from gnomon.store.profile_files.gmon.program_search import program_beside
from gnomon.store.profile_files.stack_tables import ROOT, Frame, Place, Quantity, StackTables
from gnomon.store.unpacked_run import run_of_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.store.profile_files.gmon.function_times import BinParts, Program
    from gnomon.store.profile_files.gmon.gmon_file import GmonFile, Histogram
    from gnomon.store.run import Run
    from gnomon.symbols import Frame as SymbolFrame

_NO_RATE = "the file does not say how many samples a second has: 100 are assumed"


def open_gmon(path: Path, program: str = "", others: Sequence[Path] = ()) -> Run:
    """Return a gmon.out file, or the sum of several, as a run.

    Args:
        path: the file.
        program: that wrote it; "" to look for it.
        others: further files of the program.

    Raises:
        RunDirectoryError: a file or its program cannot be read, or a file is damaged.
    """
    wrote_it = Path(program) if program else program_beside(path)
    return run_of_tables(path, partial(read_gmon_run, path, wrote_it, others=others))


def read_gmon_run(
    path: Path, program_path: Path, file: IO[bytes], *, others: Sequence[Path] = ()
) -> tuple[dict[str, Any], list[Table]]:
    """Return the head of the run that files stand for, and its tables.

    Args:
        path: to be named in errors.
        program_path: the program that wrote it.
        file: the content.
        others: files to be added.

    Raises:
        RunDirectoryError: a file or its program cannot be read, or a file is damaged.
    """
    program = function_times.program_of(program_path)
    content = profile_file.whole_content(path, file, FORMAT)
    first = parse(path, content, program.layout)
    total = gmon_sum.GmonSum(path, first)
    warnings = [says_nothing(path)] if first.is_empty else []
    for other in others:
        further = read_gmon(other, program.layout)
        total.add(other, further)
        warnings += [says_nothing(other)] if further.is_empty else []
    gmon = total.file()
    warnings += [] if gmon.says_rate or not gmon.histograms else [_NO_RATE]
    shift = function_times.shift_of(program, gmon)
    misfit = function_times.misfit(program, gmon, shift)
    warnings += [misfit] if misfit else []
    tables = _Tables(path, program, gmon, shift).tables()
    return profile_file.head([str(program_path)], producer="gprof", warnings=warnings), tables


class _Tables:
    def __init__(self, path: Path, program: Program, gmon: GmonFile, shift: int) -> None:
        self._path = path
        self._program = program
        self._gmon = gmon
        self._shift = shift
        self._stacks = StackTables(self._fail)
        self._module = program.path.name

    def _fail(self, problem: str) -> NoReturn:
        profile_file.refuse(self._path, 0, problem, FORMAT)

    def tables(self) -> list[Table]:
        """Return the tables of the run."""
        program, gmon = self._program, self._gmon
        place = self._stacks.place(Place())
        samples = Table(SAMPLES)
        is_time = all(one.unit == SECONDS for one in gmon.histograms)
        unit = "" if is_time or not gmon.histograms else gmon.histograms[0].unit
        quantity = self._stacks.quantity(
            Quantity(CPU_TIME, "s") if is_time else Quantity(unit, unit)
        )
        parts = [
            (one, with_instruction_starts(program.path, bin_parts(program, one, self._shift)))
            for one in gmon.histograms
        ]
        arcs = function_times.function_arcs(program, gmon, self._shift)
        functions = {*arcs.caller.tolist(), *arcs.callee.tolist()}
        starts = program.symbols.start
        named = self._frames(
            [int(starts[function]) for function in functions],
            [address for _, some in parts for address in some.address.tolist()],
        )
        if not any(len(some.times) for _, some in parts):
            self._stacks.add(place, quantity, ROOT, 0.0, 0)
        for histogram, some in parts:
            self._add_samples(samples, place, quantity, some, named, histogram)
        regions = {
            function: self._region(function, named.get(int(starts[function]), ()))
            for function in functions
        }
        table = Table(ARCS)
        for caller, callee, count in zip(
            arcs.caller.tolist(), arcs.callee.tolist(), arcs.counts.tolist(), strict=True
        ):
            table.add(
                repetition=0, location=0, caller=regions[caller], callee=regions[callee],
                metric=-1, calls=count, inclusive=None,
            )  # fmt: skip
        self._stacks.module(self._module, str(program.path.absolute()), "")
        return [*self._stacks.tables(self._module), samples, table]

    def _frames(
        self, starts: Sequence[int], addresses: Sequence[int]
    ) -> dict[int, tuple[SymbolFrame, ...]]:
        """Return the frames of each address, innermost first."""
        import numpy as np

        from gnomon.symbols import Module, resolve

        module = Module(str(self._program.path))
        wanted = np.array([*starts, *addresses], np.uint64)
        frames = resolve({module: wanted}).frames.get(module)
        if frames is None:
            return {}
        return {address: frames.at(address) for address in (*starts, *addresses)}

    def _region(self, function: int, frames: Sequence[SymbolFrame]) -> int:
        """Return the region of a function at the line of an address in it."""
        file, line = (frames[-1].file, frames[-1].line) if frames else ("", 0)
        title = self._program.symbols.titles[function]
        return self._stacks.region(Frame(title, self._module, file, line, is_inlined=False))

    def _code_path(self, function: int, frames: Sequence[SymbolFrame]) -> int:
        path = self._stacks.path(ROOT, self._region(function, frames))
        for frame in reversed(frames[:-1]):
            region = self._stacks.region(
                Frame(frame.function, self._module, frame.file, frame.line, is_inlined=True)
            )
            path = self._stacks.path(path, region)
        return path

    def _add_samples(
        self, samples: Table, place: int, quantity: int, parts: BinParts,
        named: dict[int, tuple[SymbolFrame, ...]], histogram: Histogram,
    ) -> None:  # fmt: skip
        last_bin = -1
        for function, address, _, number, times in zip(
            *(column.tolist() for column in parts), strict=True
        ):
            path = self._code_path(function, named.get(address, ()))
            # A bin that two functions share is counted with the first.
            n = int(histogram.bins[number]) if number != last_bin else 0
            last_bin = number
            self._stacks.add(place, quantity, path, times / histogram.rate, n)
            samples.add(
                repetition=0, location=0, path=path, metric=0, time_ns=None, address=address,
                weight=times / histogram.rate, data_address=None, data_source="", latency=None,
                woken_by="", held_by="",
            )  # fmt: skip
