"""The part `mpi` of a report: what a program's ranks did in MPI, where, and who waited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.errors import GnomonError
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store.reports.report_part import (
    CALLS,
    FILE,
    FUNCTION,
    HOW,
    LINE,
    MODULE,
    REPETITION,
    TOP,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.reports.run_facts import title
from gnomon.terminal_text import filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gnomon.mpi.mpi_balance import Outlier
    from gnomon.mpi.mpi_sums import MpiSums
    from gnomon.mpi.mpi_values import Message, Pairs, Ranks, Site
    from gnomon.store.run import Run

SUMMARY, ROUTINE, SITE, RANK, SIZE, COMMUNICATOR = (
    "summary", "routine", "site", "rank", "size", "communicator",
)  # fmt: skip
MESSAGES_TOLD = 100_000
"""Rows of messages in JSON, those with most bytes."""

_SECONDS = Key("seconds", "number", "in these calls, all ranks together, of one execution")
_BYTES = Key("bytes", "number", "sent and received together, of one execution")
_SHARE = Key("share", "number", "percent of the time in MPI of all ranks")
_SENT = Key("sent", "number", "bytes, of one execution")
_RECEIVED = Key("received", "number", "bytes, of one execution")
_NAME = Key("routine", "string", "with MPI_")
_CLASS = Key("class", "string", "of the routine: point to point, collective, one-sided, I/O, ...")
_WAITING = Key(
    "waiting", "number",
    "seconds in collective operations until the last rank had come, a part of those in MPI; null "
    "where it is not known",
)  # fmt: skip
_WAITING_HOW = Key(
    "waiting_how", "string", "counted, where barriers told; else estimated: what a rank took "
    "beyond the quickest one that called the site as often",
)  # fmt: skip
_ROUTINE_KEYS = (Key("name", "string", "of the routine, with MPI_"), _CLASS, CALLS, _BYTES,
                 _SECONDS, _SHARE)  # fmt: skip
_SITE_KEYS = (
    _NAME, _CLASS, FUNCTION, MODULE, FILE, LINE,
    Key("called_from", "string", "functions that lead there, the nearest first, each with the line "
        "of its call: f:3 ← main:9"),
    Key("path", "integer", "number of the path: stacks that differ are sites of their own"),
    CALLS, _SECONDS, _SHARE,
    Key("ranks", "integer", "how many called it, those of each execution counted"),
    Key("least_seconds", "number", "of the rank with fewest of those that called it"),
    Key("mean_seconds", "number", "of these ranks in the mean"),
    Key("most_seconds", "number", "of the rank with most"),
    _SENT, _RECEIVED,
    Key("mean_bytes", "number", "that a call moved in the mean"),
    Key("longest", "number", "seconds of the longest call; null where it is not known"),
    Key("completion", "number", "seconds in Wait and Test of what was started here"),
    _WAITING, _WAITING_HOW,
)  # fmt: skip
_RANK_KEYS = (
    REPETITION,
    Key("rank", "integer", "in MPI_COMM_WORLD, -1 where MPI did not say"),
    Key("host", "string", "where it ran"),
    Key("pid", "integer", "number of the process"),
    Key("location", "integer", "number of the location"),
    Key("elapsed", "number", "seconds between MPI_Init and MPI_Finalize; null where not known"),
    Key("in_mpi", "number", "seconds of these in MPI"),
    Key("computing", "number", "the other seconds; null where not known"),
    _WAITING, _WAITING_HOW, CALLS, _SENT, _RECEIVED,
    Key("overhead", "number", "seconds that the profile took, estimated"),
    Key("stands_out", "string", "by what: computing, waiting or bytes sent; empty for most"),
)  # fmt: skip
_MESSAGE_KEYS = (
    Key("sender", "integer", "rank, -1 where it is not known"),
    Key("receiver", "integer", "rank, -1 where it is not known"),
    Key("messages", "number", "how many, of one execution"),
    _BYTES, _NAME, FILE, LINE,
)  # fmt: skip
_PAIR_KEYS = (CALLS, _BYTES, _SECONDS, _SHARE)
_KEYS_BY = {
    SUMMARY: (Key("name", "string", "of a quantity"), Key("value", "number", "what it is"), UNIT,
              HOW),
    ROUTINE: _ROUTINE_KEYS,
    SITE: _SITE_KEYS,
    RANK: _RANK_KEYS,
    SIZE: (_NAME, Key("size", "string", "of what a call moved: nothing, up to 8 bytes, ..."),
           *_PAIR_KEYS),
    COMMUNICATOR: (Key("communicator", "string", "its name"), _NAME, *_PAIR_KEYS),
}  # fmt: skip
_KEYS = tuple(key._replace(by=(by,)) for by, keys in _KEYS_BY.items() for key in keys)


class MpiCalls(NamedTuple):
    """What ranks did in MPI, where, and who waited."""

    name: str = "mpi"
    title: str = "MPI: efficiencies, and time, calls and bytes by routine, site, rank or size"
    by: tuple[str, ...] = tuple(_KEYS_BY)
    argument: str = ""
    options: frozenset[str] = frozenset(("top",))
    keys: tuple[Key, ...] = _KEYS
    lists: Mapping[str, tuple[Key, ...]] = {
        "routines": _ROUTINE_KEYS, "ranks": _RANK_KEYS, "sites": _SITE_KEYS,
        "messages": _MESSAGE_KEYS,
    }  # fmt: skip

    def is_in(self, run: Run) -> bool:
        """Return whether the run has calls of MPI."""
        from gnomon.mpi.mpi_sums import MpiSums

        return MpiSums(run).is_there

    def text(self, run: Run, request: Request) -> PartText:
        """Return a screen of the whole, or a table.

        Raises:
            GnomonError: the run has no calls of MPI.
        """
        from gnomon.mpi import mpi_text

        sums = _sums(run)
        width, top = request.width, TOP if request.top is None else request.top
        lines = [title(run, width)]
        if request.by == SITE:
            lines += mpi_text.site_lines(
                sums.sites(),
                sums.ranks_of_an_execution(),
                width,
                top=top,
                is_measured=sums.is_measured,
            )
        elif request.by == RANK:
            from gnomon.mpi.mpi_balance import outliers

            ranks = sums.ranks()
            lines += mpi_text.rank_lines(
                ranks, outliers(ranks), width, top=top, is_measured=sums.is_measured
            )
        elif request.by == SIZE:
            lines += mpi_text.pair_lines(sums.by_size(), ("routine", "size"), width, top)
        elif request.by == COMMUNICATOR:
            heads = ("routine", "communicator")
            # Names of communicators may be long: they come last.
            rows = [
                row._replace(first=row.second, second=row.first) for row in sums.by_communicator()
            ]
            lines += mpi_text.pair_lines(rows, heads, width, top)
        elif request.by == ROUTINE:
            lines += mpi_text.routine_lines(_routines(sums.sites()), width, top)
        else:
            lines += _screen(sums, width, mpi_text.SITES_SHOWN if request.top is None else top)
        return PartText("\n".join(lines) + "\n")

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each thing; by summary with lists of all; raises as `text`."""
        from gnomon.mpi.mpi_balance import outliers

        sums, top = _sums(run), request.top or None
        if request.by == SITE:
            return PartData(_site_rows(sums, sums.sites())[:top])
        if request.by == ROUTINE:
            return PartData(_routine_rows(sums.sites())[:top])
        if request.by in (SIZE, COMMUNICATOR):
            pairs = sums.by_size() if request.by == SIZE else sums.by_communicator()
            return PartData(_pair_rows(pairs, request.by)[:top])
        ranks = sums.ranks()
        standing_out = outliers(ranks)
        if request.by == RANK:
            from itertools import islice

            return PartData(islice(_rank_rows(sums, ranks, standing_out), top))
        sites = sums.sites()
        messages = sums.messages(MESSAGES_TOLD)
        n_messages, *_ = sums.message_counts()
        facts = {}
        if n_messages > len(messages):
            note = (
                f"messages: the {len(messages):,} of {n_messages:,} rows with most bytes; "
                "all of them: gnomon report RUN messages --json"
            )
            facts["notes"] = [note]
        lists = {
            "routines": _routine_rows(sites),
            "ranks": _rank_rows(sums, ranks, standing_out),
            "sites": _site_rows(sums, sites),
            "messages": map(_message_row, messages),
        }
        return PartData(_summary_rows(sums, ranks), facts, lists)


