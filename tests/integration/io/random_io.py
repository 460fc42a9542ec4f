"""Random operations on files: what comes of them is the same with the I/O library and without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from corpus import FORTIFIED, SOURCES, STRICT, Left, left_in
from module_stacks import mio_files

from gnomon.measurement.totals_file import read_totals

LIBRARY = Path(sys.modules["gnomon"].__path__[0]) / "io" / "libgnomon_io.so"
PLAYER = SOURCES / "io_player"
NO_MODULES = ""
HANGS_SECONDS = 300
MODES: tuple[tuple[str, ...], ...] = ((), ("ticks",), ("faults",))


class Played(NamedTuple):
    """What came of a sequence."""

    status: int
    said: str
    left: dict[str, Left]


def build_players(folder: Path) -> tuple[Path, Path]:
    """Return the program, and that with sizes checked as `_FORTIFY_SOURCE` does."""
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
        timeout=HANGS_SECONDS,
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
    parent: Path, player: Path, seed: int, operations: int, mode: Sequence[str], **loads: str
) -> Iterator[str]:
    """Play a sequence with and without the library, by these variables; yield what differs."""
    command: tuple[str | Path, ...] = (player, str(seed), str(operations), *mode)
    folder = parent / "run"
    folder.mkdir(parents=True)
    plain = play(parent, "plain", *command)
    variables = {"GNOMON_RUN_DIR": str(folder), "MIO_STATS": str(parent / "stats"), **loads}
    under = play(parent, "under", *command, **variables)
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
    tmp_path: Path,
    players: tuple[Path, Path],
    seeds: range,
    operations: int,
    words: Sequence[str] = (),
    **loads: str,
) -> None:
    """Fail if a sequence differs; the seed, and further words, say how one is played."""
    for seed in seeds:
        mode = (*MODES[seed % len(MODES)], *words)
        # A module copies data itself, and an address that is not there is told by a signal; what
        # one holds that writes behind is lost with SIGKILL.
        if "MIO_FILES" in loads:
            mode = (*(word for word in mode if word != "faults"), "unkilled")
        parent = tmp_path / str(seed)
        player = players[seed // 3 % 2]
        if found := list(differences(parent, player, seed, operations, mode, **loads)):
            pytest.fail("\n".join(found))
        shutil.rmtree(parent)


def loads_of(stack: str) -> dict[str, str]:
    """Return the variables by which a program has the library, with a stack of modules."""
    loads = {"LD_PRELOAD": str(LIBRARY)}
    return loads | {"MIO_FILES": mio_files(stack)} if stack else loads
