"""Files of presets: what they say, and that a broken one is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.counters import presets
from gnomon.counters.presets import papi_csv, toml
from gnomon.counters.presets.definition import Meaning
from gnomon.counters.presets.preset_reader import BYTES_MAX, LINE_MAX
from gnomon.errors import GnomonError, PresetFileError

MEANINGS = {"PAPI_TOT_INS": Meaning("instructions retired"), "PAPI_BR_UCN": Meaning("u", "x")}
PATH = Path("mine.toml")


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
    family = toml.parse(WHOLE, PATH, MEANINGS)
    assert family.extends == "generic"
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
    family = toml.parse(f'[preset.X]\nevents = ["A", "B"]\n{line}', PATH, {})
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
    family = toml.parse(f"[preset.X]\nevents = [{names.rpartition(', ')[0]}]\n", PATH, {})
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
    head = toml.parse(toml.head_of(WHOLE), PATH, {})
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
PRESET,RATES,DERIVED_ADD_PS,CYCLES,A,B
PRESET,ONE,NOT_DERIVED,A,
PRESET,OLD,DERIVED_CMPD,A,B
"""


def test_papi_csv() -> None:
    text = CSV.replace("'it''s'", "'it is'")
    family = papi_csv.parse(text, Path("mine.csv"), MEANINGS)
    both, dp, less, other, rate, rates, single, compound = family.presets
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
    assert (compound.kind, compound.events) == ("not derived", ("A",))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("FOO,X", "begins with CPU, PRESET or EVENT, not 'FOO'"), ("CPU", "CPU takes one name"),
        ("CPU,a,b", "CPU takes one name"), ("CPU,a b", "without blanks"),
        ("PRESET", "NAME,DERIVATION"), ("PRESET,X", "NAME,DERIVATION"),
        ("PRESET,X,DERIVED_FOO,A", "no derivation 'DERIVED_FOO'"),
        ("PRESET,X,DERIVED_PS,A,B,C", "the cycles and one event, not 3"),
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


@examples(50)
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
