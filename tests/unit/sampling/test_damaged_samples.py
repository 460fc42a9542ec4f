"""Damaged record files of the sampler and of Python processes: they are read, or refused."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
import sample_records
from damaged_records import damaged

from gnomon.errors import FormatError
from gnomon.measurement.call_paths import call_paths
from gnomon.sampling import python_stacks
from gnomon.sampling.branch_tables import TaskNumbers, branch_table
from gnomon.sampling.python_records import read_process
from gnomon.sampling.python_samples import stack_of_samples
from gnomon.sampling.sample_file import NONE, read_samples
from gnomon.sampling.sample_tables import collect
from gnomon.store.record_file import RecordFile, open_records

SAMPLES, PYTHON = "n.50.2.samples.gnrec", "n.50.2.python.gnrec"


def write(folder: Path) -> dict[str, bytes]:
    """Write a record file of each kind, and return what they hold."""
    rows = sample_records.records() | {
        "jump": list(sample_records.JUMPS),
        "wait": [(1600, 0, 0, 51, 0, 2, 0), (0, 0, 3, 0, 50, 0, 1)],
        "rest": [(3000, 2, 0, 9, 0), (50, 1, 1, 5, 1)],
        "span": [(1000, 9000, 0), (2000, 8000, 1)],
    }
    files = (
        sample_records.write(folder / SAMPLES, rows),
        sample_records.write(
            folder / PYTHON, sample_records.python_records(), sample_records.PYTHON_KINDS
        ),
    )
    return {path.name: path.read_bytes() for path in files}


def read(file: RecordFile) -> None:
    """Read a file, and what is made of its numbers."""
    if file.path.name == SAMPLES:
        samples = read_samples(file)
        regions = [(1,)] * len(samples.place_modules)
        call_paths(samples.node_places, samples.node_parents, regions, 0)
        numbers = TaskNumbers(
            0, np.arange(len(samples.threads)), np.arange(len(samples.place_modules))
        )
        assert branch_table(samples, numbers).numbers("taken").sum() == len(samples.jumps)
        return
    process = read_process(file)
    times = np.array([1500, 2500, 3500], np.uint64)
    tids = np.array([50, 51, 51], np.int32)
    stack_of_samples(process, times, tids, np.zeros(3, bool))
    paths = python_stacks.joined([process.paths])
    assert (paths.parent < np.arange(len(paths.parent))).all()
    assert process.node.max(initial=-1) < len(paths.parent)


def outcomes(folder: Path, n: int, seed: int) -> dict[str, int]:
    """Return how many of n damaged files were read, and how many refused."""
    whole, random = write(folder), Random(seed)
    counted = {"read": 0, "refused": 0}
    for _ in range(n):
        name = random.choice([SAMPLES, PYTHON])
        path = folder / name
        path.write_bytes(damaged(random, whole[name]))
        reason = refusal(path)
        assert not reason or (reason.startswith(f"{path}: at byte ") and "\n" not in reason)
        counted["refused" if reason else "read"] += 1
    return counted


def refusal(path: Path) -> str:
    """Return why a file is not read, "" if it is."""
    try:
        read(open_records(path))
    except FormatError as error:
        return str(error)
    return ""


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    counted = outcomes(tmp_path, 2000, 7)
    # Damage is neither all that there is nor nothing.
    assert min(counted.values()) > 200, counted


@pytest.mark.long
def test_a_hundred_thousand_damaged_files(tmp_path: Path) -> None:
    assert sum(outcomes(tmp_path, 100_000, 1).values()) == 100_000


@pytest.mark.parametrize("name", [SAMPLES, PYTHON])
def test_runs_of_damaged_files_say_so(name: str, tmp_path: Path) -> None:
    whole, random = write(tmp_path), Random(5)
    whole_tables = list(collect(tmp_path).tables)
    n_warned = 0
    for _ in range(100):
        (tmp_path / name).write_bytes(damaged(random, whole[name]))
        collected = collect(tmp_path)
        tables = list(collected.tables)
        assert tables or collected.warnings
        n_warned += any(name in warning for warning in collected.warnings)
    assert n_warned > 10
    assert len(whole_tables) > 5


def test_the_records_of_a_python_process_are_read(tmp_path: Path) -> None:
    write(tmp_path)
    process = read_process(open_records(tmp_path / PYTHON))
    named = [function.name for function in process.paths.functions]
    assert [named[number] for number in process.paths.function] == ["<module>", "f", "g", ""]
    assert process.paths.line.tolist()[:2] == [1, 7]
    assert (process.version, process.parent) == ("3.11.2", 0)
    assert process.node.tolist() == [0, 2, -1, -1, 3]
    assert NONE not in process.node.tolist()
