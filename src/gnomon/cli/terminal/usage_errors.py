"""Messages for command lines that argparse cannot parse: what is wrong, and what to type."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

_ParserOf = Callable[[str], argparse.ArgumentParser]
_Rule = Callable[[argparse.ArgumentParser, re.Match[str]], str]
_KINDS = {"int": "a whole number", "float": "a number"}
_SIBLINGS = ("count", "run", "stat", "report", "view", "compare", "export", "runs")
_LEADING_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def explain(
    parser: argparse.ArgumentParser, message: str, words: Sequence[str], parser_of: _ParserOf
) -> str:
    """Return a line for a command line that is wrong: the thing, the cause and the remedy.

    Args:
        parser: the parser that refused it.
        message: what argparse says of it.
        words: the command line.
        parser_of: returns the parser of another command.
    """
    name = words[0].partition("=")[0] if words else ""
    if name.startswith("-") and name not in _options(parser) and any(_subparsers(parser)):
        return _unknown(parser, name, parser_of)  # argparse takes its value for the action
    unrecognized = re.fullmatch(r"unrecognized arguments: (.*)", message, re.DOTALL)
    if unrecognized:
        return _unrecognized(parser, unrecognized[1].split(" "), parser_of)
    for pattern, rule in _RULES:
        match = re.fullmatch(pattern, message, re.DOTALL)
        if match:
            return rule(parser, match)
    return f"{message}; see {parser.prog} --help"


def _unrecognized(
    parser: argparse.ArgumentParser, words: Sequence[str], parser_of: _ParserOf
) -> str:
    option = next((word for word in words if word.startswith("-")), words[0])
    name = option.partition("=")[0]
    if not name.startswith("-"):
        return f"'{name}': unexpected; see {parser.prog} --help"
    return _unknown(parser, name, parser_of)


def _unknown(parser: argparse.ArgumentParser, name: str, parser_of: _ParserOf) -> str:
    close = _nearest(name, _options(parser))
    if close:
        return f"{name}: no such option; did you mean {_told_of(parser, close)}?"
    for action, sub in _subparsers(parser):
        if name in _options(sub):
            where = f"{parser.prog} {action}"
            return f"{name}: an option of {where}; type {where} {_usage(sub, name)}"
    where = _sibling(parser, name, parser_of)
    return f"{name}: {parser.prog} has no such option; {where}see {parser.prog} --help"


def _sibling(parser: argparse.ArgumentParser, name: str, parser_of: _ParserOf) -> str:
    """Return which other command has an option, "" for none."""
    for command in _SIBLINGS:
        other = parser_of(command)
        if other.prog != parser.prog and name in _options(other, hidden=False):
            return f"{other.prog} has: {other.prog} {_usage(other, name)}; or "
    return ""


def _no_value(parser: argparse.ArgumentParser, match: re.Match[str]) -> str:
    name, action = _action(parser, match[1])
    return f"{name}: its value is missing; type {_usage_of(action, name)}"


def _surplus_value(parser: argparse.ArgumentParser, match: re.Match[str]) -> str:
    name, _ = _action(parser, match[1])
    return f"{name}={match[2]}: {name} takes no value; type {name}"


def _wrong_value(parser: argparse.ArgumentParser, match: re.Match[str]) -> str:
    name, action = _action(parser, match[1])
    kind, value = match[2], match[3]
    what = _KINDS.get(kind, f"a value that {name} takes")
    number = _LEADING_NUMBER.match(value)
    remedy = f"type {_usage_of(action, name)}"
    if number and kind in _KINDS:
        digits = number[0].partition(".")[0] if kind == "int" else number[0]
        remedy = f"did you mean {name} {digits}?"
    return f"{name} '{value}': not {what}; {remedy}"


def _wrong_choice(parser: argparse.ArgumentParser, match: re.Match[str]) -> str:
    name, action = _action(parser, match[1])
    choices = [str(choice) for choice in (action.choices if action and action.choices else ())]
    close = _nearest(match[2], choices)
    remedy = f"did you mean {close}?" if close else f"there are {', '.join(choices)}"
    return f"{name} '{match[2]}': no such value; {remedy}"


def _missing(parser: argparse.ArgumentParser, match: re.Match[str]) -> str:
    names = match[1].split(", ")
    words = [_usage_of(action, name) for name, action in (_action(parser, name) for name in names)]
    return f"{match[1]} is missing; type {parser.prog} {' '.join(words)}; see {parser.prog} --help"


def _exclusive(parser: argparse.ArgumentParser, match: re.Match[str]) -> str:
    first, _ = _action(parser, match[1])
    second, _ = _action(parser, match[2])
    return f"{first} and {second} exclude each other; leave one of them out"


_RULES: tuple[tuple[str, _Rule], ...] = (
    (r"argument (\S+): expected .*argument.*", _no_value),
    (r"argument (\S+): ignored explicit argument '(.*)'", _surplus_value),
    (r"argument (\S+): invalid (\S+) value: '(.*)'", _wrong_value),
    (r"argument (\S+): invalid choice: '(.*?)' \(.*", _wrong_choice),
    (r"the following arguments are required: (.*)", _missing),
    (r"argument (\S+): not allowed with argument (\S+)", _exclusive),
)
"""What argparse of Python 3.11 to 3.14 says, as regular expressions."""


def _action(parser: argparse.ArgumentParser, words: str) -> tuple[str, argparse.Action | None]:
    """Return the name under which an argument was meant, and the argument."""
    names = words.split("/")
    for action in parser._actions:
        if action.option_strings == names or words in (action.metavar, action.dest):
            return names[0], action
    return names[0], None


def _usage_of(action: argparse.Action | None, name: str) -> str:
    """Return an argument as one types it."""
    if action is None:
        return name
    value = action.metavar if isinstance(action.metavar, str) else ""
    # Of the options that are called after their value the help lists the values.
    if action.choices and (not value or action.option_strings):
        value = "{" + ",".join(map(str, action.choices)) + "}"
    if not action.option_strings:
        return value or name
    takes_value = action.nargs != 0
    return f"{name} {value or action.dest.upper()}" if takes_value else name


def _usage(parser: argparse.ArgumentParser, name: str) -> str:
    action = next(one for one in parser._actions if name in one.option_strings)
    return _usage_of(action, name)


def _options(parser: argparse.ArgumentParser, *, hidden: bool = True) -> list[str]:
    return [
        option
        for action in parser._actions
        if hidden or action.help != argparse.SUPPRESS
        for option in action.option_strings
    ]


def _told_of(parser: argparse.ArgumentParser, name: str) -> str:
    """Return an option by the name that help tells: of an alias without help that of the same."""
    action = next(one for one in parser._actions if name in one.option_strings)
    if action.help != argparse.SUPPRESS:
        return name
    return next(
        (one.option_strings[-1] for one in parser._actions
         if one.dest == action.dest and one.help != argparse.SUPPRESS and one.option_strings),
        name,
    )  # fmt: skip


def _subparsers(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _nearest(word: str, words: Iterable[str]) -> str:
    """Return the word that was probably meant, "" for none."""
    import difflib

    if len(word) < 3:
        return ""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.7)
    return close[0] if close else ""