def _sums(run: Run) -> MpiSums:
    from gnomon.mpi.mpi_sums import MpiSums

    sums = MpiSums(run)
    if not sums.is_there:
        raise GnomonError(
            f"{run.path}: no calls of MPI were recorded: the program made none, or was measured "
            "without them; gnomon run -- mpirun ... takes them"
        )
    return sums


def _screen(sums: MpiSums, width: int, top: int) -> Iterator[str]:
    from gnomon.mpi import mpi_balance, mpi_text

    ranks, sites = sums.ranks(), sums.sites()
    whole = mpi_balance.efficiency(ranks)
    yield from mpi_text.efficiency_lines(whole, ranks, width)
    yield "sites with most time"
    yield from mpi_text.site_lines(
        sites, sums.ranks_of_an_execution(), width, top=top, is_measured=sums.is_measured
    )
    yield "ranks that stand out"
    standing_out = mpi_text.outlier_lines(mpi_balance.outliers(ranks), ranks, width)
    yield from standing_out or ["  none"]
    sizes = mpi_text.size_lines(sums.by_size(), width)
    if sizes:
        yield "sizes of what calls moved"
        yield from sizes
    messages = sums.messages(mpi_text.MESSAGES_SHOWN)
    if messages:
        yield "heaviest messages"
        yield from mpi_text.message_lines(messages, sums.message_counts(), width)
    overhead = mpi_text.overhead_line(ranks, whole)
    if overhead:
        yield from filled(overhead, width)


# --- rows -----------------------------------------------------------------------------------------


