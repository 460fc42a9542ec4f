"""The JSON documents that `gnomon count` wrote in a machine, held against their schema here.

No machine has jsonschema: parts of it would have to be compiled for each.
"""

from __future__ import annotations

import json
from pathlib import Path

from guest.image import HERE

_SCHEMA = HERE.parents[1] / "src" / "gnomon" / "measurement" / "count.schema.json"


def problems(folder: Path, schema: Path = _SCHEMA) -> list[str]:
    """Return what is wrong with the documents of a folder, and if there are none."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    validator = Draft202012Validator(json.loads(schema.read_text()))
    files = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    if not files:
        return ["gnomon count wrote no JSON document"]
    return [
        f"{file.name}: {error.json_path}: {error.message}"
        for file in files
        for error in validator.iter_errors(json.loads(file.read_text()))
    ]
