"""Files of presets: what they say, and that a broken one is refused with its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gnomon.counters import presets
from gnomon.counters.eventset import EventSet
from gnomon.counters.presets import papi_csv, shipped, toml, users
from gnomon.counters.presets.definition import Meaning
from gnomon.counters.presets.text import BYTES_MAX, LINE_MAX
from gnomon.counters.resolve import one, resolve
from gnomon.errors import EventNameError, EventUnavailableError, GnomonError, PresetFileError

MEANINGS = {"PAPI_TOT_INS": Meaning("instructions retired"), "PAPI_BR_UCN": Meaning("u", "x")}
PATH = Path("mine.toml")


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(users.VARIABLE, raising=False)
    yield
    presets.forget()


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


# --- TOML -----------------------------------------------------------------------------------------

WHOLE = """\
title = "Some PMU"
pmus = ["one", "two"]
source = "a manual"
extends = "generic"

[preset.PAPI_TOT_INS]
events = ["INST_RETIRED"]
meaning = ["instructions that were retired"]
differs = "nothing that matters"

[preset.OPS]
events = ["A:B", "C"]
formula = "N0 + 8*N1"
description = "operations"
unit = "FLOP"

[preset.RATE]
events = ["A"]
formula = "N0|seconds|/|"

[absent]
PAPI_BR_UCN = "no event tells them apart"
"""


def test_toml() -> None:
    family, extends = toml.parse(WHOLE, PATH, MEANINGS)
    assert extends == "generic"
    assert (family.name, family.title, family.source) == ("mine", "Some PMU", "a manual")
    assert family.pmus == ("one", "two")
    ins, ops, rate, absent = family.presets
    assert ins.kind == "not derived"
    assert ins.description == "instructions retired"
    assert ins.meanings == ("instructions that were retired",)
    assert ins.differs == "nothing that matters"
    assert (ins.pmus, ins.source, ins.family, ins.line) == (("one", "two"), "a manual", "mine", 6)
    assert (ops.events, ops.formula, ops.kind) == (("A:B", "C"), "N0 + 8*N1", "infix")
    assert (ops.description, ops.unit) == ("operations", "FLOP")
    assert ops.definition == "A:B + 8 * C"
    assert (rate.kind, rate.unit) == ("per second", "/s")
    assert (absent.events, absent.kind, absent.definition) == ((), "", "")
    assert (absent.reason, absent.unit) == ("no event tells them apart", "x")


@pytest.mark.parametrize(
    ("formula", "kind"),
    [("", "sum"), ("N0+N1", "sum"), ("N0|N1|+|", "sum"), ("N0 - N1", "difference"),
     ("N0|N1|-|", "difference"), ("2*N0 + N1", "infix"), ("N0/N1", "infix"),
     ("N0|2|N1|*|+|", "postfix"), ("N0/seconds", "per second"), ("N1 - N0", "infix")],
)  # fmt: skip
def test_kinds_follow_from_the_formula(formula: str, kind: str) -> None:
    line = f'formula = "{formula}"\n' if formula else ""
    family, _ = toml.parse(f'[preset.X]\nevents = ["A", "B"]\n{line}', PATH, {})
    assert family.presets[0].kind == kind


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("x = 1\n", 1, "unknown key 'x'"),
        ("title = 1\n", 1, "'title' must be one line"),
        ('\ntitle = """a\nb"""\n', 2, "'title' must be one line"),
        ('pmus = "skx"\n', 1, "'pmus' must be a list"),
        ('pmus = ["a b"]\n', 1, "without blanks"),
        ("[preset]\nX = 1\n", 1, "each headed [preset.NAME]"),
        ("preset = 1\n", 0, "'preset' must be a table"),
        ("[preset.X]\n", 1, "it has no events"),
        ("\n[preset.X]\nevents = []\n", 2, "it has no events"),
        ('[preset.X]\nevents = "A"\n', 2, "must be a list"),
        ('[preset.X]\nevents = ["A B"]\n', 2, "without blanks"),
        ('[preset.X]\nevents = [""]\n', 2, "without blanks"),
        (f'[preset.X]\nevents = ["{"A" * 300}"]\n', 2, "longer than 256"),
        ('[preset.X]\nevents = ["A"]\nformula = "N1"\n', 3, "column 1 of its formula: there is no"),
        ('[preset.X]\nevents = ["A"]\nformula = 1\n', 3, "'formula' must be a formula"),
        ('[preset.X]\nevents = ["A"]\nformula = " "\n', 3, "'formula' must be a formula"),
        ('[preset.X]\nevents = ["A"]\n\nformula = "N0 +"\n', 4, "column 5"),
        ('[preset.X]\nevents = ["A"]\nformula = "1 + 1"\n', 1, "measures nothing"),
        ('[preset.X]\nevents = ["A"]\nmeaning = ["a", "b"]\n', 3, "each of its 1 events"),
        ('[preset.X]\nevents = ["A"]\nmeaning = [1]\n', 3, "'meaning' must be one line"),
        ('[preset.X]\nevents = ["A"]\nevent = ["A"]\n', 3, "unknown key 'event'"),
        ('[preset.X]\nevents = ["A"]\nunit = 1\n', 3, "'unit' must be one line"),
        ('[preset."X Y"]\nevents = ["A"]\n', 1, "no name of a preset"),
        ('[preset."X:u"]\nevents = ["A"]\n', 1, "no name of a preset"),
        ('[preset.X]\nevents = ["A"]\n[absent]\nX = "r"\n', 4, "absent and defined"),
        ('[absent]\n\nX = ""\n', 3, "without a reason"),
        ("[absent]\nX = 3\n", 2, "must be one line"),
        ("absent = []\n", 0, "'absent' must be a table"),
        ('[preset.X]\nevents = ["A"]\n[preset.X]\n', 3, "not TOML"),
        ("title = \n", 1, "not TOML"),
        ("[preset.X\n", 1, "not TOML"),
        ("title = 'a", 1, "not TOML"),
        ("x = " + "9" * 5000, 0, "too many digits"),
        ("x = " + "[" * 4000 + "]" * 4000, 0, "nested too deep"),
    ],
)  # fmt: skip
def test_mistakes_in_toml_are_pointed_at(text: str, line: int, problem: str) -> None:
    with pytest.raises(PresetFileError) as caught:
        toml.parse(text, PATH, {})
    assert problem in str(caught.value)
    assert (caught.value.line, caught.value.path) == (line, PATH)
    assert str(caught.value).startswith(f"mine.toml:{line}: " if line else "mine.toml: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_too_many_natives() -> None:
    names = ", ".join(f'"E{at}"' for at in range(65))
    with pytest.raises(PresetFileError, match="65 native events; at most 64"):
        toml.parse(f"[preset.X]\nevents = [{names}]\n", PATH, {})
    family, _ = toml.parse(f"[preset.X]\nevents = [{names.rpartition(', ')[0]}]\n", PATH, {})
    assert len(family.presets[0].events) == 64


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "cannot be read: No such file"), (b"\xff\xfe", "1: not UTF-8"),
     (b"a = 1\n\n\xc3", "3: not UTF-8"), (b"#" * (LINE_MAX + 1), "1: longer than"),
     (b"#\n" * BYTES_MAX, "larger than")],
)  # fmt: skip
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PresetFileError) as caught:
        presets.read(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_folder_and_a_nul_are_no_files(tmp_path: Path) -> None:
    for path in (tmp_path, Path("a\0b")):
        with pytest.raises(PresetFileError, match="cannot be read"):
            presets.read(path)


def test_only_a_head_is_read_for_the_index() -> None:
    head, _ = toml.parse(toml.head_of(WHOLE), PATH, {})
    assert head.pmus == ("one", "two")
    assert head.presets == ()
    broken = WHOLE + "\n[preset.BROKEN\n"
    assert toml.head_of(broken) == toml.head_of(WHOLE)
    assert toml.head_of('pmus = [\n  "a",\n]\n') == 'pmus = [\n  "a",\n]\n'


def test_meanings(tmp_path: Path) -> None:
    path = write(tmp_path, '[PAPI_X]\ndescription = "what it is"\nunit = "ns"\n')
    assert toml.read_meanings(path) == {"PAPI_X": Meaning("what it is", "ns")}
    for text, problem in (("[A]\n", "1: A has no"), ("\nA = 1\n", "2: A must be a table"),
                          ('[A]\nx = "y"\n', "2: unknown key 'x'")):  # fmt: skip
        with pytest.raises(PresetFileError, match=problem):
            toml.read_meanings(write(tmp_path, text))


# --- PAPI's format --------------------------------------------------------------------------------

CSV = """\
# events of one's own
PRESET,BOTH,DERIVED_ADD,A,B

