"""The index of a folder's runs: what a list shows, and the tags and notes that people gave.

Runs never change, so tags and notes stand beside them: in `.gnomon-runs.sqlite`, which can be
rebuilt from the runs at any time, and once more in `.gnomon-runs.json`, from which tags and notes
come back when the index is damaged. One writer at a time holds a lock on the folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gnomon.errors import GnomonError, RunDirectoryError, UsageError
from gnomon.store import run_directory

FILE = ".gnomon-runs.sqlite"
EXPORT = ".gnomon-runs.json"
SCHEMA_VERSION = 1
_MAGIC = "gnomon/runs"
_LOCK = ".gnomon-runs.lock"
_APPLICATION = 0x676E6D6E  # "gnmn", SQLite's application_id
_EXPORT_LIMIT_BYTES = 64 << 20
_NOTE_LIMIT = 4096
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_PATIENCE_S = 30.0
_TABLES = {
    "runs": "name TEXT PRIMARY KEY, stamp INTEGER NOT NULL, entry TEXT NOT NULL",
    "tags": "name TEXT NOT NULL, started REAL NOT NULL, tag TEXT NOT NULL, "
    "PRIMARY KEY (name, started, tag)",
    "notes": "name TEXT NOT NULL, started REAL NOT NULL, note TEXT NOT NULL, "
    "PRIMARY KEY (name, started)",
}


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """One run of a folder, as a list shows it.

    Attributes:
        name: of the directory, without its suffix.
        started: seconds since 1970.
        command: the words of the command.
        ranks: of MPI; 1 outside it.
        wall_seconds: of the last repetition.
        exit_status: of the program; None where it was not started by us.
        repetitions: how often it was executed.
        problem: why the run cannot be read, "" if it can; the rest then says nothing.
        tags: that people gave it, sorted.
        note: likewise; "" for none.
    """

    name: str
    started: float = 0.0
    command: tuple[str, ...] = ()
    ranks: int = 1
    wall_seconds: float = 0.0
    exit_status: int | None = None
    repetitions: int = 1
    problem: str = ""
    tags: tuple[str, ...] = field(default=())
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs of a folder, the latest first; `said` is what happened to the index, "" if nothing.

    A folder that cannot be written is listed all the same, without an index.
    """

    entries: tuple[IndexedRun, ...]
    said: str = ""


def entries(where: Path) -> Listing:
    """Return the runs of a folder.

    Raises:
        RunDirectoryError: there is no such folder.
    """
    if not where.is_dir():
        raise RunDirectoryError(f"{where}: no such directory")
    if not os.access(where, os.W_OK):
        return Listing(_listed(where, {}, *_annotations(where)))
    with _locked(where), _opened(where) as (connection, said):
        return Listing(_refreshed(where, connection), said)


def tag(run: Path, add: Sequence[str], remove: Sequence[str] = ()) -> tuple[str, ...]:
    """Give a run tags, take others away, and return those it has then.

    Raises:
        UsageError: a tag is none.
        RunDirectoryError: the run cannot be read or the index not be written.
    """
    for tag_text in (*add, *remove):
        if not _TAG.fullmatch(tag_text):
            raise UsageError(
                f"'{tag_text}': a tag has up to 64 letters, digits and . _ + -, no dash in front"
            )
    where, name, started = _key(run)
    with _locked(where), _changing(where) as connection:
        connection.executemany(
            "INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", [(name, started, one) for one in add]
        )
        connection.executemany(
            "DELETE FROM tags WHERE name = ? AND started = ? AND tag = ?",
            [(name, started, one) for one in remove],
        )
        rows = connection.execute(
            "SELECT tag FROM tags WHERE name = ? AND started = ? ORDER BY tag", (name, started)
        ).fetchall()
    return tuple(one for (one,) in rows)


