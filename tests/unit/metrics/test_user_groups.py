"""Users' files of groups and metrics: which hold, which come first, and what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.errors import FormulaError, UsageError
from gnomon.metrics import user_definitions
from gnomon.metrics.groups import Group, find_group

MINE = """\
[[group]]
number = 3
name = "MINE"
description = "in place of the third"
events = ["cycles"]

[[group]]
number = 3
name = "OTHER"
description = "for another CPU"
events = ["instructions"]
cpus = ["power5"]

[[metric]]
name = "ipc"
unit = "instructions/cycle"
formula = "2 * instructions / cycles"
description = "twice as good"
"""
LIKWID = "SHORT mine\nEVENTSET\nPMC0 A_B\nMETRICS\nx [s] PMC0*time\nwrong )\n"


@pytest.fixture(autouse=True)
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(user_definitions.VARIABLE, raising=False)
    user_definitions.forget()
    yield
    user_definitions.forget()


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def names(groups: tuple[Group, ...]) -> list[str]:
    return [group.name for group in groups]


def test_without_files_gnomons_own_hold() -> None:
    assert names(user_definitions.select_groups(["3", "flops", "10"])) == ["CACHE", "FLOPS", "MEM"]
    (ipc,) = (one for one in user_definitions.metrics().definitions if one.name == "ipc")
    assert ipc.formula.text == "PAPI_TOT_INS / PAPI_TOT_CYC"


def test_a_loaded_file_comes_first(tmp_path: Path) -> None:
    user_definitions.load(write(tmp_path, MINE))
    assert names(user_definitions.select_groups(["3", "CACHE"])) == ["MINE", "CACHE"]
    assert names(user_definitions.select_groups(["OTHER"], lambda: ("power5",))) == ["OTHER"]
    definitions = [one for one in user_definitions.metrics().definitions if one.name == "ipc"]
    assert definitions[0].formula.text == "2 * instructions / cycles"
    user_definitions.forget()
    assert names(user_definitions.select_groups(["3"])) == ["CACHE"]


def test_what_was_loaded_last_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path, MINE.replace("MINE", "FIRST"), "first.toml")
    second = write(tmp_path, MINE.replace("MINE", "SECOND"), "second.toml")
    monkeypatch.setenv(user_definitions.VARIABLE, f"{first}::{second}")
    assert names(user_definitions.select_groups(["3"])) == ["FIRST"]
    user_definitions.load(write(tmp_path, MINE))
    user_definitions.load(second)
    assert names(user_definitions.select_groups(["3"])) == ["SECOND"]
    user_definitions.load(tmp_path / "mine.toml")
    assert names(user_definitions.select_groups(["3"])) == ["MINE"]
    assert len(user_definitions.libraries()) == 5


def test_a_file_may_be_chosen_itself(tmp_path: Path) -> None:
    path = write(tmp_path, MINE)
    assert names(user_definitions.select_groups([str(path)])) == ["MINE"]
    assert names(user_definitions.select_groups([str(path)], lambda: ("power5",))) == [
        "MINE",
        "OTHER",
    ]
    likwid = write(tmp_path, LIKWID, "LIKE.txt")
    (group,) = user_definitions.select_groups([str(likwid)], is_known={"A:B"}.__contains__)
    assert (group.name, group.events, group.metrics) == ("LIKE", ("A:B",), ("x [s]",))
    assert user_definitions.metrics().definitions[0].formula.text == "A_B*wall_seconds"
    (notes,) = (one.notes for one in user_definitions.libraries() if one.notes)
    assert notes == (f"{likwid}:6:7: expected a number, a name or '(', found ')'",)
    # A group of a file is then known by its name as well.
    assert names(user_definitions.select_groups(["like"])) == ["LIKE"]


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("", "mine.toml", "has no group; add one, headed [[group]]"),
        ("[[group]]\nnumber = 1", "mine.toml", ":1: 'name' is missing"),
        (MINE.replace("2 *", "2 **"), "mine.toml", ":17:4: expected a number"),
        ("SHORT", "mine.txt", ":1: has no SHORT line"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, name: str, problem: str) -> None:
    path = write(tmp_path, text, name)
    with pytest.raises((UsageError, FormulaError)) as caught:
        user_definitions.select_groups([str(path)])
    assert str(caught.value).startswith(f"{path}:")
    assert problem in str(caught.value)
    assert names(user_definitions.select_groups(["3"])) == ["CACHE"]


def test_files_of_the_variable_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(user_definitions.VARIABLE, "/nonexistent/groups.toml")
    with pytest.raises(UsageError, match=r"/nonexistent/groups\.toml: No such file"):
        user_definitions.select_groups(["3"])


def test_groups_for_other_cpus_are_named_as_such() -> None:
    with pytest.raises(UsageError) as caught:
        user_definitions.select_groups(["topdown2"], lambda: ("skx",))
    assert str(caught.value) == (
        "group 'topdown2' is for core PMUs that have its events "
        "(amd64_fam19h_zen4, amd64_fam1ah_zen5, emr, gnr, spr); "
        "this machine's is skx; gnomon groups lists the others"
    )
    with pytest.raises(UsageError, match="this machine's is none that the kernel shows"):
        user_definitions.select_groups(["22"])
    assert names(user_definitions.select_groups(["22"], lambda: ("spr", "ix86arch"))) == [
        "TOPDOWN2"
    ]


def test_the_default_group_is_the_cpus() -> None:
    def events(*cpus: str) -> tuple[str, ...]:
        return user_definitions.select_groups(["0"], lambda: cpus)[0].events

    assert "PAPI_DP_OPS" in events("skx", "ix86arch")
    assert "branches" not in events("skx")
    assert {"PAPI_FP_OPS", "branches"} <= set(events("icx"))
    assert "PM_FLOP_CMPL" in events("power9")
    assert events() == events("hsw") == events("arm_n1")
    assert {"branches", "branch-misses", "cycles"} <= set(events())


def test_the_cpu_is_asked_for_only_where_it_matters() -> None:
    asked: list[str] = []

    def cpus() -> tuple[str, ...]:
        asked.append("cpus")
        return ("skx",)

    user_definitions.select_groups(["BRANCH", "FLOPS_DP", "5"], cpus)
    assert asked == []
    user_definitions.select_groups(["FLOPS"], cpus)
    assert asked == ["cpus"]


def test_the_first_group_in_order_is_meant() -> None:
    for_all = Group(1, "A", "for all", ("a",))
    bound = Group(1, "A", "for one", ("b",), cpus=("skx",))
    assert find_group([for_all, bound], 1, lambda: ("skx",)) is for_all
    assert find_group([bound, for_all], 1, lambda: ("skx",)) is bound
    assert find_group([bound, for_all], 1, lambda: ("icx",)) is for_all
