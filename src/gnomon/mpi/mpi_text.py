"""The part `mpi` of a report as text: a screen of the whole, and a table by each division."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.measurement.size_bars import size_bars
from gnomon.mpi.mpi_balance import COMPUTING, SENT, WAITING, Outlier, computing
from gnomon.terminal_text import ABSENT, facts, filled, share, table
from gnomon.units import number, printable, quantity, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnomon.mpi.mpi_balance import Efficiency
    from gnomon.mpi.mpi_values import Message, Pairs, Ranks, Site

SITES_SHOWN = 10
MESSAGES_SHOWN = 5
_OUTLIERS_SHOWN = 5
_TIMES_MOST = 10
_GROUP_LEAST = 0.01
"""Of all ranks: so many that stand out alike are a group of their own."""


# --- the whole ------------------------------------------------------------------------------------


def efficiency_lines(whole: Efficiency | None, ranks: Ranks, width: int) -> list[str]:
    """Return how long ranks ran, how much of it in MPI, and the efficiencies."""
    hosts = len(set(ranks.host.tolist()))
    executions = len(set(ranks.repetition.tolist()))
    each = f", in each of {executions} executions" if executions > 1 else ""
    processes = (
        number(rounded(len(ranks.rank) / max(executions, 1))),
        f"with MPI, on {_counted(hosts, 'host')}{each}",
    )
    if whole is None:
        text = "none was between MPI_Init and MPI_Finalize: shares of time are not known"
        return [*facts([("processes", *processes)], width), *filled(text, width, "  ", "  ")]
    spread = f"of a rank's time, mean; {share(whole.least, 1)} to {share(whole.most, 1)}"
    rows = [
        ("processes", *processes),
        ("elapsed", quantity(whole.elapsed, "s"), "from MPI_Init to MPI_Finalize, at most"),
        ("in MPI", share(whole.mean, 1), spread),
        ("parallel efficiency", share(whole.parallel, 1), "mean computing of elapsed"),
        ("  load balance", share(whole.balance, 1), "mean computing of a rank's most"),
        ("  communication", share(whole.communication, 1), "a rank's most computing of elapsed"),
    ]
    lines = facts(rows, width)
    lines += filled(
        "transfer and serialization, which divide the last one, need a trace", width, "  ", "  "
    )
    again = _n_again(ranks)
    if again:
        lines += filled(
            f"{_counted(again, 'process', 'processes')} of a rank that others have, too: several "
            "MPI_COMM_WORLDs, which are taken together here",
            width, "  ", "  ",
        )  # fmt: skip
    if whole.overlapping:
        lines += filled(
            f"{_counted(whole.overlapping, 'rank')} had more time in MPI than elapsed, in several "
            "threads at once: taken as not computing",
            width, "  ", "  ",
        )  # fmt: skip
    return lines


def _n_again(ranks: Ranks) -> int:
    """Return how many processes have a rank that another one of their execution has."""
    import numpy as np

    pairs = np.stack([ranks.repetition, ranks.rank])[:, ranks.rank >= 0]
    return int(pairs.shape[1] - np.unique(pairs, axis=1).shape[1])


def overhead_line(ranks: Ranks, whole: Efficiency | None) -> str:
    """Return what measuring took, "" where that is not known."""
    if not ranks.overhead.any():
        return ""
    mean, most = float(ranks.overhead.mean()), float(ranks.overhead.max())
    of_elapsed = f", {100 * mean / whole.elapsed:.2f} % of elapsed" if whole else ""
    return (
        f"the profile took {quantity(rounded(mean), 's')} of a rank{of_elapsed}, at most "
        f"{quantity(rounded(most), 's')} (estimated)"
    )


def outlier_lines(outliers: Sequence[Outlier], ranks: Ranks, width: int) -> list[str]:
    """Return the ranks that stand out, by what and by how much."""
    lines = []
    for by, several in groupby(outliers, key=lambda outlier: outlier.by):
        listed = list(several)
        shown = (
            _OUTLIERS_SHOWN
            if len(listed) <= max(_OUTLIERS_SHOWN, _GROUP_LEAST * len(ranks.rank))
            else 1
        )
        for outlier in listed[:shown]:
            lines += filled(_outlier_text(outlier, ranks), width, "  ", "      ")
        if len(listed) > shown:
            more = number(len(listed) - shown)
            lines.append(f"  and {more} more by {by} (--by rank)")
    return lines


def _outlier_text(outlier: Outlier, ranks: Ranks) -> str:
    row, usual = outlier.row, outlier.median
    verb = {COMPUTING: "computes for", WAITING: "waits for", SENT: "sends"}[outlier.by]
    unit = "bytes" if outlier.by == SENT else "s"
    # Of next to nothing no percentage says anything.
    is_alike = usual > 0 and outlier.value < _TIMES_MOST * usual
    change = f" ({100 * (outlier.value - usual) / usual:+.0f} %)" if is_alike else ""
    return printable(
        f"{rank_name(ranks, row)} {verb} {quantity(outlier.value, unit)}, the median is "
        f"{quantity(usual, unit)}{change}"
    )


def rank_name(ranks: Ranks, row: int) -> str:
    """Return how to call a rank, or the process where it has none."""
    rank, pid, host = int(ranks.rank[row]), int(ranks.pid[row]), str(ranks.host[row])
    name = f"rank {rank}" if rank >= 0 else f"process {pid}"
    execution = int(ranks.repetition[row])
    again = f", execution {execution}" if int(ranks.repetition.max()) > 0 else ""
    return f"{name} on {host}{again}" if host else f"{name}{again}"


def _counted(n: int, singular: str, plural: str = "") -> str:
    return f"{number(n)} {singular if n == 1 else plural or f'{singular}s'}"


# --- sites and routines ---------------------------------------------------------------------------


def site_label(site: Site) -> str:
    """Return a site as routine, line and function."""
    place = f" {Path(site.file).name}:{site.line}" if site.file else ""
    module = f" {site.module}" if not (site.file or site.function) else ""
    function = f" {site.function}" if site.function else ""
    return f"{site.routine}{place}{function}{module}"


def _site_labels(sites: Sequence[Site]) -> list[str]:
    """Return labels that differ: with the nearest caller that does, where nothing else does."""
    labels = [site_label(site) for site in sites]
    alike: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        alike.setdefault(label, []).append(row)
    for rows in alike.values():
        depth = 0
        most = max(len(sites[row].callers) for row in rows)
        while depth < most and len({sites[row].callers[: depth + 1] for row in rows}) < len(rows):
            depth += 1
        for row in rows if len(rows) > 1 else ():
            chain = sites[row].callers[: depth + 1]
            without_function = site_label(sites[row]._replace(function=""))
            labels[row] = f"{without_function} ← {' ← '.join(chain)}" if chain else labels[row]
    return labels


def site_lines(
    sites: Sequence[Site], n_ranks: float, width: int, *, top: int, is_measured: bool
) -> list[str]:
    """Return the sites with most time, and what their waiting is.

    Args:
        sites: all of them.
        n_ranks: how many ranks there are in one execution.
        width: columns of the terminal.
        top: so many rows, 0 for all.
        is_measured: waiting was measured.
    """
    note = "time and calls are means of all ranks, waits a part of the site's time: " + (
        "measured, by barriers before collective operations"
        if is_measured
        else "estimated, what collective calls took beyond those of the quickest rank"
    )
    return [*site_table(sites, n_ranks, width, top), *filled(note, width, "  ", "  ")]


def site_table(sites: Sequence[Site], n_ranks: float, width: int, top: int) -> list[str]:
    """Return the sites with most time: `top` rows, 0 for all."""
    seconds = sum(site.seconds for site in sites)
    shown = sites[:top] if top else sites
    rows = [
        (
            share(site.seconds, seconds),
            quantity(site.seconds / n_ranks, "s"),
            share(site.waiting, site.seconds),
            number(rounded(site.calls / n_ranks)),
            quantity(rounded(site.mean_bytes), "bytes") if site.mean_bytes else ABSENT,
            label,
        )
        for site, label in zip(shown, _site_labels(shown), strict=True)
    ]
    heads = ("of MPI", "time", "waits", "calls", "mean size", "site")
    return table(heads, rows, width, len(sites))


def routine_lines(
    rows: Sequence[tuple[str, float, float, float]], width: int, top: int
) -> list[str]:
    """Return routines as names with calls, bytes and seconds."""
    from gnomon.mpi.routines import class_of

    whole = sum(seconds for *_, seconds in rows)
    cells = [
        (
            share(seconds, whole), quantity(seconds, "s"), number(rounded(calls)),
            quantity(rounded(moved), "bytes"),
            f"{name} ({class_of(name)})",
        )
        for name, calls, moved, seconds in (rows[:top] if top else rows)
    ]  # fmt: skip
    heads = ("of MPI", "time", "calls", "bytes", "routine")
    return table(heads, cells, width, len(rows))


def pair_lines(rows: Sequence[Pairs], heads: tuple[str, str], width: int, top: int) -> list[str]:
    """Return calls by two things."""
    seconds = sum(row.seconds for row in rows)
    cells = [
        (
            share(row.seconds, seconds), quantity(row.seconds, "s"), number(rounded(row.calls)),
            quantity(rounded(row.bytes), "bytes"), row.first, row.second,
        )
        for row in (rows[:top] if top else rows)
    ]  # fmt: skip
    return table(("of MPI", "time", "calls", "bytes", *heads), cells, width, len(rows))


# --- ranks ----------------------------------------------------------------------------------------


def rank_lines(
    ranks: Ranks, outliers: Sequence[Outlier], width: int, *, top: int, is_measured: bool
) -> list[str]:
    """Return the ranks, those that stand out first, then those with most time in MPI."""
    import numpy as np

    first = [outlier.row for outlier in outliers]
    rest = np.argsort(-ranks.inside, kind="stable")
    rest = rest[~np.isin(rest, first)]
    order = [*first, *rest.tolist()]
    useful, by = computing(ranks), {outlier.row: outlier.by for outlier in outliers}
    rows = []
    for row in order[:top] if top else order:
        elapsed = float(ranks.elapsed[row])
        rank, place = int(ranks.rank[row]), str(ranks.host[row])
        name = number(rank) if rank >= 0 else ABSENT
        rows.append(
            (
                quantity(_number(elapsed), "s", ABSENT), share(float(ranks.inside[row]), elapsed),
                quantity(_number(float(useful[row])), "s", ABSENT),
                quantity(_number(float(ranks.waiting[row])), "s", ABSENT),
                quantity(float(ranks.sent[row]), "bytes"), name,
                f"{place}, {by[row]}" if row in by else place,
            )
        )  # fmt: skip
    heads = ("elapsed", "in MPI", "computing", "waiting", "sent", "rank", "on")
    how = "measured" if is_measured else "estimated"
    return [
        *table(heads, rows, width, len(order)),
        *filled(f"waiting in collective operations is {how}; first those that stand out, and by "
                "what", width, "  ", "  "),
    ]  # fmt: skip


def _number(value: float) -> float | None:
    return None if value != value else value


# --- sizes and messages ---------------------------------------------------------------------------


def size_lines(rows: Sequence[Pairs], width: int) -> list[str]:
    """Return calls by size of what they moved as bars; calls that moved nothing are left out."""
    return size_bars(((row.second, row.calls, row.bytes, row.seconds) for row in rows), width)


def message_lines(
    messages: Sequence[Message], counts: tuple[int, float, float], width: int
) -> Iterator[str]:
    """Yield the pairs of ranks with most bytes from one site."""
    n_rows, n_messages, moved = counts
    cells = [
        (
            quantity(rounded(message.bytes), "bytes"), number(rounded(message.messages)),
            f"{_rank(message.sender)} → {_rank(message.receiver)}",
            f"{message.routine} {Path(message.file).name}:{message.line}" if message.file
            else message.routine,
        )
        for message in messages
    ]  # fmt: skip
    yield from table(("bytes", "messages", "ranks", "from"), cells, width)
    if n_rows > len(messages):
        yield (
            f"  of {number(n_rows)} pairs and sites with {quantity(rounded(moved), 'bytes')} in "
            f"{number(rounded(n_messages))} messages"
        )


def _rank(rank: int) -> str:
    return number(rank) if rank >= 0 else "?"
