"""One stack from a line of Python through NumPy into a BLAS, with each Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest
from commands import gnomon
from sampled import facts, opened, stacks
from signalled_events import interpreters

from gnomon.store.run import Run

INSTALLED, *OTHERS = interpreters()
REFERENCE_BLAS = sorted(Path("/usr/lib").glob("*/blas/libblas.so.3"))

PROGRAM = """
import numpy

def product(left, right):
    return left @ right

def main():
    left = numpy.ones((300, 300))
    for _ in range({rounds}):
        product(left, left)

main()
"""
# That of its beginning, too: there the interpreter looks for signals.
LINES_OF_PRODUCT = {4, 5}


def recorded(folder: Path, python: str, rounds: int, variables: Mapping[str, str]) -> Run:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(rounds=rounds))
    # Of the program alone: Gnomon has a NumPy of its own.
    words = [f"{name}={value}" for name, value in variables.items()]
    done = gnomon("record", "--name", "r", "--", "env", "OPENBLAS_NUM_THREADS=1", *words, python,
                  program, cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return opened(folder / "r")


def check_product(run: Run, multiply: str, blas: str) -> None:
    """Fail unless most samples are in a BLAS, below the line of Python that asked for it."""
    of_product = {
        stack: n for stack, n in stacks(run).items() if stack[:3] == ("<module>", "main", "product")
    }
    total = sum(of_product.values())
    assert total > 100
    below = sum(n for stack, n in of_product.items() if any(multiply in name for name in stack[3:]))
    assert below > 0.9 * total, sorted(of_product.items(), key=lambda pair: -pair[1])[:5]
    # Between the two stands what NumPy does, and nothing of the interpreter.
    assert not any("_PyEval" in name for stack in of_product for name in stack)
    assert all(len(stack) >= 6 for stack in of_product if any(multiply in name for name in stack))
    modules = {
        module
        for (module,) in run.query(
            f"SELECT DISTINCT module FROM regions WHERE contains(name, '{multiply}')"
        )
    }
    assert any(blas in module for module in modules), modules
    lines = run.query("SELECT DISTINCT line FROM regions WHERE name = 'product'")
    assert max(LINES_OF_PRODUCT) in {line for (line,) in lines} <= LINES_OF_PRODUCT
    said = facts(run)
    assert said["complete"] >= 0.99 * said["stacks"]
    assert said["guessed"] <= 0.01 * said["stacks"]


def numpy_of_pypi(python: str, folder: Path) -> dict[str, str]:
    """Install the NumPy of the tests for another Python, and return what lets it be imported."""
    packages = folder / "packages"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python,
               "install", "-q", "--no-deps", "--only-binary=:all:", "--target", str(packages),
               f"numpy=={version('numpy')}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {"PYTHONPATH": str(packages)}


def test_debians_numpy_and_reference_blas(tmp_path: Path) -> None:
    if not REFERENCE_BLAS:
        pytest.fail("Debian's libblas3 is not installed: run `make setup`")
    # An OpenBLAS that is installed, too, would stand before it.
    variables = {"LD_LIBRARY_PATH": str(REFERENCE_BLAS[0].parent)}
    run = recorded(tmp_path, INSTALLED, 40, variables)
    check_product(run, "dgemm_", "libblas.so.3")


def test_numpys_own_blas(tmp_path: Path) -> None:
    """On every x86-64 the same kernel, in assembly without unwind information."""
    variables = {"OPENBLAS_CORETYPE": "NEHALEM"}
    run = recorded(tmp_path, sys.executable, 300, variables)
    check_product(run, "dgemm_kernel", "openblas")


@pytest.mark.long
@pytest.mark.parametrize("python", OTHERS)
def test_numpys_own_blas_with_other_pythons(python: str, tmp_path: Path) -> None:
    variables = {"OPENBLAS_CORETYPE": "NEHALEM"} | numpy_of_pypi(python, tmp_path)
    run = recorded(tmp_path, python, 300, variables)
    check_product(run, "dgemm_kernel", "openblas")
