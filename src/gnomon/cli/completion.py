"""`gnomon completion`: shell completion, made from the commands' own parsers."""

from __future__ import annotations

import argparse

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


def run(arguments: argparse.Namespace) -> int:
    """Print the completion script and return 0."""
    import shtab

    whole = argparse.ArgumentParser(prog="gnomon", formatter_class=HelpFormatter)
    commands = whole.add_subparsers()
    for name, line in COMMANDS.items():
        parent = parser_of(name)
        commands.add_parser(name, help=line, parents=[parent], add_help=False)
    script = shtab.complete(whole, shell=arguments.shell)
    # What no option or command matches is a file, the program to be counted and its own first.
    print(script.replace("complete -o bashdefault -F", "complete -o bashdefault -o default -F"))
    return 0
