"""Basic blocks and arrows of jumps: what any instructions give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.annotate.arrow_text import arrow_texts
from gnomon.annotate.jumps import ARROWS_MOST, arrows, blocks
from gnomon.symbols.disassembly import CALL, JUMP, RETURN, Instruction

MOST = 30
KINDS = st.tuples(
    st.sampled_from(("", "", JUMP, JUMP, CALL, RETURN)), st.booleans(), st.integers(-5, MOST + 5)
)


def code_of(kinds: list[tuple[str, bool, int]]) -> list[Instruction]:
    """Return instructions of two bytes, whose targets are positions."""
    return [
        Instruction(2 * at, b"\0\0", "do", "", kind, is_conditional, 2 * to if kind else None)
        for at, (kind, is_conditional, to) in enumerate(kinds)
    ]


CODE = st.lists(KINDS, max_size=MOST).map(code_of)


@given(CODE)
@examples(200)
def test_arrows_are_the_jumps_within_the_code(code: list[Instruction]) -> None:
    drawn = {(source, arrow.target) for arrow in arrows(code) for source in arrow.sources}
    assert drawn == {
        (at, one.target // 2)
        for at, one in enumerate(code)
        if one.kind == JUMP and one.target is not None and 0 <= one.target < 2 * len(code)
    }
    assert len({arrow.target for arrow in arrows(code)}) == len(arrows(code))


@given(CODE)
@examples(200)
def test_lanes_are_apart_and_nested(code: list[Instruction]) -> None:
    found = arrows(code)
    for one in found:
        for other in found:
            if one is other:
                continue
            if one.lane == other.lane:
                assert one.last < other.first or other.last < one.first
            is_inner = other.first <= one.first and one.last <= other.last
            if is_inner and (one.first, one.last) != (other.first, other.last):
                assert one.lane < other.lane
    # Nobody is further left than there are lines to be left of.
    for one in found:
        if one.lane:
            assert any(
                other.lane == one.lane - 1 and other.last >= one.first and other.first <= one.last
                for other in found
            ) or any(other.first >= one.first and other.last <= one.last for other in found)


@given(CODE)
@examples(200)
def test_blocks_are_entered_first_and_left_last(code: list[Instruction]) -> None:
    numbers = blocks(code)
    targets = {one.target for one in code if one.kind == JUMP}
    for at, (one, number) in enumerate(zip(code, numbers, strict=True)):
        if at and one.address in targets:
            assert numbers[at - 1] != number
        if one.kind in (JUMP, RETURN) and at + 1 < len(code):
            assert numbers[at + 1] != number
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(len(set(numbers))))
    # No more blocks than that: each but the first begins at a target or behind a branch.
    for at in range(1, len(code)):
        if numbers[at] != numbers[at - 1]:
            assert code[at].address in targets or code[at - 1].kind in (JUMP, RETURN)


@given(CODE)
@examples(100)
def test_texts_have_an_end_for_each_jump_and_target(code: list[Instruction]) -> None:
    found = arrows(code)
    texts = arrow_texts(found, len(code), most=MOST)
    assert len(texts) == len(code)
    assert len({len(text) for text in texts}) <= 1
    heads = {at for at, text in enumerate(texts) if text.endswith("▶")}
    assert heads == {arrow.target for arrow in found}
    tails = {at for at, text in enumerate(texts) if text.endswith("─")}
    assert tails == {at for arrow in found for at in arrow.sources} - heads


def test_a_loop_in_a_loop_is_drawn_inside() -> None:
    code = code_of([("", True, 0)] * 2 + [(JUMP, True, 1), (JUMP, True, 0), ("", True, 0)])
    assert arrow_texts(arrows(code), len(code)) == ["┌─▶", "│┌▶", "│└─", "└──", "   "]


def test_too_many_targets_are_not_drawn() -> None:
    n = ARROWS_MOST + 1
    assert arrows(code_of([(JUMP, True, at) for at in range(n)])) == []
    assert len(arrows(code_of([(JUMP, True, at) for at in range(100)]))) == 100
