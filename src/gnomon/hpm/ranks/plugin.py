"""Aggregation plug-ins: what their distributor sets, and what their aggregator makes of items.

Plug-ins in C are loaded by the helper `hpm-plugin-host`, those in Python by
`gnomon.hpm.ranks.plugin_host`; both are processes of their own that speak the same way:

    distribute PLUGIN   changes of the environment go to descriptor 3: NAME=value, or NAME to
                        unset it, each with a zero byte after it
    aggregate PLUGIN    items come in; out go a byte that says whether this task prints, and items

What goes wrong is a line on standard error that begins with "HPM ERROR", and status 1.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import FormatError, GnomonError, GuideError, UsageError
from gnomon.hpm.ranks import plugin_process
from gnomon.installation import LIBRARY_FOLDER
from gnomon.measurement.item_codec import decoded, encoded
from gnomon.measurement.items import RankFile
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.hpm.ranks.job_membership import JobMembership
    from gnomon.launch.signals import SignalForwarder

ENTRY_POINTS = "gnomon.aggregators"
"""Installed packages name their plug-ins in this group."""

_TIMEOUT = "HPM_AGGREGATE_TIMEOUT"
_USUAL_TIMEOUT_S = 60.0
_GRACE_S = 2.0
_HURRIED_S = 0.6
"""Tasks that are not there 0.3 s after SIGTERM are missing; then the results have to be written."""

_ENDED_S = 10.0
"""For so long tasks that were ended by another have time to tell what they counted."""

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""What ended the program may come to the plug-in's process, too, before that can bear it."""

_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_PREFIX = "HPM ERROR - "
_NOT_FOUND = "Dynamic link error"


class Plugin(NamedTuple):
    """A plug-in.

    Attributes:
        name: as the user gave it.
        target: as its host gets it.
        is_python: it is written in Python.
    """

    name: str
    target: str
    is_python: bool


class EnvironmentChanges(NamedTuple):
    """What a distributor did to the environment.

    Attributes:
        variables: new values, and None for what it unset.
        complaint: why it failed; "" if it did not.
        said: what it wrote on standard error.
    """

    variables: Mapping[str, str | None]
    complaint: str = ""
    said: str = ""


class AggregateResult(NamedTuple):
    """What an aggregator made of a task's items.

    Attributes:
        file: the items to print; None if this task prints nothing, or the plug-in failed.
        complaint: why it failed; "" if it did not.
        said: what it wrote on standard error.
    """

    file: RankFile | None
    complaint: str = ""
    said: str = ""


def find_plugin(
    name: str, environment: Mapping[str, str], source: str
) -> tuple[Plugin, EnvironmentChanges]:
    """Return a plug-in of that name, and what its distributor set.

    Args:
        name: a file in Python (NAME.py), module:name, the name of a shipped plug-in, a shared
            object, or an entry point of an installed package.
        environment: the variables that the distributor sees.
        source: what named it, such as "-a ".

    Raises:
        GuideError: there is no such plug-in.
        UsageError: it is none.
    """
    if name.endswith(".py") or _MODULE.fullmatch(name):
        if name.endswith(".py") and not Path(name).is_file():
            raise _missing(name, source, f"{name}: cannot open file: No such file or directory")
        plugin = Plugin(name, str(Path(name).absolute()) if name.endswith(".py") else name, True)
        return plugin, _distributed(plugin, environment, source)
    plugin = Plugin(name, name, False)
    try:
        return plugin, _distributed(plugin, environment, source)
    except GuideError:
        target = _entry_point(name)
        if target is None:
            raise
    plugin = Plugin(name, target, True)
    return plugin, _distributed(plugin, environment, source)


def run_aggregator(
    plugin: Plugin,
    file: RankFile,
    environment: Mapping[str, str],
    joined: JobMembership | None = None,
    signals: SignalForwarder | None = None,
    *,
    hurried: bool = False,
    is_over: bool = False,
    patience_s: float | None = None,
    aside: tuple[float, Callable[[], None]] | None = None,
) -> AggregateResult:
    """Return a plug-in's aggregate of this rank's measurement.

    Args:
        plugin: it.
        file: what this task measured.
        environment: the variables that the aggregator sees.
        joined: the job that this task is a part of; None without one.
        signals: ours, which are passed on to the plug-in's process.
        hurried: the launcher has told this task to end.
        is_over: the launcher has killed all programs of the job.
        patience_s: how long the others may go on before they are ended; None for any time.
        aside: after so many seconds, what else to do while the others are waited for.
    """
    seen = {**environment, **(joined.variables if joined else {})}
    beats = joined.beats if joined and not is_over else None
    then = (patience_s, joined.end_others) if joined and patience_s is not None else None
    seconds = _timeout_s(environment) + _GRACE_S
    if then or is_over:
        seconds = min(seconds, _ENDED_S)
    clock = plugin_process.TimeLimit(seconds, _HURRIED_S, beats, then, aside)
    if hurried:
        clock.hurry()
        seen["HPM_JOB_HURRY"] = "1"
    kept = [joined.fd] if joined else []
    try:
        given = encoded(file)
        ended = plugin_process.run(_words(plugin, "aggregate"), seen, given, clock, blocked=ENDING,
                          kept=kept,
                          signals=signals)  # fmt: skip
    except (GnomonError, ValueError) as error:
        return AggregateResult(None, f"plug-in {plugin.name}: {error}")
    failure = _failure(ended, "aggregator", hurried=clock.is_hurried)
    if failure:
        return AggregateResult(None, f"plug-in {plugin.name}: {failure}")
    try:
        if not ended.output:
            raise FormatError("its output", 0, "nothing is there")
        aggregated, _ = decoded(ended.output, "its output", 1)
    except FormatError as error:
        return AggregateResult(
            None, f"plug-in {plugin.name}: the aggregator returned invalid data: {error}"
        )
    return AggregateResult(aggregated if ended.output[0] else None, "", ended.said)


