"""A file in a format of others, or a run directory in one file, as a run directory of its own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from gnomon.errors import RunDirectoryError
from gnomon.store import run_directory, run_files
from gnomon.store.run import Run
from gnomon.store.run_files import Reader
from gnomon.store.source_digests import digests


def import_file(
    path: Path,
    name: str | None = None,
    readers: Sequence[Reader] = run_files.READERS,
    *,
    force: bool = False,
) -> Path:
    """Write the run directory of a file and return it.

    Args:
        path: the file.
        name: of the run; None for the file's, without the end that says its format, here.
        readers: of the formats.
        force: replace a run of that name.

    Raises:
        RunDirectoryError: no reader knows the file or its own cannot read it, the name is taken, or
            the disk refuses.
    """
    reader = run_files.reader_of(path, readers)
    if reader is None:
        what = (
            "it is a run directory"
            if run_directory.is_run(path)
            else run_files.why_not(path, readers)
        )
        raise RunDirectoryError(f"{path}: nothing to import: {what}")
    name = run_files.stem_of(path, readers) if name is None else name
    run_directory.check_free(name, force=force)  # before a large file is read
    run = reader.open(path)
    head = {
        "sources": _digests(run),
        **run.head,
        "schema": run_directory.MAGIC,
        "schema_version": run_directory.SCHEMA_VERSION,
        "imported": {"file": str(path.absolute()), "format": reader.name},
    }
    # A .viz file names the tables of the run that it was exported from, and has not all of them.
    head.pop("tables", None)
    with run_directory.drafted(name, force=force) as draft:
        for schema in run.schemas:
            shutil.copyfile(run.file(schema), draft.folder / f"{schema.name}.parquet")
        if run.read_file is None:
            draft.finish(head, (), {})
        else:
            from gnomon.store.run_bundle import unpacked_files

            with unpacked_files(path, run.head) as files:
                draft.finish(head, (), {}, files)
    return draft.path


def _digests(run: Run) -> dict[str, str]:
    files = run.query("SELECT DISTINCT file FROM regions WHERE file <> ''")
    return digests((str(file) for (file,) in files), float(run.head["started"]))
