"""A run in one file, with its source files and the code of its hot functions: `NAME.gnomon.zip`.

It is a ZIP archive of the run directory, of which any unpacker makes one again. Tables are in it
as they are, not compressed again; sources are files of the run like those of capabilities. What
others wrote is not believed: names, sizes and the kind of compression are checked before anything
is unpacked.

Source: PKWARE's APPNOTE 6.3.10, of which Python's zipfile reads and writes what is used here.
"""

from __future__ import annotations

import errno
import json
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import IO, Any

from gnomon.errors import FormatError
from gnomon.model.schemas import ALL_SCHEMAS, REQUIRED_SCHEMAS, SAMPLES, SCHEMAS
from gnomon.named_tuple import NamedTuple
from gnomon.store import function_code, kept_files
from gnomon.store.hot_code import PackedCode, hot_code
from gnomon.store.regular_file import open_regular
from gnomon.store.run import Run
from gnomon.store.run_head import HEAD, HEAD_LIMIT_BYTES, checked_head
from gnomon.store.source_files import LIMIT_BYTES, text_that_ran
from gnomon.store.unpacked_run import UnlinkedTables, no_room, temporary_folder

_TEXTS = "text"
_ENTRIES_MOST = kept_files.FILES_MOST + 1000
_SUFFIX_MOST = 16
_PIECE = 1 << 20
_DEFLATED = zipfile.ZIP_DEFLATED
_REMEDY = "; copy it again, or pack the run again: gnomon bundle RUN"
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, ValueError),
    *(NotImplementedError, RuntimeError, OSError),
)
"""What zipfile raises for archives that are none, or that it does not read: OSError where an
offset is none."""


class Packed(NamedTuple):
    """What was packed beside a run's own files.

    Attributes:
        n_sources: source files that it names.
        missing_sources: those that are not there, or have been written since the program ran.
        n_functions: functions with their code.
        missing_code: why the code of some modules is not there.
    """

    n_sources: int
    missing_sources: tuple[str, ...]
    n_functions: int
    missing_code: tuple[str, ...]


# --- writing --------------------------------------------------------------------------------------


def write_bundle(run: Run, file: IO[bytes]) -> Packed:
    """Write a run with its sources and the code of its hot functions as one file.

    Args:
        run: a run directory.
        file: where to.

    Raises:
        RunDirectoryError: a file of the run is missing or cannot be read.
        OSError: the disk refuses.
    """
    texts, missing = _source_texts(run)
    code = _code(run)
    code_file = function_code.encoded(code.modules)
    places = {
        name: f"{kept_files.SOURCES}/{number}{PurePosixPath(name).suffix[:_SUFFIX_MOST]}"
        for number, name in enumerate(texts)
    }
    head = {**run.head, kept_files.SOURCE_PLACES: places, kept_files.FOLDER: {
        **run.head.get(kept_files.FOLDER, {}),
        **{place: len(texts[name]) for name, place in places.items()},
        **({function_code.NAME: len(code_file)} if code.modules else {}),
    }}  # fmt: skip
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEAD), json.dumps(head, indent=2) + "\n", _DEFLATED)
        for name, member in _members(run):
            with open_regular(member) as content:
                entry = zipfile.ZipInfo(name)  # not compressed: see _unpack
                with archive.open(entry, "w", force_zip64=True) as to:
                    shutil.copyfileobj(content, to, _PIECE)
        for name, place in places.items():
            entry = zipfile.ZipInfo(f"{kept_files.FOLDER}/{place}")
            archive.writestr(entry, texts[name], _DEFLATED)
        if code.modules:
            entry = zipfile.ZipInfo(f"{kept_files.FOLDER}/{function_code.NAME}")
            archive.writestr(entry, code_file)
    n_functions = sum(len(module.functions) for module in code.modules)
    return Packed(len(texts), missing, n_functions, code.missing)


def _code(run: Run) -> PackedCode:
    """Return the code of hot functions; none where the run has it as a file of its own already."""
    if SAMPLES not in run.schemas or function_code.NAME in run.head.get(kept_files.FOLDER, {}):
        return PackedCode((), ())
    return hot_code(run)


