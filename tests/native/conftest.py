"""What the tests of the C libraries share."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _run(*command: str | Path) -> None:
    done = subprocess.run(
        command,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{command[0]} returned {done.returncode}:\n{done.stdout}")


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that `cmake --install` filled."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib"]
    _run("cmake", "-S", ROOT, "-B", folder / "build", "-G", "Ninja", *options)
    _run("cmake", "--build", folder / "build")
    _run("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
    # Nothing may be looked for where it was built.
    (folder / "prefix").rename(folder / "moved")
    shutil.rmtree(folder / "build")
    return folder / "moved"
