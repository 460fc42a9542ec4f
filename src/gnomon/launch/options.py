"""Options of capabilities: what each takes, and the values of the words that were typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gnomon.errors import UsageError


class Option(NamedTuple):
    """An option of a capability: `--CAPABILITY-NAME VALUE` of `gnomon run`.

    Attributes:
        name: without the capability's, e.g. "rate" for `--toy-rate`.
        help: what it does, for the help.
        metavar: what its value is called there; "" for a switch without a value.
        convert: makes the value of the word that was typed; raises ValueError, which says why.
        default: the value where it is not given.
        many: it may be given several times; its value is a tuple of all.
    """

    name: str
    help: str
    metavar: str = ""
    convert: Callable[[str], object] = str
    default: object = None
    many: bool = False


def option_values(
    prefix: str, options: Iterable[Option], typed: Mapping[str, Any]
) -> dict[str, object]:
    """Return the values of options by name: of a switch a bool, of one with `many` a tuple.

    Args:
        prefix: what stands before their names on the command line, for messages.
        options: all there are.
        typed: the word of each that was given, the words of one with `many`.

    Raises:
        UsageError: a word is no value.
    """

    def value(option: Option, word: str) -> object:
        try:
            return option.convert(word)
        except ValueError as error:
            raise UsageError(f"{prefix}{option.name} {word}: {error}") from None

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
