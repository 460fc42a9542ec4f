"""Execute a program once, observed by the capabilities that were selected for its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from gnomon.launch import preloads
from gnomon.launch.capability import Execution
from gnomon.launch.capability_selection import Selection
from gnomon.launch.command import execute
from gnomon.launch.observer import Observer
from gnomon.launch.process_result import ObservedExecution, ProcessResult
from gnomon.launch.repetitions import complaint, joined_results
from gnomon.model.capability_result import Collected

FOLDER_VARIABLE = "GNOMON_RUN_DIR"
"""Where what runs inside the program leaves its files; native/runtime/staging.c looks there."""
_WITHOUT_VARIABLE = "GNOMON_WITHOUT"


def observe(command: Sequence[str], selection: Selection, folder: Path) -> ObservedExecution:
    """Execute a program and return how it went and what was measured.

    Args:
        command: program and arguments.
        selection: what observes it.
        folder: the staging folder.

    Raises:
        ProgramError: the program cannot be executed.
        GnomonError: one of the capabilities cannot observe it; it was not executed.
    """
    with ExitStack() as stack:
        observers: list[Observer] = []
        ready = []
        for capability in selection.capabilities:
            options = selection.options.get(capability.name, {})
            is_asked = capability.name in selection.asked
            execution = Execution(tuple(command), folder, options, is_asked)
            ready.append((capability, execution._replace(prepared=capability.prepare(execution))))
        for capability, execution in ready:
            observer = capability.observe(execution)
            stack.callback(observer.close)
            observer.name = capability.name
            observers.append(observer)
        process = execute(command, [_Staging(folder, selection.without), *observers])
        # What failed is told first: a summary has room for a few notes.
        observers.sort(key=lambda one: one.failure is None)
        results = [_result(observer, process) for observer in observers]
        results.append(Collected(warnings=tuple(_of_libraries(observers, process, folder))))
    return ObservedExecution(
        process, joined_results(results, command, [one.name for one in observers])
    )


class _Staging(Observer):
    """Tells what runs inside the program where to leave its files, and who is not to."""

    name = "run"

    def __init__(self, folder: Path, without: Sequence[str]) -> None:
        # As the kernel names the files in it, which tells them from the program's.
        self._variables = {FOLDER_VARIABLE: str(folder.resolve())}
        if without:
            self._variables[_WITHOUT_VARIABLE] = ",".join(without)

    def environment(self) -> Mapping[str, str]:
        return self._variables


def _of_libraries(
    observers: Sequence[Observer], process: ProcessResult, folder: Path
) -> Iterator[str]:
    """Yield the warnings about recordings that libraries of capabilities made in the program."""
    names = [one.name for one in observers if one.failure is None and one.preloads()]
    # Where the program removed the folder, that is what there is to say.
    if not names or not folder.is_dir():
        return
    present = {part for path in folder.iterdir() for part in path.name.split(".")}
    expected = {one.name for one in observers if one.leaves_a_file}
    reason = preloads.why_not_loaded(process.command[0])
    for name in names:
        if name not in present:
            if name not in expected:
                continue
            why = reason or (
                "no process loaded the library (statically linked, set-user-ID, or with its own "
                "environment)"
            )
            yield f"{name}: no process was recorded: {why}"
        elif process.has_orphans:
            yield (
                f"{name}: the program left processes behind; what these recorded after its end is "
                "missing"
            )


def _result(observer: Observer, process: ProcessResult) -> Collected:
    """Return an observer's results; of one that failed, the reason."""
    failure = observer.failure
    if failure is None:
        try:
            return observer.result(process)
        except Exception as error:
            failure = error
    return Collected(warnings=(complaint(observer.name, "not measured", failure),))
