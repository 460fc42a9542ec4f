"""Presets of one's own: where they come from, what they may be called, what they count."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.counters import presets
from gnomon.counters.event_resolver import one, resolve
from gnomon.counters.eventset import EventSet
from gnomon.counters.presets import builtin, user_presets
from gnomon.errors import EventNameError, EventUnavailableError, PresetFileError


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(user_presets.VARIABLE, raising=False)
    yield
    presets.forget()


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


SOFTWARE = Path(__file__).parents[2] / "own_presets.toml"


def touch(pages: int) -> None:
    size = os.sysconf("SC_PAGE_SIZE")
    with mmap.mmap(-1, pages * size) as memory:
        for at in range(pages):
            memory[at * size] = 1


def test_users_presets_count() -> None:
    presets.load(SOFTWARE)
    names = "FAULTS,RATIO,FAULTS_EACH_SECOND,LESS,UNDEFINED,page-faults,major-faults"
    with EventSet(names) as events:
        touch(500)
        reading = events.stop()
    faults, ratio, rate, less, nothing, plain, major = (reading[at] for at in range(7))
    assert faults.value == plain.value
    assert (faults.raw, faults.is_derived, faults.derived) == (plain.raw, False, None)
    assert plain.raw >= 500
    # N0 of the ratio is a preset itself: the sum of two events.
    assert (ratio.value, ratio.is_derived, ratio.raw) == (1.0, True, 0)
    assert rate.unit == "/s"
    assert rate.value == plain.raw / (plain.enabled_ns / 1e9)
    assert isinstance(less.value, int)
    assert less.value == major.raw - plain.raw
    assert less.is_negative
    assert not faults.is_negative
    # Nothing was misaligned: there is no ratio, and none is invented.
    assert (nothing.value, nothing.derived, nothing.is_derived) == (None, None, True)
    assert nothing.running_ns > 0
    assert not nothing.is_negative


def test_a_sum_of_software_events_takes_modifiers() -> None:
    presets.load(SOFTWARE)
    (event,) = one("FAULTS:u")
    assert event.name == "FAULTS:u"
    assert event.domain.value == "user"
    assert all(term.encoding.exclude for term in event.spec.terms)
    assert (event.info.component, event.info.description) == ("kernel", "page faults of both kinds")


def test_variable_names_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path, '[preset.MINE]\nevents = ["page-faults"]\n', "a.toml")
    second = write(
        tmp_path, "PRESET,MINE,DERIVED_ADD,page-faults,task-clock\nPRESET,ELSE,NOT_DERIVED,"
        "task-clock\n", "b.csv",
    )  # fmt: skip
    monkeypatch.setenv(user_presets.VARIABLE, f"{first}:{second}")
    assert len(one("MINE")[0].spec.terms) == 1
    (other,) = one("ELSE")
    assert (other.info.unit, other.name) == ("ns", "ELSE")
    monkeypatch.setenv(user_presets.VARIABLE, f"{second}::{first}")
    assert len(one("MINE")[0].spec.terms) == 2
    # What a program loads comes first.
    presets.load(write(tmp_path, '[preset.MINE]\nevents = ["major-faults"]\n', "c.toml"))
    presets.load(write(tmp_path, '[preset.MINE]\nevents = ["minor-faults"]\n', "d.toml"))
    assert one("MINE")[0].spec == one("minor-faults")[0].spec
    assert [family.name for family in user_presets.families()] == ["d", "c", "b", "a"]
    assert presets.of_this_machine()[0].source.endswith("d.toml")
    presets.forget()
    monkeypatch.setenv(user_presets.VARIABLE, str(tmp_path / "not there.toml"))
    with pytest.raises(PresetFileError, match="cannot be read"):
        one("MINE")


def test_users_presets_come_before_ours(tmp_path: Path) -> None:
    text = '[preset.PAPI_TOT_INS]\nevents = ["page-faults"]\n[absent]\nPAPI_TOT_CYC = "broken"\n'
    path = write(tmp_path, text)
    presets.load(path)
    (event,) = one("papi_tot_ins")
    assert event.info.component == "kernel"
    rows = [p for p in presets.of_this_machine() if p.name == "PAPI_TOT_INS"]
    assert [(row.source, row.is_users) for row in rows] == [(str(path), True)]
    # Its meaning is still the standard one.
    assert rows[0].description == builtin.meanings()["PAPI_TOT_INS"].description
    with pytest.raises(EventUnavailableError, match="broken"):
        one("PAPI_TOT_CYC")


@pytest.mark.parametrize("name", ["page-faults", "cycles", "r1a8"])
def test_a_name_that_an_event_has_is_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, f'title = "t"\n\n[preset.{name}]\nevents = ["task-clock"]\n')
    with pytest.raises(PresetFileError, match="has an event of that name") as caught:
        presets.load(path)
    assert caught.value.line == 3
    assert resolve("task-clock").events


def test_presets_for_other_pmus_are_not_here(tmp_path: Path) -> None:
    path = write(tmp_path, 'pmus = ["knl"]\n[preset.MINE]\nevents = ["page-faults"]\n')
    presets.load(path)
    for ask in (one, presets.preset_of, presets.resolve):
        with pytest.raises(EventUnavailableError, match="for PMU knl only") as caught:
            ask("MINE")
        assert str(path) in caught.value.reason
        assert caught.value.papi_name == "PAPI_ENOEVNT"
    assert all(preset.name != "MINE" for preset in presets.of_this_machine())
    assert [preset.name for preset in presets.of_other_pmus()] == ["MINE"]
    assert [preset.name for preset in presets.users_of(("knl",))] == ["MINE"]
    assert presets.users_of(("skx",)) == ()
    presets.load(write(tmp_path, "CPU,knl\nPRESET,MINE,NOT_DERIVED,task-clock\n", "mine.csv"))
    with pytest.raises(EventUnavailableError, match=r"mine\.csv defines it for PMU knl only"):
        one("MINE")
    with pytest.raises(EventNameError):
        one("YOURS")
    # One that holds here goes before those that do not.
    presets.load(write(tmp_path, '[preset.MINE]\nevents = ["page-faults"]\n', "here.toml"))
    assert one("MINE")[0].info.component == "kernel"


def test_presets_that_extend_ours(tmp_path: Path) -> None:
    text = 'extends = "generic"\n[preset.MINE]\nevents = ["page-faults"]\n'
    family = presets.load(write(tmp_path, text))
    assert {"MINE", "PAPI_TOT_INS"} <= {preset.name for preset in family.presets}
    with pytest.raises(PresetFileError, match="there are"):
        presets.load(write(tmp_path, 'extends = "nothing"\n'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[preset.A]\nevents = ["A"]\n', "preset A is defined by itself"),
        (
            '[preset.A]\nevents = ["B"]\n[preset.B]\nevents = ["A"]\n',
            "defined by itself (A of B of A)",
        ),
        ('[preset.A]\nevents = ["no_such_event"]\n', "native event 'no_such_event'"),
        ('[preset.A]\nevents = ["io:::read_bytes"]\n', "component io, which is not counted"),
        ('[preset.A]\nevents = ["sched:sched_p*"]\n', "stands for several events"),
        ('[preset.A]\nevents = ["B"]\n[absent]\nB = "it is gone"\n', "B: it is gone"),
        ('[preset.A]\nevents = ["cpu/foo=1/"]\n', "native event 'cpu/foo=1/'"),
    ],
)
def test_presets_that_come_to_nothing(tmp_path: Path, text: str, said: str) -> None:
    presets.load(write(tmp_path, text))
    with pytest.raises(EventUnavailableError) as caught:
        one("A")
    if "sched_p" in text and "tracefs" in caught.value.reason:
        pytest.skip("tracefs cannot be read here: run as root")
    assert said in str(caught.value)
    assert caught.value.remedy


def test_nested_presets_that_grow_without_end(tmp_path: Path) -> None:
    rows = ['[preset.P0]\nevents = ["page-faults"]\nformula = "' + "N0*" * 99 + 'N0"\n']
    rows += [
        f'[preset.P{at}]\nevents = ["P{at - 1}"]\nformula = "' + "N0*" * 99 + 'N0"\n'
        for at in range(1, 5)
    ]
    presets.load(write(tmp_path, "".join(rows)))
    with pytest.raises(EventUnavailableError, match="more than 65536 steps"):
        one("P4")
    assert len(one("P1")[0].spec.terms) == 1


def test_native_events_are_opened_once(tmp_path: Path) -> None:
    text = (
        '[preset.A]\nevents = ["page-faults", "task-clock", "page-faults", "major-faults"]\n'
        'formula = "N0/N3 + N2/N3"\n'
    )
    presets.load(write(tmp_path, text))
    (event,) = one("A")
    assert len(event.spec.terms) == 2
    assert event.spec.formula.infix() == "N0 / N1 + N0 / N1"
