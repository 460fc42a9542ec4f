"""The process in which a plug-in in Python runs: `python -m gnomon.hpm.ranks.plugin_host`.

It speaks as the host of plug-ins in C does; see `gnomon.hpm.ranks.plugin`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from gnomon.errors import FormatError, GnomonError
from gnomon.installation import LIBRARY_FOLDER
from gnomon.launch.job import job
from gnomon.measurement.item_codec import decoded, encoded
from gnomon.measurement.items import EventInfo, Item, RankFile
from gnomon.units import signal_name

_CHANGES_FD = 3

T = TypeVar("T")


class _PluginError(GnomonError):
    """A plug-in that cannot be used, or that failed; the message is a line."""


def main(words: list[str]) -> int:
    """Do what a host is asked for and return the status."""
    # The plug-in may print: that is no part of what we answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        is_replay = words[:1] == ["replay"] and len(words) > 2
        if not is_replay and (len(words) != 2 or words[0] not in ("distribute", "aggregate")):
            raise _PluginError("usage: host distribute|aggregate PLUGIN, or replay PLUGIN FILE...")
        module = _module(words[1])
        if is_replay:
            _write(answer, _replay(module, words[2:]))
        elif words[0] == "distribute":
            _distribute(module)
        else:
            _write(answer, _aggregate(module, sys.stdin.buffer.read()))
    except GnomonError as error:
        _write(2, f"HPM ERROR - {error}\n".encode(errors="backslashreplace"))
        return 1
    return 0


def _module(target: str) -> ModuleType:
    name, colon, function = target.rpartition(":")
    try:
        if target.endswith(".py"):
            module = _of_file(Path(target))
        else:
            module = importlib.import_module(name if colon else target)
            if colon and function != "aggregator":
                # module:name, name being an object that has the functions.
                module = getattr(module, function)
    except Exception as error:
        raise _PluginError(
            f"Dynamic link error at dlopen():\n{target}: {type(error).__name__}: {error}"
        ) from None
    if not callable(getattr(module, "aggregator", None)):
        raise _PluginError(
            f"Dynamic link error at dlsym(): {target}: it has no function aggregator(items, ranks)"
        )
    return module


def _of_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_aggregator_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    # The folder is the user's: nothing is left there.
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def _distribute(module: ModuleType) -> None:
    function = getattr(module, "distributor", None)
    if function is None:
        return
    own = job()
    before = dict(os.environ)
    task, tasks = (own.task, own.tasks or 1) if own else (0, 1)
    _called(lambda: function(os.environ, task, tasks), "distributor")
    entries = [f"{name}={value}" for name, value in os.environ.items() if before.get(name) != value]
    entries += [name for name in before if name not in os.environ]
    _write(_CHANGES_FD, b"".join(os.fsencode(entry) + b"\0" for entry in entries))


def _aggregate(module: ModuleType, content: bytes) -> bytes:
    try:
        file, _ = decoded(content, "the items", 0)
    except FormatError as error:
        raise _PluginError(str(error)) from None
    from gnomon.hpm.ranks.communicator import Ranks

    ranks = Ranks(LIBRARY_FOLDER)
    if file.signal:
        # What it counted is no part of the totals.
        os.environ["HPM_JOB_OUTCOME"] = f"killed by {signal_name(file.signal)}"
    elif file.exit_status > 0:
        os.environ["HPM_JOB_OUTCOME"] = f"status {file.exit_status}"
    ranks.be_patient()
    try:
        items = _called(lambda: module.aggregator(list(file.items), ranks), "aggregator")
    finally:
        ranks.close()
    if items is None and file.signal and file.items:
        # What it counted is in no total: nobody else can tell it.
        words = f"task {file.task} by itself: it was killed by {signal_name(file.signal)}"
        first = file.items[0]._replace(description=words, xml_descr=words)
        items = [first, *file.items[1:]]
    if items is None:
        return b"\0" + encoded(file._replace(items=()))
    return b"\1" + _encoded(file, items)


def _replay(module: ModuleType, paths: list[str]) -> bytes:
    """Return the items of each task that prints."""
    from gnomon.hpm.ranks.replay import replayed

    files: dict[int, RankFile] = {}
    for path in paths:
        try:
            file, _ = decoded(Path(path).read_bytes(), path)
        except OSError as error:
            raise _PluginError(f"{path}: cannot be read: {error.strerror}") from None
        except FormatError as error:
            raise _PluginError(str(error)) from None
        if file.task in files:
            raise _PluginError(f"{path}: is of task {file.task}, and so is another file")
        files[file.task] = file
    parts = []
    for file, items, raised in replayed(list(files.values()), module.aggregator):
        if raised is not None:
            raise _PluginError(
                f"the aggregator failed on task {file.task}: {type(raised).__name__}: {raised}"
            )
        if items is not None:
            parts.append(_encoded(file, items))
    return b"".join(parts)


def _encoded(file: RankFile, made: object) -> bytes:
    try:
        return encoded(file._replace(items=_checked(made)))
    except (ValueError, TypeError, AttributeError) as error:
        raise _PluginError(f"the aggregator returned invalid data: {error}") from None


def _called(call: Callable[[], T], what: str) -> T:
    try:
        return call()
    except GnomonError:
        raise
    except Exception as error:
        import traceback

        traceback.print_exc()
        raise _PluginError(f"the {what} failed: {type(error).__name__}: {error}") from None


def _checked(items: object) -> tuple[Item, ...]:
    """Return an aggregator's result if it is a list of items; raise _PluginError if not."""
    if not isinstance(items, list | tuple):
        raise _PluginError(
            f"the aggregator returned invalid data: {type(items).__name__} instead of a list of "
            "items or None"
        )
    for index, item in enumerate(items):
        if not isinstance(item, Item):
            raise _PluginError(
                f"the aggregator returned invalid data: item {index} is "
                f"{type(item).__name__}, not Item"
            )
        for event in item.data:
            if not isinstance(event, EventInfo):
                raise _PluginError(
                    f"the aggregator returned invalid data: item {index}: {type(event).__name__} "
                    "instead of EventInfo"
                )
    return tuple(items)


def _write(fd: int, content: bytes) -> None:
    while content:
        content = content[os.write(fd, content) :]


def _end(status: int) -> None:
    # Whatever threads a plug-in has left behind: its answer is given.
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _end(main(sys.argv[1:]))
