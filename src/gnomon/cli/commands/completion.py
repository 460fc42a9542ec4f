"""`gnomon completion`: shell completion, made from the commands' own parsers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence

from gnomon.cli.main import OTHER_NAMES, all_commands
from gnomon.cli.main import parser as parser_of
from gnomon.cli.terminal.argument_help import Parser


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon completion`."""
    p = Parser(
        prog="gnomon completion",
        description="Print completion of gnomon, hpmcount, hpmstat, peekperf and xprofiler.",
        epilog="bash: gnomon completion bash > ~/.local/share/bash-completion/completions/gnomon",
    )
    p.add_argument("shell", choices=("bash", "zsh"), help="the shell")
    return p


def _complete(whole: argparse.ArgumentParser, words: Mapping[str, Sequence[str]]) -> None:
    """Say what each argument may be, by the word that stands for it in the help."""
    import shtab

    for action in _actions(whole):
        if action.metavar in ("FILE", "RUN", "RUN|FILE", "FILE.viz|RUN", "ARGUMENT"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif isinstance(action.metavar, str) and action.metavar in words:
            action.complete = {  # type: ignore[attr-defined]
                "bash": _function(action.metavar),
                "zsh": f"({' '.join(words[action.metavar])})",
            }


def _words() -> dict[str, Sequence[str]]:
    """Return the values that may replace a placeholder of the help, by placeholder."""
    from gnomon.capabilities import CAPABILITIES, report_parts
    from gnomon.cli.lists.hardware_report import SECTIONS
    from gnomon.counters import presets
    from gnomon.counters.allocation import known_names
    from gnomon.counters.components import COMPONENTS
    from gnomon.counters.overhead import KINDS
    from gnomon.metrics.groups import load_groups

    return {
        "FAMILY|PMU": (*presets.names(), *presets.by_pmu(), "emulated"),
        "PMU": known_names(),
        "COMPONENT": [source.name for source in COMPONENTS],
        "SECTION": list(SECTIONS),
        "KIND": KINDS,
        "CAPABILITY": [one.name for one in CAPABILITIES],
        "PART": [part.name for part in report_parts()],
        "WHAT": tuple(dict.fromkeys(by for part in report_parts() for by in part.by)),
        "GROUP": tuple(dict.fromkeys(group.name for group in load_groups())),
    }


def _function(metavar: str) -> str:
    return "_gnomon_" + metavar.lower().replace("|", "_")


def _preamble(words: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return what the scripts need beside the parsers: bash asks functions for the words."""
    return {
        "bash": "".join(
            f"{_function(metavar)}() {{ compgen -W '{' '.join(some)}' -- \"$1\"; }}\n"
            for metavar, some in words.items()
        )
    }


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)


def run(arguments: argparse.Namespace) -> int:
    """Print the completion script and return 0."""
    import shtab

    whole: argparse.ArgumentParser = Parser("gnomon")
    commands = whole.add_subparsers()
    for name, line in all_commands().items():
        parent = parser_of(name)
        commands.add_parser(name, help=line, parents=[parent], add_help=False)
    words = _words()
    parsers: list[argparse.ArgumentParser] = [whole, *(parser_of(name) for name in OTHER_NAMES)]
    scripts: list[str] = []
    for parser in parsers:
        _complete(parser, words)
        of_words = None if scripts else _preamble(words)
        scripts.append(shtab.complete(parser, shell=arguments.shell, preamble=of_words))  # type: ignore[arg-type]
    script = "\n".join(scripts)
    if arguments.shell == "zsh":
        # zsh looks for the names that a file completes in its first line alone.
        script = re.sub(r"^#compdef .*\n", "", script, flags=re.MULTILINE)
        script = f"#compdef {' '.join(parser.prog for parser in parsers)}\n{script}"
    # What no option or command matches is a file, the program to be counted and its own first.
    print(script.replace("complete -o bashdefault -F", "complete -o bashdefault -o default -F"))
    return 0
