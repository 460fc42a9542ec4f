"""Files of other tools as runs, for tests of the readers."""

from __future__ import annotations

from pathlib import Path

import pytest
from stack_values import stack_values

from gnomon.errors import RunDirectoryError
from gnomon.store.run import Run
from gnomon.store.run_files import READERS, reader_of


def opened(path: Path, content: str | bytes) -> Run:
    """Return a file with a content as a run."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    reader = reader_of(path, READERS)
    assert reader is not None
    return reader.open(path)


def refusal(path: Path, content: str | bytes) -> str:
    """Return why a file is not read, behind its name."""
    with pytest.raises(RunDirectoryError) as caught:
        opened(path, content)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    return said.removeprefix(f"{path}: ")


def own(run: Run, metric: str) -> dict[tuple[int, tuple[str, ...]], float]:
    """Return what each stack has alone, by thread number; threads without one are -1."""
    kinds = run.query("SELECT DISTINCT kind FROM locations")
    values = stack_values(run, metric, by_thread=("thread",) in kinds)
    return {key: value.exclusive for key, value in values.items() if value.exclusive}
