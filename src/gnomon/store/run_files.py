"""Files that are read as runs: each format has a reader, which knows its own by how they begin.

A reader is one object in a tuple. What is not a run directory is shown to all of them (`sniff`);
if none knows it, the end of its name may say which one is to say what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gnomon.named_tuple import NamedTuple
from gnomon.store.regular_file import DIRECTORY, ELF, special_kind, start_of
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.store.run import Run

SNIFFED_BYTES = 4096
"""How much of the beginning of a file `sniff` is given."""

_NAMED = 5

# What else one may have at hand. Source: file(1)'s magic.
_OTHERS = (
    (b"\x1f\x8b", "a file compressed by gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd: unpack it first"),
    (b"\xfd7zXZ\0", "a file compressed by xz: unpack it first"),
    (b"BZh", "a file compressed by bzip2: unpack it first"),
    (ELF, "a program or library: measure it with gnomon run -- PROGRAM"),
    (b"PAR1", "a Parquet file, perhaps a table of a run: name the run's directory"),
    (b"\x89HPMRAW", "a raw file of libhpm: gnomon repair makes a .viz file of it"),
    (b"SQLite format 3\0", "an SQLite database"),
)


class Reader(Protocol):
    """A format of files that can be read as runs."""

    @property
    def name(self) -> str:
        """What the format is called, in one word."""

    @property
    def title(self) -> str:
        """Which files these are, in a few words."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How their names end, in small letters, most usual first."""

    def sniff(self, start: bytes, /) -> bool:
        """Return whether a file that begins so is one of them."""

    def open(self, path: Path, /) -> Run:
        """Return the file as a run.

        Raises:
            RunDirectoryError: it cannot be read, is damaged or none of them; names the place.
        """


class VizReader(NamedTuple):
    """NAME.viz (gnomon/hpm/viz.xsd)."""

    name: str = "viz"
    title: str = "sections and tables as XML, of libhpm, hpmcount and gnomon export --to viz"
    suffixes: tuple[str, ...] = (".viz",)

    def sniff(self, start: bytes) -> bool:
        """Return whether its first element is `hpm`."""
        pattern = rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<hpm[\s/>]"
        return re.match(pattern, start, re.DOTALL) is not None

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked in a hidden folder."""
        from gnomon.store import viz

        return viz.open_viz(path)


class BundleReader(NamedTuple):
    """NAME.gnomon.zip (gnomon/store/run_bundle.py)."""

    name: str = "bundle"
    title: str = "a run and its sources in one file, of gnomon bundle"
    suffixes: tuple[str, ...] = (".gnomon.zip",)

    def sniff(self, start: bytes) -> bool:
        """Return whether it is an archive that begins with the head of a run."""
        if not start.startswith(b"PK"):
            return False
        from gnomon.store.run_bundle import is_bundle

        return is_bundle(start)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.store.run_bundle import open_bundle

        return open_bundle(path)


class SpeedscopeReader(NamedTuple):
    """NAME.speedscope.json (gnomon/store/profile_files/speedscope.py)."""

    name: str = "speedscope"
    title: str = "stacks for speedscope, of py-spy, rbspy, gnomon export and others"
    suffixes: tuple[str, ...] = (".speedscope.json", ".speedscope")

    def sniff(self, start: bytes) -> bool:
        """Return whether it is an object of JSON that names speedscope's schema."""
        from gnomon.store.profile_files.speedscope import is_speedscope

        return start[:1] in (b"{", b"\xef", b" ", b"\n") and is_speedscope(start)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.store.profile_files.speedscope import open_speedscope

        return open_speedscope(path)


class PprofReader(NamedTuple):
    """NAME.pb.gz (gnomon/store/profile_files/pprof.py)."""

    name: str = "pprof"
    title: str = "a profile of Go and others in the format of pprof, compressed or not"
    suffixes: tuple[str, ...] = (".pb.gz", ".pprof", ".pb")

    def sniff(self, start: bytes) -> bool:
        """Return whether it begins with the fields of a profile."""
        from gnomon.store.profile_files.pprof_format import is_pprof

        return is_pprof(start)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.store.profile_files.pprof import open_pprof

        return open_pprof(path)


class CallgrindReader(NamedTuple):
    """callgrind.out.PID (gnomon/store/profile_files/callgrind.py)."""

    name: str = "callgrind"
    title: str = "costs and calls in Valgrind's format, of callgrind, cachegrind, xdebug and others"
    suffixes: tuple[str, ...] = (".callgrind", ".cachegrind")

    def sniff(self, start: bytes) -> bool:
        """Return whether it begins with the headers of such files."""
        from gnomon.store.profile_files.callgrind import is_callgrind

        return is_callgrind(start)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.store.profile_files.callgrind import open_callgrind

        return open_callgrind(path)


