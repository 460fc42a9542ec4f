"""What sums of the calls of processes have in common, whatever is called: their metrics, in SQL.

Sums are of one execution: of several they are divided by how many there were. Values that are no
times or bytes (negative ones, infinity, NaN) are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gnomon.store.run_queries import RunQueries

NS = 1e9
VALUE = "COALESCE(p.exclusive, p.inclusive)"
IS_VALUE = f"isfinite({VALUE}) AND {VALUE} >= 0"
CALLS = "GREATEST(COALESCE(p.calls, 0), 0)"
PROCESSES = "p.location IN (SELECT location FROM locations WHERE kind = 'process')"


class CallSums:
    """The sums of a run.

    Attributes:
        executions: how many executions the run has.
    """

    def __init__(self, run: RunQueries, component: str) -> None:
        """Look at the metrics of a component.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """
        self._run = run
        self.executions = max(int(run.head["repetitions"]), 1)
        self._metrics: dict[str, list[int]] = {}
        for name, number in run.query(
            f"SELECT name, metric FROM metrics WHERE component = '{component}'"
        ):
            self._metrics.setdefault(str(name), []).append(int(number))

    def _has(self, name: str) -> bool:
        sql = f"SELECT 1 FROM profile p WHERE p.metric IN {self._of(name)} AND {IS_VALUE} LIMIT 1"
        return name in self._metrics and bool(self._run.query(sql))

    def _of(self, *of_names: str) -> str:
        """Return the numbers of metrics as a list of SQL; -1 is no metric's."""
        numbers = [number for name in of_names for number in self._metrics.get(name, ())]
        return "(" + ", ".join(map(str, [*numbers, -1])) + ")"


def sql_texts(texts: Iterable[str]) -> str:
    """Return texts as a list of SQL, with one that is no name."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in ("", *texts))
