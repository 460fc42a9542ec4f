"""Perf maps that were damaged: what is left of them is read, as a plain reader reads it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from gnomon.symbols import perf_map_frames

# As Node, Java, Python and .NET write them; some functions in the place of others.
MAP = (
    b"7f21c0a01000 1c0 LazyCompile:~main /srv/app.js:10:5\n"
    b"7f21c0a011c0 40 Stub:CEntry_Return1_ArgvOnStack\n"
    b"0x7f21c0a01200 0x2a0 py::solve:/srv/solver.py\n"
    b"7f21c0a01100 80 Lcom/example/Grid;::sweep\n"
    b"7F21C0A01300 20 instance void [System.Private.CoreLib] Main()[Tier0]\n"
    b"00007f21c0a01280 100 \xc3\xa9t\xc3\xa9 na\xc3\xafve <T, U>\n"
    b"ffffffffffffff00 1000 beyond the end\n"
)
EDGES = (b"0", b"f", b"-", b" ", b"\n", b"\r", b"\0", b"0x", b"\xff", b"ffffffffffffffff", b"\t")
ADDRESSES = np.array(
    [0, 0x7F21C0A01000, 0x7F21C0A01123, 0x7F21C0A011FF, 0x7F21C0A01290, 0x7F21C0A01310,
     0x7F21C0A014A0, 2**63, 2**64 - 256, 2**64 - 1],
    np.uint64,
)  # fmt: skip


def mutated(random: Random) -> bytes:
    """Return the map with some bytes changed, put in, taken out, or cut off."""
    content = bytearray(MAP)
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(content) + 1)
        match random.randrange(5):
            case 0:
                content[at : at + 1] = random.randbytes(1)
            case 1:
                content[at:at] = random.choice(EDGES)
            case 2:
                del content[at : at + random.randint(1, 20)]
            case 3:
                end = random.randint(at, len(content))
                content[at:at] = content[end : end + 40]
            case _:
                content[at : at + 1] = random.choice(EDGES)
    return bytes(
        content[: random.randrange(len(content) + 1)] if not random.randrange(8) else content
    )


def number(word: bytes) -> int:
    """Return a hexadecimal number of at most 16 digits, -1 for what is none."""
    digits = word[2:] if word[:2] == b"0x" else word
    plain = digits.lower().strip(b"0123456789abcdef") == b"" and 1 <= len(digits) <= 16
    return int(digits, 16) if plain else -1


def plainly(content: bytes) -> list[str]:
    """Return the names of the addresses, the last line's that holds each."""
    names = [""] * len(ADDRESSES)
    for line in content.split(b"\n"):
        words = line.split(b" ", 2)
        if len(words) < 3 or not words[2]:
            continue
        start, size = number(words[0]), number(words[1])
        if start < 0 or size <= 0:
            continue
        end = min(start + size, 2**64 - 1)
        name = words[2].decode(errors="replace").strip()
        for at, address in enumerate(ADDRESSES.tolist()):
            if start <= address < end:
                names[at] = name
    return names


def read(n: int, seed: int, folder: Path) -> int:
    """Read so many damaged maps and return how many names were in them."""
    random, path, n_names = Random(seed), folder / "perf-1.map", 0
    for _ in range(n):
        content = mutated(random)
        path.write_bytes(content)
        frames = perf_map_frames(path, ADDRESSES)
        names = [frames.at(address)[0].function for address in ADDRESSES.tolist()]
        assert names == plainly(content), content
        n_names += sum(map(bool, names))
    return n_names


def test_the_map_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "perf-1.map"
    path.write_bytes(MAP)
    frames = perf_map_frames(path, ADDRESSES)
    assert [frames.at(address)[0].function for address in ADDRESSES.tolist()] == plainly(MAP)
    assert sum(map(bool, plainly(MAP))) == 6


def test_damaged_files_are_read(tmp_path: Path) -> None:
    # Damage is not all that there is.
    assert read(1000, 11, tmp_path) > 2000


@pytest.mark.long
def test_a_hundred_thousand_damaged_files(tmp_path: Path) -> None:
    read(100_000, 3, tmp_path)
