"""Which wrappers a command gets: compiled once, for the MPI that its launcher or program has."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gnomon.mpi import wrapper_cache
from gnomon.mpi.wrapper_build import identity, linked_library, stub_of, wrappers_file
from gnomon.mpi.wrapper_cache import Wrappers, prepare

NONE = Path("/nonexistent")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GNOMON_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gnomon" / "mpi"


def ready(*command: str, in_job: bool = False, **variables: str) -> Wrappers:
    environment = {"PATH": os.environ["PATH"], **variables}
    return prepare(
        command, in_job=in_job, spare_folder=NONE, environment=environment, prebuilt=NONE
    )


def library_of(compiler: str, folder: Path) -> str:
    return linked_library(compiler, folder).identity


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_launcher_has_wrappers_of_its_mpi_compiled_once(
    mpi: str, cache: Path, tmp_path: Path
) -> None:
    first = ready(f"mpirun.{mpi}", "-n", "4", "/bin/true")
    assert first.problem == ""
    (stub,) = first.stubs
    (folder,) = first.folders
    file = wrappers_file(Path(folder), library_of(f"mpicc.{mpi}", tmp_path))
    assert file.exists()
    assert Path(stub) == stub_of(file)
    time = file.stat().st_mtime_ns
    assert ready(f"mpirun.{mpi}", "-n", "4", "/bin/true") == first
    assert file.stat().st_mtime_ns == time
    assert not [entry for entry in cache.iterdir() if entry.name.startswith(".new-")]


@pytest.mark.parametrize("name", ["with a blank", "with:a colon", "read only"])
def test_a_cache_that_cannot_be_used_is_done_without(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GNOMON_CACHE", raising=False)
    if name == "read only":
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))

    def compile_wrappers(_header: object, _parts: object, target: Path, _folder: Path) -> None:
        target.touch()
        stub_of(target).touch()

    monkeypatch.setattr(wrapper_cache, "compile_wrappers", compile_wrappers)
    spare = tmp_path / "spare"
    got = prepare(
        ("mpirun.openmpi", "./app"), in_job=False, spare_folder=spare,
        environment={"PATH": os.environ["PATH"]}, prebuilt=NONE,
    )  # fmt: skip
    assert got.problem == ""
    (stub,) = got.stubs
    assert Path(stub).is_relative_to(spare)
    assert not (tmp_path / name).exists()


def test_another_search_path_is_asked_anew(cache: Path) -> None:
    ready("mpirun.openmpi", "/bin/true")
    notes = len(list(cache.glob("*.json")))
    ready("mpirun.openmpi", "/bin/true", LD_LIBRARY_PATH="/nonexistent")
    assert len(list(cache.glob("*.json"))) == notes + 1


def test_tasks_of_a_job_compile_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Path] = []

    def compile_wrappers(_header: object, _parts: object, target: Path, _folder: Path) -> None:
        compiled.append(target)
        target.touch()

    monkeypatch.setattr(wrapper_cache, "compile_wrappers", compile_wrappers)
    with ThreadPoolExecutor(4) as tasks:
        results = list(tasks.map(lambda _: ready("./app", in_job=True), range(4)))
    assert len(compiled) == 1
    assert len(set(results)) == 1
    assert cache.is_dir()


def test_a_program_says_which_mpi_it_needs(cache: Path, tmp_path: Path) -> None:
    source, program = tmp_path / "a.c", tmp_path / "a"
    source.write_text("#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
    subprocess.run(["mpicc.mpich", "-o", program, source], check=True)
    wrappers = ready(str(program))
    assert wrappers.problem == ""
    (stub,) = wrappers.stubs
    assert Path(stub).name == f"libgnomon_mpi-{library_of('mpicc.mpich', tmp_path)}.stub.so"
    assert cache.is_dir()


def test_a_program_whose_mpi_no_compiler_links(cache: Path, tmp_path: Path) -> None:
    source, library, program = tmp_path / "a.c", tmp_path / "libmpi_other.so", tmp_path / "a"
    source.write_text("int PMPI_Init(void) { return 0; }\n")
    subprocess.run(["cc", "-shared", "-o", library, source], check=True)
    source.write_text("int PMPI_Init(void);\nint main(void) { return PMPI_Init(); }\n")
    subprocess.run(["cc", "-o", program, source, library], check=True)
    wrappers = ready(str(program))
    assert "libmpi_other.so" in wrappers.problem
    assert "MPICC=" in wrappers.problem
    assert wrappers.stubs == ()
    assert cache.is_dir()


def test_what_needs_no_mpi_has_nothing_compiled(cache: Path) -> None:
    assert ready("/bin/true", "mpi") == Wrappers()
    assert not cache.exists()


def test_a_compiler_that_fails_is_named(cache: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "mpicc"
    compiler.write_text("#!/bin/sh\necho 'no licence' >&2\nexit 3\n")
    compiler.chmod(0o755)
    wrappers = ready("srun", "./app", MPICC=str(compiler), PATH="/nonexistent")
    assert str(compiler) in wrappers.problem
    assert "no licence" in wrappers.problem
    assert cache.is_dir()


def test_the_job_of_another_mpi_gets_no_stub_of_this_one(cache: Path) -> None:
    variables = {"MPICC": "mpicc.openmpi", "HYDI_CONTROL_FD": "7"}
    wrappers = ready("python3", in_job=True, **variables)
    assert wrappers.stubs == ()
    assert wrappers.folders
    assert cache.is_dir()


def test_a_library_without_build_id_is_told_by_size_and_time(tmp_path: Path) -> None:
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text("int a;\n")
    subprocess.run(["cc", "-shared", "-Wl,--build-id=none", "-o", library, source], check=True)
    status = library.stat()
    assert identity(str(library)) == f"{status.st_size}-{int(status.st_mtime)}"
