"""Commands and options of capabilities, as the command line has them."""

from __future__ import annotations

from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from gnomon.launch.capability import Command
    from gnomon.launch.options import Option

_WORDS = "WORDS"


def add_options(
    to: argparse._ActionsContainer, options: Iterable[Option], prefix: str, dest: str
) -> None:
    """Add options to a parser or a group of its options.

    Args:
        to: the parser or group.
        options: what is added; what was not typed is None.
        prefix: what their names begin with behind the dashes.
        dest: what their names in the namespace begin with.
    """
    for option in options:
        if option.metavar:
            to.add_argument(
                f"--{prefix}{option.name}",
                dest=f"{dest}{option.name}",
                action="append" if option.many else "store",
                metavar=option.metavar,
                help=_help(option),
            )
        else:
            to.add_argument(
                f"--{prefix}{option.name}",
                dest=f"{dest}{option.name}",
                action="store_const",
                const=True,
                help=option.help,
            )


def _help(option: Option) -> str:
    """Return the help of an option with a value, with its default."""
    # A choice of two may have False for the usual one: that is no word of the command line.
    has_none = option.default is None or option.default is False
    if has_none or option.many or "(default" in option.help:
        return option.help
    default = str(option.default).replace("%", "%%")
    return f"{option.help} (default: {default})"


class CapabilityCommand:
    """A command that a capability adds; meets `gnomon.cli.main.Command`."""

    def __init__(self, command: Command) -> None:
        """Offer it on the command line."""
        self._command = command

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser of its arguments."""
        from gnomon.cli.terminal.argument_help import Parser

        command = self._command
        p = Parser(prog=f"gnomon {command.name}", description=f"{command.help[:1].upper()}"
                   f"{command.help[1:]}.")  # fmt: skip
        add_options(p, command.options, "", "")
        if command.words:
            p.add_argument(_WORDS, metavar=command.words, nargs="+", help=command.words_help)
        return p

    def run(self, arguments: argparse.Namespace) -> int:
        """Print what it renders and return 0."""
        from gnomon.launch.options import option_values

        typed = vars(arguments)
        values = option_values("--", self._command.options, typed)
        print(self._command.render(values, typed.get(_WORDS, ())), end="")
        return 0


def commands() -> dict[str, Command]:
    """Return the commands that capabilities add, by name."""
    from gnomon.capabilities import CAPABILITIES

    return {command.name: command for each in CAPABILITIES for command in each.commands}
