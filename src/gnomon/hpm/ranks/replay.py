"""An aggregator in Python over files of tasks, in one process: a thread for each task.

The tasks meet at every reduction, as those of a job do, and values are merged in their order.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from gnomon.hpm.ranks.communicator import Gap
from gnomon.measurement.items import Item, RankFile

T = TypeVar("T")

_STACK_BYTES = 1 << 20
_ABSENT = "left no file that was given"

Aggregator = Callable[[list[Item], "ReplayedRanks"], "list[Item] | None"]
Made = tuple[RankFile, "list[Item] | None", "Exception | None"]


def replayed(files: Sequence[RankFile], aggregator: Aggregator) -> list[Made]:
    """Return for each task, in their order, its file, what its aggregator gave, or how it failed.

    Args:
        files: of tasks, each once.
        aggregator: the plug-in's.
    """
    ordered = sorted(files, key=lambda file: file.task)
    meeting = _Meeting(ordered)
    results: dict[int, tuple[list[Item] | None, Exception | None]] = {}

    def run(file: RankFile) -> None:
        ranks = ReplayedRanks(file, meeting)
        try:
            results[file.task] = aggregator(list(file.items), ranks), None
        except Exception as error:
            results[file.task] = None, error
        finally:
            meeting.leave(file.task)

    before = threading.stack_size(_STACK_BYTES)
    threads = [threading.Thread(target=run, args=(file,), daemon=True) for file in ordered]
    threading.stack_size(before)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [(file, *results[file.task]) for file in ordered]


class ReplayedRanks:
    """What `Ranks` is to an aggregator on a job's tasks; see there."""

    def __init__(self, file: RankFile, meeting: _Meeting) -> None:
        self._meeting = meeting
        self.task = file.task
        self.tasks = meeting.tasks
        self.own_gap = _why(file)

    @property
    def missing(self) -> tuple[Gap, ...]:
        """Tasks that are in no total."""
        return self._meeting.gaps()

    @property
    def is_root(self) -> bool:
        """Whether this task has the result of `reduce`."""
        return self.task == self._meeting.root

    def reduce(self, value: T, merge: Callable[[T, T], T]) -> T | None:
        """Return the values of all ranks merged at the root, None elsewhere."""
        sent = "" if self.own_gap else json.dumps(value)

        def total(values: dict[int, str]) -> str:
            found = [values[task] for task in sorted(values) if values[task]]
            into = found[0] if found else "null"
            for other in found[1:]:
                into = json.dumps(merge(cast(T, json.loads(into)), cast(T, json.loads(other))))
            return into

        result = self._meeting.meet(self.task, sent, total)
        return cast("T | None", json.loads(result)) if self.is_root else None

    def share(self, value: T | None) -> T:
        """Return the root's value everywhere."""
        root = self._meeting.root

        def of_root(values: dict[int, str]) -> str:
            return values.get(root, "null")

        return cast(T, json.loads(self._meeting.meet(self.task, json.dumps(value), of_root)))

    def allreduce(self, value: T, merge: Callable[[T, T], T]) -> T:
        """Return the values of all ranks merged, on every rank."""
        return self.share(self.reduce(value, merge))


class _Meeting:
    """Where the threads wait for each other; who has left is not waited for."""

    def __init__(self, files: Sequence[RankFile]) -> None:
        self._files = {file.task: file for file in files}
        self.tasks = max([file.size for file in files] + [file.task + 1 for file in files])
        self.root = files[0].task
        self._here = set(self._files)
        self._values: dict[int, str] = {}
        self._result = ""
        self._error: Exception | None = None
        self._round = 0
        self._changed = threading.Condition()
        self._finish: Callable[[dict[int, str]], str] = lambda _: "null"

    def meet(self, task: int, value: str, finish: Callable[[dict[int, str]], str]) -> str:
        """Return all values merged, once all have arrived."""
        with self._changed:
            mine = self._round
            self._values[task] = value
            self._finish = finish
            self._settle()
            while self._round == mine:
                self._changed.wait()
            if self._error is not None:
                raise self._error
            return self._result

    def leave(self, task: int) -> None:
        """Let the others go on without a task."""
        with self._changed:
            self._here.discard(task)
            self._settle()

    def gaps(self) -> tuple[Gap, ...]:
        """Return who is in no total."""
        missing: list[Gap] = []
        for task in range(self.tasks):
            file = self._files.get(task)
            why = _ABSENT if file is None else _why(file)
            if why and missing and missing[-1].why == why and missing[-1].last == task - 1:
                missing[-1] = missing[-1]._replace(last=task)
            elif why:
                missing.append(Gap(task, task, False, why))
        return tuple(missing)

    def _settle(self) -> None:
        if self._values and self._here <= set(self._values):
            try:
                self._result, self._error = self._finish(self._values), None
            except Exception as error:
                self._error = error
            self._values = {}
            self._round += 1
            self._changed.notify_all()


def _why(file: RankFile) -> str:
    """Return why a task is in no total, "" if it is in them."""
    if not file.signal:
        return ""
    from gnomon.units import signal_name

    return f"was killed by {signal_name(file.signal)}"
