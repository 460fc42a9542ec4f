"""What the native tests share: programs that are built once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def print_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the C program that says what names resolve to."""
    folder = tmp_path_factory.mktemp("names")
    options = ["-DGNOMON_PYTHON=OFF", "-DGNOMON_TESTS=ON", "-DCMAKE_BUILD_TYPE=Debug"]
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options],
        ["cmake", "--build", str(folder), "--target", "print_events"],
    ):
        if shutil.which(command[0]) is None:
            pytest.fail("cmake is not installed: run `make setup`, or install the package cmake")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "native" / "tests" / "print_events"
