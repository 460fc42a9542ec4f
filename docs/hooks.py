"""MkDocs hooks: options stand in the documentation as the command itself prints them.

A line `<!-- options: COMMAND -->` in a page becomes the help of that command, taken from its
parser when the site is built, so that options are written down once and in one place: the parser.
So do the JSON schema and the presets' meanings, from their files.
"""

from __future__ import annotations

import os
import re

SCHEMA = re.compile(r"^<!-- schema: (count|interval) -->$", re.MULTILINE)
OPTIONS = re.compile(r"^<!-- options: (\S+) -->$", re.MULTILINE)
TABLES = re.compile(r"^<!-- tables -->$", re.MULTILINE)
KEYS = re.compile(r"^<!-- report: keys -->$", re.MULTILINE)
MEANINGS = re.compile(r"^<!-- presets: meanings -->$", re.MULTILINE)
MPI = re.compile(r"^<!-- mpi: (bytes|ids) -->$", re.MULTILINE)
WIDTH = "92"


def command_help(command: str) -> str:
    """Return what `COMMAND -h` prints on a terminal of fixed width, without colour."""
    from gnomon.cli import parser

    had = dict(os.environ)
    os.environ.update(COLUMNS=WIDTH, NO_COLOR="1")
    try:
        return parser(command).format_help().rstrip()
    finally:
        os.environ.clear()
        os.environ.update(had)


def schema(name: str) -> str:
    """Return the JSON schema of a whole measurement (`count`) or of an `interval`."""
    from gnomon.measurement import intervals, measurement_json

    file = {"count": measurement_json.SCHEMA, "interval": intervals.SCHEMA}[name]
    return file.read_text(encoding="utf-8").rstrip()


def report_keys() -> str:
    """Return what each key of a report's rows means, part by part, from the parts."""
    from gnomon.capabilities import report_parts

    lines = []
    for part in report_parts():
        lines += [f"**{part.name}**: {part.title}.", "", "| key | type | |", "|---|---|---|"]
        for key in part.keys:
            by = f"; by {', '.join(key.by)}" if key.by else ""
            lines.append(f"| `{key.name}` | {key.type} | {key.text}{by} |")
        lines.append("")
    return "\n".join(lines)


def preset_meanings() -> str:
    """Return a table of what each of PAPI's presets means, from the presets' data."""
    from gnomon.counters.presets import meanings

    rows = (
        f"| `{name}` | {meaning.description} | {meaning.unit} |"
        for name, meaning in meanings().items()
    )
    return "\n".join(("| preset | counts | unit |", "|---|---|---|", *rows))


def model_tables() -> str:
    """Return what each column of the model's tables means, from the schemas."""
    from gnomon.model.tables import ALL_SCHEMAS

    lines = []
    for schema in ALL_SCHEMAS:
        lines += [f"**{schema.name}**: {schema.row}.", "", "| column | type | |", "|---|---|---|"]
        lines += [f"| `{one.name}` | {one.type} | {one.description} |" for one in schema.columns]
        lines.append("")
    return "\n".join(lines)


def mpi_table(name: str) -> str:
    """Return what MPI's routines send and receive (`bytes`), or the `ids` of routines."""
    from gnomon.mpi.byte_rules import markdown
    from gnomon.mpi.trace_ids import routine_ids

    if name == "bytes":
        return markdown()
    rows = (f"| {one.number} | `{one.constant}` | `{one.name}` |" for one in routine_ids())
    return "\n".join(("| number | constant | routine |", "|---|---|---|", *rows))


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the page with every line that asks for something replaced by it."""
    markdown = MEANINGS.sub(lambda _match: preset_meanings(), markdown)
    markdown = KEYS.sub(lambda _match: report_keys(), markdown)
    markdown = MPI.sub(lambda match: mpi_table(match[1]), markdown)
    markdown = TABLES.sub(lambda _match: model_tables(), markdown)
    markdown = SCHEMA.sub(lambda match: f"```json\n{schema(match[1])}\n```", markdown)
    return OPTIONS.sub(lambda match: f"```text\n{command_help(match[1])}\n```", markdown)
