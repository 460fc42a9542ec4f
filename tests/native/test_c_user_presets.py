"""Users' presets in C: files of PAPI's format mean what they mean in Python, and no others do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from c_names import GOLDEN, Machine, built, compare, in_c
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.counters import presets
from gnomon.errors import PresetFileError

# What the files say of PMUs is said of this one, whatever the CPU is.
ICE_LAKE = Machine(GOLDEN / "sysfs-numa", models={"cpu": "icl"})
EVENTS = ("page-faults", "cs", "minor-faults", "cpu-migrations", "sched:sched_switch", "cycles")


@pytest.fixture(scope="module")
def print_events() -> Path:
    """Return the C program that says what names resolve to."""
    return built()


@pytest.fixture(autouse=True)
def no_presets_left() -> Iterator[None]:
    presets.forget()
    yield
    presets.forget()


def load(files: tuple[Path, ...]) -> tuple[list[presets.PresetFamily], PresetFileError | None]:
    """Return what Python makes of the files, as of a variable that names them."""
    presets.forget()
    try:
        # What was loaded last comes first, unlike in the variable.
        return [presets.load(file) for file in reversed(files)], None
    except PresetFileError as error:
        return [], error


def compare_files(program: Path, *files: Path, machine: Machine = ICE_LAKE) -> tuple[str, ...]:
    """Compare every preset of the files; return their names, or none if a file is broken."""
    families, error = load(files)
    variable = ":".join(str(file) for file in files)
    if error is not None:
        (answer,) = in_c(program, machine, ["page-faults"], GNOMON_PRESETS=variable)
        place = f"{error.path}:{error.line}: " if error.line else f"{error.path}: "
        assert answer["error"] == -1, str(error)
        assert answer["message"].startswith(place), str(error)
        return ()
    names = tuple(preset.name for family in families for preset in family.presets)
    compare(program, machine, [*names, *(f"{name}:u" for name in names)], GNOMON_PRESETS=variable)
    return names


GOOD = """\
# A comment,"with a quotation mark
CPU,icl
CPU,skx
PRESET,ON_THESE,DERIVED_ADD,page-faults,cs

CPU , nil
PRESET,ON_NONE,NOT_DERIVED,cs
cpu,icl
EVENT,FAULTS,not_derived,page-faults
 PRESET , SUM , DERIVED_ADD , page-faults , cs , minor-faults , LDESC , "a, b and 'c'"
