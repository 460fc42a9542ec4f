"""Items as bytes: what is written is read, and nothing else is."""

from __future__ import annotations

import struct
import subprocess
import zlib
from math import nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_items import FILES, a_file, an_event, an_item

import gnomon
from gnomon.errors import FormatError
from gnomon.hpm.ranks import codec
from gnomon.hpm.ranks.codec import decoded, encoded
from gnomon.hpm.ranks.items import RankFile, Spread

# Places in the head.
BYTE_ORDER, VERSION, SIZE, TASK = 8, 12, 16, 24


def swapped(content: bytes) -> bytes:
    """Return a file without items in the other byte order."""
    order = "<" if content[8:12] == struct.pack("<I", codec.BYTE_ORDER) else ">"
    other = "><"["<>".index(order)]
    kinds = "IIQ" + "iiqii" + "ddd" + "i" * 5 + "i"
    words = struct.unpack(order + kinds, content[8:-4])
    whole = content[:8] + struct.pack(other + kinds, *words)
    return whole + struct.pack(other + "I", zlib.crc32(whole))


@given(FILES)
def test_what_is_written_is_read(file: RankFile) -> None:
    content = encoded(file)
    read, end = decoded(content, "file")
    assert end == len(content)
    # NaN equals nothing; as bytes everything does.
    assert repr(read) == repr(file)
    assert encoded(read) == content


@given(FILES, FILES)
def test_one_after_the_other(one: RankFile, other: RankFile) -> None:
    content = encoded(one) + encoded(other)
    first, at = decoded(content, "file")
    second, end = decoded(content, "file", at)
    assert (repr(first), repr(second), end) == (repr(one), repr(other), len(content))


def test_the_other_byte_order() -> None:
    file = RankFile((), task=3, size=258, process=77, exit_status=1, signal=9, started=1.5,
                    stopped=2.5, wall_s=1.0)  # fmt: skip
    content = encoded(file)
    assert swapped(content)[8:12] != content[8:12]
    assert decoded(swapped(content), "file")[0] == file


@given(FILES, st.data())
def test_cut_off_anywhere(file: RankFile, data: st.DataObject) -> None:
    content = encoded(file)
    length = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(FormatError) as caught:
        decoded(content[:length], "ranks/4.hpmitems")
    assert str(caught.value).startswith("ranks/4.hpmitems: at byte ")
    assert 0 <= caught.value.offset <= length


@given(FILES, st.data())
def test_any_damage_is_found(file: RankFile, data: st.DataObject) -> None:
    content = bytearray(encoded(file))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(FormatError):
        decoded(bytes(content), "file")


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_behind_a_right_head(body: bytes, is_whole: bool) -> None:
    """Numbers of items and lengths of texts that cannot be cost neither memory nor a crash."""
    size = 24 + len(body) + 4
    whole = codec.MAGIC + struct.pack("=IIQ", codec.BYTE_ORDER, codec.VERSION, size) + body
    content = whole + struct.pack("=I", zlib.crc32(whole) if is_whole else 0)
    try:
        file, _ = decoded(content, "file")
    except FormatError:
        return
    assert encoded(file)


@pytest.mark.parametrize(
    ("at", "word", "problem"),
    [
        (0, b"HPMITEMZ", "does not begin with HPMITEMS"),
        (BYTE_ORDER, b"abcd", "byte order"),
        (VERSION, struct.pack("=I", 2), "version 2"),
        (SIZE, struct.pack("=Q", 3), "3 bytes"),
        (SIZE, struct.pack("=Q", 1 << 60), "at most"),
        (24 + 24 + 24, struct.pack("=i", 1 << 30), "a text of"),
        (24 + 24 + 24, struct.pack("=i", -2), "a text of -2 bytes"),
        (24 + 24 + 24 + 20, struct.pack("=i", 5), "5 items: the rest has no room"),
        (24 + 24 + 24 + 20, struct.pack("=i", -1), "-1 items"),
    ],
)
def test_what_cannot_be_is_named(at: int, word: bytes, problem: str) -> None:
    content = bytearray(encoded(RankFile(())))
    content[at : at + len(word)] = word
    with pytest.raises(FormatError, match=problem) as caught:
        decoded(bytes(content), "file")
    assert at <= caught.value.offset <= at + len(word)


def test_a_zero_byte_in_a_text_stays_visible() -> None:
    file = decoded(encoded(a_file(command="a\0b")), "file")[0]
    assert file.command == "a\\x00b"


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (a_file(an_item(times=(1.0,))), "times: an item has 8"),
        (a_file(an_item(an_event(how=1 << 40))), "numbers"),
        (a_file(an_item(count=1 << 31)), "numbers"),
        (a_file(task=1 << 40), "task 1099511627776"),
        (a_file(command="x" * (codec.STRING_MAX + 1)), "bytes of a text: at most"),
    ],
    ids=["times", "how", "count", "task", "text"],
)
def test_what_has_no_room_is_not_written(file: RankFile, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        encoded(file)


SPREAD = Spread(4, 1.5, 2.5e300, nan, 0, 3, (2, 0, 2**40))
WRITTEN = {
    "empty": RankFile(()),
    "one": a_file(),
    "aggregated": a_file(
        an_item(an_event("ru_utime"), is_rusage=True, description="über\nzwei Zeilen"),
        an_item(
            an_event("a \udcff", -0.0, spread=SPREAD, reason="<&>\t", how=5, modes=7, flags=3),
            an_event("b", nan, how=-1, enabled_s=1e-300),
            times_spread=(SPREAD,) * 8, n_tasks=4, tasks="0-2,40", is_mplex_cont=True, line=7,
            is_exclusive=True, parent_label="p", parent_id=2, thread_id=5, file="f.c",
        ),
        notes="one\ntwo", exit_status=3, process=2**31 - 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_c_reads_what_python_writes_and_writes_the_same(name: str) -> None:
    """The plug-in that gives back what it gets, in the host of plug-ins in C."""
    content = encoded(WRITTEN[name])
    host = Path(gnomon.__path__[0]) / "lib" / "hpm-plugin-host"
    done = subprocess.run([host, "aggregate", "mirror"], input=content, capture_output=True,
                          check=False, env={})  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"\1" + content
