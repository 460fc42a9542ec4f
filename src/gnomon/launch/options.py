"""Options of capabilities: what each takes, and the values of the words that were typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What Python says of a word that is no number.
_PYTHONS = {
    "invalid literal for int()": "not a whole number",
    "could not convert string to float": "not a number",
}


class Option(NamedTuple):
    """An option of a capability: `--CAPABILITY-NAME VALUE` of `gnomon run`.

    Attributes:
        name: without the capability's, e.g. "rate" for `--toy-rate`.
        help: what it does, for the help.
        metavar: what its value is called there; "" for a switch without a value.
        convert: makes the value of the word that was typed; raises ValueError, which says why:
            `whole_number`, `number`, `share`, `choice`, or a function of the capability's.
        default: the value where it is not given.
        many: it may be given several times; its value is a tuple of all.
    """

    name: str
    help: str
    metavar: str = ""
    convert: Callable[[str], object] = str
    default: object = None
    many: bool = False


def whole_number(
    least: int | None = None, most: int | None = None, beyond: str = ""
) -> Callable[[str], int]:
    """Return a converter of whole numbers from a minimum to a maximum.

    Args:
        least: the minimum, None for none.
        most: the maximum, likewise.
        beyond: what is wrong with a larger one.
    """

    def convert(word: str) -> int:
        value = int(word)
        if least is not None and value < least:
            raise ValueError(f"must be at least {least}")
        if most is not None and value > most:
            raise ValueError(beyond)
        return value

    return convert


def number(least: float | None = None) -> Callable[[str], float]:
    """Return a converter of finite numbers from a minimum on."""

    def convert(word: str) -> float:
        value = float(word)
        if not isfinite(value):
            raise ValueError("not a number")
        if least is not None and value < least:
            raise ValueError(f"must be at least {least:g}")
        return value

    return convert


def share(word: str) -> float:
    """Return a share from 0 to 1, which may be in percent."""
    value = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    if not 0 <= value <= 1:
        raise ValueError("must be from 0 to 1, or from 0% to 100%")
    return value


def choice(*words: str) -> Callable[[str], str]:
    """Return a converter that accepts one of some words."""

    def convert(word: str) -> str:
        if word not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return word

    return convert


def option_values(
    prefix: str, options: Iterable[Option], typed: Mapping[str, Any],
    spelled: Mapping[str, str] | None = None,
) -> dict[str, object]:  # fmt: skip
    """Return the values of options by name: of a switch a bool, of one with `many` a tuple.

    Args:
        prefix: what stands before their names on the command line, for messages.
        options: all there are.
        typed: the word of each that was given, the words of one with `many`.
        spelled: what the command line calls those that are called otherwise.

    Raises:
        UsageError: a word is no value.
    """

    def value(option: Option, word: str) -> object:
        try:
            return option.convert(word)
        except ValueError as error:
            said = str(error)
            reason = next((why for start, why in _PYTHONS.items() if said.startswith(start)), said)
            name = (spelled or {}).get(option.name, f"{prefix}{option.name}")
            raise UsageError(f"{name} {word or repr(word)}: {reason}") from None

    values: dict[str, object] = {}
    for option in options:
        word = typed.get(option.name)
        if not option.metavar:
            values[option.name] = word is not None
        elif option.many:
            values[option.name] = tuple(value(option, each) for each in word or ())
        else:
            values[option.name] = option.default if word is None else value(option, word)
    return values
