"""Random operations on files: what comes of them is the same with the I/O library and without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from corpus import FORTIFIED, SOURCES, STRICT, Left, left_in
from module_stacks import STACKS, mio_files

from gnomon.measurement.totals_file import read_totals

LIBRARY = Path(sys.modules["gnomon"].__path__[0]) / "io" / "libgnomon_io.so"
PLAYER = SOURCES / "io_player"
NO_MODULES = ""
MODES = ((), ("ticks",), ("faults",))
STACK = pytest.mark.parametrize("stack", (NO_MODULES, *STACKS), ids=lambda stack: stack or "no modules")


class Played(NamedTuple):
    """What came of a sequence."""

    status: int
    said: str
    left: dict[str, Left]


@pytest.fixture(scope="module")
def players(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the program, and that with sizes checked as `_FORTIFY_SOURCE` does."""
    folder = tmp_path_factory.mktemp("player")
    plain, fortified = folder / "plain", folder / "fortified"
    for program, flags in ((plain, ("-O1",)), (fortified, FORTIFIED)):
        command = ["cc", "-g", *flags, *STRICT, "-Wno-unused-result", "-pthread"]
        subprocess.run([*command, "-o", program, *sorted(PLAYER.glob("*.c"))], check=True)
    return plain, fortified


def play(parent: Path, name: str, *command: str | Path, **more: str) -> Played:
    """Play a sequence in a new folder, with more in the environment."""
    # Names of one length: of paths the program tells how long they are.
    folder = parent / name
    folder.mkdir()
    program, *arguments = command
    done = subprocess.run(
        [program, f"../{name}.log", *arguments],
        cwd=folder,
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return Played(done.returncode, done.stdout, left_in(folder))


def first_difference(parent: Path) -> str:
    """Return where the two logs begin to differ, with what went before; "" where they do not."""
    before: list[str] = []
    with (parent / "plain.log").open() as plain, (parent / "under.log").open() as under:
        for line, other in zip_longest(plain, under, fillvalue="(end)\n"):
            if line != other:
                return "".join([*before[-20:], f"without: {line}", f"with:    {other}"])
            before = [*before[-20:], line]
    return ""


def differences(
    parent: Path, player: Path, seed: int, operations: int, mode: tuple[str, ...], stack: str
) -> Iterator[str]:
    """Play a sequence with and without the library; yield what differs."""
    command = (player, str(seed), str(operations), *mode)
    folder = parent / "run"
    folder.mkdir(parents=True)
    modules = (
        {"MIO_FILES": mio_files(stack), "MIO_STATS": str(parent / "stats")} if stack else {}
    )
    plain = play(parent, "plain", *command)
    under = play(
        parent, "under", *command, LD_PRELOAD=str(LIBRARY), GNOMON_RUN_DIR=str(folder), **modules
    )
    if difference := first_difference(parent):
        yield f"seed {seed} {' '.join(mode)}: {difference}"
    for name, without, with_library in zip(Played._fields, plain, under, strict=True):
        if without != with_library:
            yield f"seed {seed}: {name}: {with_library!r:.300}, not {without!r:.300}"
    # So that it is known that the library was there; killed processes' files open, too.
    calls = sum(int(read_totals(path).sites["calls"].sum()) for path in folder.iterdir())
    if calls < operations / 2:
        yield f"seed {seed}: of {operations} operations the library saw {calls} calls"


def check(
    tmp_path: Path, players: tuple[Path, Path], seeds: range, operations: int, stack: str
) -> None:
    """Fail if a sequence differs; of each the seed says how it is played."""
    for seed in seeds:
        mode = MODES[seed % len(MODES)]
        # A module copies data itself: of an address that is not there it is a signal that tells.
        if stack and mode == ("faults",):
            mode = ()
        parent = tmp_path / str(seed)
        found = list(differences(parent, players[seed // 3 % 2], seed, operations, mode, stack))
        assert found == []
        shutil.rmtree(parent)


@STACK
def test_ten_thousand_operations(tmp_path: Path, players: tuple[Path, Path], stack: str) -> None:
    check(tmp_path, players, range(1, 7), 1700, stack)


@pytest.mark.long
@STACK
def test_a_million_operations(tmp_path: Path, players: tuple[Path, Path], stack: str) -> None:
    check(tmp_path, players, range(1000, 1200), 5000, stack)


def test_a_difference_is_found(tmp_path: Path, players: tuple[Path, Path]) -> None:
    """Two sequences that are not the same one, as if the library had made the other of it."""
    play(tmp_path, "plain", players[0], "1", "300")
    play(tmp_path, "under", players[0], "2", "300")
    assert "without: " in first_difference(tmp_path)
