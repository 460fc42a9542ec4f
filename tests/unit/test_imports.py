"""Who may import whom: the direction that docs/architecture.md draws, held for every module.

Imports inside functions and under TYPE_CHECKING count too: what a module knows of is what it knows
of, whenever it looks.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "gnomon"
# What capabilities are made of has a module of that name, too.
CAPABILITIES = "capabilities' folders"

# A part imports itself and the parts of the lines above its own; those of one line are strangers.
LAYERS = (
    ("_core",),
    ("named_tuple",),
    ("errors", "installation"),
    ("units",),
    ("terminal_text", "csv_text"),
    ("layout",),  # the former name of terminal_text
    ("model",),
    ("metrics", "symbols"),
    ("counters", "store"),
    ("launch",),
    ("measurement",),
    (CAPABILITIES, "stat", "callgraph", "annotate"),
    ("hpm",),
    ("capabilities",),
    ("view",),
    ("gnomon",),  # the package's own __init__: a face that re-exports
    ("cli",),
    ("__main__",),
)

# The same inside a part: its folders, "." for the modules that stand in none of them. Those of one
# line may know each other.
SUBLAYERS = {
    "cli": (("terminal",), ("lists",), ("classical",), (".",), ("commands",)),
    "hpm": ((".",), ("ranks",)),
    "store": ((".", "viz", "profile_files"), ("reports",), ("comparison",), ("exports",)),
}


def level_of(package: Path, part: str) -> int | None:
    """Return the number of a part's line, None for none; a capability is a folder with such."""
    levels = {part: level for level, parts in enumerate(LAYERS) for part in parts}
    own = (package / part / "capability.py").exists()
    return levels.get(part, levels[CAPABILITIES] if own else None)


def module_name(package: Path, path: Path) -> str:
    """Return the dotted name of a module, e.g. `gnomon.model.value`."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path: Path, module: str) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of everything that a module imports, wherever it does so.

    `from a import b` gives `a.b`, which may be a module or a name; relative imports are resolved;
    `importlib.import_module` and `__import__` are seen where their argument is written out.
    """
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield node.lineno, f"{source}.{alias.name}"
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, resolve_name(str(node.args[0].value), package)


def part_of(package: Path, dotted: str) -> str | None:
    """Return the part of the package that a dotted name belongs to, None for other packages."""
    names = dotted.split(".")
    if names[0] != package.name:
        return None
    if len(names) == 1:
        return package.name
    inside = package / names[1]
    is_module = inside.is_dir() or any(inside.with_suffix(end).exists() for end in (".py", ".pyi"))
    return names[1] if is_module or names[1] == "_core" else package.name


def import_problems(package: Path) -> list[str]:
    problems = []
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        module = module_name(package, path)
        own = part_of(package, module)
        assert own is not None
        level = level_of(package, own)
        if level is None:
            problems.append(f"{module}: '{own}' has no place in LAYERS yet")
            continue
        for line, dotted in imported_names(path, module):
            part = part_of(package, dotted)
            # `from gnomon import __version__`: the package is there before any module of it
            if part in (None, own) or dotted == f"{package.name}.__version__":
                continue
            below = level_of(package, part)
            if below is None or below >= level:
                problems.append(f"{module}:{line}: {own} may not import {dotted}")
    return problems


def folder_problems(package: Path) -> list[str]:
    """The direction between the folders of a part, of those that SUBLAYERS has lines for."""
    problems = []
    for part, layers in SUBLAYERS.items():
        level = {folder: at for at, folders in enumerate(layers) for folder in folders}
        for path in sorted((package / part).rglob("*.py")):
            module = module_name(package, path)
            own = folder_of(package, module)
            if own not in level:
                problems.append(f"{module}: '{own}' has no place in SUBLAYERS yet")
                continue
            for line, dotted in imported_names(path, module):
                if part_of(package, dotted) == part:
                    folder = folder_of(package, dotted)
                    if level.get(folder, len(layers)) > level[own]:
                        problems.append(f"{module}:{line}: {part}/{own} may not import {dotted}")
    return problems


def folder_of(package: Path, dotted: str) -> str:
    """Return the folder of a part that a dotted name belongs to, "." for none."""
    names = dotted.split(".")
    return names[2] if len(names) > 2 and (package / names[1] / names[2]).is_dir() else "."


def model_problems(package: Path) -> list[str]:
    """The model is the vocabulary: the standard library and NumPy, nothing else."""
    allowed = {*sys.stdlib_module_names, "numpy", package.name}
    return [
        f"{module_name(package, path)}:{line}: the model may not import {dotted}"
        for path in sorted((package / "model").rglob("*.py"))
        for line, dotted in imported_names(path, module_name(package, path))
        if dotted.split(".")[0] not in allowed
    ]


def import_cycle(package: Path) -> list[str]:
    """Return modules of which each imports the next, and the last the first; [] if none do."""
    paths = {
        module_name(package, path): path
        for path in package.rglob("*.py*")
        if path.suffix in (".py", ".pyi")
    }
    imports: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = {dotted for _, dotted in imported_names(path, module)}
        # `from a import b`: of the module a.b, or of a name in a.
        found = {name if name in paths else name.rpartition(".")[0] for name in names}
        imports[module] = {name for name in found if name in paths} - {module}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def test_no_modules_import_each_other() -> None:
    assert import_cycle(PACKAGE) == []


