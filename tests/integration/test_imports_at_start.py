"""What `gnomon -h` and `gnomon count` import: each module costs every start its time.

The lists in tests/golden are exact for Gnomon's own modules. GNOMON_UPDATE_GOLDEN=1 writes them
anew; whoever makes them longer has measured what that costs (`make bench`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from commands import GNOMON, run

GOLDEN = Path(__file__).parents[1] / "golden"
HEAVY = {
    "numpy", "duckdb", "rich", "pyarrow", "shtab", "pandas", "subprocess", "asyncio", "inspect",
    "dataclasses", "logging", "multiprocessing", "concurrent.futures", "unittest", "socket", "ssl",
    "http", "email", "ctypes", "sqlite3", "difflib", "pdb", "platform", "random", "tempfile",
    "typing",
}  # fmt: skip
# The default set has events of these components besides.
COMPONENTS = {
    "gnomon.counters.components.cpu", "gnomon.counters.components.io",
    "gnomon.counters.gauge_sampler",
    "gnomon.counters.snapshot_counters", "gnomon.counters.snapshot_component",
}  # fmt: skip


def imported(*arguments: str) -> set[str]:
    """Return the modules that a start of gnomon imports, as Python itself tells them."""
    done = run(sys.executable, "-X", "importtime", GNOMON, *arguments)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines} - {"imported package"}


def own(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.partition(".")[0] == "gnomon")


@pytest.mark.parametrize(
    ("golden", "arguments"),
    [
        ("imports_help.txt", ("-h",)),
        ("imports_count.txt", ("count", "-e", "page-faults", "--", "true")),
    ],
)
def test_own_modules_are_those_of_the_list(golden: str, arguments: tuple[str, ...]) -> None:
    found = "".join(f"{name}\n" for name in own(imported(*arguments)))
    file = GOLDEN / golden
    if os.environ.get("GNOMON_UPDATE_GOLDEN"):
        file.write_text(found)
    assert found == file.read_text(), "if meant: GNOMON_UPDATE_GOLDEN=1, and read the difference"


def test_default_set_imports_its_components_besides() -> None:
    listed = set((GOLDEN / "imports_count.txt").read_text().split())
    found = set(own(imported("count", "--", "true")))
    assert found >= listed
    assert found - listed <= COMPONENTS


@pytest.mark.parametrize(
    "arguments", [("-h",), ("--version",), ("count", "--", "true"),
                  ("count", "--json", "-e", "page-faults", "--", "true")], ids=" ".join,
)  # fmt: skip
def test_heavy_modules_are_not_imported(arguments: tuple[str, ...]) -> None:
    found = imported(*arguments)
    assert "gnomon.cli.main" in found
    assert found & HEAVY == set()


def test_a_plain_count_does_without_what_costs_milliseconds() -> None:
    found = imported("count", "--", "true")
    assert {"pathlib", "textwrap", "shlex", "locale", "weakref", "json"} & found == set()


def test_presets_cost_no_reading_of_toml() -> None:
    found = imported("count", "-e", "PAPI_TOT_INS,PAPI_DP_OPS", "--", "true")
    assert "gnomon.counters.preset_resolver" in found
    assert not any(name.startswith("gnomon.counters.presets") for name in found)
    assert "tomllib" not in found


def test_help_does_without_the_parser() -> None:
    assert {"argparse", "json"} & imported("-h") == set()


def test_help_does_without_the_extension() -> None:
    """Where it cannot be loaded, the list of commands can be read, and doctor tried."""
    code = (
        "import sys; sys.modules['gnomon._core'] = None; from gnomon.cli import main; main(['-h'])"
    )
    assert "explore this machine" in run(sys.executable, "-c", code).stdout


def test_heavy_modules_would_be_seen() -> None:
    """The list above can fail: an option that is none is compared with those there are."""
    start = (sys.executable, "-X", "importtime", GNOMON)
    assert "difflib" in run(*start, "count", "--jsn", "--", "true").stderr
