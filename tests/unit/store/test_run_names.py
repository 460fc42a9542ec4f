"""Names of runs and folders say nothing of what is in a run, whatever they mean to DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import made_run

from gnomon.errors import RunDirectoryError, UsageError
from gnomon.model.tables import REGIONS, SCHEMAS
from gnomon.store import profile_query, run_directory
from gnomon.store.profile_query import Profile
from gnomon.view.folder_listing import listing
from gnomon.view.session import Session

ROWS = [
    ("app", "solve", "/src/solve.c", 4, (40, 3, 2, 1)),
    ("app", "main", "/src/m.c", 9, (5, 5, 5, 5)),
]
OTHER = [("app", "other", "/src/other.c", 1, (7, 7, 7, 7))]
# With names that are one run's pattern and another's name, as a sweep of parameters makes them.
NAMES = [
    "rank=4/run", "metric=2/run", "location=x/run", "name=foo/run", "inclusive=7/run", "line=1",
    "a[1]", "b*", "c?d", "~run", "file:/run", "s3:/run", "back\\slash", "it's", "{x,y}",
]  # fmt: skip
NEIGHBOURS = ["a1", "bcd", "c-d", "x"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plain run, and others whose names some patterns match."""
    found = tmp_path_factory.mktemp("names")
    for neighbour in NEIGHBOURS:
        made_run(found, OTHER, name=neighbour)
    made_run(found, ROWS, name="plain")
    return found


def contents(path: str) -> list[object]:
    """Return all that a run holds: its tables, profiles, and what the view has of it."""
    run = run_directory.find(path)
    found: list[object] = [run.rows(schema) for schema in SCHEMAS]
    for by in ("rank", "line", "metric"):
        found.append(profile_query.run(Profile(by), profile_query.parts(run)))
    session = Session()
    try:
        (opened,) = session.open([path])
        found += [opened.data.locations, opened.data.metrics]
        for number in opened.data.metric_of:
            found.append(opened.values("region", number).inclusive.tobytes())
    finally:
        session.end()
    return found


def test_a_run_has_the_same_values_under_odd_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    same_values(NAMES[::2])


@pytest.mark.long
def test_a_run_has_the_same_values_under_other_odd_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    same_values(NAMES[1::2])


def same_values(names: list[str]) -> None:
    """Make a run of each name and look at it as at the plain one."""
    plain = contents("plain")
    for name in names:
        Path(name).parent.mkdir(exist_ok=True)
        made_run(Path(), ROWS, name=name)
        assert contents(f"./{name}") == plain, name


def test_a_damaged_table_is_named_under_every_name(tmp_path: Path) -> None:
    run = made_run(tmp_path, ROWS, name="rank=4")
    (run.path / "profile.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunDirectoryError, match=r"rank=4\.gnomon/profile\.parquet: it is dam"):
        run_directory.find(str(run.path)).query("SELECT * FROM profile")


def test_the_home_of_nobody_is_a_name_like_others(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no such run"):
        Session().open(["~nobody-of-that-name/run"])
    with pytest.raises(RunDirectoryError, match="cannot be listed"):
        listing("~nobody-of-that-name")
    with pytest.raises(UsageError, match="no directory on the machine"):
        Session(sources=[tmp_path]).folders.add("~nobody-of-that-name")


def test_a_folder_that_is_no_utf8_has_runs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "caf\udce9"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run = made_run(Path(), ROWS)
    assert [row["name"] for row in run.rows(REGIONS)] == ["app", "solve", "main"]
    outside = str(folder / "run")
    with pytest.raises(RunDirectoryError, match=r"its path is not UTF-8.* go into it"):
        run_directory.find(outside).rows(REGIONS)
    with pytest.raises(RunDirectoryError, match=r"its path is not UTF-8.* go into it"):
        Session().open([outside])
