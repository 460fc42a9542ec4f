"""Which folder of native/ may include headers of which: the C twin of test_imports.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"

# A folder includes its own headers and those of the folders above its own line here.
LAYERS = (
    "core", "unwind", "tables", "symbols", "profiles", "callgraph", "sampling", "perf_data",
    "runtime", "mio", "call_sites", "mpi", "io", "counters", "hpm", "plugins", "python",
)  # fmt: skip
LEVEL = {folder: level for level, folder in enumerate(LAYERS)}

# Nobody includes anything of these; tests may include everything.
LEAVES = ("emulation", "fortran")

# include/gnomon/: whose interface each header is.
PUBLIC = {
    "record_file.h": "core",
    "clock.h": "core",
    "perf.h": "core",
    "rotate.h": "core",
    "unwind.h": "unwind",
    "rank_data.h": "runtime",
    "recorder.h": "runtime",
    "MIO_user.h": "mio",
    "mpt.h": "mpi",
    "gnomon.h": "counters",
    "f_hpm.h": "hpm",
    "hpm_agg.h": "hpm",
    "hpm_data.h": "hpm",
    "libhpm.h": "hpm",
    "hpm_tree.h": "plugins",
}

# Headers of the same kind that the build writes.
GENERATED = {"mpt_ids.h": "mpi"}

# Aggregators are installed in source: they know the public headers and each other.
INSTALLED = "plugins/shipped"


def included_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of every header that is not the system's."""
    for line, text in enumerate(path.read_text().splitlines(), start=1):
        match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<(gnomon/[^>]+)>)', text)
        if match:
            yield line, match[1] or match[2]


def folder_of(native: Path, path: Path) -> str:
    return path.relative_to(native).parts[0]


def owner_of(native: Path, path: Path, name: str) -> str | None:
    """Return the folder that an included header belongs to, None if there is no such header."""
    beside = path.parent / name
    if beside.exists() and native in beside.resolve().parents:
        return folder_of(native, beside.resolve())
    public = PUBLIC | GENERATED
    if Path(name).name in public and Path(name).parent.name in ("", "gnomon"):
        return public[Path(name).name]
    folders = [folder for folder in LAYERS if (native / folder / name).exists()]
    return folders[0] if folders else None


def include_problems(native: Path) -> list[str]:
    problems = []
    for path in sorted(native.rglob("*.[ch]")):
        own = folder_of(native, path)
        where = path.relative_to(native)
        if own in ("tests", "include"):
            continue
        if own not in (*LAYERS, *LEAVES):
            problems.append(f"{where}: '{own}' has no place in LAYERS yet")
            continue
        for line, name in included_names(path):
            owner = owner_of(native, path, name)
            if owner is None:
                problems.append(f"{where}:{line}: {name} is in no folder of native/")
            elif owner != own and LEVEL[owner] >= LEVEL.get(own, 0):
                problems.append(f"{where}:{line}: {own} may not include {name} of {owner}")
            elif str(where.parent) == INSTALLED and not (
                (path.parent / name).exists() or Path(name).name in PUBLIC
            ):
                problems.append(f"{where}:{line}: {name} is not installed with it")
    return problems


def test_every_include_keeps_the_direction() -> None:
    assert include_problems(NATIVE) == []


def test_every_public_header_has_its_folder() -> None:
    assert {path.name for path in (NATIVE / "include" / "gnomon").iterdir()} == PUBLIC.keys()


@pytest.mark.parametrize(
    ("file", "source", "problem"),
    [
        ("core/a.c", '#include "staging.h"', "core may not include staging.h of runtime"),
        ("runtime/a.c", "#include <gnomon/libhpm.h>", "runtime may not include"),
        ("runtime/a.c", '# include "engine.h"', "runtime may not include engine.h of hpm"),
        ("hpm/a.c", '#include "../plugins/tree.h"', "hpm may not include ../plugins/tree.h"),
        ("counters/a.h", '#include "nothing.h"', "nothing.h is in no folder"),
        ("plugins/shipped/a.c", '#include "tree.h"', "tree.h is not installed with it"),
        ("novelty/a.c", "", "'novelty' has no place"),
    ],
)
def test_a_forbidden_include_is_found(tmp_path: Path, file: str, source: str, problem: str) -> None:
    files = {
        "core/fine.c": '#include <stdio.h>\n#include "gnomon/clock.h"\n',
        "runtime/staging.h": '#include "gnomon/perf.h"\n',
        "hpm/engine.h": '#include "staging.h"\n#include <gnomon/rotate.h>\n',
        "plugins/tree.h": "",
        "plugins/shipped/ranks.h": '#include "hpm_tree.h"\n',
        "plugins/shipped/total.c": '#include "ranks.h"\n',
        "emulation/forks.c": "#include <elf.h>\n",
        "tests/all.c": '#include "../hpm/engine.h"\n#include "what.h"\n',
    }
    for name, text in {**files, file: source}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (found,) = include_problems(tmp_path)
    assert found.startswith(file)
    assert problem in found
