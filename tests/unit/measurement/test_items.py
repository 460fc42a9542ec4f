"""Items as bytes: what is written is read, and nothing else is."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_items import FILES, a_file, an_event, an_item

from gnomon.errors import FormatError
from gnomon.measurement import item_codec
from gnomon.measurement.item_codec import decoded, encoded
from gnomon.measurement.items import EventInfo, Item, RankFile, Spread

# What the second word is, and places in the head.
ORDER = 0x01020304
BYTE_ORDER, VERSION, SIZE, TASK = 8, 12, 16, 24


def swapped(content: bytes) -> bytes:
    """Return a file without items in the other byte order."""
    order = "<" if content[8:12] == struct.pack("<I", ORDER) else ">"
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
    whole = item_codec.MAGIC + struct.pack("=IIQ", ORDER, 1, size) + body
    content = whole + struct.pack("=I", zlib.crc32(whole) if is_whole else 0)
    try:
        file, _ = decoded(content, "file")
    except FormatError:
        return
    assert encoded(file)


@pytest.mark.parametrize(
    ("at", "word", "problem"),
    [
        (0, b"HPMITEMZ", "these are no HPM items"),
        (BYTE_ORDER, b"abcd", "no byte order is 0x"),
        (VERSION, struct.pack("=I", 2), "version 2; this Gnomon reads version 1"),
        (SIZE, struct.pack("=Q", 3), "a size of 3 bytes"),
        (SIZE, struct.pack("=Q", 1 << 60), "a size of 1152921504606846976 bytes"),
        (TASK, struct.pack("=i", -2), "the task is -2, which is impossible"),
        (24 + 24 + 24, struct.pack("=i", 1 << 30), "the program's name is 1073741824"),
        (24 + 24 + 24, struct.pack("=i", -2), "the program's name is -2, which is impossible"),
        (24 + 24 + 24 + 20, struct.pack("=i", 5), "the number of items is 5, for which there is "),
        (24 + 24 + 24 + 20, struct.pack("=i", -1), "the number of items is -1"),
    ],
)
def test_what_cannot_be_is_named(at: int, word: bytes, problem: str) -> None:
    content = bytearray(encoded(RankFile(())))
    content[at : at + len(word)] = word
    content[-4:] = struct.pack("=I", zlib.crc32(content[:-4]))
    with pytest.raises(FormatError, match=problem) as caught:
        decoded(bytes(content), "file")
    assert at <= caught.value.offset <= at + len(word)


EVENT: dict[str, Any] = an_event()._asdict()
NO_DATA: list[Any] = [
    7, (("name",),), (EventInfo(**EVENT | {"name": 7}),), (EventInfo(**EVENT | {"value": "7"}),),
    (EventInfo(**EVENT | {"how": 1.5}),), (EventInfo(**EVENT | {"spread": (1, 2)}),),
    (EventInfo(**EVENT | {"spread": (4, 0.0, 1.0, 0.5, 0, 1, ("a",))}),),
]  # fmt: skip
ITEM: dict[str, Any] = an_item()._asdict()
NO_ITEMS: list[Any] = [
    7, (None,), *((Item(**ITEM | {"data": data}),) for data in NO_DATA),
    (Item(**ITEM | {"times": ("a",) * 8}),), (Item(**ITEM | {"times_spread": (None,) * 8}),),
]  # fmt: skip


def test_what_is_no_file_is_not_written() -> None:
    for items in NO_ITEMS:
        with pytest.raises((TypeError, AttributeError)):
            encoded(a_file()._replace(items=items))


def test_a_zero_byte_in_a_text_stays_visible() -> None:
    file = decoded(encoded(a_file(command="a\0b")), "file")[0]
    assert file.command == "a\\x00b"


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (a_file(an_item(times=(1.0,))), "times: an item has 8"),
        (a_file(an_item(an_event(how=1 << 40))), "how 1099511627776: it has 32 bits"),
        (a_file(an_item(count=1 << 31)), "count 2147483648: it has 32 bits"),
        (a_file(task=1 << 40), "task 1099511627776: it has 32 bits"),
        (a_file(process=1 << 63), "process 9223372036854775808: it has 64 bits"),
        (a_file(command="x" * (1 << 20 | 1)), "1048577 bytes of a text: at most 1048576 can be"),
        (a_file(an_item(times_spread=(Spread(),))), "spreads of none or all 8"),
    ],
    ids=["times", "how", "count", "task", "process", "text", "spreads"],
)
def test_what_has_no_room_is_not_written(file: RankFile, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        encoded(file)
