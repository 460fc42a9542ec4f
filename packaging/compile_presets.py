"""Write the presets' TOML files as Python modules; the build calls it.

    compile_presets.py OUT DATA

Looking one preset up in TOML costs a start of `gnomon count` 15 ms, in bytecode 1 ms. OUT becomes a
package: `index` with the families, their PMUs and the meanings, and a module for each family.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from pprint import pformat
from typing import Any


def main(out: str, data: str) -> None:
    """Write package `out` from the files of folder `data`."""
    files = {
        path.stem: tomllib.loads(path.read_text("utf-8")) for path in Path(data).glob("*.toml")
    }
    meanings = files.pop("meanings")
    Path(out).mkdir(exist_ok=True)
    _write(
        Path(out) / "index.py",
        NAMES=(*sorted(files.keys() - {"generic"}), "generic"),
        BY_PMU={pmu: name for name, file in sorted(files.items()) for pmu in file.get("pmus", ())},
        MEANINGS={
            name: (fields["description"], fields.get("unit", ""))
            for name, fields in sorted(meanings.items())
        },
    )
    for name, file in files.items():
        base = _own(files[file["extends"]]) if "extends" in file else {}
        presets = base | _own(file)
        _write(Path(out) / f"{name}.py", PMUS=tuple(file.get("pmus", ())), PRESETS=presets)
    (Path(out) / "__init__.py").write_text('"""Made by packaging/compile_presets.py."""\n', "utf-8")


def _own(file: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a file says of each preset: its fields, or why it has none."""
    found: dict[str, dict[str, Any]] = {}
    for name, fields in file.get("preset", {}).items():
        found[name] = {**fields, "source": file.get("source", "")}
    for name, reason in file.get("absent", {}).items():
        found[name] = {"reason": reason, "source": file.get("source", "")}
    return found


def _write(path: Path, **constants: object) -> None:
    lines = [f'"""Made by packaging/compile_presets.py from {path.stem}; do not edit."""\n']
    lines += [f"{key} = {pformat(value, width=100)}" for key, value in constants.items()]
    path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