CPU,skx
CPU,clx
PRESET,DP,DERIVED_POSTFIX,N0|N1|2|*|+|,FP:SCALAR,FP:PACKED,LDESC,"operations, all",UNITS,FLOP
EVENT,LESS,DERIVED_SUB,A,B,C
CPU,icx
 PRESET , DP , derived_infix , N0/N1 , A , B , NOTE , 'it''s'
PRESET,RATE,DERIVED_PS,CYCLES,A
PRESET,RATES,DERIVED_ADD_PS,A,B
PRESET,ONE,NOT_DERIVED,A,
"""


def test_papi_csv() -> None:
    text = CSV.replace("'it''s'", "'it is'")
    family = papi_csv.parse(text, Path("mine.csv"), MEANINGS)
    both, dp, less, other, rate, rates, single = family.presets
    assert (both.name, both.events, both.kind, both.pmus) == ("BOTH", ("A", "B"), "sum", ())
    assert dp.pmus == less.pmus == ("skx", "clx")
    assert (dp.kind, dp.definition) == ("postfix", "FP:SCALAR + FP:PACKED * 2")
    assert (dp.description, dp.unit) == ("operations, all", "FLOP")
    assert (less.kind, less.definition) == ("difference", "A - B - C")
    assert (other.name, other.kind, other.definition, other.pmus) == ("DP", "infix", "A / B",
                                                                      ("icx",))  # fmt: skip
    assert other.description == "it is"
    assert (rate.kind, rate.definition, rate.unit) == ("per second", "A / seconds", "/s")
    assert (rates.kind, rates.definition) == ("per second", "(A + B) / seconds")
    assert (single.kind, single.events) == ("not derived", ("A",))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("FOO,X", "begins with CPU, PRESET or EVENT, not 'FOO'"), ("CPU", "CPU takes one name"),
        ("CPU,a,b", "CPU takes one name"), ("CPU,a b", "without blanks"),
        ("PRESET", "NAME,DERIVATION"), ("PRESET,X", "NAME,DERIVATION"),
        ("PRESET,X,DERIVED_FOO,A", "no derivation 'DERIVED_FOO'"),
        ("PRESET,X,DERIVED_CMPD,A", "no derivation"),
        ("PRESET,X,NOT_DERIVED,A,B", "takes one event, not 2"),
        ("PRESET,X,NOT_DERIVED", "takes one event, not 0"),
        ("PRESET,X,DERIVED_ADD", "no events"), ("PRESET,X,DERIVED_POSTFIX", "without a formula"),
        ("PRESET,X,DERIVED_POSTFIX,N0+N1,A,B", "not what DERIVED_POSTFIX says"),
        ("PRESET,X,DERIVED_INFIX,N0|N1|+|,A,B", "not what DERIVED_INFIX says"),
        ("PRESET,X,DERIVED_POSTFIX,N0|N2|+|,A,B", "column 4 of its formula: there is no 'N2'"),
        ("PRESET,X,DERIVED_POSTFIX,N0|#|*|,A", "column 4 of its formula"),
        ("PRESET,X Y,NOT_DERIVED,A", "no name of a preset"),
        ("PRESET,X,DERIVED_ADD,A,,B", "without blanks"),
        ("PRESET,X,NOT_DERIVED,A,NOTE", "NOTE without a text"),
        ("PRESET,X,NOT_DERIVED,A,NOTE,\"open", "quotation mark"),
        ("PRESET,BOTH,NOT_DERIVED,A", "is defined on line 2 too"),
    ],
)  # fmt: skip
def test_mistakes_in_papi_csv_are_pointed_at(row: str, problem: str) -> None:
    with pytest.raises(PresetFileError) as caught:
        papi_csv.parse(f"# own\nPRESET,BOTH,DERIVED_ADD,A,B\n{row}\n", Path("mine.csv"), {})
    assert caught.value.line == 3
    assert problem in str(caught.value)
    assert str(caught.value).startswith("mine.csv:3: ")


def test_which_format_a_file_is_of(tmp_path: Path) -> None:
    assert papi_csv.is_csv("# x\n\n  preset,A,NOT_DERIVED,B\n")
    assert not papi_csv.is_csv('[preset.X]\nevents = ["A"]\n')
    assert not papi_csv.is_csv("")
    for name, text in (("a.csv", "PRESET,X,NOT_DERIVED,A\n"), ("b", "EVENT,X,NOT_DERIVED,A\n"),
                       ("c", '[preset.X]\nevents = ["A"]\n')):  # fmt: skip
        assert [p.name for p in presets.read(write(tmp_path, text, name)).presets] == ["X"]


# --- hostile files --------------------------------------------------------------------------------

fragments = st.sampled_from(
    ["[preset.X]", "[preset.Y]", "[absent]", 'events = ["A"]', 'events = ["A", "B"]', 'X = "why"',
     'formula = "N0/N1"', 'formula = "N0|N1|+|"', 'meaning = ["a"]', 'pmus = ["skx"]', "title = 1",
     'extends = "generic"', "CPU,skx", "PRESET,X,NOT_DERIVED,A", "PRESET,Y,DERIVED_ADD,A,B",
     "EVENT,Z,DERIVED_POSTFIX,N0|2|*|,A", "#", "", '"', "[[preset]]", "\x00", "é", "=", "\r"]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.lists(fragments, max_size=12).map("\n".join).map(str.encode),
        st.text(max_size=200).map(str.encode),
        st.binary(max_size=200),
    )
)
@example(b"PRESET,X,NOT_DERIVED," + b" " * 8000 + b"'")
@example(b"a." * 4000 + b"a = 1")
def test_any_file_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    refused: PresetFileError | None = None
    try:
        family = presets.read(path)
    except PresetFileError as error:
        refused = error
    if refused is not None:
        assert str(refused).startswith(str(path))
        assert "\n" not in str(refused)
        return
    for preset in family.presets:
        assert bool(preset.events) != bool(preset.reason)
        assert bool(preset.kind) == bool(preset.events)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=4))
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, at: int, bytes_: bytes) -> None:
    whole = WHOLE.encode()
    path = tmp_path / "any"
    path.write_bytes(whole[:at] + bytes_ + whole[at + len(bytes_) :])
    try:
        names = [preset.name for preset in presets.read(path).presets]
    except GnomonError as error:
        assert isinstance(error, PresetFileError)  # noqa: PT017
        return
    assert len(names) == len(set(names))


# --- users' presets -------------------------------------------------------------------------------

SOFTWARE = """\
[preset.FAULTS]
events = ["minor-faults", "major-faults"]
description = "page faults of both kinds"