def _source_texts(run: Run) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the sources that a run names, and those that are not to be had."""
    rows = run.query("SELECT DISTINCT file FROM regions WHERE file <> '' ORDER BY file")
    texts: dict[str, bytes] = {}
    missing = []
    for (name,) in rows:
        text = run.source_text(name)
        if text is None:
            text = text_that_ran(name, run.head)
        if text is None or len(texts) == kept_files.FILES_MOST // 2:
            missing.append(str(name))
        else:
            texts[str(name)] = text
    return texts, tuple(missing)


def _members(run: Run) -> list[tuple[str, Path]]:
    """Return the files of a run directory but its head and sources, by their paths in it.

    Raises:
        FormatError: one is missing, of another size, or none of the run.
    """
    tables = [(f"{schema.name}.parquet", run.file(schema)) for schema in run.schemas]
    texts = sorted((run.path / _TEXTS).glob("*"))
    names = {name.partition("/")[0] for name in run.head.get(kept_files.FOLDER, {})}
    kept = [file for name in sorted(names - {kept_files.SOURCES}) for file in run.kept(name)]
    return tables + [(str(file.relative_to(run.path)), file) for file in (*texts, *kept)]


# --- reading --------------------------------------------------------------------------------------


def is_bundle(start: bytes) -> bool:
    """Return whether a file that begins so is an archive whose first entry is the head of a run."""
    return start.startswith(b"PK\x03\x04") and start[30 : 30 + len(HEAD)] == HEAD.encode()


def open_bundle(path: Path) -> Run:
    """Return a bundle as a run, its tables unpacked into files without a name.

    They take disk space in the folder for temporary files until the run is let go of, or the
    process ends in any way.

    Raises:
        FormatError: it is none, damaged, or holds what no bundle has.
        RunDirectoryError: it cannot be read, or there is no room for its tables.
    """
    with open_regular(path) as file, _archive(path, file) as archive:
        head = checked_head(path, _content(path, archive, HEAD, HEAD_LIMIT_BYTES))
        names = head.get("tables", [schema.name for schema in SCHEMAS])
        schemas = [one for one in ALL_SCHEMAS if one.name in names or one in REQUIRED_SCHEMAS]
        with temporary_folder(path) as folder:
            try:
                for schema in schemas:
                    name = f"{schema.name}.parquet"
                    _unpack(path, archive, name, folder / name)
                tables = UnlinkedTables(folder, schemas)
            except OSError as error:
                raise no_room(path, folder, error) from None
    return Run(path, head, tables.files, tables, read_file=_KeptFiles(path, head).read)


class _KeptFiles:
    """The files of capabilities and the sources in a bundle, read from any thread."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._path = path
        self._sizes = head.get(kept_files.FOLDER, {})
        self._lock = Lock()

    def read(self, name: str) -> bytes:
        """Return what is in a file, by its path below `files/`, which the head has.

        Raises:
            FormatError: it is missing or damaged, or too large for a source.
            RunDirectoryError: the bundle cannot be read.
        """
        with self._lock, open_regular(self._path) as file, _archive(self._path, file) as archive:
            entry = f"{kept_files.FOLDER}/{name}"
            content = _content(self._path, archive, entry, LIMIT_BYTES)
            if len(content) != self._sizes[name]:
                raise _damaged(self._path, entry, "it has another size than the run's head says")
            return content


@contextmanager
def _archive(path: Path, file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open an archive, and name it where it turns out to be damaged."""
    try:
        with zipfile.ZipFile(file) as archive:
            if len(archive.filelist) > _ENTRIES_MOST:
                raise FormatError(path, 0, f"it has more files than a run has{_REMEDY}")
            yield archive
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise  # the disk's
        why = str(error) or type(error).__name__
        raise FormatError(path, 0, f"a damaged ZIP archive: {why}{_REMEDY}") from None


def _entry(path: Path, archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    try:
        return archive.getinfo(name)
    except KeyError:
        raise _damaged(path, name, "it is missing") from None


def _content(path: Path, archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return what is in an entry, not more than so many bytes."""
    entry = _entry(path, archive, name)
    with archive.open(entry) as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise _damaged(path, name, f"it has more than {most} bytes")
    return content


def _unpack(path: Path, archive: zipfile.ZipFile, name: str, file: Path) -> None:
    """Write an entry that is not compressed, so that it is no larger than the archive.

    Raises:
        FormatError: it is missing or compressed.
        OSError: the disk refuses.
    """
    entry = _entry(path, archive, name)
    if entry.compress_type != zipfile.ZIP_STORED:
        raise _damaged(path, name, "it is compressed, and only the sources of a bundle are")
    size = path.stat().st_size
    with archive.open(entry) as opened, file.open("xb") as to:
        while piece := opened.read(_PIECE):
            size -= len(piece)
            if size < 0:
                raise _damaged(path, name, "it is larger than the archive")
            to.write(piece)


def _damaged(path: Path, name: str, why: str) -> FormatError:
    return FormatError(path, 0, f"{name}: {why}{_REMEDY}")


@contextmanager
def unpacked_files(path: Path, head: Mapping[str, Any]) -> Iterator[dict[str, Path]]:
    """Unpack the files of capabilities and the sources of a bundle into a folder, for a while.

    Args:
        path: the bundle.
        head: of the run in it.

    Raises:
        FormatError: one is missing or damaged.
        RunDirectoryError: the bundle cannot be read, or there is no room.
    """
    read = _KeptFiles(path, head).read
    files: dict[str, Path] = {}
    with (
        open_regular(path) as file,
        _archive(path, file) as archive,
        temporary_folder(path) as folder,
    ):
        for number, name in enumerate(head.get(kept_files.FOLDER, {})):
            files[name] = folder / str(number)
            try:
                if name.partition("/")[0] == kept_files.SOURCES:
                    files[name].write_bytes(read(name))
                else:
                    _unpack(path, archive, f"{kept_files.FOLDER}/{name}", files[name])
            except OSError as error:
                raise no_room(path, folder, error) from None
        yield files
