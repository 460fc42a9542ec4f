"""Assemble the run of what the tasks of a job, or one program, left in the staging folder."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.launch import repetitions
from gnomon.launch.program_names import program_name
from gnomon.launch.resource_usage import PEAK_MEMORY
from gnomon.launch.run_environment import component_states
from gnomon.model import region_kinds
from gnomon.model.capability_result import Collected, rows_of
from gnomon.named_tuple import NamedTuple
from gnomon.store import run_directory, staging, table_merge
from gnomon.store.table_merge import RunRoot
from gnomon.store.table_set import TableSet

if TYPE_CHECKING:
    from gnomon.launch.capability import Capability
    from gnomon.model.tables import Table

# Ranks that are named where they left nothing; of the others it is said how many they are.
_ABSENT = 1000

# Programs of a job whose commands are kept; a job that has more is named by the first ones.
_PROGRAMS = 4

_KILLED = (
    "gnomon run was killed before the program's end, or could not write its counters: counters "
    "and times are lost"
)


class AssembledRun(NamedTuple):
    """A run that was written.

    Attributes:
        path: its directory.
        head: what is in run.json.
        tables: of the model, without those that are too large for memory.
    """

    path: Path
    head: Mapping[str, Any]
    tables: tuple[Table, ...]


def assemble_run(
    folder: Path,
    name: str,
    capabilities: Sequence[Capability],
    tell: Callable[[str], object] = lambda _: None,
    *,
    force: bool = False,
) -> AssembledRun:
    """Write the run from the contents of a staging folder, and remove the folder.

    Args:
        folder: the staging folder.
        name: of the run.
        capabilities: all there are; those that observed collect what they left.
        tell: called with what is being done, several times in a long work.
        force: replace a run of that name, also where the run itself was not to.

    Raises:
        GnomonError: what is there is damaged, or the run cannot be written.
    """
    tell("reading what was measured")
    rank_parts = staging.parts(folder)
    first = rank_parts[0].head
    command = _command(rank_parts)
    of_job = int(first.get("rank", -1)) >= 0
    names = {str(name) for part in rank_parts for name in part.head.get("capabilities", ())}
    used = [capability for capability in capabilities if capability.name in names]
    sets = [
        TableSet(file=part.file, rank=part.task if of_job else -1)
        for part in rank_parts
        if part.file is not None
    ]
    own_sets, gathered, facts = _collected(used, folder)
    sets += own_sets
    host = str(first["host"].get("name", ""))
    root = RunRoot(Path(command[0]).name, command[0], host, of_job)
    files: dict[str, Path] = {}
    for capability in used:
        kept, complaints = repetitions.files_to_keep(capability, folder)
        files |= kept
        gathered.append(Collected(warnings=complaints))
    kinds = [kind for each in capabilities for kind in each.region_kinds]
    with run_directory.drafted(name, force=force or staging.replaces(folder)) as draft:
        merged = table_merge.merged(
            sets, root, draft.folder, tell=tell, kinds=region_kinds.RegionKinds(kinds)
        )
        gathered.append(Collected(warnings=merged.notes))
        collected = [part.collected for part in rank_parts] + gathered
        states = [_state(each, names) for each in capabilities]
        head = _head(rank_parts, command, collected, merged.tables, states)
        head |= region_kinds.as_head(kinds)
        if facts:
            head["facts"] = facts
        seen = {row["rank"] for row in rows_of(merged.tables, "locations")} - {-1}
        head["ranks"] = max(head["ranks"], len(seen))
        head["repetitions"] = max(repetitions.count(folder), 1)
        tell("writing the run")
        draft.finish(head, merged.tables, {}, files)
    staging.remove(folder)
    return AssembledRun(draft.path, head, merged.tables)


def _collected(
    capabilities: Sequence[Capability], folder: Path
) -> tuple[list[TableSet], list[Collected], dict[str, dict[str, int]]]:
    """Return what capabilities left in a staging folder, of each execution.

    First as tables, then what else there is to say, and the facts of each capability.
    """
    sets: list[TableSet] = []
    results: list[Collected] = []
    facts: dict[str, dict[str, int]] = {}
    for capability in capabilities:
        for number, own in enumerate(repetitions.folders(folder)):
            left = Collected()
            try:
                left = capability.collect(own)
                tables = repetitions.numbered(left.tables, number) if number else left.tables
                file = folder / f"collected.{len(results)}.blocks"
                own_set = TableSet.of(tables, file)._replace(name=capability.name)
                sets.append(own_set._replace(knows_ranks=capability.knows_ranks))
            except Exception as error:
                why = repetitions.complaint(capability.name, "not collected", error)
                left = left._replace(warnings=(*left.warnings, why))
            for fact, value in left.facts.items():
                own_facts = facts.setdefault(capability.name, {})
                own_facts[fact] = own_facts.get(fact, 0) + value
            results.append(left)
    return sets, results, facts


def _state(capability: Capability, used: Container[str]) -> dict[str, Any]:
    """Return the entry of a capability in the head of a run."""
    state = capability.availability()
    return {
        "name": capability.name,
        "title": capability.title,
        "used": capability.name in used,
        "available": state.available,
        "reason": state.reason,
        "remedy": state.remedy,
    }


def _command(rank_parts: Sequence[staging.RankPart]) -> list[str]:
    """Return the command that was measured, of several programs as mpirun is told them."""
    programs: dict[str, list[str]] = {}
    for part in rank_parts:
        words = [str(word) for word in part.head["command"]]
        programs.setdefault(program_name(words) if words else "", words)
    shown = list(programs.values())[:_PROGRAMS]
    shown += [["..."]] if len(programs) > _PROGRAMS else []
    whole = list(shown[0])
    for words in shown[1:]:
        whole += [":", *words]
    return whole


def _absent(found: Sequence[staging.RankPart], tasks: int) -> str:
    """Return the missing ranks of a job as text."""
    present = {part.task for part in found}
    gone = (task for task in range(tasks) if task not in present)
    named = ", ".join(map(str, islice(gone, _ABSENT)))
    more = tasks - sum(task < tasks for task in present) - _ABSENT
    return f"{named} and {more:,} more" if more > 0 else named


def _head(
    rank_parts: Sequence[staging.RankPart],
    command: list[str],
    collected: Sequence[Collected],
    tables: Sequence[Table],
    capabilities: list[dict[str, Any]],
) -> dict[str, Any]:
    first = rank_parts[0].head
    ends = [part.end for part in rank_parts if part.end is not None]
    started = min(float(part.head["started"]) for part in rank_parts)
    ended = max(
        (float(end["started"]) + int(end["wall_ns"]) / 1e9 for end in ends), default=started
    )
    # The first that failed says how it went: the launcher ends the others.
    failed = sorted(
        (end for end in ends if end["exit_status"]),
        key=lambda end: float(end["started"]) + int(end["wall_ns"]) / 1e9,
    )
    last = failed[0] if failed else ends[0] if ends else None
    tasks = int(first["tasks"])
    hosts = {str(part.head["host"].get("name")): part.head["host"] for part in rank_parts}
    warnings = [note for one in collected for note in one.warnings]
    lost = [part.task for part in rank_parts if part.end is None]
    if lost:
        which = "" if len(rank_parts) == 1 else f"rank {', '.join(map(str, lost))}: "
        warnings.insert(0, which + _KILLED)
    if tasks > len(rank_parts):
        warnings.insert(0, f"rank {_absent(rank_parts, tasks)}: left nothing")
    unavailable = {(one.event, one.reason): one for each in collected for one in each.unavailable}
    # A job's peak is that of the rank with most, whoever else has none.
    metric_names = {row["name"] for row in rows_of(tables, "metrics")}
    if PEAK_MEMORY in metric_names:
        unavailable = {key: one for key, one in unavailable.items() if one.event != PEAK_MEMORY}
    return {
        "capability": "run",
        "capabilities": capabilities,
        "command": command,
        "pid": last["pid"] if last else -1,
        "ranks": max(tasks, len(rank_parts), 1),
        "environment": first.get("environment", {}),
        "working_directory": first.get("working_directory", ""),
        "hosts": list(hosts.values()),
        "started": started,
        "ended": ended,
        "wall_seconds": max((int(end["wall_ns"]) / 1e9 for end in ends), default=0.0),
        "exit_status": last["exit_status"] if last else None,
        "signal": last["signal"] if last else 0,
        "repetitions": 1,
        "components": component_states(),
        "unavailable": [u._asdict() for u in unavailable.values()],
        "warnings": list(dict.fromkeys(warnings)),
    }