class PstatsReader(NamedTuple):
    """NAME.prof (gnomon/store/profile_files/pstats.py)."""

    name: str = "pstats"
    title: str = "calls and times of Python's functions, of cProfile and profile"
    suffixes: tuple[str, ...] = (".prof", ".pstats", ".pstat")

    def sniff(self, start: bytes) -> bool:
        """Return whether it begins as a dictionary of functions that Python wrote."""
        from gnomon.store.profile_files.pstats import is_pstats

        return start[:1] in (b"{", b"\xfb") and is_pstats(start)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.store.profile_files.pstats import open_pstats

        return open_pstats(path)


class CollapsedReader(NamedTuple):
    """NAME.collapsed (gnomon/store/profile_files/collapsed.py)."""

    name: str = "collapsed"
    title: str = "stacks and weights in lines, of stackcollapse-perf.pl, py-spy -f raw, austin"
    suffixes: tuple[str, ...] = (".collapsed", ".folded")

    def sniff(self, start: bytes) -> bool:
        """Return whether its lines are stacks with a weight."""
        from gnomon.store.profile_files.collapsed import is_collapsed

        # The last line of a file need not end.
        end = b"\n" if len(start) < SNIFFED_BYTES else b""
        return b";" in start and is_collapsed(start + end)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.store.profile_files.collapsed import open_collapsed

        return open_collapsed(path)


class GmonReader(NamedTuple):
    """gmon.out (gnomon/store/profile_files/gmon/).

    Attributes:
        program: that wrote the file; "" to look for it.
    """

    name: str = "gmon"
    title: str = "gmon.out or gmon.sum, of a program that was built with -pg"
    suffixes: tuple[str, ...] = ("gmon.out", "gmon.sum")
    program: str = ""

    def sniff(self, start: bytes) -> bool:
        """Return whether it begins as GNU's form or that of 4.4BSD."""
        from gnomon.store.profile_files.gmon.gmon_file import is_gmon

        return is_gmon(start)

    def open(self, path: Path) -> Run:
        """Return the file as a run, its tables unpacked into files without a name."""
        from gnomon.store.profile_files.gmon.gmon_run import open_gmon

        return open_gmon(path, self.program)


READERS: tuple[Reader, ...] = (
    VizReader(), BundleReader(), SpeedscopeReader(), PprofReader(), GmonReader(),
    CallgrindReader(), PstatsReader(), CollapsedReader(),
)  # fmt: skip
"""Those of the store itself; capabilities have their own."""


def reader_of(path: Path, readers: Sequence[Reader]) -> Reader | None:
    """Return the reader of a file, None if no reader recognises it or it does not exist."""
    start = start_of(path, SNIFFED_BYTES)
    if start is None:
        return None
    for one in readers:
        if start and one.sniff(start):
            return one
    name = path.name.lower()
    return next((one for one in readers if name.endswith(one.suffixes)), None)


def why_not(path: Path, readers: Sequence[Reader]) -> str:
    """Return why a path is not a file that can be read as a run, and which ones can."""
    try:
        path.stat()
        kind = special_kind(path)
        if kind == DIRECTORY:
            return "a directory, but not a run directory; name a run or a file"
        if kind:
            return f"{kind}, where a file is expected; write what it gives into a file"
        with path.open("rb") as file:
            start = file.read(SNIFFED_BYTES)
    except FileNotFoundError:
        return "no such file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not start:
        return "the file is empty"
    formats = "; ".join(f"{one.name} ({one.title})" for one in readers)
    what = next((said for magic, said in _OTHERS if start.startswith(magic)), "")
    what = f"it is {what}" if what else "unknown format"
    return f"{what}; Gnomon reads {formats}"


def not_meant(name: str, readers: Sequence[Reader]) -> str:
    """Return why a word that names no run directory is no name of one, "" if it could be.

    A file is named.
    """
    path = Path(name)
    reader = reader_of(path, readers)
    if reader is not None:
        return (
            f"{name}: a {reader.suffixes[0]} file is no run directory, which alone can be deleted "
            f"and have tags and notes; gnomon import {name} makes one of it"
        )
    if path.is_file() or special_kind(path) not in ("", DIRECTORY):
        return f"{name}: {why_not(path, readers)}"
    ends = tuple(end for one in readers for end in one.suffixes)
    if name.lower().endswith(ends) and not path.exists():
        return f"{name}: no such file{_others_like(path, ends)}"
    return ""


def _others_like(path: Path, ends: tuple[str, ...]) -> str:
    """Return which such files are there instead."""
    names = sorted(
        printable(str(file))
        for file in path.parent.glob("*")
        if file.name.lower().endswith(ends) and file.is_file()
    )
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"; there are: {', '.join(names[:_NAMED])}{more}" if names else ""


def stem_of(path: Path, readers: Sequence[Reader]) -> str:
    """Return the name of a file without the end that says its format."""
    ends = [end for one in readers for end in one.suffixes if path.name.lower().endswith(end)]
    # A name such as gmon.out is nothing but such an end.
    stem = path.name[: -len(max(ends, key=len))] if ends else path.name
    return stem or path.stem
