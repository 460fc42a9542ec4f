"""Programs in another root or namespace, of another C library or machine: names, and no word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import GNOMON, run
from sampled import check_shares, opened, samples_with, stacks
from test_record import SHARES, WITHOUT_FRAME_POINTERS

from gnomon.sampling import sampling_observer

Compiled = Callable[..., Path]

RECORD = (GNOMON, "record", "--name", "r", "--")
RUN = (GNOMON, "run", "--samples-rate", "997", "--name", "r", "--")
PYTHON = "/usr/bin/python3"


def run_alone(*command: str | Path) -> None:
    """Fail where a command cannot be run here, with the remedy."""
    tried = run(*command)
    if tried.returncode:
        pytest.fail(f"{command[0]}: {tried.stderr.strip()}: run `make test` as root")


@pytest.fixture(scope="module")
def shares(compiled: Compiled) -> Path:
    """Return a program of known shares."""
    return compiled("gcc", "shares.c", *WITHOUT_FRAME_POINTERS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, shares: Path) -> Path:
    """Return a root with that program, a shell and what they load; Gnomon is not in it."""
    folder = tmp_path_factory.mktemp("root")
    for program in (shares, Path("/bin/sh")):
        (folder / "bin").mkdir(exist_ok=True)
        shutil.copy(program, folder / "bin" / program.name)
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
        for library in re.findall(r"(/\S+) \(0x", listed.stdout):
            own = folder / library.lstrip("/")
            own.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, own)
    run_alone("chroot", folder, "/bin/sh", "-c", "true")
    return folder


@pytest.mark.parametrize("command", [RECORD, RUN], ids=["record", "run"])
@pytest.mark.parametrize(
    "change",
    [("chroot", "{root}"), ("unshare", "--mount", "--pid", "--fork", "--root={root}")],
    ids=["chroot", "namespaces"],
)
def test_a_program_in_another_root(
    command: tuple[str, ...], change: tuple[str, ...], tmp_path: Path, root: Path, shares: Path
) -> None:
    words = [word.format(root=root) for word in change]
    script = f"/bin/{shares.name} 6000; echo $LD_PRELOAD >&2; exit 3"
    done = run(*command, *words, "/bin/sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 3
    # An empty line, and no word of the loader about a library that is not there.
    assert done.stderr.startswith("\n\n"), done.stderr[:200]
    found = opened(tmp_path / "r")
    check_shares(stacks(found), SHARES, least=100)
    paths: dict[str, list[str]] = {}
    for name, path in found.query("SELECT name, path FROM modules"):
        paths.setdefault(name, []).append(path)
    assert paths[shares.name] == [str(root / "bin" / shares.name)]
    # What changes the root mostly has a sample, too, in the library that is outside.
    libraries = paths.get("libc.so.6", [])
    inside = [path for path in libraries if path.startswith(str(root))]
    assert len(inside) == min(len(libraries), 1)
    assert len(libraries) <= 2


def test_a_file_that_only_the_program_sees(
    tmp_path: Path, root: Path, shares: Path, compiled: Compiled
) -> None:
    """Its mount is gone with it, and here another program has its path: no name is that one's."""
    place = tmp_path / "mounted"
    place.mkdir()
    other = compiled("gcc", "shares.c", "-O0", "-pthread")
    shutil.copy(other, place / "program")
    script = (
        f"mount -t tmpfs tmpfs {place} && cp {root}/bin/{shares.name} {place}/program && "
        f"exec {place}/program 6000"
    )
    done = run(*RECORD, "unshare", "--mount", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = opened(tmp_path / "r")
    ((_, build_id),) = found.query("SELECT path, build_id FROM modules WHERE name = 'program'")
    listed = run("readelf", "-n", root / "bin" / shares.name).stdout
    assert f"Build ID: {build_id}" in listed
    ((samples,),) = found.query(
        "SELECT SUM(raw) FROM profile JOIN paths USING (path) JOIN regions r USING (region) "
        "WHERE r.name LIKE 'program+0x%' AND exclusive > 0"
    )
    assert samples > 100
    counted = stacks(found)
    assert not any(samples_with(counted, name) for name in SHARES)


@pytest.mark.parametrize("command", [RECORD, RUN], ids=["record", "run"])
def test_a_user_who_cannot_read_our_library(command: tuple[str, ...], tmp_path: Path) -> None:
    """As where root has installed Gnomon in its home."""
    library = Path(sampling_observer.__file__).with_name("libgnomon_sampling.so")
    mode = library.stat().st_mode
    script = "echo $LD_PRELOAD; id -u"
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    # In a mount of its own: other tests use the library meanwhile.
    hidden = f"cp {library} {tmp_path}/own && chmod 600 {tmp_path}/own && "
    hidden += f'mount --bind {tmp_path}/own {library} && exec "$@"'
    around = ("unshare", "--mount", "sh", "-c", hidden, "sh")
    done = run(*around, *command, *user, "sh", "-c", script, cwd=tmp_path)
    assert library.stat().st_mode == mode
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\n65534\n"
    assert done.stderr.startswith("\nsetpriv"), done.stderr[:200]


@pytest.mark.parametrize(
    "around",
    [
        ("unshare", "--pid", "--fork"),
        ("unshare", "--pid", "--fork", "--mount-proc"),
        ("unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"),
        ("unshare", "--mount", "sh", "-c", 'umount -l /proc; exec "$@"', "sh"),
        ("unshare", "--mount", "sh", "-c", 'mount -o remount,ro,bind /proc; exec "$@"', "sh"),
    ],
    ids=["foreign /proc", "own /proc", "user", "without /proc", "/proc is read only"],
)
@pytest.mark.parametrize("is_inside", [False, True], ids=["program", "gnomon"])
def test_namespaces(around: tuple[str, ...], is_inside: bool, tmp_path: Path, shares: Path) -> None:
    run_alone(*around, "true")
    words = (*around, *RECORD) if is_inside else (*RECORD, *around)
    done = run(*words, shares, "6000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("\n"), done.stderr[:200]
    check_shares(stacks(opened(tmp_path / "r")), SHARES, least=100)


@pytest.mark.parametrize("around", [
    ("unshare", "--pid", "--fork", "--mount-proc"),
    ("unshare", "--mount", "sh", "-c", 'umount -l /proc; exec "$@"', "sh"),
], ids=["own process numbers", "without /proc"])  # fmt: skip
def test_python_in_a_container(around: tuple[str, ...], tmp_path: Path) -> None:
    """With functions of its own or the interpreter's, it does what it does alone."""
    script = "t = 0\nfor n in range(3000000):\n    t ^= n\nprint(t)\nraise SystemExit(5)"
    done = run(*RECORD, *around, PYTHON, "-c", script, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert done.stdout == "0\n"
    assert done.stderr.startswith("\n")
    assert sum(stacks(opened(tmp_path / "r")).values()) > 30


def test_a_program_of_another_c_library(tmp_path: Path, compiled: Compiled) -> None:
    """It cannot be linked with glibc's functions, which our library must do without."""
    program = compiled("musl-gcc", "shares.c", "-O2", "-pthread")
    for command in (RECORD, RUN):
        shutil.rmtree(tmp_path / "r.gnomon", ignore_errors=True)
        done = run(*command, "sh", "-c", f"{program} 6000; exec {program} 10", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("\nsh -c"), done.stderr[:300]
        counted = stacks(opened(tmp_path / "r"))
        assert samples_with(counted, "work") > 100


@pytest.fixture
def program_of_32_bits(compiled: Compiled) -> Path:
    """Return a program that prints its environment, of another kind of machine than Gnomon."""
    if os.uname().machine != "x86_64":
        pytest.skip("programs of 32 bits are those of x86-64")
    flags = ("-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fno-stack-protector")
    program = compiled("gcc", "environment_32.c", *flags)
    if run(program).returncode:
        pytest.skip("the kernel executes no programs of 32 bits")
    return program


@pytest.mark.parametrize(
    "around",
    [
        (),
        ("sh", "-c", '"$@"; exit $?', "sh"),
        (PYTHON, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:], check=True)"),
        (PYTHON, "-c", "import os, sys; os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], "
         "os.environ), 0)"),
        (PYTHON, "-c", "import os, sys; os.execlp(sys.argv[1], *sys.argv[1:])"),
    ],
    ids=["itself", "sh", "subprocess", "posix_spawn", "execlp"],
)  # fmt: skip
def test_a_program_of_another_machine_is_not_told_of_our_library(
    around: tuple[str, ...], tmp_path: Path, program_of_32_bits: Path
) -> None:
    """Its loader would say that it cannot load it."""
    for variables, expected in (
        (("-u", "LD_PRELOAD"), []),
        (("LD_PRELOAD=libm.so.6",), ["libm.so.6"]),
    ):
        shutil.rmtree(tmp_path / "r.gnomon", ignore_errors=True)
        done = run("env", *variables, *RECORD, *around, program_of_32_bits, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        seen = [line for line in done.stdout.splitlines() if line.startswith("LD_PRELOAD=")]
        assert seen == [f"LD_PRELOAD={name}" for name in expected]
