"""`gnomon.named_tuple.NamedTuple` beside that of `typing`."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from gnomon import named_tuple

T = TypeVar("T")


class Place(named_tuple.NamedTuple):
    """Where something is."""

    name: str
    line: int = 7
    more: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the place as messages give it."""
        return f"{self.name}:{self.line}"

    def __str__(self) -> str:
        return self.text


class Theirs(typing.NamedTuple):
    """Where something is."""

    name: str
    line: int = 7
    more: tuple[str, ...] = ()


class Pair(named_tuple.NamedTuple, Generic[T]):
    """Two of a kind."""

    first: T
    second: T


class Nothing(named_tuple.NamedTuple):
    """A tuple without fields."""


class Special(Place):
    """A class of its own below a named tuple, with a dictionary."""


def test_it_is_made_as_that_of_typing() -> None:
    makers: list[Callable[[Any], Any]] = [
        lambda kind: kind("a.c"),
        lambda kind: kind("a.c", 3),
        lambda kind: kind("a.c", 3, ("x",)),
        lambda kind: kind(line=3, name="a.c"),
        lambda kind: kind("a.c", more=("x",)),
        lambda kind: kind(*("a.c",), line=9),
        lambda kind: kind._make(["a.c", 1, ()]),
        lambda kind: kind("a.c")._replace(line=12, more=None),
    ]
    for make in makers:
        ours, theirs = make(Place), make(Theirs)
        assert tuple(ours) == theirs == ours
        assert hash(ours) == hash(theirs)
        assert ours._asdict() == theirs._asdict()
        assert repr(ours).removeprefix("Place") == repr(theirs).removeprefix("Theirs")
        assert (ours.name, ours.line, ours.more) == (theirs.name, theirs.line, theirs.more)
    assert Place._fields == Theirs._fields
    assert Place._field_defaults == Theirs._field_defaults
    assert Place.__match_args__ == Theirs.__match_args__
    assert typing.get_type_hints(Place) == typing.get_type_hints(Theirs)
    assert Place.__doc__ == Theirs.__doc__
    assert Nothing() == ()


def test_what_does_not_fit_is_refused() -> None:
    wrong: list[Callable[[Any], Any]] = [
        lambda kind: kind(),
        lambda kind: kind("a", 1, (), 4),
        lambda kind: kind("a", name="b"),
        lambda kind: kind("a", lines=3),
        lambda kind: kind(line=3),
        lambda kind: kind._make([]),
        lambda kind: kind._make(["a", 1, (), 4]),
    ]
    for make in wrong:
        for kind in (Place, Theirs):
            with pytest.raises(TypeError):
                make(kind)
    for kind in (Place, Theirs):
        with pytest.raises(ValueError, match="lines"):
            kind("a")._replace(lines=3)  # type: ignore[call-arg]
        with pytest.raises(AttributeError):
            kind("a").line = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"Place.* missing its argument 'name'"):
        Place()  # type: ignore[call-arg]


def test_it_behaves_as_a_tuple() -> None:
    place = Place("a.c", 3)
    name, line, more = place
    assert (name, line, more, len(place), place[1], place.text, str(place)) == (
        "a.c", 3, (), 3, 3, "a.c:3", "a.c:3"
    )  # fmt: skip
    match place:
        case Place("a.c", matched):
            assert matched == 3
        case _:
            pytest.fail("a pattern of positions does not match")
    assert isinstance(place, tuple)
    assert not hasattr(place, "__dict__")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(place, protocol))
        assert (again, type(again)) == (place, Place)
    assert copy.deepcopy(place) == copy.copy(place) == place
    assert sorted([Place("b"), Place("a", 2), Place("a", 1)])[0] == ("a", 1, ())
    assert Pair[int](1, 2).second == 2
    special = Special("x", 2)
    assert (type(special), special.line, type(special._replace(line=1))) == (Special, 2, Special)


def test_what_is_made_is_freed() -> None:
    values = [object() for _ in range(3)]
    gc.collect()
    counts = [sys.getrefcount(value) for value in values]
    kinds = sys.getrefcount(Place)
    for _ in range(100):
        _make_right_and_wrong(*values)
    gc.collect()
    assert [sys.getrefcount(value) for value in values] == counts
    assert sys.getrefcount(Place) == kinds


def _make_right_and_wrong(first: Any, second: Any, third: Any) -> None:
    Place(first, second, third)
    Place(first, more=third)
    for named in ({"name": first, "no": second}, {"line": second}):
        with pytest.raises(TypeError):
            Place(**named)
