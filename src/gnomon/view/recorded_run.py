"""The run behind an open one, as reports and analyses have it."""

from __future__ import annotations

from gnomon.capabilities import readers
from gnomon.store import run_directory
from gnomon.store.run import Run
from gnomon.view.open_run import OpenRun


def recorded_run(opened: OpenRun) -> Run:
    """Return the run of an open one that is no combination; of a window the whole run.

    Raises:
        RunDirectoryError: it cannot be read any more.
    """
    return opened.once("run", lambda: _run(opened))


def _run(opened: OpenRun) -> Run:
    if opened.gmon is None:
        return run_directory.find(opened.path, readers=readers())
    from gnomon.store.profile_files.gmon.gmon_run import open_gmon

    first, *others = opened.gmon.paths
    return open_gmon(first, str(opened.gmon.program), others)
