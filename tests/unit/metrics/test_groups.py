"""Groups, and the files of definitions: what a user's own may hold, and what hostile ones do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.errors import FormulaError, UsageError
from gnomon.metrics import groups, toml_document
from gnomon.metrics.definitions import load_metrics
from gnomon.metrics.groups import find_group, load_groups

SHIPPED = load_metrics()

# --- the shipped groups ---------------------------------------------------------------------------


def test_shipped_groups_have_their_numbers_and_names() -> None:
    shipped = load_groups()
    names = {group.number: group.name for group in shipped}
    assert {group.name: group.number for group in shipped} == {
        name: number for number, name in names.items()
    }
    wanted = """DEFAULT CPU BRANCH CACHE TLB SCHED PAGEFAULTS SYSCALLS IO NET MEM FLOPS FLOPS_DP
        FLOPS_SP L1 L2 L3 L2_MISSES L3_MISSES DATA ENERGY TOPDOWN TOPDOWN2 TLB_INSTR"""
    assert [names[number] for number in range(24)] == wanted.split()
    for number, name in names.items():
        last = [group for group in shipped if group.number == number][-1]
        assert not last.cpus or number in (21, 22) or number >= 30, name  # the one for all is last


@pytest.mark.parametrize(
    "group", load_groups(), ids=lambda group: "-".join((group.name, *group.cpus[:1]))
)
def test_shipped_groups_yield_metrics(group: groups.Group) -> None:
    without_events = {metric.name for metric in SHIPPED.obtainable([])}
    assert {metric.name for metric in SHIPPED.obtainable(group.events)} > without_events


# --- finding a group ------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [3, "3", "003", " 3 ", "CACHE", "cache", "Cache"])
def test_groups_answer_to_number_and_name(wanted: str | int) -> None:
    assert find_group(load_groups(), wanted).name == "CACHE"


def test_the_first_of_two_groups_wins(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GROUP.replace("70", "3").replace("MINE", "Cache"))
    mine = load_groups(path)
    assert find_group(mine + load_groups(), "CACHE") is mine[0]
    assert find_group(mine + load_groups(), 3) is mine[0]


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("CASH", "no group 'CASH'; did you mean CACHE?"),
        ("branches", "did you mean BRANCH"),
        ("99", "no group '99'; there are 0 DEFAULT, 1 CPU, 2 BRANCH"),
        (-1, "no group '-1'; there are"),
        ("9" * 5000, "there are 0 DEFAULT"),
        ("", "no group ''; there are"),
        ("²", "no group '\\xb2'"),
        ("\x1b[2J", "no group '\\x1b[2J'"),
    ],
)
def test_unknown_groups_get_the_nearest_names(wanted: str | int, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_group(load_groups(), wanted)
    assert hint in str(caught.value)
    assert len(str(caught.value)) < 300


# --- users' files ---------------------------------------------------------------------------------

GROUP = """\
[[group]]
number = 70
name = "MINE"
description = "my events"
events = ["cycles", "cpu/event=0x3c,umask=1/u"]
"""
METRIC = """\
[[metric]]
name = "Bytes per cycle [B/c]"
unit = "bytes/cycle"
formula = "io___rchar / cycles"
description = "how fast it eats"
"""
QUANTITY = """\
[[quantity]]
name = "bytes"
formula = "sum(io___*)"
condition = "io___rchar > 10 and cycles >= 1 or x"
cpus = ["skx", "clx"]
description = "all of them"
[variables]
watts = 65.5
"""


def test_a_users_file_may_hold_groups_and_metrics(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'{GROUP}\n{METRIC}condition = "cycles"\n[aliases]\ncycles = ["cpu-cycles"]\n')
    assert load_groups(path) == (
        groups.Group(70, "MINE", "my events", ("cycles", "cpu/event=0x3c,umask=1/u")),
    )
    mine = load_metrics(path)
    (metric,) = mine.definitions
    assert (metric.name, metric.unit) == ("Bytes per cycle [B/c]", "bytes/cycle")
    assert (metric.formula.source, metric.formula.line) == (str(path), 10)
    assert mine.aliases == {"cycles": ("cpu_cycles",)}
    both = SHIPPED.preceded_by(mine)
    assert both.definitions == mine.definitions + SHIPPED.definitions
    assert both.aliases == {**SHIPPED.aliases, "cycles": ("cpu_cycles",)}


def broken(text: str, old: str, new: str) -> str:
    assert old in text
    return "# comment\n" + text.replace(old, new)


@pytest.mark.parametrize(
    ("load", "text", "line", "problem"),
    [
        (load_groups, broken(GROUP, "number = 70", 'number = "70"'), 3, "'number' must be a whole"),
        (load_groups, broken(GROUP, "70", "-1"), 3, "'number' must be a whole number from 0"),
        (load_groups, broken(GROUP, "70", "true"), 3, "'number' must be a whole number"),
        (load_groups, broken(GROUP, "70", "1.5"), 3, "'number' must be a whole number"),
        (load_groups, broken(GROUP, "number = 70\n", ""), 2, "'number' is missing"),
        (load_groups, broken(GROUP, "MINE", "12"), 4, "a group's name is a letter, then"),
        (load_groups, broken(GROUP, "MINE", "A,B"), 4, "a group's name is a letter"),
        (load_groups, broken(GROUP, "MINE", ""), 4, "'name' must not be empty"),
        (load_groups, broken(GROUP, '"MINE"', "7"), 4, "'name' must be a string"),
        (load_groups, broken(GROUP, "my events", "\\u001b[2J"), 5, "'description' must be a"),
        (load_groups, broken(GROUP, 'description = "my events"\n', ""), 2, "is missing"),
        (load_groups, broken(GROUP, '"cycles", ', "7, "), 6, "must hold words without blanks"),
        (load_groups, broken(GROUP, '"cycles", ', '"a b", '), 6, "not 'a b'"),
        (load_groups, broken(GROUP, '"cycles", ', '"", '), 6, "not ''"),
        (load_groups, broken(GROUP, "= [", '= ["cycles", '), 6, "'events' has 'cycles' twice"),
        (load_groups, GROUP.partition("events =")[0] + "events = []", 5, "with at least one"),
        (load_groups, GROUP.partition("events =")[0], 1, "'events' is missing"),
        (load_groups, GROUP + 'evnts = ["a"]', 6, "'evnts'; did you mean events?"),
        (load_groups, GROUP + "zzz = 1", 6, "unknown key 'zzz'; known are number, name"),
        (load_groups, GROUP + GROUP, 7, "number '70' is taken by the group on line 1"),
        (load_groups, GROUP + GROUP.replace("70", "7").replace("MINE", "mine"), 8, "is taken"),
        (load_groups, "[group]\nname = 1", 1, "'group' must be a list of tables"),
        (load_groups, "\ngroup = [1]", 2, "'group' must be a list of tables"),
        (load_groups, "\n[[groups]]", 2, "unknown key 'groups'; did you mean group?"),
        (load_groups, GROUP + "[[group", 6, "not TOML: "),
        (load_groups, "x = \n" + GROUP, 1, "not TOML: "),
        (load_groups, GROUP + "'''", 6, "not TOML: "),
        (load_groups, "x = " + "[" * 5000, 1, "nested too deep"),
        (load_groups, "x = " + "9" * 5000, 1, "too many digits"),
        (load_groups, GROUP + "#" * 9000, 6, "longer than 8192 characters"),
        (load_metrics, broken(METRIC, "name =", "nmae ="), 3, "'nmae'; did you mean name?"),
        (load_metrics, broken(METRIC, '"how fast it eats"', '""'), 6, "must not be empty"),
        (load_metrics, broken(METRIC, '"io___rchar / cycles"', "3"), 5, "'formula' must be a"),
        (load_metrics, METRIC + "condition = 3", 6, "'condition' must be a string"),
        (load_metrics, METRIC + 'domain = "some"', 6, "'domain' must be one of any, same, all"),
        (load_metrics, METRIC + METRIC.replace("/cycle", ""), 8, "has the unit 'bytes/cycle'"),
        (load_metrics, METRIC + "[aliases]\na = 3", 7, "'a' must be a list of strings"),
        (load_metrics, "aliases = 3", 1, "'aliases' must be a table"),
        (load_metrics, "metric = [{}]", 1, "'formula' is missing"),
    ],
)
def test_wrong_entries_are_named_by_file_and_line(
    tmp_path: Path, load: Callable[[Path], object], text: str, line: int, problem: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert problem in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        (broken(METRIC, "/ cycles", "/ "), 5, 14, "found the end"),
        (METRIC + 'condition = "a +* 2"', 6, 4, "found '*'"),
        (broken(METRIC, "io___rchar / cycles", "3 * 4"), 5, 1, "names no event"),
        (METRIC + METRIC.replace("rchar", "rchar("), 9, 1, "there is no function 'io___rchar'"),
        # Text that looks like an entry inside strings does not shift the lines.
        (
            METRIC.replace('"io___rchar / cycles"', '"""\n[[metric]]\n# """')
            + METRIC.replace("/", "//"),
            4,
            1,
            "'[' does not belong",
        ),
        (
            METRIC.replace('"io___rchar / cycles"', "'''a\n/ b\n'''")
            + METRIC.replace("how fast", '[[metric]] \\"\\"\\" #').replace("/ cycles", "/ $"),
            11,
            14,
            "'$' does not belong",
        ),
    ],
)
def test_wrong_formulas_are_named_by_line_and_column(
    tmp_path: Path, text: str, line: int, column: int, problem: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(FormulaError) as caught:
        load_metrics(path)
    error = caught.value
    assert (error.source, error.line, error.column) == (str(path), line, column)
    assert problem in str(error)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a = '\xff'", ":1: not UTF-8 text"),
        (b"\n\n\xc3", ":3: not UTF-8 text"),
        (b"#\n" * toml_document.MAX_BYTES, ": larger than"),
    ],
)
def test_files_that_are_not_text_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load_groups(path)
    assert f"{path}{problem}" in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.toml", tmp_path, Path("a\0b"), Path("/dev/zero")):
        with pytest.raises(UsageError) as caught:
            load_metrics(path)
        assert str(caught.value).startswith(f"{path}: ")


