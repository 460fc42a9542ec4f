"""What is public: names that packages export, and symbols of the static library."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import gnomon

GOLDEN_NAMES = Path(__file__).parents[1] / "golden" / "exported_names.txt"
PACKAGES = [
    "gnomon",
    *(m.name for m in pkgutil.walk_packages(gnomon.__path__, "gnomon.") if m.ispkg),
]
FACES = ("gnomon", "gnomon.errors", "gnomon.model.value", "gnomon.counters", "gnomon.hpm")


def public_names(module: ModuleType) -> list[str]:
    """Return a module's `__all__`; without one, the public names defined in it."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    )


def test_exported_names_are_the_golden_ones() -> None:
    names = "".join(
        f"{face}.{name}\n" for face in FACES for name in public_names(importlib.import_module(face))
    )
    if os.environ.get("GNOMON_UPDATE_GOLDEN"):
        GOLDEN_NAMES.write_text(names)
    assert names == GOLDEN_NAMES.read_text(), (
        "public names have changed: if that is meant, say so in CHANGELOG.md and run "
        "GNOMON_UPDATE_GOLDEN=1 make test ARGS='tests/unit/test_public_names.py'"
    )


# Former names of modules that docs/ or examples/ have imported: (below gnomon, its present name).
FORMER_MODULES = (
    ("counters.resolve", "counters.event_resolver"),
    ("layout", "terminal_text"),
    ("model.collected", "model.capability_result"),
    ("store.analyse", "store.profile_query"),
    ("store.rundir", "store.run_directory"),
)


@pytest.mark.parametrize(("former", "present"), FORMER_MODULES)
def test_former_modules_are_the_present_ones(former: str, present: str) -> None:
    old, new = (importlib.import_module(f"gnomon.{name}") for name in (former, present))
    assert all(getattr(old, name) is getattr(new, name) for name in old.__all__)


# Former names of classes that docs/ or examples/ have imported: (module, former, present).
FORMER_CLASSES = (
    ("counters.component", "Added", "AddResult"),
    ("counters.component", "Counting", "CounterSession"),
    ("counters.component", "Growing", "ExtendableSession"),
    ("counters.component", "Opened", "OpenResult"),
    ("counters.component", "Resettable", "ResettableSession"),
    ("counters.event_resolver", "Resolved", "EventResolution"),
)


@pytest.mark.parametrize(("module", "former", "present"), FORMER_CLASSES)
def test_former_classes_are_the_present_ones(module: str, former: str, present: str) -> None:
    owner = importlib.import_module(f"gnomon.{module}")
    assert getattr(owner, former) is getattr(owner, present)


def test_sections_have_the_classical_names() -> None:
    from gnomon import hpm
    from gnomon.sections import _libhpm, api

    for name in set(hpm.__all__) - {"hpm_error_count"}:
        owner = api if hasattr(api, name) else _libhpm
        assert getattr(hpm, name) is getattr(owner, name), name


def test_schemas_of_documents_lie_where_they_were_documented() -> None:
    package = Path(gnomon.__path__[0])
    for name in ("count.schema.json", "interval.schema.json"):
        former, present = (package / folder / name for folder in ("hpm", "measurement"))
        assert former.read_bytes() == present.read_bytes()


@pytest.mark.parametrize("package", PACKAGES)
def test_all_lists_names_that_exist(package: str) -> None:
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", ())
    assert len(set(listed)) == len(listed)
    assert [name for name in listed if not hasattr(module, name)] == []


@pytest.mark.parametrize("library", ["libgnomon-core.a", "libgnomon-runtime.a"])
def test_symbols_of_static_libraries_are_prefixed(library: str) -> None:
    """What a static library exports begins with gn_, so that it fits into any program."""
    archive = Path(gnomon.__path__[0]) / "lib"
    symbols = subprocess.run(
        ["nm", "-g", "--defined-only", "-P", archive / library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = {line.split()[0] for line in symbols.splitlines() if len(line.split()) > 1}
    assert names
    assert {name for name in names if not name.startswith("gn_")} == set()
