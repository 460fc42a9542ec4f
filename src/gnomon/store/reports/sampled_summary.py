"""Where a sampled program spent its time, in the summary that `gnomon run` ends with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.model.capability_result import rows_of
from gnomon.model.metric import WAITING_TIME
from gnomon.model.symbol_names import short_name
from gnomon.store.reports.screen_tables import ScreenTable
from gnomon.terminal_text import filled, grid, shortened
from gnomon.units import number, printable, quantity

if TYPE_CHECKING:
    from gnomon.model.tables import Table
    from gnomon.store.path_values import PathValues
    from gnomon.store.reports.code_rows import CodeMetric, CodeRow
    from gnomon.store.run import Run

_SAMPLED = "sampled"
_CAPABILITY = "samples"
_FUNCTIONS, _FEWEST = 10, 4
_CALLERS = 2
_CALLED_FROM = "the first is called from:"
_LEAST = 0.001
"""A function with less of the whole is not told."""
_LEAST_CALLER = 0.05
_NAME_MOST = 48
_NAME_LEAST = 20
_MODULE_MOST = 16
# Of fewer columns there is no room for modules; of functions without a name it is in theirs.
_WITH_MODULES = 72
_UNKNOWN = "(unknown)"
_BACK = " ← "


def sampled_tables(run: Run, tables: Sequence[Table], width: int) -> list[ScreenTable]:
    """Return the functions with most samples, and who calls the first of them.

    Args:
        run: the run that was written.
        tables: of the model, without those that are too large for memory.
        width: columns of the terminal.
    """
    if not any(row["how"] == _SAMPLED for row in rows_of(tables, "metrics")):
        return []
    from gnomon.store import call_paths, path_values
    from gnomon.store.reports import code_rows

    sampled = [row for row in code_rows.metrics(run) if row["how"] == _SAMPLED]
    if not sampled:
        return []
    # The program's end is waited for: its profile is read once for both tables.
    paths = call_paths.of_run(run, run.region_kinds.code())
    read = path_values.rows(run, paths, int(str(sampled[0]["metric"])))
    table = code_rows.table(run, "function", sampled[:1], {int(str(sampled[0]["metric"])): read})
    if not table.metrics:
        return []
    metric = table.metrics[0]
    rows = table.rows[metric.name]
    shown = [row for row in rows[:_FUNCTIONS] if (row.own or 0.0) >= _LEAST * metric.whole]
    if not shown:
        return []
    heads, *functions = _functions(shown, metric, width)
    waits = _waits(run, tables, width)
    tail = list(_callers(run, shown[0], path_values.of_rows(run, paths, read), width))
    # The screen is as high as without waits.
    tail = [*tail[:1], *waits] if waits else tail
    return [
        ScreenTable(
            [*_title(run.head, metric, width), heads],
            functions,
            tail,
            _FEWEST,
        )
    ]


def _waits(run: Run, tables: Sequence[Table], width: int) -> list[str]:
    from gnomon.store.reports import waits_part

    if not any(row["name"] == WAITING_TIME for row in rows_of(tables, "metrics")):
        return []
    text = waits_part.summary(run, width - 2)
    return [f"  {shortened(text, width - 2)}"] if text else []


def _functions(shown: Sequence[CodeRow], metric: CodeMetric, width: int) -> Iterator[str]:
    from gnomon.store.reports.code_report import share_text
    from gnomon.store.reports.code_rows import module_text

    cells = [
        (share_text(row, metric), quantity(row.own, metric.unit, "-"),
         quantity(row.total, metric.unit, "-"))
        for row in shown
    ]  # fmt: skip
    named = [printable(row.code.function) or _UNKNOWN for row in shown]
    modules = [shortened(printable(module_text(row.code)), _MODULE_MOST) for row in shown]
    heads = ("of total", "self", "total")
    columns = list(zip(heads, *cells, strict=True))
    if width >= _WITH_MODULES:
        columns.append(("module", *modules))
    taken = sum(max(map(len, column)) + 2 for column in columns)
    room = min(max(width - taken - 4, _NAME_LEAST), _NAME_MOST)
    columns.insert(len(heads), ("function", *(short_name(name, room) for name in named)))
    head, *rows = zip(*columns, strict=True)
    for line in grid([(text,) for text in head], rows, len(heads)).lines:
        yield f"  {line}"


def _callers(run: Run, hottest: CodeRow, values: PathValues, width: int) -> Iterator[str]:
    """Yield the call paths through which a function has most."""
    import numpy as np

    from gnomon.store import call_paths, callers
    from gnomon.store.reports.tree_text import joined

    function = next(
        (group, code)
        for group, code in callers.matching(run, hottest.code.function).items()
        if code == hottest.code
    )
    tree = callers.calls(run, function, values, least=_LEAST_CALLER).callers
    if len(tree.group) < 2:
        return
    named = call_paths.described(run, np.unique(tree.group), "function")
    texts = [printable(named[group].function) or _UNKNOWN for group in tree.group.tolist()]
    parents = tree.parent.tolist()
    direct = [node for node, above in enumerate(parents) if above == 0]
    shown = direct[:_CALLERS]
    for caller in shown:
        share = f"{100 * float(tree.inclusive[caller]) / float(tree.inclusive[0]):.0f} %"
        # Siblings stand largest first, so the first child is where most comes from.
        chain = [caller]
        while (above := next((n for n, p in enumerate(parents) if p == chain[-1]), -1)) >= 0:
            chain.append(above)
        begin = f"  {_CALLED_FROM if caller == shown[0] else '':<{len(_CALLED_FROM)}}{share:>6}  "
        rest = len(direct) - len(shown) if caller == shown[-1] else 0
        end = f" and {number(rest)} more" if rest else ""
        room = width - len(begin) - len(end)
        yield begin + joined([texts[node] for node in chain], room, _BACK) + end


def _title(head: Mapping[str, Any], metric: CodeMetric, width: int) -> Iterator[str]:
    """Yield what the table is of, how many samples, and how many stacks are whole, where known."""
    told = [f"{number(metric.samples)} samples"]
    facts = head.get("facts")
    own = facts.get(_CAPABILITY) if isinstance(facts, dict) else None
    numbers = {
        name: value
        for name, value in (own.items() if isinstance(own, dict) else ())
        if isinstance(value, int) and value > 0
    }
    if "stacks" in numbers:
        whole = 100 * numbers.get("complete", 0) / numbers["stacks"]
        told.append(f"{whole:.1f} % of stacks complete")
    for name, word in (("guessed", "with guessed callers"), ("lost", "lost")):
        if name in numbers:
            told.append(f"{number(numbers[name])} {word}")
    title = f"top functions by {printable(metric.name)}: {', '.join(told)}:"
    yield from filled(title, width, "  ", "    ")