# --- hostile files --------------------------------------------------------------------------------

SEEDS = [
    Path(groups.SHIPPED).read_text(),
    Path(toml_document.SHIPPED, "metrics.toml").read_text()[:6000],
    Path(toml_document.SHIPPED, "hpm.toml").read_text()[-6000:].partition("\n\n")[2],
    GROUP,
    METRIC,
    QUANTITY,
]
scraps = st.text(max_size=6) | st.sampled_from(
    [
        "[[group]]\n",
        "[[metric]]\n",
        "[aliases]\n",
        "[[quantity]]\n",
        "[variables]\n",
        " and ",
        "sum(a*)",
        '"""',
        "'''",
        '"',
        "\\",
        "\n",
        "[",
        "]",
        "{",
        "=",
    ]
)
words = st.sampled_from(["cycles", "a b", "", "[[group]]", "1/0", "(" * 99, "\x1b", "é", "'''\n"])
scalars = words | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
fields = st.dictionaries(
    st.sampled_from(
        [
            "number",
            "name",
            "description",
            "events",
            "unit",
            "formula",
            "condition",
            "domain",
            "cpus",
            "metrics",
            "title",
            "guide",
            "differs",
        ]
    ),
    scalars | st.lists(scalars, max_size=3),
)


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        return '"' + "".join(f"\\u{ord(character):04x}" for character in value) + '"'
    return repr(value)


