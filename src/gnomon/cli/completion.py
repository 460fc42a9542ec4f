"""`gnomon completion`: shell completion, made from the commands' own parsers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from gnomon.cli.main import COMMANDS
from gnomon.cli.main import parser as parser_of
from gnomon.cli.parsing import HelpFormatter


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon completion`."""
    p = argparse.ArgumentParser(
        prog="gnomon completion",
        description="Print completion for a shell.",
        epilog="bash: gnomon completion bash > ~/.local/share/bash-completion/completions/gnomon",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("shell", choices=("bash", "zsh"), help="the shell")
    return p


def _complete(whole: argparse.ArgumentParser) -> None:
    """Say what each argument may be, by the word that stands for it in the help."""
    import shtab

    for action in _actions(whole):
        if action.metavar == "FILE":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in _WORDS:
            function, words = _WORDS[action.metavar]
            action.complete = {  # type: ignore[attr-defined]
                "bash": function,
                "zsh": f"({' '.join(words())})",
            }


def _families() -> tuple[str, ...]:
    from gnomon.counters import presets

    return (*presets.names(), *presets.by_pmu(), "emulated")


def _pmus() -> tuple[str, ...]:
    from gnomon.counters.allocation import known_names

    return known_names()


# What stands for an argument in the help: the shell function that completes it, and the words.
_WORDS: dict[object, tuple[str, Callable[[], tuple[str, ...]]]] = {
    "FAMILY|PMU": ("_gnomon_families", _families),
    "PMU": ("_gnomon_pmus", _pmus),
}


def _preamble() -> dict[str, str]:
    """Return what the scripts need beside the parsers: the names of families and their PMUs."""
    lines = [
        f"{function}() {{ compgen -W '{' '.join(words())}' -- \"$1\"; }}\n"
        for function, words in _WORDS.values()
    ]
    return {"bash": "".join(lines)}


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)


def run(arguments: argparse.Namespace) -> int:
    """Print the completion script and return 0."""
    import shtab

    whole = argparse.ArgumentParser(prog="gnomon", formatter_class=HelpFormatter)
    commands = whole.add_subparsers()
    for name, line in COMMANDS.items():
        parent = parser_of(name)
        commands.add_parser(name, help=line, parents=[parent], add_help=False)
    _complete(whole)
    script = shtab.complete(whole, shell=arguments.shell, preamble=_preamble())  # type: ignore[arg-type]
    # What no option or command matches is a file, the program to be counted and its own first.
    print(script.replace("complete -o bashdefault -F", "complete -o bashdefault -o default -F"))
    return 0
