"""The Python extension under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from building import BUILDS
from libpfm_tables import FORCED

ROOT = Path(__file__).parents[2]
EXERCISES = [
    Path(__file__).parent / f"exercise_{name}.py"
    for name in ("extension", "sections", "callgrind", "callgraph")
]


def run(*command: str | Path, **variables: str) -> str:
    # libpfm4's table of software events is looked for, which a PMU that it is told to take hides.
    environment = {name: value for name, value in os.environ.items() if name != FORCED} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{command[0]} returned {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def test_the_installed_extension_does_what_it_says() -> None:
    for exercise in EXERCISES:
        assert "nothing_leaks ok" in run(sys.executable, exercise)


def test_the_extension_is_clean_under_sanitizers(tmp_path: Path) -> None:
    package = tmp_path / "package"
    run(
        sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check",
        "--no-build-isolation", "--no-deps", "--no-compile", "--target", package,
        f"--config-settings=build-dir={BUILDS / 'extension'}",
        "--config-settings=cmake.define.GNOMON_SANITIZE=ON",
        "--config-settings=cmake.build-type=Debug", ROOT,
    )  # fmt: skip
    libraries = [run("cc", f"-print-file-name=lib{name}.so").strip() for name in ("asan", "ubsan")]
    for exercise in EXERCISES:
        said = run(
            sys.executable, exercise,
            PYTHONPATH=str(package),
            PYTHONMALLOC="malloc",
            LD_PRELOAD=" ".join(libraries),
            # Python itself leaves allocations behind; what ours leaves, nothing_leaks finds.
            ASAN_OPTIONS="detect_leaks=0:abort_on_error=0",
            UBSAN_OPTIONS="print_stacktrace=1",
        )  # fmt: skip
        assert "nothing_leaks ok" in said