[preset.FAULTS_PER_CALL]
events = ["FAULTS", "page-faults"]
formula = "N0 / N1"

[preset.FAULTS_EACH_SECOND]
events = ["page-faults"]
formula = "N0 / seconds"

[preset.NOT_MAJOR]
events = ["major-faults", "page-faults"]
formula = "N0 - N1"

[preset.NOTHING]
events = ["page-faults", "alignment-faults"]
formula = "N0 / N1"
"""


def touch(pages: int) -> None:
    size = os.sysconf("SC_PAGE_SIZE")
    import mmap

    with mmap.mmap(-1, pages * size) as memory:
        for at in range(pages):
            memory[at * size] = 1


def test_users_presets_count(tmp_path: Path) -> None:
    presets.load(write(tmp_path, SOFTWARE))
    names = "FAULTS,FAULTS_PER_CALL,FAULTS_EACH_SECOND,NOT_MAJOR,NOTHING,page-faults,major-faults"
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


def test_a_sum_of_software_events_takes_modifiers(tmp_path: Path) -> None:
    presets.load(write(tmp_path, SOFTWARE))
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
    monkeypatch.setenv(users.VARIABLE, f"{first}:{second}")
    assert len(one("MINE")[0].spec.terms) == 1
    (other,) = one("ELSE")
    assert (other.info.unit, other.name) == ("ns", "ELSE")
    monkeypatch.setenv(users.VARIABLE, f"{second}::{first}")
    assert len(one("MINE")[0].spec.terms) == 2
    # What a program loads comes first.
    presets.load(write(tmp_path, '[preset.MINE]\nevents = ["major-faults"]\n', "c.toml"))
    presets.load(write(tmp_path, '[preset.MINE]\nevents = ["minor-faults"]\n', "d.toml"))
    assert one("MINE")[0].spec == one("minor-faults")[0].spec
    assert [family.name for family in users.families()] == ["d", "c", "b", "a"]
    assert presets.of_this_machine()[0].source.endswith("d.toml")
    presets.forget()
    monkeypatch.setenv(users.VARIABLE, str(tmp_path / "not there.toml"))
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
    assert rows[0].description == shipped.meanings()["PAPI_TOT_INS"].description
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
    presets.load(write(tmp_path, 'pmus = ["knl"]\n[preset.MINE]\nevents = ["page-faults"]\n'))
    with pytest.raises(EventNameError):
        one("MINE")
    assert all(preset.name != "MINE" for preset in presets.of_this_machine())
    presets.load(write(tmp_path, "CPU,knl\nPRESET,MINE,NOT_DERIVED,task-clock\n", "mine.csv"))
    with pytest.raises(EventNameError):
        one("MINE")


def test_presets_that_extend_ours(tmp_path: Path) -> None:
    text = 'extends = "generic"\n[preset.MINE]\nevents = ["page-faults"]\n'
    family = presets.load(write(tmp_path, text))
    assert {"MINE", "PAPI_TOT_INS"} <= {preset.name for preset in family.presets}
    with pytest.raises(PresetFileError, match="there are"):
        presets.load(write(tmp_path, 'extends = "nothing"\n'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[preset.A]\nevents = ["A"]\n', "preset A is made of itself"),
        (
            '[preset.A]\nevents = ["B"]\n[preset.B]\nevents = ["A"]\n',
            "made of itself (A of B of A)",
        ),
        ('[preset.A]\nevents = ["no_such_event"]\n', "native event 'no_such_event'"),
        ('[preset.A]\nevents = ["io:::read_bytes"]\n', "component io, which is not counted"),
        ('[preset.A]\nevents = ["sched:sched_p*"]\n', "is several events"),
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
