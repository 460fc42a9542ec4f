"""What the tests of whole commands need of the machine, and small programs of known work."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import conformance
import pytest
from commands import GNOMON, SAME_LAYOUT, WITHOUT_RIGHTS, perf_program, run
from mpi import MPICH
from mpi_reports import Known
from page_capability import here, written  # noqa: F401
from ranks_program import Programs as RanksPrograms

from gnomon.counters.emulation.valgrind import Valgrind

SOURCES = Path(__file__).parents[1] / "programs"
TRACING = Path("/sys/kernel/tracing/events")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-long` what is run under MPICH but for conformance."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if (
            callspec is not None
            and MPICH in callspec.params.values()
            and f"{item.path.name}::{item.name}" not in conformance.MPICH
        ):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="module")
def busy_cpu() -> Iterator[None]:
    """Keep a CPU busy: the kernel tells CPU time by ticks, and of an idle machine it tells none.

    Rates per CPU second then have no value in an interval of a few ticks. Where other tests keep
    the CPUs busy it takes nothing from them: it has what is idle, and they need not wait for it.
    """
    process = subprocess.Popen(["chrt", "--idle", "0", "sh", "-c", "while :; do :; done"])
    yield
    process.kill()
    process.wait()


@pytest.fixture(scope="session")
def perf() -> str:
    """Return perf; without it nothing could be compared, which is a failure."""
    found = perf_program()
    if found is None:
        pytest.fail("perf is not installed: run `make setup`")
    return found


@pytest.fixture(scope="session")
def tracepoints() -> None:
    """Fail, with the remedy, where tracepoints cannot be counted."""
    try:
        present = (TRACING / "raw_syscalls" / "sys_enter" / "id").exists()
    except OSError as error:
        pytest.fail(f"{TRACING} cannot be read ({error.strerror}): run `make test` as root")
    if not present:
        pytest.fail("tracefs is not mounted: `sudo packaging/setup.sh tracefs` (make test does it)")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from the name of a program of tests/programs to the compiled one."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.fail("there is no C compiler: run `make setup`")
    folder = tmp_path_factory.mktemp("programs")

    def program(name: str) -> Path:
        made = folder / name
        if not made.exists():
            source = SOURCES / f"{name}.c"
            command = [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
            subprocess.run([*command, "-o", made, source], check=True)
        return made

    return program


@pytest.fixture(scope="session")
def same_layout() -> tuple[str, ...]:
    """Return the words before a command that switch the randomisation of addresses off."""
    tried = run(*SAME_LAYOUT, "true")
    if tried.returncode:
        pytest.skip(f"address randomisation cannot be switched off here ({tried.stderr.strip()})")
    return SAME_LAYOUT


@pytest.fixture(scope="session")
def valgrind() -> None:
    """Fail, with the remedy, where Valgrind is not installed."""
    state = Valgrind().availability()
    if not state.available:
        pytest.fail(f"{state.reason}: run `make setup`")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles a source of tests/programs with any compiler."""
    folder = tmp_path_factory.mktemp("compiled")

    def compiled(compiler: str, source: str, *flags: str) -> Path:
        made = folder / "-".join((Path(source).stem, *flags)).replace("/", "_")
        if shutil.which(compiler) is None:
            pytest.fail(f"there is no {compiler}: run `make setup`")
        subprocess.run([compiler, "-g", *flags, "-o", made, SOURCES / source], check=True)
        return made

    return compiled


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return the programs of known work for jobs of several tasks."""
    return Known(tmp_path_factory.mktemp("known"))


@pytest.fixture(scope="session")
def ranks_programs(tmp_path_factory: pytest.TempPathFactory) -> RanksPrograms:
    """Return a program with sections for each MPI."""
    return RanksPrograms(tmp_path_factory.mktemp("ranks"))


@pytest.fixture
def paranoid() -> Iterator[Callable[[int], None]]:
    """Return a function that sets kernel.perf_event_paranoid until the end of the test."""
    if os.geteuid() != 0:
        pytest.fail("kernel.perf_event_paranoid may only be set by root: run `make test` as root")
    tried = run(*WITHOUT_RIGHTS, GNOMON, "--version")
    if tried.returncode:
        pytest.fail(
            f"nothing runs here without capabilities ({tried.stderr.strip()}): install setpriv "
            "(util-linux), and run the tests where files are root's own"
        )
    before = PARANOID.read_text()

    def set_level(level: int) -> None:
        try:
            PARANOID.write_text(f"{level}\n")
        except OSError as error:
            pytest.skip(f"{PARANOID} cannot be written here ({error.strerror}): not in a container")
        assert int(PARANOID.read_text()) == level

    yield set_level
    PARANOID.write_text(before)
