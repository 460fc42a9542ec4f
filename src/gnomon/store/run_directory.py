"""Run directories: `NAME.gnomon/` with `run.json`, the model's tables as Parquet, and texts.

A run is written beside its final name and moved there when it is complete, so that a directory
called NAME.gnomon is always whole; it is not changed afterwards.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon import __version__
from gnomon.errors import FormatError, RunDirectoryError, UsageError
from gnomon.model.tables import ALL_SCHEMAS, REGIONS, SCHEMAS, Table
from gnomon.store import kept_files, unfinished_run
from gnomon.store.duckdb_parquet import as_utf8
from gnomon.store.parquet_writer import write_table
from gnomon.store.regular_file import special_kind
from gnomon.store.run import Run as Run
from gnomon.store.run_head import HEAD as HEAD
from gnomon.store.run_head import HEAD_LIMIT_BYTES, checked_head
from gnomon.store.run_head import MAGIC as MAGIC
from gnomon.store.run_head import SCHEMA_VERSION as SCHEMA_VERSION
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.store.run_files import Reader

SUFFIX = unfinished_run.SUFFIX
_REMEDY = "; restore it from a copy, or measure again"
_NAMED_RUNS = 5
# Bytes of a directory's name: with a dot, a process number and a node's digits it is one still,
# while it is written.
_NAME_LIMIT = 255 - len("..4194304-01234567")


def path_of(name: str) -> Path:
    """Return the directory of a run's name, which may be given with or without its suffix."""
    return Path(name if name.endswith(SUFFIX) else name + SUFFIX)


def check_free(name: str, *, force: bool = False) -> Path:
    """Return the directory that a new run of that name will be.

    Args:
        name: with or without the suffix.
        force: a run that is there will be replaced.

    Raises:
        UsageError: it is no name that a run directory can have.
        RunDirectoryError: it exists, or its parent does not or cannot be written.
    """
    # Of a name that ends with a slash it would be one without a name, in the folder or run there.
    if name.rpartition("/")[2] in ("", ".", "..", SUFFIX):
        raise UsageError(f"'{name}' names no run directory; choose a name such as first-run")
    path = path_of(name)
    if name != as_utf8(name):
        raise RunDirectoryError(f"{path}: the name is not UTF-8; choose another --name NAME")
    if len(os.fsencode(path.name)) > _NAME_LIMIT:
        raise RunDirectoryError(f"{path}: the name is too long; choose another --name NAME")
    if path.exists() and not (force and is_run(path)):
        remedy = "move it" if force else "replace it by --force"
        what = "it is no run" if force else "it exists already"
        raise RunDirectoryError(f"{path}: {what}; choose another --name NAME, or {remedy}")
    parent = path.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise RunDirectoryError(
            f"{path}: {parent} is not a directory that can be written; choose a name in another "
            "folder: FOLDER/NAME"
        )
    return path


def write(
    name: str, head: Mapping[str, Any], tables: Sequence[Table], texts: Mapping[str, str], *,
    force: bool = False,
) -> Path:  # fmt: skip
    """Write a run directory and return its path.

    Args:
        name: with or without the suffix.
        head: what run.json holds beside the schema's name and versions.
        tables: tables of the model.
        texts: file name to content, for `text/`.
        force: replace a run of that name.

    Raises:
        RunDirectoryError: the name is taken, or the disk refuses.
    """
    with drafted(name, force=force) as draft:
        draft.finish(head, tables, texts)
    return draft.path


