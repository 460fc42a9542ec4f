"""`gnomon runs`: the runs of a folder, their tags and notes."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser
from gnomon.cli.terminal.streams import width_of
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.store.run_index import IndexedRun, Listing

_LEAST = {"name": 12, "command": 14, "tags": 8}
_EPILOG = """\
examples:
  gnomon runs                          the runs here, the latest first
  gnomon runs list ~/runs --tag main   runs with a tag in another directory
  gnomon runs tag first main v1.2      add tags to a run; compare accepts @main
  gnomon runs note first "before the cache was doubled"
  gnomon runs delete first"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon runs`."""
    p = Parser(
        prog="gnomon runs",
        description="List the runs of a directory, give them tags and notes, or delete them. Runs "
        "themselves never change: tags and notes are kept in an index beside them "
        "(.gnomon-runs.sqlite, with a copy in .gnomon-runs.json).",
        epilog=_EPILOG,
    )
    p.set_defaults(folder=".", tag="", json=False)
    actions = p.add_subparsers(dest="action", metavar="ACTION", prog="gnomon runs")

    def action(name: str, line: str) -> argparse.ArgumentParser:
        one = actions.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        one.add_argument("--json", action="store_true", help="as JSON")
        return one

    subparser = action("list", "list the runs of a directory, latest first (the default)")
    subparser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="default: here")
    subparser.add_argument("--tag", metavar="TAG", default="", help="only runs that have this tag")
    subparser = action("tag", "add tags to a run, or remove them")
    subparser.add_argument("run", metavar="RUN", help="name or path")
    subparser.add_argument("tags", nargs="+", metavar="TAG", help="letters, digits and . _ + -")
    subparser.add_argument("--remove", action="store_true", help="remove these tags")
    subparser = action("note", "set the note of a run")
    subparser.add_argument("run", metavar="RUN", help="name or path")
    subparser.add_argument("text", metavar="TEXT", help="the note; '' removes it")
    subparser = action("delete", "delete runs, with their tags and notes")
    subparser.add_argument("runs", nargs="+", metavar="RUN", help="name or path")
    subparser.add_argument("--yes", action="store_true", help="do not ask")
    subparser = action("rebuild", "rebuild the index from the runs; tags and notes are kept")
    subparser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="default: here")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Perform the action and return 0, or 1 if a list is empty or nothing was deleted.

    Raises:
        UsageError: a tag is invalid, or there is no terminal to ask on.
        RunDirectoryError: there is no such run or folder, or it cannot be changed.
    """
    from gnomon.store import run_index

    if arguments.action == "delete":
        return _delete(arguments.runs, sure=arguments.yes, as_json=arguments.json)
    if arguments.action == "tag":
        path = _whole(arguments.run)
        change = ((), arguments.tags) if arguments.remove else (arguments.tags, ())
        tags = run_index.tag(path, *change)
        said = f"{path}: {', '.join(tags) or 'no tags'}"
        _tell({"run": str(path), "tags": list(tags)}, said, as_json=arguments.json)
        return 0
    if arguments.action == "note":
        path = _whole(arguments.run)
        run_index.note(path, arguments.text)
        _tell({"run": str(path), "note": arguments.text}, "", as_json=arguments.json)
        return 0
    folder = Path(arguments.folder)
    if arguments.action == "rebuild":
        n = len(run_index.rebuild(folder).entries)
        path = folder / run_index.FILE
        said = f"{path}: {n} run{'' if n == 1 else 's'}"
        _tell({"index": str(path), "runs": n}, said, as_json=arguments.json)
        return 0
    return _list(run_index.entries(folder), folder, arguments.tag, as_json=arguments.json)


def _tell(what: Mapping[str, object], said: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(what, indent=2))
    elif said:
        from gnomon.units import printable

        print(printable(said))


def _whole(name: str) -> Path:
    """Return the directory of a run that can be read.

    Raises:
        GnomonError: there is none, or it cannot.
    """
    from gnomon.store import run_directory

    return run_directory.find(str(run_directory.located(name))).path


def _list(listing: Listing, folder: Path, tag: str, *, as_json: bool) -> int:
    if listing.said:
        from gnomon.units import printable

        print(f"gnomon: note: {printable(listing.said)}", file=sys.stderr)
    selected = [one for one in listing.entries if not tag or tag in one.tags]
    if as_json:
        print(
            json.dumps({"folder": str(folder), "runs": [asdict(one) for one in selected]}, indent=2)
        )
    elif selected:
        print("\n".join(_table(selected, width_of(sys.stdout))))
    else:
        none = "no run in this directory; create one: gnomon run -- program"
        print(f"no run here has the tag {tag}; gnomon runs tag RUN {tag}" if tag else none)
    return 0 if selected else 1


def _table(entries: Sequence[IndexedRun], width: int) -> list[str]:
    from gnomon.store.reports.run_facts import wall_text
    from gnomon.terminal_text import cut, filled, grid, shortened, widths
    from gnomon.units import printable

    rows = []
    for entry in entries:
        when = (
            time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.started)) if entry.started else ""
        )
        status = "-" if entry.exit_status is None else str(entry.exit_status)
        wall = wall_text(asdict(entry), "-")
        numbers = ["", "", "", "", ""]
        if not entry.problem:
            numbers = [when, str(entry.ranks), str(entry.repetitions), wall, status]
        command = printable(shlex.join(entry.command)) if not entry.problem else "(cannot be read)"
        rows.append((printable(entry.name), numbers, command, ", ".join(entry.tags)))
    heads = ["when", "ranks", "times", "wall time", "exit"]
    fixed = [max(len(head), *(len(row[1][at]) for row in rows)) for at, head in enumerate(heads)]
    tagged = any(row[3] for row in rows)
    natural = [max(len(row[0]) for row in rows), max(len(row[2]) for row in rows)]
    least = [_LEAST["name"], _LEAST["command"]]
    wanted = sum(map(min, natural, least)) + _LEAST["tags"] * tagged
    for head in ("times", "ranks", "exit", "wall time"):  # the order in which columns are given up
        if width - 2 - sum(fixed) >= wanted + 2 * (len(heads) + 1 + tagged):
            break
        column = heads.index(head)
        del heads[column], fixed[column]
        for row in rows:
            del row[1][column]
    room = width - 2 - sum(fixed) - 2 * (len(heads) + 1 + tagged)
    if tagged:
        natural.append(max(len(row[3]) for row in rows))
        least.append(_LEAST["tags"])
    # Names and tags are what one types: the command gets what they leave.
    order = [0, 2, 1] if tagged else [0, 1]
    given = widths([natural[at] for at in order], [least[at] for at in order], room)
    wide = dict(zip(order, given, strict=True))
    name_width = max(wide[0], len("name"))
    table = [
        (
            shortened(name, wide[0]).ljust(name_width),
            *numbers,
            cut(command, wide[1]),
            *((cut(tags, wide[2]),) if tagged else ()),
        )
        for name, numbers, command, tags in rows
    ]
    columns = ("name".ljust(name_width), *heads, "command", *(("tags",) if tagged else ()))
    lines = list(grid([(head,) for head in columns], table, len(heads) + 1).lines)
    for entry in entries:
        if entry.note:
            lines += filled(
                f"{printable(entry.name)}: {printable(entry.note)}", width, "  ", "    "
            )
        if entry.problem:
            lines += filled(f"note: {printable(entry.problem)}", width, "", "      ")
    return lines


def _delete(names: Sequence[str], *, sure: bool, as_json: bool) -> int:
    from gnomon.store import run_directory, run_index
    from gnomon.units import printable, size

    paths = [run_directory.located(name) for name in names]
    if not sure and not sys.stdin.isatty():
        raise UsageError(f"delete {names[0]}: no terminal for the confirmation; give --yes")
    status = 0
    deleted: list[str] = []
    asked = sys.stderr if as_json else sys.stdout
    for path in paths:
        if not sure:
            held = sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())
            question = f"delete {printable(str(path))} ({size(held)})? [y/N] "
            print(question, end="", flush=True, file=asked)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                status = 1
                continue
        run_index.delete(path)
        deleted.append(str(path))
        if not as_json:
            print(f"deleted {printable(str(path))}")
    if as_json:
        _tell({"deleted": deleted}, "", as_json=True)
    return status
