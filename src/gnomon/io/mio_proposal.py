"""Findings to a text for MIO_FILES: modules, and templates that match these files and no others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gnomon.io.findings import Finding
from gnomon.io.replay import match

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SPECIAL = frozenset(b"[]{}:*?,|= \t\n\v\f\r")
_GENERAL_LEAST = 3
"""Files of which the names are put together."""
_FIXED_LEAST = 3
"""Characters that such a template has beside its star."""


def modules_of(findings: Iterable[Finding]) -> str:
    """Return the modules for a file with these findings, "" for none: `wb | pf/cache_size=64m`."""
    rules = [finding.rule for finding in findings if finding.rule and not finding.refused]
    layers = ["wb"] if "wb" in rules else []
    readers = [rule for rule in rules if rule.startswith("pf")]
    if readers:
        layers.append(max(readers, key=len))
    return " | ".join(layers)


def mio_files(modules: Mapping[str, str], others: Sequence[str]) -> str:
    """Return the text, "" without files.

    Args:
        modules: of each file, by its path.
        others: paths that it must not match.

    Raises:
        GnomonError: the program that compares names cannot be run.
    """
    rules: dict[str, list[str]] = {}
    for path, own in modules.items():
        rules.setdefault(own, []).append(path)
    taken = set(modules)
    strangers = [path for path in others if path not in taken]
    parts = []
    for own, paths in rules.items():
        foreign = [*strangers, *(path for path in modules if modules[path] != own)]
        parts.append(f"{':'.join(_templates(paths, foreign))} [ {own} ]")
    return " ".join(parts)


def _templates(paths: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return templates that match all of the paths and none of the others, if there are such."""
    general = _general(paths)
    if general and _fits(general, paths, others):
        return general
    return list(dict.fromkeys(_shortest(path, others) for path in paths))


def _shortest(path: str, others: Sequence[str]) -> str:
    """Return its last part where no other file has it; else all of it, which matches itself."""
    leaf = _plain(path.rpartition("/")[2])
    return leaf if _fits([leaf], [path], others) else _plain(path)


def _fits(templates: Sequence[str], paths: Sequence[str], others: Sequence[str]) -> bool:
    lists = match(f"{':'.join(templates)} [ pf ]", [*paths, *others])
    return all(own == 0 for own in lists[: len(paths)]) and not any(
        own == 0 for own in lists[len(paths) :]
    )


def _general(paths: Sequence[str]) -> list[str]:
    leaves = list(dict.fromkeys(_plain(path.rpartition("/")[2]) for path in paths))
    if len(leaves) < _GENERAL_LEAST:
        return []
    first = _common_begin(leaves)
    last = _common_begin([leaf[len(first) :][::-1] for leaf in leaves])[::-1]
    return [f"{first}*{last}"] if len(first) + len(last) >= _FIXED_LEAST else []


def _common_begin(texts: Sequence[str]) -> str:
    least, greatest = min(texts), max(texts)
    n = next((at for at, letter in enumerate(least) if greatest[at] != letter), len(least))
    return least[:n]


def _plain(name: str) -> str:
    """Return a template for a name: what has a meaning in one is any one byte."""
    return os.fsdecode(
        bytes(ord("?") if byte in _SPECIAL else byte for byte in os.fsencode(name))
    )  # fmt: skip