def replay_aggregator(
    plugin: Plugin, paths: Sequence[str], environment: Mapping[str, str]
) -> tuple[RankFile, ...]:
    """Return a plug-in's aggregates of the files of ranks: what each printing rank would print.

    Raises:
        GnomonError: it failed, or one of the files is none.
    """
    words = [*_words(plugin, "replay"), *paths]
    ended = plugin_process.run(
        words, environment, b"", plugin_process.TimeLimit(_timeout_s(environment), _HURRIED_S)
    )
    failure = _failure(ended, "aggregator")
    if failure:
        raise GnomonError(f"plug-in {plugin.name}: {failure}")
    files = []
    offset = 0
    while offset < len(ended.output):
        file, offset = decoded(ended.output, "what it made", offset)
        files.append(file)
    return tuple(files)


# --- the distributor ------------------------------------------------------------------------------


def _distributed(plugin: Plugin, environment: Mapping[str, str], source: str) -> EnvironmentChanges:
    clock = plugin_process.TimeLimit(_timeout_s(environment), _HURRIED_S)
    # A launcher ends whole process groups, and the plug-in is to be found there or not all the
    # same. Ctrl-C is not held back: the distributor may hang.
    held_back = (signal.SIGTERM, signal.SIGHUP)
    ended = plugin_process.run(
        _words(plugin, "distribute"), environment, b"", clock, blocked=held_back
    )
    if ended.status == 1 and _NOT_FOUND in ended.said:
        raise _missing(plugin.name, source, ended.said)
    failure = _failure(ended, "distributor")
    if failure:
        return EnvironmentChanges(
            {}, f"plug-in {plugin.name}: {failure}; counting continues without it"
        )
    changes: dict[str, str | None] = {}
    for entry in ended.changes.split(b"\0")[:-1]:
        name, equals, value = entry.partition(b"=")
        if name:
            changes[os.fsdecode(name)] = os.fsdecode(value) if equals else None
    return EnvironmentChanges(changes, "", ended.said)


def _missing(name: str, source: str, said: str) -> GuideError:
    lines = said.strip().removeprefix(_PREFIX).splitlines()
    if not lines or _NOT_FOUND not in lines[0]:
        lines = [f"{_NOT_FOUND} at dlopen():", *lines]
    # As the guide breaks it.
    guide = _PREFIX + "\n".join(lines).replace(": No such file", ":\nNo such file")
    if Path(name).is_file():
        return GuideError(guide, f"{source}{name}: it cannot be used as a plug-in: see above")
    return GuideError(
        guide,
        f"{source}{name}: there is no such plug-in; those of this version are mirror, loc_merge, "
        "single, average, minimum, maximum, statistics, histogram and history, and yours may be a "
        "shared object or a file NAME.py",
    )


def _entry_point(name: str) -> str | None:
    """Return module:name of a plug-in that an installed package names so, None without one."""
    if "/" in name:
        return None
    from importlib.metadata import entry_points

    return next((one.value for one in entry_points(group=ENTRY_POINTS, name=name)), None)


# --- what both have in common ---------------------------------------------------------------------


def _words(plugin: Plugin, task: str) -> list[str]:
    if plugin.is_python:
        # Without the working directory, whose files may have the names of Python's own modules.
        return [sys.executable, "-P", "-m", "gnomon.hpm.ranks.plugin_host", task, plugin.target]
    host = LIBRARY_FOLDER / "hpm-plugin-host"
    if not os.access(host, os.X_OK):
        raise GnomonError(f"{host}: missing or not executable; install Gnomon again")
    return [str(host), task, plugin.target]


def _timeout_s(environment: Mapping[str, str]) -> float:
    """Return HPM_AGGREGATE_TIMEOUT.

    Raises:
        UsageError: it is no number of seconds.
    """
    text = environment.get(_TIMEOUT, "")
    try:
        seconds = float(text) if text else _USUAL_TIMEOUT_S
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86400:
        raise UsageError(
            f"{_TIMEOUT}: {text!r}: seconds above 0, at most 86400; set it, or unset it"
        )
    return seconds


def _failure(ended: plugin_process.PluginResult, function: str, *, hurried: bool = False) -> str:
    """Return the error in a plug-in's process, "" if there was none."""
    if ended.is_late and hurried:
        return f"the {function} was ended: the job was, and launchers kill a moment after that"
    if ended.is_late:
        return (
            f"the {function} did not return in time, and was killed ({_TIMEOUT} gives it more time)"
        )
    said = [line.removeprefix(_PREFIX) for line in ended.said.splitlines() if line.strip()]
    if ended.status < 0:
        from gnomon.units import signal_name

        return f"the {function} was killed by {signal_name(-ended.status)}"
    if ended.status:
        return said[-1] if said else f"the {function} failed with status {ended.status}"
    return ""
