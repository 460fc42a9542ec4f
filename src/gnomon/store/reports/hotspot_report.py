"""Hot spots as text that fits the terminal: functions, files and lines of the whole program."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from gnomon.model.percent_columns import Shares, leading_shares
from gnomon.model.symbol_names import short_name
from gnomon.store.hotspots import Hotspot, Hotspots, named, programs
from gnomon.store.reports.run_facts import title
from gnomon.store.run import Run
from gnomon.store.source_digests import Sources, indentation
from gnomon.store.source_listing import listing
from gnomon.terminal_text import WIDTH, cut, filled, grid, short_path, shortened, widths
from gnomon.units import number, printable

_UNKNOWN = "(unknown)"
_GAP = 2
_INDENT = 2
# What each column of text cannot do without.
_LEAST = {"program": 10, "function": 24, "file": 16, "file:line": 12, "source": 30}
_TIGHT = {"program": 8, "function": 16, "file": 12, "file:line": 12, "source": 30}
_LEAST_BESIDE_SOURCE = 12
# A wide terminal is for longer names and more of the source, not only for more events.
_SHARE = {"function": 0.3, "source": 0.33}
_SHARE_BESIDE_SOURCE = 0.16
_SHARE_OF_PATHS = 0.45
_PROGRAM_MOST = 14
_HEADS = {
    "function": ("function", "file"),
    "file": ("file",),
    "line": ("file:line", "function", "source"),
}


def render_hotspots(
    run: Run, hotspots: Hotspots, *, width: int, events: Sequence[str] = (), counts: bool = False,
    charged: str = "",
) -> str:  # fmt: skip
    """Return a table of hotspots; lines have their source where it can be read.

    Args:
        run: the run.
        hotspots: its hotspots.
        width: columns of the terminal.
        events: those to show, room or not; () for as many as there is room for.
        counts: show counts of all of them, not only of that which the rows are ordered by.
        charged: what is to be added to what the values are.

    Raises:
        UsageError: the run has no such event.
    """
    lines = [title(run, width), ""]
    if not hotspots.events:
        remedy = "measure with: gnomon count --pmu emulated --name NAME -- program"
        if run.query("SELECT 1 FROM regions WHERE file <> '' LIMIT 1"):
            by = "region" if hotspots.kind == "function" else hotspots.kind
            remedy = f"those of its sections: gnomon report RUN profile --by {by}; or {remedy}"
        lines += filled(f"this run has no values of each {hotspots.kind}; {remedy}", width)
        return "\n".join(lines) + "\n"
    chosen = [named(event, hotspots.events, hotspots.kind) for event in events]
    order = list(dict.fromkeys([hotspots.sort, *(chosen or hotspots.events)]))

    def columns(beside: int, tight: int) -> Shares:
        """Return the columns of events where so much is needed for what is beside them."""
        room = width - _INDENT - beside
        most = width - _INDENT - tight
        return leading_shares(order, hotspots.totals, room, most, counts=counts, keep=bool(chosen))

    sources = Sources(run.source_text)
    make = listing if hotspots.file and hotspots.kind == "line" else _table
    body, shown = make(hotspots, sources, columns, width)
    lines += body
    if hotspots.found > len(hotspots.rows):
        lines.append(f"  and {number(hotspots.found - len(hotspots.rows))} more (--top 0 for all)")
    lines += ["", *_legend(hotspots, shown, charged, bool(chosen), width)]
    lines += stale_note(run, sources, hotspots.labels, width)
    return "\n".join(lines) + "\n"


def _table(
    hotspots: Hotspots, sources: Sources, columns: Callable[[int, int], Shares], width: int
) -> tuple[list[str], Shares]:
    heads = [*(("program",) if len(programs(hotspots.rows)) > 1 else ()), *_HEADS[hotspots.kind]]
    least = [max(_LEAST[head], int(_SHARE.get(head, 0) * width)) for head in heads]
    if hotspots.kind == "file":
        least = [int(_SHARE_OF_PATHS * width)]
    if "source" in heads:
        beside = max(_LEAST_BESIDE_SOURCE, int(_SHARE_BESIDE_SOURCE * width))
        least[heads.index("function")] = beside
    gaps = _GAP * (len(heads) - 1)
    cells = _cells(hotspots, heads, sources)
    natural = [max(map(len, (head, *(row[at] for row in cells)))) for at, head in enumerate(heads)]
    tight = [_TIGHT[head] for head in heads]
    if "source" in heads:
        is_narrow = width < WIDTH
        tight[heads.index("function")] = 9 if is_narrow else _LEAST_BESIDE_SOURCE
        tight[heads.index("source")] = 12 if is_narrow else _TIGHT["source"]
    needed = (sum(map(min, natural, each)) + gaps for each in (least, tight))
    shown = columns(*needed)
    room = width - _INDENT - shown.width - gaps
    if "program" in heads:
        natural[0] = min(natural[0], _PROGRAM_MOST)
    if "source" in heads:
        function = heads.index("function")
        natural[function] = min(natural[function], max(_LEAST_BESIDE_SOURCE, 2 * room // 5))
    wide = widths(natural, tight, room)
    blank = [""] * (len(heads) - 1)
    rows = [(*shown.cells(hotspots.totals), "total", *blank)]
    for file, totals in hotspots.file_totals.items():
        label = short_path(f"lines of {_label(hotspots.labels, file)}", max(wide[0], least[0]))
        rows.append((*shown.cells(totals), label, *blank))
    rows += [
        (*shown.cells(row.values), *map(_fitted, heads, texts, wide))
        for row, texts in zip(hotspots.rows, cells, strict=True)
    ]
    table = grid([*shown.heads, *((head,) for head in heads)], rows, len(shown.heads))
    return list(table.lines), shown


def _cells(hotspots: Hotspots, heads: Sequence[str], sources: Sources) -> list[list[str]]:
    """Return the whole texts of each row."""
    common: dict[str, int] = {}
    if "source" in heads:
        of_file: dict[str, list[str]] = {}
        for row in hotspots.rows:
            of_file.setdefault(row.file, []).append(sources.line(row.file, row.line))
        common = {file: indentation(lines) for file, lines in of_file.items()}

    def cell(head: str, row: Hotspot) -> str:
        if head == "source":
            return sources.line(row.file, row.line)[common[row.file] :]
        if head == "file":
            whole = hotspots.kind == "file"
            return (printable(row.file) or _UNKNOWN) if whole else _label(hotspots.labels, row.file)
        if head == "file:line":
            return _label(hotspots.labels, row.file) + (f":{row.line}" if row.line else "")
        return printable(row.function if head == "function" else row.program) or _UNKNOWN

    return [[cell(head, row) for head in heads] for row in hotspots.rows]


def _label(labels: Mapping[str, str], file: str) -> str:
    return printable(labels.get(file, file)) or _UNKNOWN


def _fitted(head: str, text_: str, width: int) -> str:
    if head == "function":
        return short_name(text_, width)
    if head == "source":
        return cut(text_, width)
    return shortened(text_, width) if head == "program" else short_path(text_, width)


def _legend(found: Hotspots, shown: Shares, charged: str, chosen: bool, width: int) -> list[str]:
    kinds = ", ".join(sorted(set(found.how.values()))) + charged
    lines = filled(
        f"{kinds}; without what is called from there; % of the program's total, . for none", width
    )
    if shown.left_out and not chosen:
        names = ", ".join(shown.left_out)
        lines += filled(f"no room for {names}: choose with -e, or --json", width)
    return lines


def stale_note(run: Run, sources: Sources, labels: Mapping[str, str], width: int) -> list[str]:
    """Return lines that name the sources which were written after a run began, if any were."""
    started = float(run.head["started"])
    if not started:  # of a profile that does not say when its program ran
        return []
    names = ", ".join(sorted(_label(labels, file) for file in sources.changed_since(started)))
    if not names:
        return []
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(started))
    said = f"note: changed since the run ({when}): {names}; the source shown may not be what ran"
    return filled(said, width, "", "      ")
