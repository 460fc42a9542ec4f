"""The parts of a report that follow calls: `tree` and `callers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.model.metric import Aggregation
from gnomon.model.tables import Cell
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, moments, path_values
from gnomon.store.hotspots import named, whole
from gnomon.store.reports import code_rows
from gnomon.store.reports.report_part import (
    FILE,
    HOW,
    METRIC,
    MODULE,
    SAMPLES,
    SELF,
    TOTAL,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.reports.run_facts import title
from gnomon.terminal_text import filled
from gnomon.units import number, printable

if TYPE_CHECKING:
    from gnomon.store.call_tree import CallTree
    from gnomon.store.path_values import PathValues
    from gnomon.store.run import Run

_LINES_MOST = 45
_THRESHOLDS = (1.0, 2.0, 5.0, 10.0)
"""Percentages of which the first is taken that makes a tree of a screen."""
_DEPTHS = (24, 12)
"""Of calls, where the last of these is not enough: a recursion is a screen for itself."""
NODE = (
    Key("number", "integer", "of the node, from 0, in the order of a walk that goes down first"),
    Key("parent", "integer", "number of the node above, -1 for none"),
    Key("depth", "integer", "how many nodes are above"),
)
_KEYS = (
    *NODE,
    Key("location", "string", "thread or rank whose tree it is; empty for the whole program"),
    Key("name", "string", "of the function, section or program; empty where it is not known"),
    MODULE, FILE, METRIC, UNIT, HOW, SELF, TOTAL,
    SAMPLES._replace(text="how many samples stand behind `total`, from the bottom up behind "
                     "`self`; null of what was not sampled"),
)  # fmt: skip


def arcs_note(run: Run) -> str:
    """Return what to say of call paths where a run has arcs instead, "" where it has paths.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    if not call_paths.has_arcs(run):
        return ""
    return "call paths were not recorded, but who calls whom was: gnomon callgraph shows it"


class Branch(NamedTuple):
    """The tree of the whole program, or of one place."""

    place: str
    values: PathValues
    whole: float


class _Cut(NamedTuple):
    """What a tree does not show: what has less than so many percent, and what is deeper."""

    threshold: float
    depth: int

    def __str__(self) -> str:
        """Return it in words, "" for nothing."""
        told = [f"with less than {number(self.threshold)} %"] if self.threshold else []
        told += [f"more than {self.depth} calls deep"] if self.depth else []
        options = [f"--{name}" for name, value in self._asdict().items() if value]
        return f"branches {' and '.join(told)} are cut: {', '.join(options)}" if told else ""


class Tree(NamedTuple):
    """The call tree."""

    name: str = "tree"
    title: str = "call tree, from the program down or from functions up"
    by: tuple[str, ...] = ("program", "thread", "rank")
    argument: str = ""
    options: frozenset[str] = frozenset(("metrics", "threshold", "depth", "bottom_up", "inlined"))
    keys: tuple[Key, ...] = _KEYS

    def is_in(self, run: Run) -> bool:
        """Return whether anything is called from the program."""
        return bool(run.query("SELECT 1 FROM paths WHERE parent <> -1 LIMIT 1"))

    def text(self, run: Run, request: Request) -> PartText:
        """Return the tree, branches with little left out."""
        metric = chosen_metric(run, request)
        lines = [title(run, request.width)]
        if metric is None:
            lines += filled("this run has no values of calls that could be added up", request.width)
            return PartText("\n".join(lines) + "\n", is_empty=True)
        way = "from functions up to callers" if request.bottom_up else "from the program down"
        by = "" if request.by == "program" else f" of each {request.by}"
        lines.append(printable(f"{metric['name']}{by} {way}, {metric['how']}{request.charged}"))
        branches = list(_branches(run, request, metric))
        cut, tables = _fitting(run, request, metric, branches)
        for branch, table in zip(branches, tables, strict=True):
            lines += [printable(branch.place)] if branch.place else []
            lines += table
        if not any(tables):
            lines += filled("nothing is called from the program", request.width)
        samples = sum(float(one.values.own_samples.sum()) for one in branches)
        told = [f"{number(samples)} samples"] if samples > 0 else []
        told += [str(cut)] if str(cut) else []
        lines += filled("; ".join(told), request.width)
        lines += filled(arcs_note(run), request.width)
        return PartText("\n".join(lines) + "\n", not any(tables))

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each node."""
        metric = chosen_metric(run, request)
        if metric is None:
            return PartData([])
        return PartData(list(_rows(run, request, metric)))


def chosen_metric(run: Run, request: Request) -> Mapping[str, Cell] | None:
    """Return the metric that was asked for, or the one that most calls have; None for none.

    Raises:
        UsageError: there is no such metric, or several were asked for.
        RunDirectoryError: the tables cannot be read.
    """
    listed = code_rows.metrics(run) or code_rows.metrics(run, code_only=False)
    if len(request.metrics) > 1:
        raise UsageError("a tree is of one event: give -e once")
    if not request.metrics:
        return next(iter(listed), None)
    names = [str(row["name"]) for row in listed]
    return listed[names.index(named(request.metrics[0], names, "call"))]


def program_branch(run: Run, metric: Mapping[str, Cell]) -> Branch:
    """Return the values of a metric of the whole program.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    is_elapsed = metric["aggregation"] == Aggregation.ELAPSED
    values = path_values.of_metric(run, int(str(metric["metric"])), is_elapsed=is_elapsed)
    return Branch("", values, _whole(run, metric, values))