def load_both(folder: Path, text: str) -> None:
    path = folder / "fuzz.toml"
    path.write_text(text, newline="")
    problems: list[str] = []
    for load in (load_groups, load_metrics):
        try:
            load(path)
        except (UsageError, FormulaError) as error:
            problems.append(str(error))
    for problem in problems:
        assert problem.startswith(f"{path}:")
        assert problem.isprintable()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@examples(150)
@given(st.sampled_from(SEEDS), st.data())
def test_damaged_files_give_gnomon_errors(folder: Path, seed: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(seed)))
    end = data.draw(st.integers(start, min(start + 30, len(seed))))
    load_both(folder, seed[:start] + data.draw(scraps) + seed[end:])


@examples(100)
@given(st.lists(scraps, max_size=12).map("".join))
@example("[[group]]\n[[group]]\n[group.a]\n")
@example("[metric]\n[[metric.a]]\n")
@example('[[metric]]\nformula = "a"\n"na\\u006de" = "x"\ndescription = "y"\n')
@example("aliases.a.b = 1")
@example("[aliases]\n'' = ['']")
def test_random_files_give_gnomon_errors(folder: Path, text: str) -> None:
    load_both(folder, text)


@examples(150)
@given(st.lists(st.tuples(st.sampled_from(["group", "metric", "quantity"]), fields), max_size=3))
def test_fields_of_any_type_give_gnomon_errors(
    folder: Path, entries: list[tuple[str, dict[str, Any]]]
) -> None:
    lines = []
    for section, content in entries:
        lines.append(f"[[{section}]]")
        lines.extend(f"{key} = {toml(value)}" for key, value in content.items())
    load_both(folder, "\n".join(lines))
