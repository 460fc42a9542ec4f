"""The look of every command's help."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from gnomon.errors import UsageError
from gnomon.terminal_text import WIDTH, filled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Our help is in English, and Python brings no translation of argparse's few words in it. To look
# for one it would import `locale` and walk through folders: 1 ms of each start.
vars(argparse)["_"] = str


def add_presets_option(p: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add `--presets FILE`, which `load_presets` takes care of."""
    p.add_argument(
        "--presets",
        metavar="FILE",
        action="append",
        default=[],
        help="file with your own presets, as TOML or in PAPI's format (docs: Presets)",
    )


def load_presets(files: Iterable[str]) -> None:
    """Make the presets of files known to this process.

    Raises:
        PresetFileError: a file is missing or broken.
    """
    for file in files:
        from gnomon.counters import presets

        presets.load(file)


def add_report_options(p: argparse.ArgumentParser) -> None:
    """Add `--json` and `-o FILE` of commands that print a report."""
    p.add_argument("--json", action="store_true", help="as JSON")
    p.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this file: as JSON if it ends in .json, as CSV if in .csv; '-' is stdout",
    )


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Fills paragraphs, and keeps those as written that have an indented line (examples, tables).

    Its fixed width spares each option a look at the terminal, which costs the start 1 ms.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            paragraph
            if "\n " in paragraph or paragraph.startswith(" ")
            else "\n".join(filled(paragraph, width, indent, indent))
            for paragraph in text.strip("\n").split("\n\n")
        )


class CommandLineError(UsageError):
    """A command line that argparse refuses.

    Attributes:
        parser: which of the command's parsers does.
    """

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        """Keep what argparse says."""
        super().__init__(message)
        self.parser = parser


class Parser(argparse.ArgumentParser):
    """A command's parser: options are typed in full, and mistakes are errors of the house."""

    def __init__(
        self,
        prog: str,
        *,
        usage: str | None = None,
        description: str | None = None,
        epilog: str | None = None,
        parents: Sequence[argparse.ArgumentParser] = (),
        add_help: bool = True,
    ) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            parents=parents,
            add_help=add_help,
            formatter_class=HelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            CommandLineError: always.
        """
        raise CommandLineError(self, message)
