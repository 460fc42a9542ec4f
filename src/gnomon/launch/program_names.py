"""What a command is called after: its program, behind a launcher; its script, behind Python."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

# What starts other programs; a run is called after the program.
_LAUNCHERS = frozenset(
    ("mpirun", "mpiexec", "orterun", "prterun", "prun", "srun", "jsrun", "aprun", "env", "numactl",
     "taskset", "nice", "chrt", "setarch", "stdbuf", "timeout")
)  # fmt: skip
_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
# Python's options that take a value, which may stand in a word of its own. Source: python --help.
_VALUED = "WX"


def program_name(command: Sequence[str]) -> str:
    """Return the name of what a command measures: of a Python program its script or module."""
    words = list(command)
    if Path(words[0]).name.partition(".")[0] in _LAUNCHERS:
        # What follows an option may be its value: "-n 4" is no program, and none is called "4".
        programs = (at for at in range(1, len(words)) if words[at][:1] != "-")
        words = words[next((at for at in programs if shutil.which(words[at])), 0) :]
    base = Path(words[0]).name
    return (_script(words[1:]) if _PYTHON.fullmatch(base) else "") or base


def _script(words: Sequence[str]) -> str:
    """Return the name of the script or module that Python's arguments name, "" if they do not."""
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] != "-":
        word = words[index]
        index += word == "--check-hash-based-pycs"
        for place, letter in enumerate(word[1:], start=1):
            if word.startswith("--"):
                break
            value = word[place + 1 :] or (words[index + 1] if index + 1 < len(words) else "")
            if letter == "c":
                return ""
            if letter == "m":
                return value if re.fullmatch(r"[\w.]+", value) else ""
            if letter in _VALUED:
                index += not word[place + 1 :]
                break
        index += 1
    return Path(words[index]).stem if index < len(words) and words[index] != "-" else ""
