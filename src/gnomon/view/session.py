"""What is open: run directories, .viz files and combinations of them, by number."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from gnomon.callgraph.inputs import GmonFiles
from gnomon.capabilities import readers
from gnomon.errors import GnomonError, RunDirectoryError, UsageError
from gnomon.store import inlined_calls, run_directory, run_files, table_limits
from gnomon.store.profile_files.gmon import program_search
from gnomon.view import windowed_run
from gnomon.view.database import Tables, check_regular
from gnomon.view.folder_listing import absolute_of
from gnomon.view.open_run import MergedPart, OpenRun
from gnomon.view.recorded_run import recorded_run
from gnomon.view.run_metadata import Dataset

AT_CALLERS = ".caller"
_WINDOW = re.compile(r"(?P<run>[^@]*)@(?P<begin>\d{1,19})-(?P<end>\d{1,19})")
_WINDOWS_KEPT = 8
_OPEN_LIMIT = 256


class Session:
    """All that one server has open; its methods may be called from any thread.

    Attributes:
        sources_before_asking: source files that the page opens before it asks.
        problems: what could not be opened at the start.
    """

    def __init__(
        self, *, sources: Sequence[Path] = (), preferred_sources: Sequence[Path] = (),
        sources_before_asking: int = 15,
    ) -> None:  # fmt: skip
        from gnomon.store.source_files import Folders

        self._opened: dict[str, OpenRun] = {}
        self._at_callers: dict[str, OpenRun] = {}
        self._windows: dict[str, OpenRun] = {}
        self._lock = threading.Lock()
        self._charging = threading.Lock()
        self._numbers = 0
        preferred = Folders(preferred_sources) if preferred_sources else None
        self.folders = Folders(sources, preferred)
        self.sources_before_asking = sources_before_asking
        self.problems: list[str] = []

    def runs(self) -> list[OpenRun]:
        """Return all that is open, in the order of opening."""
        with self._lock:
            return list(self._opened.values())

    def run(self, number: str) -> OpenRun:
        """Return the open run with a number; behind it AT_CALLERS charges inlined code to callers.

        Behind that, `@BEGIN-END` is what it had from one nanosecond of its samples to another.

        Raises:
            UsageError: nothing is, or it does not say which calls were inlined, or has no samples
                of that time.
            RunDirectoryError: it cannot be read any more.
        """
        window = _WINDOW.fullmatch(number)
        if window:
            return self._within(number, self.run(window["run"]), window)
        with self._lock:
            opened = self._opened.get(number.removesuffix(AT_CALLERS))
        if opened is None:
            raise UsageError(f"no open run {number[:40]!a}; open it again")
        return self._charged(opened) if number.endswith(AT_CALLERS) else opened

    def _within(self, number: str, opened: OpenRun, window: re.Match[str]) -> OpenRun:
        with self._charging:
            part = self._windows.pop(number, None)
            if part is None:
                part = windowed_run.within(opened, int(window["begin"]), int(window["end"]))
            self._windows[number] = part
            while len(self._windows) > _WINDOWS_KEPT:
                self._windows.pop(next(iter(self._windows))).close()
            return part

    def _charged(self, opened: OpenRun) -> OpenRun:
        with self._charging:
            charged = self._at_callers.get(opened.id)
            if charged is None:
                charged = self._at_callers[opened.id] = self._charge(opened)
            return charged

    def _charge(self, opened: OpenRun) -> OpenRun:
        """Return a run with what inlined code took at the lines that call it."""
        from gnomon.view.merged_runs import combine

        if not opened.data.has_inlined:
            return opened
        if opened.parts:
            parts = [self.run(part.id) for part in opened.parts]
            data, locations = combine([self._charge(part) for part in parts])
        else:
            run = inlined_calls.at_callers(recorded_run(opened))
            data = Dataset(opened.path, run.head, Tables.of_run(run), run.source_text)
            locations = ()
        return OpenRun(opened.id, opened.kind, opened.path, opened.title, data, locations)

    def open(self, paths: Sequence[str], *, combined: bool = False) -> list[OpenRun]:
        """Open run directories and .viz files, and return them, or what combines them.

        Raises:
            GnomonError: one of them cannot be read, or they are too many.
        """
        opened_runs: list[OpenRun] = []
        try:
            for path in paths:
                opened_runs.append(self._open(path))
            if combined and len(opened_runs) > 1:
                opened_runs.append(self.combine([one.id for one in opened_runs]))
                return opened_runs[-1:]
        except GnomonError:
            for one in opened_runs:
                self.close(one.id)
            raise
        return opened_runs

    def _open(self, path: str) -> OpenRun:
        absolute = absolute_of(path)
        reader = run_files.reader_of(Path(absolute), readers())
        if isinstance(reader, run_files.GmonReader):
            program = program_search.program_beside(Path(absolute))
            return self.open_gmon(GmonFiles(program, (Path(absolute),)))
        for one in self.runs():
            if one.path == absolute or one.path == absolute + run_directory.SUFFIX:
                return one
        for folder in (Path(absolute), run_directory.path_of(absolute)):
            if run_directory.is_run(folder):
                check_regular(folder / "run.json")
        run = run_directory.find(absolute, readers=readers())
        if run.files is not None:
            data = Dataset(absolute, run.head, Tables.of_file(run), run.source_text)
            return self._keep("file", absolute, Path(absolute).name, data)
        data = Dataset(str(run.path), run.head, Tables.of_run(run), run.source_text)
        title = run.path.name.removesuffix(run_directory.SUFFIX)
        return self._keep("run", str(run.path), title, data)

    def open_gmon(self, gmon: GmonFiles) -> OpenRun:
        """Open gmon.out files of a program, added up.

        Raises:
            GnomonError: one cannot be read, or there are too many runs.
        """
        paths = tuple(Path(absolute_of(os.fspath(path))) for path in gmon.paths)
        gmon = GmonFiles(Path(absolute_of(os.fspath(gmon.program))), paths)
        for opened in self.runs():
            if opened.gmon == gmon:
                return opened
        from gnomon.store.profile_files.gmon.gmon_run import open_gmon

        run = open_gmon(paths[0], str(gmon.program), paths[1:])
        title = paths[0].name if len(paths) == 1 else f"{gmon.program.name}, {len(paths)} profiles"
        data = Dataset(str(paths[0]), run.head, Tables.of_file(run), run.source_text)
        return self._keep("file", str(paths[0]), title, data, gmon=gmon)

    def search_sources(self, before: Sequence[str], behind: Sequence[str]) -> None:
        """Look for sources in directories from now on.

        Args:
            before: they go before the place that a run names; none for those of now.
            behind: they go after it, with those of now.

        Raises:
            UsageError: one is no directory, or has too many files.
        """
        from gnomon.store.source_files import Folders

        for folder in behind:
            self.folders.add(folder)
        if before:
            self.folders.preferred = Folders([Path(folder) for folder in before])

    def combine(self, numbers: Sequence[str]) -> OpenRun:
        """Return a combination of several open runs: one tree, a location for each.

        Raises:
            GnomonError: there are fewer than two, or one cannot be read.
        """
        from gnomon.view.merged_runs import combine

        parts = [self.run(number) for number in dict.fromkeys(numbers)]
        if len(parts) < 2:
            raise UsageError("two runs or more can be combined")
        for one in self.runs():
            if [part.id for part in one.parts] == [part.id for part in parts]:
                return one
        data, locations = combine(parts)
        title = " + ".join(part.title for part in parts)
        opened = self._keep("combined", "", title, data, locations)
        opened.combined = tuple(parts)
        return opened

    def _keep(
        self, kind: str, path: str, title: str, data: Dataset, parts: tuple[MergedPart, ...] = (),
        *, gmon: GmonFiles | None = None,
    ) -> OpenRun:  # fmt: skip
        try:
            # What is wrong with it is said now, and not in the middle of a view.
            data.locations, data.metrics, data.paths, data.regions  # noqa: B018
        except GnomonError:
            data.tables.close()
            raise
        except MemoryError:
            data.tables.close()
            raise RunDirectoryError(table_limits.no_memory(data.name)) from None
        with self._lock:
            if len(self._opened) >= _OPEN_LIMIT:
                raise UsageError(f"{_OPEN_LIMIT} runs are open already; close some")
            self._numbers += 1
            opened = OpenRun(str(self._numbers), kind, path, title, data, parts, gmon=gmon)
            self._opened[opened.id] = opened
        return opened

    def close(self, number: str) -> None:
        """Close a run and the combinations that it is part of.

        Raises:
            UsageError: nothing is open under that number.
        """
        if "@" in number:
            raise UsageError(f"{number[:40]!a} is a part of a run's time; close the run")
        closed = [self.run(number)]
        closed += [one for one in self.runs() if number in {part.id for part in one.parts}]
        with self._lock, self._charging:
            for run in list(closed):
                self._opened.pop(run.id, None)
                for window in [one for one, part in self._windows.items() if part.id == run.id]:
                    del self._windows[window]
                charged = self._at_callers.pop(run.id, run)
                closed += [charged] if charged is not run else []
        del run, charged
        while closed:
            closed.pop().close()
        _give_memory_back()

    def end(self) -> None:
        """Close everything."""
        for one in (*self.runs(), *self._at_callers.values()):
            one.close()


def _give_memory_back() -> None:
    """Let the system have what closed runs took: the C library keeps it otherwise."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)