def test_every_import_keeps_the_direction() -> None:
    assert import_problems(PACKAGE) == []


def test_folders_of_a_part_keep_their_direction() -> None:
    assert folder_problems(PACKAGE) == []


def test_the_model_needs_only_numpy() -> None:
    assert model_problems(PACKAGE) == []


# --- the checker finds what breaks the rule -------------------------------------------------------


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


LEGAL_TREE = {
    "__init__.py": "__version__ = '1'\n",
    "errors.py": "import sys\n",
    "units.py": "from gnomon.errors import FormatError\n",
    "_core.pyi": "from typing import Any\n",
    "model/__init__.py": "",
    "model/value.py": "import numpy\nfrom gnomon import errors\nfrom . import tables\n",
    "model/tables.py": "from gnomon.model.value import Value\n",
    "metrics/formula.py": "from ..model.value import Value\n",
    "counters/sets.py": "from gnomon import _core, __version__\nfrom gnomon._core import a\n",
    "count/report.py": "from gnomon.counters.sets import EventSet\nfrom .capture import start\n",
    "count/capture.py": "",
    "count/capability.py": "",
    "capabilities.py": "from gnomon import count\n",
    "cli/count.py": "def run():\n    from gnomon.count import capture\n    import gnomon.view\n",
    "view/server.py": "import gnomon.capabilities\n",
    "__main__.py": "from gnomon.cli import main\n",
}


def test_a_legal_tree_is_accepted(tmp_path: Path) -> None:
    package = plant(tmp_path / "gnomon", LEGAL_TREE)
    assert import_problems(package) == []
    assert model_problems(package) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model/value.py", "from gnomon.counters import EventSet"),
        ("model/value.py", "from gnomon import units, counters"),
        ("model/value.py", "import gnomon.counters.sets as sets"),
        ("model/value.py", "from ..counters import sets"),
        ("model/value.py", "from .. import counters"),
        ("model/__init__.py", "from ..cli import main"),
        ("model/value.py", "def late():\n    from gnomon.cli import main"),
        ("model/value.py", "if TYPE_CHECKING:\n    from gnomon.cli import main"),
        ("model/value.py", "try:\n    import gnomon.cli\nexcept ImportError:\n    pass"),
        ("model/value.py", "importlib.import_module('gnomon.cli')"),
        ("model/value.py", "import_module('..cli', __package__)"),
        ("errors.py", "from gnomon.units import parse"),
        ("units.py", "from gnomon import metrics"),
        ("_core.pyi", "from gnomon.metrics import formula"),
        ("counters/sets.py", "import gnomon.store"),
        ("store/run.py", "from gnomon.counters import sets"),
        ("count/report.py", "from gnomon.io import files"),
        ("count/report.py", "from gnomon import capabilities"),
        ("capabilities.py", "import gnomon.view.server"),
        ("view/server.py", "from gnomon.cli import main"),
        ("__init__.py", "from gnomon.cli import main"),
        ("model/value.py", "from gnomon import EventSet"),
        ("novelty/thing.py", ""),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, module: str, source: str) -> None:
    others = {"io/files.py": "", "io/capability.py": "", "store/__init__.py": "", **LEGAL_TREE}
    package = plant(tmp_path / "gnomon", {**others, module: source})
    (problem,) = import_problems(package)
    assert problem.startswith(module_name(package, package / module))


def test_a_folder_that_imports_one_above_it_is_found(tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "cli/commands/run.py": "from gnomon.cli.terminal import streams\n",
        "cli/terminal/streams.py": "",
        "cli/pictures/bars.py": "",
    }
    package = plant(tmp_path / "gnomon", files)
    assert folder_problems(package) == [
        "gnomon.cli.pictures.bars: 'pictures' has no place in SUBLAYERS yet"
    ]
    text = "def late():\n    from gnomon.cli.commands.run import parser\n"
    plant(package, {"cli/terminal/streams.py": text})
    assert folder_problems(package)[1] == (
        "gnomon.cli.terminal.streams:2: cli/terminal may not import gnomon.cli.commands.run.parser"
    )


def test_model_takes_only_numpy_from_outside(tmp_path: Path) -> None:
    package = plant(tmp_path / "gnomon", {"model/tables.py": "import json, numpy, duckdb\n"})
    assert model_problems(package) == ["gnomon.model.tables:1: the model may not import duckdb"]


def test_a_cycle_is_found_wherever_it_is_closed(tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "count/__init__.py": "from gnomon.count.report import render\n",
        "count/report.py": "from gnomon.count import _libhpm\nfrom .capture import start\n",
        "count/capture.py": "",
        "count/_libhpm.pyi": "",
    }
    package = plant(tmp_path / "gnomon", files)
    assert import_cycle(package) == []
    plant(package, {"count/capture.py": "def f():\n    from gnomon.count.report import render\n"})
    assert set(import_cycle(package)) == {"gnomon.count.report", "gnomon.count.capture"}