@dataclass(frozen=True, slots=True)
class Draft:
    """A run directory that is being written.

    Attributes:
        path: where it will be.
        folder: where it is. Files of tables that are there already, as `profile.parquet`, are kept.
        force: it replaces a run of its name.
    """

    path: Path
    folder: Path
    force: bool

    def finish(
        self,
        head: Mapping[str, Any],
        tables: Sequence[Table],
        texts: Mapping[str, str],
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Write all that is not there yet, and give the directory its name.

        Args:
            head: what run.json holds beside the schema's name and versions.
            tables: tables of the model that have no file yet.
            texts: file name to content, for `text/`.
            files: of capabilities: path below `files/`, as "capability/name", to
                where each is. What cannot be kept is said in the run's warnings.

        Raises:
            OSError: the disk refuses.
        """
        whole = {
            "gnomon_version": __version__, "tables": self._write_tables(tables),
            "sources": _digests(tables, float(head["started"])),
            "schema": MAGIC, "schema_version": SCHEMA_VERSION, **head,
        }  # fmt: skip
        if files:
            whole["files"], notes = kept_files.keep(self.folder, files)
            whole["warnings"] = [*whole["warnings"], *notes]
        # An empty folder would be as large as the tables of a short program.
        if texts:
            (self.folder / "text").mkdir()
        for name, content in texts.items():
            (self.folder / "text" / name).write_text(as_utf8(content), encoding="utf-8")
        (self.folder / HEAD).write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
        if self.force and self.path.exists():
            unfinished_run.replace(self.folder, self.path)
        else:
            self.folder.rename(self.path)

    def _write_tables(self, tables: Sequence[Table]) -> list[str]:
        """Write the tables that have no file yet; return the names of all that have one."""
        names = []
        for schema in ALL_SCHEMAS:
            chunks = [table for table in tables if table.schema is schema]
            has_file = (self.folder / f"{schema.name}.parquet").exists()
            if has_file or schema in SCHEMAS or any(map(len, chunks)):
                names.append(schema.name)
                if not has_file:
                    write_table(self.folder, schema, chunks)
        return names


def _digests(tables: Sequence[Table], started: float) -> dict[str, str]:
    """Return the digests of the source files that regions name, as far as they are older."""
    from gnomon.store.source_digests import digests

    files = dict.fromkeys(
        file for table in tables if table.schema is REGIONS for file in table.texts("file")
    )
    return digests(map(as_utf8, files), started)


@contextmanager
def drafted(name: str, *, force: bool = False) -> Iterator[Draft]:
    """Begin a run directory; nothing is left of it unless it was finished.

    Args:
        name: with or without the suffix.
        force: replace a run of that name.

    Raises:
        RunDirectoryError: the name is taken, or the disk refuses.
    """
    path = check_free(name, force=force)
    try:
        with unfinished_run.begun(path) as folder:
            yield Draft(path, folder, force)
    except OSError as error:
        if path.exists() and not force:
            raise RunDirectoryError(
                f"{path}: created by another process in the meantime; under mpirun use -u"
            ) from None
        raise RunDirectoryError(f"{path}: cannot be written: {error.strerror}") from None


def find(name: str | None, where: Path = Path(), readers: Sequence[Reader] | None = None) -> Run:
    """Return a run by name, or the latest one in a folder; a file that can be read is one, too.

    A run directory of that name comes first, then a file that a reader knows, then the latest run
    of a program of that name which was given no name itself.

    Args:
        name: of a run, file or program; None for the latest run.
        where: the folder of the latest run.
        readers: of files; None for those of the store.

    Raises:
        RunDirectoryError: there is none.
        FormatError: its run.json is not one.
    """
    if name is None:
        latest_first = runs(where)
        if not latest_first:
            raise RunDirectoryError("no run in this directory; create one: gnomon run -- program")
        return _open(latest_first[0])
    if not _has_run(name):
        reader = _reader_of(name, readers)
        if reader is not None:
            return reader.open(Path(name))
        if (latest := _latest_of(name)) is not None:
            return _open(latest)
    return _open(located(name, readers))


def _has_run(name: str) -> bool:
    return is_run(Path(name)) or is_run(path_of(name.rstrip("/")))


def _reader_of(name: str, readers: Sequence[Reader] | None) -> Reader | None:
    from gnomon.store import run_files

    return run_files.reader_of(Path(name), run_files.READERS if readers is None else readers)


def _latest_of(program: str) -> Path | None:
    """Return the latest run of a program that got its name from that and the time; None if none."""
    short = Path(program).name
    named = re.compile(rf"{re.escape(short)}-\d{{8}}-\d{{6}}(-\d+)?{re.escape(SUFFIX)}")
    return next((run for run in runs(Path(program).parent) if named.fullmatch(run.name)), None)


def located(name: str, readers: Sequence[Reader] | None = None) -> Path:
    """Return the directory of a run, be it whole or damaged.

    Args:
        name: of the run, or its path.
        readers: of the files that could have been meant; None for those of the store.

    Raises:
        RunDirectoryError: there is none.
    """
    path = Path(name) if is_run(Path(name)) else path_of(name.rstrip("/"))
    if path.name in ("", ".."):  # one that somebody is in, by the name that its folder knows
        path = path.resolve()
    if not is_run(path):
        from gnomon.store import run_files

        known = run_files.READERS if readers is None else readers
        raise RunDirectoryError(run_files.not_meant(name, known) or _no_run(name, path))
    return path


def exists(name: str, readers: Sequence[Reader] | None = None) -> bool:
    """Return whether there is a run of that name, or a file that is read as one."""
    return _has_run(name) or _reader_of(name, readers) is not None


def is_run(path: Path) -> bool:
    """Return whether a directory is a run, be it whole or damaged.

    Raises:
        RunDirectoryError: it may not be looked into, or its name is longer than names are.
    """
    try:
        return (path / HEAD).exists()
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None


def stamp(path: Path) -> int:
    """Return a stamp that changes when another run takes a directory's place.

    Raises:
        OSError: there is none any more.
    """
    status = (path / HEAD).stat()
    return status.st_mtime_ns ^ (status.st_ino << 20) & (1 << 62) - 1


def runs(where: Path) -> list[Path]:
    """Return the runs in a folder, the latest first."""
    by_time = []
    for head in where.glob(f"*{SUFFIX}/{HEAD}"):
        with suppress(OSError):  # one that somebody takes away meanwhile
            by_time.append((-head.stat().st_mtime_ns, head.parent))
    return [path for _, path in sorted(by_time)]


def _no_run(name: str, path: Path) -> str:
    """Return that a name, and the path of a run of that name, are those of no run."""
    # An empty name is, as a path, the folder that one is in.
    for place in (path, *([Path(name)] if name else [])):
        if place.is_dir():
            within = _listed(runs(place))
            other = f"the latest in it are: {within}" if within else _others(path)
            return f"{place}: a directory, but no run: it has no {HEAD}; {other}"
        if kind := special_kind(place):
            return f"{place}: {kind}, where a run is expected; {_others(path)}"
    return f"{path}: no such run; {_others(path)}"


def _others(path: Path) -> str:
    """Return which runs are there instead, or what is left of it."""
    left = path.name.removesuffix(SUFFIX).removesuffix(f"{SUFFIX}.raw")
    raw = path.with_name(f"{left}{SUFFIX}.raw")
    if raw.is_dir():
        return (
            f"{printable(str(raw))} is of a gnomon run that has not ended, or was killed: then "
            f"gnomon repair {printable(str(path.with_name(left)))}"
        )
    latest = _listed(runs(path.parent))
    if not latest:
        return "there is none here; create one: gnomon run -- program"
    return f"the latest are: {latest}"


def _listed(paths: Sequence[Path]) -> str:
    names = [printable(str(run).removesuffix(SUFFIX)) for run in paths]
    more = f" and {len(names) - _NAMED_RUNS} more" if len(names) > _NAMED_RUNS else ""
    return f"{', '.join(names[:_NAMED_RUNS])}{more}"


def _open(path: Path) -> Run:
    file = path / HEAD
    try:
        if not file.is_file():
            raise FormatError(file, 0, f"no regular file{_REMEDY}")
        if file.stat().st_size > HEAD_LIMIT_BYTES:
            raise FormatError(file, HEAD_LIMIT_BYTES, f"too large for the head of a run{_REMEDY}")
        content = file.read_bytes()
    except OSError as error:
        raise RunDirectoryError(f"{file}: cannot be read: {error.strerror}") from None
    return Run(path, checked_head(file, content))
