"""Which capabilities observe a run: the default ones, those asked for, less those left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gnomon.errors import UsageError
from gnomon.launch.capability import Capability
from gnomon.launch.options import option_values
from gnomon.named_tuple import NamedTuple

Words = Mapping[str, Mapping[str, Any]]
"""What was typed of each capability's options, by its name and theirs."""


class Selection(NamedTuple):
    """What observes a run.

    Attributes:
        capabilities: in the order of all of them.
        options: the values of each one's options, by its name and theirs.
        without: names of those that were left out.
        asked: names of those that were asked for; others are used by default.
    """

    capabilities: tuple[Capability, ...]
    options: Mapping[str, Mapping[str, Any]]
    without: tuple[str, ...]
    asked: tuple[str, ...] = ()


def select(
    capabilities: Sequence[Capability],
    wanted: str | None,
    without: str | None,
    words: Words,
    times: Capability,
    spelled: Mapping[str, Mapping[str, str]] | None = None,
) -> Selection:
    """Return the observers of a run.

    Args:
        capabilities: all there are.
        wanted: names that were asked for, separated by commas; None for none.
        without: names that were left out, likewise.
        words: options that were typed; each asks for its capability.
        times: observes where no other capability gives the program's times.
        spelled: by capability, what the command line calls options, `--CAPABILITY-OPTION` if not
            in it.

    Raises:
        UsageError: a name is none of them, a value is none, two cannot observe the same execution,
            or one that was asked for does not work here.
    """
    by_name = {each.name: each for each in capabilities}
    asked = dict.fromkeys(_names("--with", wanted, by_name))
    left_out = tuple(dict.fromkeys(_names("--without", without, by_name)))
    options = {
        each.name: option_values(
            f"--{each.name}-",
            each.options,
            words.get(each.name, {}),
            (spelled or {}).get(each.name),
        )
        for each in capabilities
    }
    for name, typed in words.items():
        asked.update(dict.fromkeys([name] if typed else []))
    for name in asked:
        if name in left_out:
            option = next(iter(words.get(name, {})), "")
            what = f"--{name}-{option}" if option else f"--with {name}"
            raise UsageError(f"{what} and --without {name}: leave one of them out")
        state = by_name[name].availability()
        if not state.available:
            raise UsageError(f"--with {name}: {state.reason}; {state.remedy}")
        for other, reason in by_name[name].excludes.items():
            if other in asked:
                raise UsageError(f"--with {other},{name}: {reason}; run it twice")
    excluded = {other for name in asked for other in by_name[name].excludes} | set(left_out)
    excluded |= {each.name for each in capabilities if asked.keys() & each.excludes.keys()}
    # Why a default one does not work here is written into the run.
    used = [
        each
        for each in capabilities
        if each.name in asked
        or (each.is_default and each.name not in excluded and each.availability().available)
    ]
    if not any(each.gives_times for each in used):
        used.insert(0, times)
    return Selection(tuple(used), options, left_out, tuple(asked))


def _names(option: str, words: str | None, by_name: Mapping[str, Capability]) -> Iterator[str]:
    for word in () if words is None else words.split(","):
        name, available = word.strip(), ", ".join(by_name)
        if not name:
            raise UsageError(f"{option} '{words}': a name is missing; known names: {available}")
        if name not in by_name:
            raise UsageError(f"{option} {name}: no such name; known names: {available}")
        yield name