def _summary_rows(sums: MpiSums, ranks: Ranks) -> list[dict[str, Any]]:
    from gnomon.mpi.mpi_balance import efficiency

    whole = efficiency(ranks)
    rows: list[tuple[str, float | None, str, How]] = [
        ("processes", len(ranks.rank) / sums.executions, "", How.COUNTED)
    ]
    if whole is not None:
        balance = None if whole.balance is None else 100 * whole.balance
        rows += [
            ("elapsed", whole.elapsed, "s", How.COUNTED),
            ("least share in MPI", 100 * whole.least, "%", How.COUNTED),
            ("mean share in MPI", 100 * whole.mean, "%", How.COUNTED),
            ("most share in MPI", 100 * whole.most, "%", How.COUNTED),
            ("parallel efficiency", 100 * whole.parallel, "%", How.COUNTED),
            ("load balance", balance, "%", How.COUNTED),
            ("communication efficiency", 100 * whole.communication, "%", How.COUNTED),
        ]
    if ranks.overhead.any():
        rows.append(("overhead of the profile", float(ranks.overhead.sum()) / sums.executions, "s",
                     How.ESTIMATED))  # fmt: skip
    return [
        {"name": name, "value": value, "unit": unit, "how": how.value}
        for name, value, unit, how in rows
    ]


def _site_rows(sums: MpiSums, sites: list[Site]) -> list[dict[str, Any]]:
    from gnomon.mpi.routines import class_of

    whole = sum(site.seconds for site in sites)
    how = _how(sums)
    return [
        {
            "routine": site.routine,
            "class": class_of(site.routine),
            "function": site.function,
            "module": site.module,
            "file": site.file,
            "line": site.line,
            "called_from": " ← ".join(site.callers),
            "path": site.path,
            "calls": site.calls,
            "seconds": site.seconds,
            "share": _percent(site.seconds, whole),
            "ranks": site.ranks,
            "least_seconds": site.least,
            "mean_seconds": site.seconds * sums.executions / site.ranks if site.ranks else None,
            "most_seconds": site.most,
            "sent": site.sent,
            "received": site.received,
            "mean_bytes": site.mean_bytes,
            "longest": site.longest,
            "completion": site.completion,
            "waiting": site.waiting,
            "waiting_how": how,
        }
        for site in sites
    ]


def _routines(sites: list[Site]) -> list[tuple[str, float, float, float]]:
    """Return name, calls, bytes and seconds of routines, those with most time first."""
    routines: dict[str, list[float]] = {}
    for site in sites:
        sums = routines.setdefault(site.routine, [0.0, 0.0, 0.0])
        for place, value in enumerate((site.calls, site.sent + site.received, site.seconds)):
            sums[place] += value
    rows = [(name, calls, moved, time) for name, (calls, moved, time) in routines.items()]
    return sorted(rows, key=lambda row: (-row[3], row[0]))


def _routine_rows(sites: list[Site]) -> list[dict[str, Any]]:
    from gnomon.mpi.routines import class_of

    rows = _routines(sites)
    whole = sum(seconds for *_, seconds in rows)
    return [
        {"name": name, "class": class_of(name), "calls": calls, "bytes": moved, "seconds": seconds,
         "share": _percent(seconds, whole)}
        for name, calls, moved, seconds in rows
    ]  # fmt: skip


def _pair_rows(pairs: list[Pairs], by: str) -> list[dict[str, Any]]:
    names = ("routine", "size") if by == SIZE else ("communicator", "routine")
    whole = sum(pair.seconds for pair in pairs)
    return [
        {
            **dict(zip(names, (pair.first, pair.second), strict=True)),
            "calls": pair.calls,
            "bytes": pair.bytes,
            "seconds": pair.seconds,
            "share": _percent(pair.seconds, whole),
        }
        for pair in pairs
    ]


def _rank_rows(sums: MpiSums, ranks: Ranks, outliers: list[Outlier]) -> Iterator[dict[str, Any]]:
    from gnomon.mpi.mpi_balance import computing

    how, stands_out = _how(sums), {outlier.row: outlier.by for outlier in outliers}
    columns = {
        "repetition": ranks.repetition, "rank": ranks.rank, "host": ranks.host, "pid": ranks.pid,
        "location": ranks.location, "elapsed": ranks.elapsed, "in_mpi": ranks.inside,
        "computing": computing(ranks), "waiting": ranks.waiting, "calls": ranks.calls,
        "sent": ranks.sent, "received": ranks.received, "overhead": ranks.overhead,
    }  # fmt: skip
    names = list(columns)
    for row, values in enumerate(zip(*(column.tolist() for column in columns.values()),
                                     strict=True)):  # fmt: skip
        cells = {
            name: None if value != value else value
            for name, value in zip(names, values, strict=True)
        }
        yield {**cells, "waiting_how": how, "stands_out": stands_out.get(row, "")}


def _message_row(message: Message) -> dict[str, Any]:
    return dict(message._asdict())


def _how(sums: MpiSums) -> str:
    return (How.COUNTED if sums.is_measured else How.ESTIMATED).value


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole > 0 else None
