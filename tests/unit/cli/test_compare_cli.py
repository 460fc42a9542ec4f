"""`gnomon compare`: its words, what it prints, its status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repeated_runs import repeated_run, times

from gnomon.cli import main
from gnomon.cli.commands.compare import parser
from gnomon.store.comparison.samples import side


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name, factor in (("before", 1.0), ("after", 1.1)):
        repeated_run(tmp_path, name, {"wall time": times(factor), "context-switches": times(2)})


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ([], 0), (["5%"], 3), (["20%"], 0), (["wall time=5"], 3), (["WALL TIME=20%"], 0),
        (["wall time=20%,5%"], 0), (["wall time=5%", "30%"], 3),
        (["context-switches=+5%"], 0), (["wall time=-5%"], 0),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("pair")
def test_limits_decide_the_status(limits: list[str], status: int) -> None:
    words = [word for limit in limits for word in ("--fail-on", limit)]
    assert main(["compare", "before", "after", *words]) == status


def test_what_was_none_before_breaks_a_limit_and_is_called_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, faults in (("before", [0.0] * 10), ("after", [200.0 + at % 3 for at in range(10)])):
        repeated_run(tmp_path, name, {"wall time": times(), "major-faults": faults})
    words = ["compare", str(tmp_path / "before"), str(tmp_path / "after"), "--fail-on", "5%"]
    assert main(words) == 3
    assert "major-faults of" in (said := " ".join(capsys.readouterr().out.split()))
    assert said.endswith("is new, significantly beyond 5 %")
    assert main([*words, "--json"]) == 3
    (breach,) = json.loads(capsys.readouterr().out)["breaches"]
    assert (breach["metric"], breach["change"]) == ("major-faults", None)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["before"], 2, "needs a baseline and another run"),
        (["before", "none"], 1, "no such run"),
        (["before", "before,"], 2, "a name is missing"),
        (["before", "after,after"], 2, "named twice"),
        (["before", "after", "-e", "cycles"], 2, "no run has such a metric"),
        (["before", "after", "--fail-on", "much"], 2, "not a percentage"),
        (["before", "after", "--fail-on", "=5%"], 2, "a metric is missing"),
        (["before", "after", "--fail-on", "context-switches=5%"], 2, "context-switches=+5% (more"),
        (["before", "after", "--at-least", "-1"], 2, "not a percentage"),
        (["before", "after", "--at-least", "nan"], 2, "not a percentage"),
        (["before", "after", "--top", "3"], 2, "needs --per"),
        (["before", "once", "--fail-on", "5%"], 1, "can be judged: one repetition only"),
        (["before", "once", "--fail-on", "wall time=5%"], 1, "wall time cannot be judged"),
        (["before", "before", "once", "--fail-on", "5%"], 1, "no metric of once can be judged"),
        (
            ["before", "after", "once", "--fail-on", "wall time=20%"], 1,
            "wall time of once cannot be judged: one repetition only",
        ),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("pair")
def test_mistakes_are_one_line(
    words: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repeated_run(tmp_path, "once", {"wall time": times()[:1]})
    assert main(["compare", *words]) == status
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert said in told.err


@pytest.mark.usefixtures("pair")
def test_text_and_json_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "10 % slower, sure to >99.9 %: wall time +" in text
    assert main(["compare", "before", "after", "--json", "--fail-on", "5%"]) == 3
    told = json.loads(capsys.readouterr().out)
    wall, switches = told["comparisons"][0]["metrics"]
    assert (wall["metric"], wall["verdict"], wall["sure"]) == ("wall time", "worse", True)
    assert wall["low"] < 0.1 < wall["high"]
    assert (switches["verdict"], switches["change"]) == ("", pytest.approx(0))
    assert [one["metric"] for one in told["breaches"]] == ["wall time"]


def test_the_headline_names_the_strongest_verdict_in_one_notation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wall time that says nothing does not stand before a CPU time that has doubled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    wild = [at * 1e6 for at in (90, 100, 110, 95, 105)]
    for name, wall, clock in (
        ("before", wild, times()[:5]),
        ("after", [at * 1e6 for at in (80, 90, 3000, 5000, 1000)], times(2.3)[:5]),
    ):
        repeated_run(tmp_path, name, {"wall time": wall, "task-clock": clock})
    assert main(["compare", "before", "after"]) == 0
    text = " ".join(capsys.readouterr().out.split("metric ")[0].split("\n\n")[1].split())
    first, rest = text.split(" wall time beyond")
    assert first.startswith("task-clock +130 %, worse, sure to >99.9 %: +12")
    assert first.endswith("between the runs no significant difference in")
    low, high = rest.split(": ")[1].removesuffix(" with 95 % confidence").split(" to ")
    assert low.startswith("×0.")
    assert high.startswith("×")
    # Where wall time is known as surely, it is the first question still.
    assert main(["compare", "after", "before"]) == 0
    repeated_run(tmp_path, "slower", {"wall time": times(1.1), "task-clock": times(2.3)})
    repeated_run(tmp_path, "quick", {"wall time": times(), "task-clock": times()})
    capsys.readouterr()
    assert main(["compare", "quick", "slower"]) == 0
    both = capsys.readouterr().out.split("\n\n")[1]
    assert both.startswith("10 % slower, sure to >99.9 %: wall time +")
    assert "\ntask-clock +130 %, worse, sure to >99.9 %: +" in both


@pytest.mark.usefixtures("pair")
def test_output_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "-o", "out.json"]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["baseline"]["executions"] == 10
    assert capsys.readouterr().out == ""


def test_names_with_commas_are_found_first(tmp_path: Path) -> None:
    path = repeated_run(tmp_path, "a,b", {"wall time": times()})
    assert [run.path for run in side(str(path)).runs] == [path]


def test_help_shows_how_to_spell_sides() -> None:
    assert "gnomon compare old1,old2,old3 new1,new2,new3\n" in parser().format_help()