def note(run: Path, text: str) -> None:
    """Give a run a note, in place of an earlier one; "" takes it away.

    Raises:
        UsageError: the note is too long.
        RunDirectoryError: the run cannot be read or the index not be written.
    """
    text = _text(" ".join(text.split()))
    if len(text) > _NOTE_LIMIT:
        raise UsageError(f"the note has {len(text)} characters; at most {_NOTE_LIMIT} are kept")
    where, name, started = _key(run)
    with _locked(where), _changing(where) as connection:
        connection.execute("DELETE FROM notes WHERE name = ? AND started = ?", (name, started))
        if text:
            connection.execute("INSERT INTO notes VALUES (?, ?, ?)", (name, started, text))


def delete(run: Path) -> None:
    """Remove a run directory, with its tags and note.

    Raises:
        RunDirectoryError: it is none, is a link, or cannot be removed.
    """
    if run.is_symlink() or not run_directory.is_run(run):
        raise RunDirectoryError(f"{run}: not a run directory, or a link to one; remove it with rm")
    where, name = run.parent, _text(run.name.removesuffix(run_directory.SUFFIX))
    with _locked(where):
        # Gone at once, for whoever lists the folder meanwhile.
        doomed = run.with_name(f".{run.name}.{os.getpid()}.deleted")
        try:
            run.rename(doomed)
            shutil.rmtree(doomed)
        except OSError as error:
            raise RunDirectoryError(f"{run}: cannot be removed: {error.strerror}") from None
        with _changing(where) as connection:
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table} WHERE name = ?", (name,))


def rebuild(where: Path) -> Listing:
    """Make the index of a folder anew, keeping tags and notes, and return the runs.

    Raises:
        RunDirectoryError: there is no such folder, or it cannot be written.
    """
    if not where.is_dir():
        raise RunDirectoryError(f"{where}: no such directory")
    with _locked(where):
        tags, notes = _annotations(where)
        _remake(where, tags, notes)
        with _opened(where) as (connection, _):
            return Listing(_refreshed(where, connection))


def tagged(name: str, where: Path) -> tuple[Path, ...]:
    """Return the runs of a folder that have a tag, the earliest first.

    Raises:
        RunDirectoryError: none has it.
    """
    listed = entries(where).entries
    tagged_runs = [one for one in listed if name in one.tags and not one.problem]
    if not tagged_runs:
        known = sorted({one for entry in listed for one in entry.tags})
        there = f"; there are: {', '.join(known)}" if known else ""
        raise RunDirectoryError(
            f"@{name}: no run here has this tag{there}; to set it: gnomon runs tag RUN {name}"
        )
    return tuple(where / f"{one.name}{run_directory.SUFFIX}" for one in reversed(tagged_runs))


# --- the files ------------------------------------------------------------------------------------

Tags = dict[tuple[str, float], set[str]]
Notes = dict[tuple[str, float], str]