def _branches(run: Run, request: Request, metric: Mapping[str, Cell]) -> Iterator[Branch]:
    """Yield what there is a tree of, most first."""
    is_elapsed = metric["aggregation"] == Aggregation.ELAPSED
    number_ = int(str(metric["metric"]))
    if request.by == "program":
        yield program_branch(run, metric)
        return
    if is_elapsed and request.by == "rank":
        raise UsageError(f"{metric['name']}: elapsed time has a tree by program or by thread")
    whole_of = 0.0
    branches: list[Branch] = []
    for place, only in _places(run, request.by, number_):
        values = path_values.of_metric(run, number_, is_elapsed=False, only=only)
        own = float(values.own.sum())
        whole_of += own
        branches.append(Branch(place, values, own))
    least = (request.threshold or 0.0) / 100 * whole_of
    yield from sorted(
        (one for one in branches if one.whole > 0 and one.whole >= least),
        key=lambda one: -one.whole,
    )


def _places(run: Run, by: str, metric: int) -> list[tuple[str, str]]:
    """Return the threads or ranks with values of a metric: in words, and as a condition."""
    if by == "rank":
        ranks = run.query(
            "SELECT DISTINCT l.rank FROM profile p JOIN locations l USING (location) "
            f"WHERE p.metric = {metric} AND l.rank >= 0 ORDER BY l.rank"
        )
        inner = "AND p.location IN (SELECT location FROM locations WHERE rank = {})"
        return [(f"rank {rank}", inner.format(rank)) for (rank,) in ranks]
    threads = run.query(
        "SELECT location, rank, pid, tid, name FROM locations WHERE kind = 'thread' AND location "
        f"IN (SELECT location FROM profile WHERE metric = {metric}) ORDER BY location"
    )
    return [
        ((f"rank {rank}, " if rank >= 0 else "") + f"process {pid}, thread {tid} {name}".rstrip(),
         f"AND p.location = {location}")
        for location, rank, pid, tid, name in threads
    ]  # fmt: skip


def _whole(run: Run, metric: Mapping[str, Cell], values: PathValues) -> float:
    told = moments.whole(run, metric)
    return float(values.own.sum()) if told is None else told


def _tree(run: Run, request: Request, branch: Branch, threshold: float) -> CallTree:
    import numpy as np

    from gnomon.store import call_tree

    code = run.region_kinds.code()
    paths = call_paths.of_run(run, code)
    least, depth = threshold / 100 * branch.whole, request.depth or 0
    if not request.bottom_up:
        groups = call_paths.grouped(run, "node", code)
        return call_tree.top_down(paths, groups, branch.values, least=least, depth=depth)
    groups = call_paths.grouped(run, "function", code)
    leaves = np.flatnonzero((groups.group >= 0) & (branch.values.own > 0)).astype(np.int32)
    return call_tree.bottom_up(paths, groups, branch.values, leaves, least=least, depth=depth)


def _fitting(
    run: Run, request: Request, metric: Mapping[str, Cell], branches: list[Branch]
) -> tuple[_Cut, list[tuple[str, ...]]]:
    """Return the trees as lines, and what is cut: the least that makes a screen of them."""
    import numpy as np

    from gnomon.store.reports.tree_text import Way, tree_lines

    way = Way.UP if request.bottom_up else Way.DOWN
    thresholds = _THRESHOLDS if request.threshold is None else (request.threshold,)
    depths = (0, *_DEPTHS) if request.depth is None else (request.depth,)
    tried = [*((one, depths[0]) for one in thresholds), *((thresholds[-1], one) for one in depths)]
    tables: list[tuple[str, ...]] = []
    threshold, depth = tried[0]
    for threshold, depth in tried:
        tables = []
        for branch in branches:
            tree = _tree(run, request._replace(depth=depth), branch, threshold)
            told = call_paths.described(run, np.unique(tree.group), "node")
            lines = tree_lines(
                tree, told, whole=branch.whole, unit=str(metric["unit"] or ""),
                threshold=threshold, width=request.width, way=way,
            ) if len(tree.group) else ()  # fmt: skip
            tables.append(lines)
        if sum(map(len, tables)) <= _LINES_MOST:
            break
    return _Cut(threshold, depth), tables


def _rows(run: Run, request: Request, metric: Mapping[str, Cell]) -> Iterator[dict[str, Any]]:
    import numpy as np

    before = 0
    for branch in _branches(run, request, metric):
        tree = _tree(run, request, branch, request.threshold or 0.0)
        told = call_paths.described(run, np.unique(tree.group), "node")
        columns = (column.tolist() for column in tree[:6])
        for node, (parent, depth, group, own, total, samples) in enumerate(
            zip(*columns, strict=True)
        ):
            code = told[group]
            yield {
                "number": before + node, "parent": parent if parent < 0 else before + parent,
                "depth": depth, "location": branch.place, "name": code.function,
                "module": code.module, "file": code.file,
                "metric": metric["name"] or "", "unit": metric["unit"] or "",
                "how": metric["how"] or "", "self": whole(own), "total": whole(total),
                "samples": whole(samples),
            }  # fmt: skip
        before += len(tree.group)
