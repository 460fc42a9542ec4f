"""The JSON Schema of `gnomon report --json`, made of the keys that parts declare."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gnomon.store.inlined_calls import CHARGED
from gnomon.store.reports.report_part import (
    CODE,
    HOW,
    METRIC,
    TOTAL,
    UNIT,
    VERSION,
    Key,
    ReportPart,
    lists_of,
    objects_of,
)

_NUMBER: dict[str, Any] = {"type": ["number", "null"]}


def schema(parts: Iterable[ReportPart]) -> dict[str, Any]:
    """Return the schema of the documents of parts."""
    rows = [(part, by) for part in parts for by in _distinct(part)]
    lists = {
        name: {
            "description": f"of the part {part.name}, without --by",
            "type": "array",
            "items": _object(keys),
        }
        for part in {part.name: part for part, _ in rows}.values()
        for name, keys in lists_of(part).items()
    }
    objects = {
        name: {"description": f"of the part {part.name}, without --by", **_object(keys)}
        for part in {part.name: part for part, _ in rows}.values()
        for name, keys in objects_of(part).items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A part of a run, as gnomon report --json prints it",
        "type": "object",
        "required": ["schema", "version", "run", "part", "by", "argument", "rows"],
        "properties": {
            "schema": {"const": "gnomon/report"},
            "version": {"const": VERSION},
            "run": {"type": "object", "description": "run.json of the run, as it is"},
            "part": {"enum": list(dict.fromkeys(part.name for part, _ in rows))},
            "by": {"type": ["string", "null"], "description": "null of parts without --by"},
            "argument": {"type": ["string", "null"], "description": "what stood behind the part"},
            "inlined": {
                "enum": [*CHARGED, None],
                "description": "where inlined code is charged; null, if nobody said, for origin",
            },
            "metrics": {
                "description": "each metric of rows that have several",
                "type": "array",
                "items": _object((METRIC, UNIT, HOW, TOTAL)),
            },
            "profile": {
                "description": "of a profile by function, module, file or line: each of them with "
                "the metrics that code has",
                "type": "array",
                "items": _object(CODE),
            },
            "notes": {
                "description": "what is to be known of the rows: why some have no total",
                "type": "array",
                "items": {"type": "string"},
            },
            **lists,
            **objects,
            "rows": {"type": "array"},
        },
        "additionalProperties": False,
        "allOf": [
            {
                "if": {"properties": {"part": {"const": part.name}, **_is_by(by)}},
                "then": {"properties": {"rows": {"items": {"$ref": f"#/$defs/{_name(part, by)}"}}}},
            }
            for part, by in rows
        ],
        "$defs": {
            _name(part, by): _object(
                key for key in part.keys if not key.by or not by or by in key.by
            )
            for part, by in rows
        },
    }


def _distinct(part: ReportPart) -> tuple[str, ...]:
    """Return each `--by` that has keys of its own, ("",) where all have the same."""
    return part.by if any(key.by for key in part.keys) else ("",)


def _is_by(by: str) -> dict[str, Any]:
    return {"by": {"const": by}} if by else {}


def _name(part: ReportPart, by: str) -> str:
    return f"{part.name} by {by}" if by else part.name


def _object(keys: Iterable[Key]) -> dict[str, Any]:
    listed = list(keys)
    return {
        "type": "object",
        "required": [key.name for key in listed],
        "properties": {key.name: {**_type(key), "description": key.text} for key in listed},
        "additionalProperties": False,
    }


def _type(key: Key) -> dict[str, Any]:
    if key.type == "number":
        return _NUMBER
    if key.type == "numbers":
        return {"type": "object", "additionalProperties": _NUMBER}
    if key.type == "rows":
        return {"type": "array", "items": _object(key.rows)}
    return {"type": [key.type, "null"] if key.is_nullable else key.type}
