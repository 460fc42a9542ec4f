"""Analyses of a run by the executor that was chosen, else by the threads of this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from gnomon.store import executors, profile_query
from gnomon.store.profile_query import Analysis
from gnomon.store.run import Run

Row = TypeVar("Row")


class FinestAnalysis(Analysis[list[Row]], Protocol[Row]):
    """An analysis whose table may have a value of a process and of its threads."""

    def finest(self, sums: Iterable[Row], /) -> Sequence[Row]:
        """Return each value once."""


def analysed(run: Run, analysis: FinestAnalysis[Row]) -> list[Row]:
    """Return an analysis of a run, each value once.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    parts = profile_query.parts(run)
    executor = executors.current()
    if executor is None and len(parts) <= 1:
        sums = profile_query.run(analysis, parts)
    elif executor is None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            sums = profile_query.run(analysis, parts, threads)
    else:
        # Other processes may be in other folders.
        parts = tuple(
            part._replace(
                run=part.run.absolute(),
                files={name: file.absolute() for name, file in (part.files or {}).items()},
            )
            for part in parts
        )
        sums = profile_query.run(analysis, parts, executor)
    return list(analysis.finest(sums))
