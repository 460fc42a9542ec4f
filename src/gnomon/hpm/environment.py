"""What the HPM_* variables of the environment say.

Source: HPM Toolkit User's Guide 3.2.2, sections 2.2 (output), 2.4 (turns), 2.5 (weights and
latencies) and 2.7 (plug-ins). A variable that is empty is as one that is not set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from gnomon.counters.event_set_options import LONGEST_SLICE_MS, SHORTEST_SLICE_MS, SLICE_MS
from gnomon.errors import UsageError
from gnomon.metrics.toml_document import quote
from gnomon.metrics.user_constants import read_user_constants
from gnomon.named_tuple import NamedTuple

_DIGITS = re.compile(r"[0-9]{1,9}")
_FORMATS = ("ASC", "VIZ", "CSV")


class Settings(NamedTuple):
    """What is set; options of the command line take precedence.

    Attributes:
        name: of the files, without their endings; "" for no files.
        formats: endings of the files to write: hpm, viz, csv.
        unique: host, task or process, date and time are put into the name.
        silent: nothing on stdout where a file is written.
        formulas: print the metrics' formulas.
        groups: numbers or names, separated by commas; "" for the default.
        events: names, where no group is asked for (GNOMON_EVENTS).
        aggregate: the plug-in; "" for the usual one.
        slice_ms: how long a turn is.
    """

    name: str
    formats: tuple[str, ...]
    unique: bool
    silent: bool
    formulas: bool
    groups: str
    events: str
    aggregate: str
    slice_ms: int


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of the environment variables.

    Raises:
        UsageError: one of them says what cannot be.
    """
    read_user_constants(environment)
    return Settings(
        name=environment.get("HPM_OUTPUT_NAME", ""),
        formats=_formats(environment),
        unique=_begins_with_y("HPM_UNIQUE_FILE_NAME", environment),
        silent=not _yes("HPM_STDOUT", True, environment),
        formulas=_yes("HPM_PRINT_FORMULA", False, environment),
        groups=environment.get("HPM_EVENT_SET", ""),
        events=environment.get("GNOMON_EVENTS", ""),
        aggregate=environment.get("HPM_AGGREGATE", ""),
        slice_ms=slice_ms(environment),
    )


def slice_ms(environment: Mapping[str, str] = os.environ) -> int:
    """Return HPM_SLICE_DURATION, how long a turn is in milliseconds.

    Raises:
        UsageError: it is no whole number from 10 to 30000.
    """
    text = environment.get("HPM_SLICE_DURATION", "")
    if not text:
        return SLICE_MS
    number = int(text) if _DIGITS.fullmatch(text.strip()) else -1
    if not SHORTEST_SLICE_MS <= number <= LONGEST_SLICE_MS:
        raise UsageError(
            f"HPM_SLICE_DURATION: {quote(text)}: a turn lasts {SHORTEST_SLICE_MS} to "
            f"{LONGEST_SLICE_MS} ms (10 ms to 30 s); set it to a whole number of milliseconds"
        )
    return number


def _formats(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the endings: only `hpm` if none of the variables is set, else those that say yes."""
    names = {f"HPM_{word}_OUTPUT": word for word in _FORMATS}
    if not any(environment.get(name) for name in names):
        return ("hpm",)
    endings = {"ASC": "hpm", "VIZ": "viz", "CSV": "csv"}
    return tuple(endings[word] for name, word in names.items() if _begins_with_y(name, environment))


def _begins_with_y(name: str, environment: Mapping[str, str]) -> bool:
    value = environment.get(name, "")
    return value[:1] in ("Y", "y") or value == "1"


def _yes(name: str, otherwise: bool, environment: Mapping[str, str]) -> bool:
    """Return whether a variable that takes 1, yes, YES, 0 or no says yes.

    Raises:
        UsageError: it says something else.
    """
    value = environment.get(name, "")
    if not value:
        return otherwise
    if value == "1" or value.lower() == "yes":
        return True
    if value == "0" or value.lower() == "no":
        return False
    raise UsageError(f"{name}: {quote(value)}: it takes yes or no; set it to one, or unset it")
