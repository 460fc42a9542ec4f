"""What `hpmcount` and `hpmstat` have in common: options, lists and messages of IBM's guide.

Source: HPM Toolkit User's Guide 3.2.2, sections 2.2, 2.3 and 4.2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from gnomon.errors import GuideError, UsageError

if TYPE_CHECKING:
    from gnomon.hpm.environment import Settings

_Found = TypeVar("_Found")
HPMSTAT_CLOCK = "%H:%M:%S"
"""How names of hpmstat's files have the time: with colons, which hpmcount's have not."""


def add_output_options(p: argparse.ArgumentParser) -> None:
    """Add `-n` and `-x`."""
    p.add_argument(
        "-n", dest="no_terminal", action="store_true", help="no output on stdout with -o"
    )
    p.add_argument(
        "-x", dest="formulas", action="store_true", help="add formulas for derived metrics"
    )


def add_list_options(p: argparse.ArgumentParser) -> None:
    """Add `-l` and `-c`, which `print_list` takes care of."""
    p.add_argument("-l", dest="list_groups", action="store_true", help="list groups")
    p.add_argument("-c", dest="list_events", action="store_true", help="list counters and events")


def guided(command: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Run a command: the guide's message for a mistake comes before ours.

    Raises:
        UsageError: what the guide has a message for.
    """
    try:
        return command(arguments)
    except GuideError as error:
        print(error.guide, file=sys.stderr)
        raise UsageError(error.remedy) from None


def print_list(arguments: argparse.Namespace) -> int | None:
    """Print the list that `-l` or `-c` asks for; None: neither was given."""
    if arguments.list_groups:
        from gnomon.cli.lists.group_list import print_groups

        return print_groups()
    if arguments.list_events:
        from gnomon.cli.lists import event_lists

        return event_lists.print_counters() or event_lists.print_events([], as_json=False)
    return None


def chosen_of(arguments: argparse.Namespace, chosen: Settings) -> Settings:
    """Return the settings with the options in the place of variables."""
    by_name = arguments.group is None and arguments.event is not None
    return chosen._replace(
        name=chosen.name if arguments.output is None else arguments.output,
        unique=chosen.unique or arguments.unique,
        silent=chosen.silent or arguments.no_terminal,
        formulas=chosen.formulas or arguments.formulas,
        groups="" if by_name else chosen.groups if arguments.group is None else arguments.group,
        events=chosen.events if arguments.event is None else arguments.event,
    )


def groups_of(chosen: Settings) -> list[str]:
    """Return the numbers or names of the groups, none where none was asked for."""
    return [word.strip() for word in chosen.groups.split(",")] if chosen.groups else []


def guide_errors(tool: str, find: Callable[[], _Found]) -> _Found:
    """Return the selection that the names of groups and events make.

    Raises:
        GuideError: there is no such group.
        EventNameError: a name is wrong.
    """
    try:
        return find()
    except UsageError as error:
        if "no group" not in str(error):
            raise
        guide = f"{tool} ERROR - pm_set_program_mygroup:\npm_api : event group ID is invalid"
        raise GuideError(guide, f"{error}; {tool} -l lists them") from None