@contextmanager
def _locked(where: Path) -> Iterator[None]:
    lock = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            # NFS locks only what was opened for writing, and a folder cannot be.
            os.close(lock)
            lock = os.open(where / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.lockf(lock, fcntl.LOCK_EX)
        yield
    except OSError as error:
        why = f"the index cannot be kept: {error.strerror}; {_remedy(where)}"
        raise RunDirectoryError(f"{where}: {why}") from None
    finally:
        os.close(lock)


def _remedy(where: Path) -> str:
    """Return the remedy where the index of a folder cannot be changed."""
    file = where / FILE
    if os.access(where, os.W_OK) and (not file.exists() or os.access(file, os.W_OK)):
        return "try: gnomon runs rebuild"
    return "only its owner can change it: copy the runs to a folder of your own"


@contextmanager
def _opened(where: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Yield the index, made anew if it is damaged or of a later version, and what is to be said."""
    said = ""
    if why := _trouble(where / FILE):
        tags, notes = _annotations(where)
        if (where / FILE).exists():
            kept = "tags and notes are kept" if (where / EXPORT).exists() else "it had no copy"
            said = f"{where / FILE}: {why}; it was rebuilt, {kept}; the old one is {FILE}.old"
        _remake(where, tags, notes)
    try:
        with closing(_connected(where / FILE)) as connection, connection:
            yield connection, said
    except sqlite3.Error as error:
        raise RunDirectoryError(f"{where / FILE}: {error}; {_remedy(where)}") from None


@contextmanager
def _changing(where: Path) -> Iterator[sqlite3.Connection]:
    """Yield the index and write tags and notes to their copy before the change is final."""
    with _opened(where) as (connection, _):
        yield connection
        _export(where, *_read(connection))


def _connected(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=_PATIENCE_S)
    # What a foreign file brings along is not executed.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _trouble(file: Path) -> str:
    """Return why an index cannot be used, "" if it can."""
    if not file.exists():
        return "there is none"
    try:
        with closing(_connected(file)) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != _APPLICATION:
                return "it is no index of runs"
            if version != SCHEMA_VERSION:
                return f"it is of version {version}, and this Gnomon keeps {SCHEMA_VERSION}"
            made = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql > ''"))
            if made != {name: _created(name) for name in _TABLES}:
                return "it has other tables than an index of runs"
            (checked,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            return "" if checked == "ok" else "it is damaged"
    except (sqlite3.Error, TypeError, ValueError):
        return "it is damaged"


def _created(name: str) -> str:
    return f"CREATE TABLE {name} ({_TABLES[name]})"


def _remake(where: Path, tags: Tags, notes: Notes) -> None:
    """Put a new index in the place of an old one, which is kept beside it."""
    file = where / FILE
    part = where / f"{FILE}.{os.getpid()}.part"
    part.unlink(missing_ok=True)
    try:
        with closing(_connected(part)) as connection, connection:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            for name in _TABLES:
                connection.execute(_created(name))
            connection.executemany(
                "INSERT OR IGNORE INTO tags VALUES (?, ?, ?)",
                [(*key, one) for key, some in tags.items() for one in sorted(some)],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO notes VALUES (?, ?, ?)",
                [(*key, text) for key, text in notes.items()],
            )
    except sqlite3.Error as error:
        part.unlink(missing_ok=True)
        why = f"cannot be written: {error}; {_remedy(file.parent)}"
        raise RunDirectoryError(f"{file}: {why}") from None
    if file.exists() and _trouble(file):
        file.replace(f"{file}.old")
    (where / f"{FILE}-journal").unlink(missing_ok=True)
    part.replace(file)


def _annotations(where: Path) -> tuple[Tags, Notes]:
    """Return the tags and notes that the index has or, where it is damaged, their copy."""
    if not _trouble(where / FILE):
        with suppress(sqlite3.Error), closing(_connected(where / FILE)) as connection:
            return _read(connection)
    return _imported(where / EXPORT)


def _read(connection: sqlite3.Connection) -> tuple[Tags, Notes]:
    tags: Tags = {}
    for name, started, one in connection.execute("SELECT name, started, tag FROM tags"):
        tags.setdefault((str(name), float(started)), set()).add(str(one))
    notes = {
        (str(name), float(started)): str(text)
        for name, started, text in connection.execute("SELECT name, started, note FROM notes")
    }
    return tags, notes


def _export(where: Path, tags: Tags, notes: Notes) -> None:
    runs = [
        {
            "name": name,
            "started": started,
            "tags": sorted(tags.get((name, started), ())),
            "note": notes.get((name, started), ""),
        }
        for name, started in sorted({*tags, *notes})
    ]
    document = {"schema": _MAGIC, "schema_version": SCHEMA_VERSION, "runs": runs}
    part = where / f"{EXPORT}.{os.getpid()}.part"
    part.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    part.replace(where / EXPORT)


def _imported(file: Path) -> tuple[Tags, Notes]:
    """Return the tags and notes of a copy, without invalid ones."""
    tags: Tags = {}
    notes: Notes = {}
    try:
        if file.stat().st_size > _EXPORT_LIMIT_BYTES:
            return tags, notes
        document = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return tags, notes
    runs = document.get("runs") if isinstance(document, dict) else None
    for entry in runs if isinstance(runs, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            continue
        with suppress(TypeError, ValueError, OverflowError):
            key = (_text(entry["name"]), float(entry["started"]))
            of_run = entry.get("tags")
            for some in of_run if isinstance(of_run, list) else ():
                if isinstance(some, str) and _TAG.fullmatch(some):
                    tags.setdefault(key, set()).add(some)
            if isinstance(entry.get("note"), str) and entry["note"]:
                notes[key] = _text(entry["note"])[:_NOTE_LIMIT]
    return tags, notes


def _text(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


# --- the runs -------------------------------------------------------------------------------------


def _refreshed(where: Path, connection: sqlite3.Connection) -> tuple[IndexedRun, ...]:
    """Return the runs that are there now, and bring the index up to date with them."""
    cached: dict[str, tuple[int, IndexedRun]] = {}
    for name, stamp, text in connection.execute("SELECT name, stamp, entry FROM runs"):
        with suppress(ValueError, TypeError, RecursionError):
            read = json.loads(text)
            run = IndexedRun(**{**read, "command": tuple(read["command"])})
            cached[str(name)] = (int(stamp), run)
    before = {name: stamp for name, (stamp, _) in cached.items()}
    entries = _listed(where, cached, *_read(connection))
    gone = [(name,) for name in before.keys() - {one.name for one in entries}]
    connection.executemany("DELETE FROM runs WHERE name = ?", gone)
    connection.executemany(
        "INSERT OR REPLACE INTO runs VALUES (?, ?, ?)",
        [
            (_text(name), stamp, json.dumps(_plain(one)))
            for name, (stamp, one) in cached.items()
            if before.get(name) != stamp
        ],
    )
    return entries


def _plain(entry: IndexedRun) -> dict[str, Any]:
    return {key: value for key, value in asdict(entry).items() if key not in ("tags", "note")}


def _listed(
    where: Path, cached: dict[str, tuple[int, IndexedRun]], tags: Tags, notes: Notes
) -> tuple[IndexedRun, ...]:
    """Return the runs in a folder; `cached` gets those that are new or have changed."""
    entries = []
    for path in run_directory.runs(where):
        name = _text(path.name.removesuffix(run_directory.SUFFIX))
        try:
            stamp = run_directory.stamp(path)
        except OSError:  # taken away meanwhile
            continue
        had = cached.get(name)
        if had is None or had[0] != stamp:
            had = cached[name] = (stamp, _entry(path, name))
        key = (name, had[1].started)
        given = {"tags": tuple(sorted(tags.get(key, ()))), "note": notes.get(key, "")}
        entries.append(IndexedRun(**{**_plain(had[1]), **given}))
    return tuple(sorted(entries, key=lambda one: (-one.started, one.name)))


def _entry(path: Path, name: str) -> IndexedRun:
    try:
        head = run_directory.find(str(path)).head
    except GnomonError as error:
        return IndexedRun(name, problem=str(error))
    ranks = head.get("ranks", 1)
    return IndexedRun(
        name=name,
        started=float(head["started"]),
        command=tuple(_text(word) for word in head["command"]),
        ranks=ranks if isinstance(ranks, int) and 0 < ranks < 1 << 31 else 1,
        wall_seconds=float(head["wall_seconds"]),
        exit_status=head["exit_status"],
        repetitions=head["repetitions"],
    )


def _key(run: Path) -> tuple[Path, str, float]:
    opened = run_directory.find(str(run))
    name = _text(opened.path.name.removesuffix(run_directory.SUFFIX))
    return opened.path.parent, name, float(opened.head["started"])