PRESET,LESS,DERIVED_SUB,page-faults,cs,minor-faults
PRESET,SHARE,DERIVED_POSTFIX,N0|N1|/|100|*|,cs,page-faults,UNITS,%,
PRESET,INFIX,DERIVED_INFIX,100 * (N0 - N1) / (N0 + 1.5e0),cs,page-faults,NOTE,x
PRESET,RATE,DERIVED_PS,cycles,page-faults
PRESET,RATES,DERIVED_ADD_PS,cycles,page-faults,cs
PRESET,FIRST,DERIVED_CMPD,cs,page-faults
PRESET,NESTED,DERIVED_INFIX,N0 / N1 + N2,SHARE,LESS,cs
PRESET,TWICE,DERIVED_INFIX,2 * N0,PAPI_TOT_INS
PRESET,PAPI_TOT_INS,NOT_DERIVED,instructions
PRESET,PAPI_L1_DCM,DERIVED_ADD,PAPI_TOT_INS:u,task-clock
PRESET,CLOCKS,DERIVED_ADD,task-clock,cpu-clock
PRESET,UNUSED,DERIVED_INFIX,N1 - N1 + N2,cs,page-faults,minor-faults
PRESET,ITSELF,DERIVED_ADD,ITSELF,cs
PRESET,NOWHERE,DERIVED_ADD,nowhere,cs
PRESET,MANY,DERIVED_ADD,sched:sched_s*,cs
PRESET,DEEP,DERIVED_INFIX,-(-N0 - -2),cs
PRESET,HALF,DERIVED_INFIX,N0 / 2,cs
PRESET,WHOLE,DERIVED_INFIX,N0 * 4 / 2 - 3 * N1 * (1 + 1),cs,page-faults
PRESET,BY_ZERO,DERIVED_INFIX,N0 / (N1 - N1),cs,page-faults
"""


@pytest.mark.cpu
def test_a_file(print_events: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(GOOD)
    names = compare_files(print_events, file)
    assert len(names) == GOOD.count("PRESET,") + GOOD.count("EVENT,") + 1
    answers = dict(
        zip(names, in_c(print_events, ICE_LAKE, names, GNOMON_PRESETS=str(file)), strict=True)
    )
    refused = {name for name, answer in answers.items() if answer["error"]}
    assert {"ITSELF", "NOWHERE", "MANY", "ON_NONE"} <= refused
    said = answers["ITSELF"]["message"]
    assert "preset ITSELF is defined by itself (ITSELF of ITSELF); correct" in said
    assert answers["WHOLE"]["events"][0]["terms"][1][0] == -6
    assert answers["SHARE"]["events"][0]["unit"] == "%"
    assert answers["RATE"]["events"][0]["unit"] == "/s"
    assert answers["RATE"]["events"][0]["value"] == 14.0
    assert answers["BY_ZERO"]["events"][0]["value"] is None


@pytest.mark.cpu
def test_events_of_other_components(print_events: Path, tmp_path: Path) -> None:
    """They are looked up on this machine, whatever PMU the presets are for."""
    file = tmp_path / "mine.csv"
    file.write_text("PRESET,MSR,NOT_DERIVED,msr/tsc/\nPRESET,TWICE,DERIVED_INFIX,2 * N0,MSR\n")
    assert compare_files(print_events, file, machine=Machine()) == ("MSR", "TWICE")


@pytest.mark.cpu
def test_several_files(print_events: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("PRESET,MINE,NOT_DERIVED,cs\n")
    second.write_text("PRESET,MINE,NOT_DERIVED,page-faults\nPRESET,OTHER,NOT_DERIVED,cs\n")
    assert compare_files(print_events, first, second) == ("MINE", "OTHER", "MINE")
    assert compare_files(print_events, second, first) == ("MINE", "MINE", "OTHER")


BROKEN = (
    "PRESET", "PRESET,X", "PRESET,X,NOT_DERIVED", "PRESET,X,NOT_DERIVED,", "PRESET,X,NOPE,cs",
    "PRESET,X,NOT_DERIVED,cs,page-faults", "PRESET,0X,NOT_DERIVED,cs", "PRESET,a b,NOT_DERIVED,cs",
    "PRESET,X,DERIVED_POSTFIX,N0 + N0,cs", "PRESET,X,DERIVED_INFIX,N0|N0|+|,cs",
    "PRESET,X,DERIVED_POSTFIX", "PRESET,X,DERIVED_POSTFIX,", "PRESET,X,DERIVED_POSTFIX,N0|,",
    "PRESET,X,DERIVED_POSTFIX,N1|,cs", "PRESET,X,DERIVED_POSTFIX,N0|+|,cs", "CPU",
    "PRESET,X,DERIVED_POSTFIX,||,cs", "PRESET,X,DERIVED_INFIX,(N0,cs", "CPU,", "CPU,a,b",
    "PRESET,X,DERIVED_INFIX,N0),cs", "PRESET,X,DERIVED_INFIX,N,cs", "CPU,icl\nNOPE,x",
    "PRESET,X,DERIVED_INFIX,1,cs", "PRESET,X,DERIVED_INFIX,1e999 * N0,cs",
    "PRESET,X,DERIVED_INFIX,2 N0,cs", "PRESET,X,DERIVED_INFIX,N0 N0,cs",
    "PRESET,X,DERIVED_INFIX,seconds,cs", "PRESET,X,DERIVED_PS,cs,cs,cs", "PRESET,X,NOT_DERIVED,a b",
    "PRESET,X,NOT_DERIVED,cs\nPRESET,X,NOT_DERIVED,cs", "PRESET,X,NOT_DERIVED,'cs",
    "PRESET,X,NOT_DERIVED,cs'", "PRESET,X,NOT_DERIVED,\"cs\"x", "PRESET,X,NOT_DERIVED,cs,LDESC",
    "PRESET,X,NOT_DERIVED,cs,LDESC,\t\x01", "PRESET,cs,NOT_DERIVED,page-faults",
    "PRESET,cycles,NOT_DERIVED,page-faults", "PRESET,X,DERIVED_ADD," + ",".join(["cs"] * 65),
    "PRESET,X,NOT_DERIVED," + "e" * 257, "PRESET," + "X" * 129 + ",NOT_DERIVED,cs",
    "#" * 8193, "PRESET,X,DERIVED_INFIX," + "(" * 200 + "N0" + ")" * 200 + "+,cs",
    "\nCPU,icl\n\n\nPRESET,X,NOT_DERIVED,cs,page-faults", "PRESET,X,DERIVED_ADD,cs,,page-faults",
)  # fmt: skip


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_broken_files(print_events: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.csv"
    file.write_text(text)
    assert compare_files(print_events, file) == ()


def test_files_that_are_no_text(print_events: Path, tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes(b"CPU,icl\nPRESET,X,NOT_DERIVED,cs,LDESC,\xe9\n")
    huge = tmp_path / "huge.csv"
    huge.write_bytes(b"#\n" * (1 << 20))
    for file in (latin, huge, tmp_path, tmp_path / "missing.csv"):
        assert compare_files(print_events, file) == ()


def test_toml_is_pythons(print_events: Path, tmp_path: Path) -> None:
    for name in ("mine.toml", "mine.csv", "empty"):
        file = tmp_path / name
        file.write_text("" if name == "empty" else '[preset.X]\nevents = ["cs"]\n')
        (answer,) = in_c(print_events, ICE_LAKE, ["cs"], GNOMON_PRESETS=str(file))
        assert answer["error"] == -1
        assert "TOML is for Python" in answer["message"]
        assert "write the presets as PRESET,NAME" in answer["message"]


FORMULA = st.recursive(
    st.one_of(
        st.integers(0, 4).map("N{}".format),
        st.integers(0, 3).map(str),
        st.sampled_from(["0.5", "1e3", "seconds", "", "N9", "x"]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", " - ", ""]), inner).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
    ),
    max_leaves=8,
)
WORDS = st.sampled_from(["N0", "N1", " N2 ", "3", "2.5", "seconds", "+", "-", "*", "/", "", "y"])
POSTFIX = st.lists(WORDS, min_size=1, max_size=9).map(lambda words: "|".join(words) + "|")
ROWS = st.one_of(
    st.tuples(FORMULA, st.integers(3, 6)).map(
        lambda t: f"DERIVED_INFIX,{t[0]},{','.join(EVENTS[: t[1]])}"
    ),
    st.tuples(POSTFIX, st.integers(1, 6)).map(
        lambda t: f"DERIVED_POSTFIX,{t[0]},{','.join(EVENTS[: t[1]])}"
    ),
    st.tuples(
        st.sampled_from(["DERIVED_ADD", "DERIVED_SUB", "DERIVED_PS", "derived_add_ps"]),
        st.lists(st.sampled_from(EVENTS), max_size=3).map(",".join),
    ).map(",".join),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\x0b\x0c\x85\xa0\u2028\u2029"),
            max_size=30),
)  # fmt: skip


@examples(120)
@given(rows=st.lists(ROWS, min_size=1, max_size=3), cpus=st.sampled_from(["", "CPU,icl\n"]))
def test_whatever_a_file_says(
    print_events: Path, tmp_path_factory: pytest.TempPathFactory, rows: list[str], cpus: str
) -> None:
    file = tmp_path_factory.mktemp("presets") / "any.csv"
    lines = [f"PRESET,X{number},{row}" for number, row in enumerate(rows)]
    file.write_text(cpus + "\n".join(lines), "utf-8")
    compare_files(print_events, file)
