"""libpfm4 with the tables of every architecture, built from the distribution's own source.

A distribution's package has the tables of the architecture that it is for. The source is fetched
with apt, in lists and a cache of its own, from where this machine's libpfm4 came; nothing is
installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

LISTED = "deb-src {} {} {}\n"
TABLES = ("ARM64", "POWERPC")
"""Architectures whose tables are built in beside this machine's."""


def build(folder: Path) -> None:
    """Fetch and build it in a folder: the library is `lib/libpfm.so.4` there."""
    for tool in ("apt-get", "apt-cache", "make", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not here: libpfm4's source is fetched on Debian and Ubuntu")
    lists, cache = folder / "lists", folder / "cache"
    for needed in (lists / "partial", cache / "archives" / "partial"):
        needed.mkdir(parents=True)
    sources = folder / "sources.list"
    options = [f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=/dev/null",
               f"-oDir::State::lists={lists}", f"-oDir::Cache={cache}", "-oAPT::Sandbox::User=",
               "-oAcquire::Languages=none", "-oAcquire::Retries=3"]  # fmt: skip
    found = _origins(_said(["apt-cache", "madison", "libpfm4"], folder))
    if not found:
        pytest.fail("apt knows no libpfm4: its lists may be missing (sudo apt-get update)")
    sources.write_text("".join(LISTED.format(*origin) for origin in found))
    _said(["apt-get", "-qq", *options, "update"], folder)
    _said(["apt-get", "-qq", *options, "--download-only", "source", "libpfm4"], folder)
    (archive,) = folder.glob("libpfm4_*.orig.tar.*")
    source = folder / "source"
    source.mkdir()
    _said(["tar", "-xf", archive, "-C", source, "--strip-components=1"], folder)
    chosen = [f"CONFIG_PFMLIB_ARCH_{name}=y" for name in TABLES]
    _said(["make", "-s", "-j2", "-C", source / "lib", "DBG=", *chosen], folder)
    (folder / "lib").mkdir()
    shutil.copy(source / "lib" / "libpfm.so.4", folder / "lib")


def _origins(madison: str) -> list[tuple[str, str, str]]:
    """Return the places, suites and components that offer it, from apt-cache's table."""
    found = []
    for line in madison.splitlines():
        words = line.rpartition("|")[2].split()
        if len(words) == 4:
            place, where, _, _ = words
            suite, _, component = where.rpartition("/")
            found.append((place, suite, component))
    return list(dict.fromkeys(found))


def _said(command: Sequence[str | Path], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"LC_ALL": "C"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.fail(f"{command[0]} returned {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout
