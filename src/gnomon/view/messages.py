"""Who sent how much to whom in a run, from its table of messages: the sums of each pair, sparse.

Senders and receivers stand in the order of their ranks. MPI says of a rank nothing but its number:
the host is that of the process which has the same one.
"""

from __future__ import annotations

import numpy as np

from gnomon.errors import UsageError
from gnomon.model.array_types import Flags, Floats, Ints, Longs
from gnomon.named_tuple import NamedTuple
from gnomon.view.communities import communities
from gnomon.view.run_metadata import Dataset, Location, positions

BYTES, MESSAGES = "bytes", "messages"
MEASURES = (BYTES, MESSAGES)
# Some 60 bytes each while they are read and sorted.
_PAIRS_MOST = 20_000_000
NO_HOST = "(host not known)"


class Pairs(NamedTuple):
    """Sums over all messages of each pair, in the order of their bytes, least first.

    Attributes:
        sender, receiver: positions in `Messages.locations`.
        bytes, messages: averages over executions of the command.
        by_messages: the order of their messages, least first.
    """

    sender: Ints
    receiver: Ints
    bytes: Floats
    messages: Floats
    by_messages: Longs

    def measured(self, measure: str) -> Floats:
        """Return one of `MEASURES`."""
        return self.bytes if measure == BYTES else self.messages


class Messages(NamedTuple):
    """The messages of a run.

    Attributes:
        locations: positions of those that sent or received, in the order of ranks.
        rank: of each of them, -1 for what has none.
        titles: of those that have none, by their position here.
        host: of each of them, a number of `hosts`.
        hosts: names, in the order of their first ranks.
        pairs: those of which both ends are known.
        unknown_bytes, unknown_messages: of messages of which an end is not known.
    """

    locations: Ints
    rank: Ints
    titles: dict[int, str]
    host: Ints
    hosts: list[str]
    pairs: Pairs
    unknown_bytes: float
    unknown_messages: float

    @property
    def n(self) -> int:
        """How many senders and receivers there are."""
        return len(self.locations)


def read_messages(data: Dataset) -> Messages:
    """Return the sums of all messages of a run.

    Raises:
        UsageError: it has more pairs than can be held in memory.
        RunDirectoryError: the tables cannot be read.
    """
    rows = data.tables.arrays(
        "SELECT COALESCE(sender, -1) AS sender, COALESCE(receiver, -1) AS receiver, "
        "CAST(SUM(GREATEST(COALESCE(bytes, 0), 0)) AS DOUBLE) AS bytes, "
        "CAST(SUM(GREATEST(COALESCE(messages, 1), 0)) AS DOUBLE) AS messages "
        f"FROM messages GROUP BY ALL LIMIT {_PAIRS_MOST + 1}"
    )
    if len(rows["sender"]) > _PAIRS_MOST:
        raise UsageError(
            f"{data.name}: more than {_PAIRS_MOST} pairs of senders and receivers cannot be shown; "
            "see gnomon report RUN messages, or gnomon export"
        )
    numbers = np.array([one.location for one in data.locations], dtype=np.int32)
    ends = [positions(numbers, rows[name]) for name in ("sender", "receiver")]
    is_known: Flags = (ends[0] >= 0) & (ends[1] >= 0)
    executions = _executions(data, ends[0])
    count, amount = (rows[name] / executions for name in ("messages", "bytes"))
    locations = _in_order(data, np.unique(np.concatenate([end[is_known] for end in ends])))
    position = np.full(len(numbers), -1, dtype=np.int32)
    position[locations] = np.arange(len(locations), dtype=np.int32)
    sender, receiver = (position[end[is_known]] for end in ends)
    order = np.lexsort((receiver, sender, amount[is_known]))
    pairs = Pairs(
        sender[order], receiver[order], amount[is_known][order], count[is_known][order],
        np.argsort(count[is_known][order], kind="stable"),
    )  # fmt: skip
    hosts, host = _hosts(data, locations)
    rank = np.array([data.locations[at].rank for at in locations.tolist()], dtype=np.int32)
    titles = {
        at: data.locations[int(locations[at])].title for at in np.flatnonzero(rank < 0).tolist()
    }
    return Messages(
        locations, rank, titles, host, hosts, pairs,
        float(amount[~is_known].sum()), float(count[~is_known].sum()),
    )  # fmt: skip


def _executions(data: Dataset, sender: Ints) -> Floats:
    """Return of how many executions of its run each sender's messages are."""
    run = run_of_each(data)
    if run.max(initial=-1) < 0:
        return np.full(len(sender), float(data.repetitions))
    rows = data.tables.arrays(
        "SELECT DISTINCT COALESCE(sender, -1) AS sender, COALESCE(repetition, 0) AS repetition "
        "FROM messages"
    )
    numbers = np.array([one.location for one in data.locations], dtype=np.int32)
    senders = positions(numbers, rows["sender"])
    known_run = np.where(senders >= 0, run[senders], -1).astype(np.int64)
    of_runs = np.unique((known_run + 1) << 32 | rows["repetition"]) >> 32
    count = np.bincount(of_runs, minlength=len(run) + 1)
    own: Ints = count[np.where(sender >= 0, run[sender], -1) + 1]
    return np.maximum(own, 1).astype(np.float64)


def communities_of(messages: Messages) -> Ints:
    """Return the number of the community of each sender and receiver, by what they exchange."""
    pairs = messages.pairs
    # Messages without a byte connect those who exchange them, too.
    return communities(messages.n, pairs.sender, pairs.receiver, pairs.bytes + pairs.messages)


def _in_order(data: Dataset, locations: Ints) -> Ints:
    """Return locations by run, rank and number; those without a rank behind the others."""
    rank = np.array([data.locations[at].rank for at in locations.tolist()], dtype=np.int64)
    run = np.zeros(len(locations), dtype=np.int64)
    if any(one.kind == "run" for one in data.locations):
        run = run_of_each(data)[locations]
    rank[rank < 0] = np.iinfo(np.int32).max
    return locations[np.lexsort((locations, rank, run))].astype(np.int32)


def run_of_each(data: Dataset) -> Longs:
    """Return the position of the run that each location of a combination is of, -1 for none."""
    run = np.full(len(data.locations), -1, dtype=np.int64)
    parents = data.location_parents.tolist()
    for at, location in enumerate(data.locations):
        run[at] = at if location.kind == "run" else run[parents[at]] if parents[at] >= 0 else -1
    return run


def _hosts(data: Dataset, locations: Ints) -> tuple[list[str], Ints]:
    # Of several jobs of a run, which host a rank is on is known only where they agree.
    run = run_of_each(data).tolist()
    hosts_of: dict[tuple[int, int], set[str]] = {}
    for own, one in zip(run, data.locations, strict=True):
        if one.rank >= 0 and one.host:
            hosts_of.setdefault((own, one.rank), set()).add(one.host)
    host_of = {rank: min(hosts) for rank, hosts in hosts_of.items() if len(hosts) == 1}
    number_of: dict[str, int] = {}
    host = np.empty(len(locations), dtype=np.int32)
    for index, at in enumerate(locations.tolist()):
        location: Location = data.locations[at]
        name = location.host or host_of.get((run[at], location.rank), "") or NO_HOST
        host[index] = number_of.setdefault(name, len(number_of))
    return list(number_of), host
