"""LIKWID's group files: those that Debian ships, and hostile ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from stated import StatedMachine

from gnomon.errors import UsageError
from gnomon.metrics import likwid
from gnomon.metrics.derived import FormulaInput, computable
from gnomon.metrics.formula import identifier

SHIPPED = sorted(Path("/usr/share/likwid/perfgroups").glob("*/*.txt"))

FLOPS = """\
SHORT Double Precision MFLOP/s

EVENTSET
FIXC0 INSTR_RETIRED_ANY
FIXC1\tCPU_CLK_UNHALTED_CORE
PMC0  FP_ARITH_INST_RETIRED_128B_PACKED_DOUBLE
PMC1:EDGEDETECT  L1D_PEND_MISS_PENDING
CBOX0C0:STATE=0x1 LLC_LOOKUP_ANY
PWR0  PWR_PKG_ENERGY
MBOX3C1 CAS_COUNT_WR

METRICS
Runtime (RDTSC) [s] time
Runtime unhalted [s] FIXC1*inverseClock
CPI   FIXC1/FIXC0
DP [MFLOP/s]  1.0E-06*(PMC0*2.0)/time
Misses PMC1
Lookups CBOX0C0:STATE=0x1+CBOX0C0
Power [W] PWR0/time
Memory write [MBytes/s] 1.E-06*(MBOX3C1)*64.0/time

LONG
SHORT and METRICS mean nothing here.
"""


def write(folder: Path, text: str, name: str = "FLOPS.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


# --- what a file means ----------------------------------------------------------------------------


def test_counters_become_their_events(tmp_path: Path) -> None:
    found = likwid.load(write(tmp_path, FLOPS))
    assert found.group.name == "FLOPS"
    assert found.group.description == "Double Precision MFLOP/s"
    assert found.group.events == (
        "instructions",
        "cycles",
        "FP_ARITH_INST_RETIRED_128B_PACKED_DOUBLE",
        "L1D_PEND_MISS_PENDING:e",
        "LLC_LOOKUP_ANY@CBOX0C0:STATE=0x1",
        "power:::energy-pkg",
        "uncore_imc_3/cas_count_write/",
    )
    assert found.notes == ()
    formulas = {metric.name: metric.formula.text for metric in found.metrics.definitions}
    assert formulas == {
        "Runtime (RDTSC) [s]": "wall_seconds",
        "Runtime unhalted [s]": "cycles*cycle_seconds",
        "CPI": "cycles/instructions",
        "DP [MFLOP/s]": "1.0E-06*(FP_ARITH_INST_RETIRED_128B_PACKED_DOUBLE*2.0)/wall_seconds",
        "Misses": "L1D_PEND_MISS_PENDING_e",
        "Lookups": "LLC_LOOKUP_ANY_CBOX0C0_STATE_0x1+LLC_LOOKUP_ANY_CBOX0C0_STATE_0x1",
        "Power [W]": "power___energy_pkg/wall_seconds",
        "Memory write [MBytes/s]": "1.E-06*(uncore_imc_3_cas_count_write_)*64.0/wall_seconds",
    }
    units = {metric.name: metric.unit for metric in found.metrics.definitions}
    assert (units["DP [MFLOP/s]"], units["CPI"]) == ("MFLOP/s", "")
    assert found.group.metrics == tuple(formulas)


def test_an_event_is_called_as_it_is_known_here(tmp_path: Path) -> None:
    known = {"FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", "INSTR_RETIRED_ANY"}
    found = likwid.load(write(tmp_path, FLOPS), known.__contains__)
    assert found.group.events[:4] == (
        "INSTR_RETIRED_ANY",
        "CPU_CLK_UNHALTED_CORE@FIXC1",
        "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",
        "L1D_PEND_MISS_PENDING@PMC1:EDGEDETECT",
    )
    (flops,) = (one for one in found.metrics.definitions if one.name.startswith("DP"))
    assert "FP_ARITH_INST_RETIRED_128B_PACKED_DOUBLE" in flops.names


def test_spellings() -> None:
    assert likwid.spellings("PMC0", "A_B_C") == ("A_B_C", "A_B:C", "A:B_C")
    assert likwid.spellings("PMC0:EDGEDETECT", "A_B") == ("A_B:e", "A:B:e")
    assert likwid.spellings("PMC0:MATCH0=0x1", "A_B") == ("A_B@PMC0:MATCH0=0x1",)
    assert likwid.spellings("CBOX1C2", "A_B") == ("A_B@CBOX1C2",)
    assert likwid.spellings("MBOX1C2", "CAS_COUNT_RD") == ("uncore_imc_1/cas_count_read/",)


@pytest.mark.parametrize(
    ("formula", "column", "problem"),
    [
        ("(PMC0", 17, "expected ')' for the '(', found the end"),
        ("PMC0+*2", 17, "found '*'"),
        ("2*(PMC0*PMC9)", 20, "'PMC9' is neither a counter of the event set nor a variable"),
        ("FIXC1//PMC0", 18, "found '/'"),
        ("PMC0$", 16, "'$' does not belong"),
        ("PMC0)", 16, "expected an operator, found ')'"),
    ],
)
def test_a_wrong_formula_is_left_out_and_named_by_its_place(
    tmp_path: Path, formula: str, column: int, problem: str
) -> None:
    row = "CPI   FIXC1/FIXC0"
    wrong = write(tmp_path, FLOPS.replace(row, f"{row}\nWrong [%]\t {formula}"))
    found = likwid.load(wrong)
    (note,) = found.notes
    assert note.startswith(f"{wrong}:16:{column}: ")
    assert problem in note
    assert len(found.metrics.definitions) == 8


def test_a_file_whose_every_formula_is_wrong_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "SHORT s\nEVENTSET\nPMC0 A\nMETRICS\nx PMC1\ny )\n")
    with pytest.raises(UsageError) as caught:
        likwid.load(path)
    assert str(caught.value).startswith(f"{path}:5:3: 'PMC1' is neither")


# --- hostile files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "has no SHORT line"),
        ("\n\nhello", 3, "expected SHORT, the first word of a group file, not 'hello'"),
        ("SHORT\nEVENTSET\nPMC0 A", 1, "has no SHORT line"),
        ("SHORT s\nEVENTSET\n", 1, "has no EVENTSET"),
        ("SHORT s\n\nMETRICS\nx time", 4, "has no EVENTSET"),
        ("SHORT s\nmore\nEVENTSET\nPMC0 A", 2, "expected EVENTSET, METRICS or LONG, not 'more'"),
        ("SHORT s\nEVENTSET\nPMC0", 3, "expected a counter and an event, not 'PMC0'"),
        ("SHORT s\nEVENTSET\nPMC0 A B", 3, "expected a counter and an event"),
        ("SHORT s\nEVENTSET\npmc0 A", 3, "'pmc0' is no counter"),
        ("SHORT s\nEVENTSET\nPMC0:=1 A", 3, "'PMC0:=1' is no counter"),
        ("SHORT s\nEVENTSET\nPMC0 A-B", 3, "'A-B' is no event"),
        ("SHORT s\nEVENTSET\nPMC0 A\nPMC0 B", 4, "'PMC0' counts already, see line 3"),
        ("SHORT s\nEVENTSET\nPMC0 A\nMETRICS\ntime", 5, "expected a metric's name and its formula"),
        ("SHORT s\nSHORT t", 2, "has SHORT again, after line 1"),
        ("SHORT s\nEVENTSET\nPMC0 A\nEVENTSET", 4, "has EVENTSET again, after line 2"),
        ("SHORT \x1b[2J\nEVENTSET\nPMC0 A", 1, "has characters that are not text"),
        ("SHORT s\nEVENTSET\nPMC0 A" + "A" * 9000, 3, "longer than 8192 characters"),
    ],
)
def test_what_is_no_group_file_is_refused(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        likwid.load(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert problem in str(caught.value)
    assert str(caught.value).isprintable()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        likwid.load(tmp_path / "none.txt")
    binary = tmp_path / "binary.txt"
    binary.write_bytes(b"SHORT s\nEVENTSET\n\xff\xfe")
    with pytest.raises(UsageError, match=":3: not UTF-8 text"):
        likwid.load(binary)
    with pytest.raises(UsageError, match="larger than"):
        likwid.load(write(tmp_path, "SHORT s\n" * 99999))
    with pytest.raises(UsageError, match=r"'1\.2' is no name of a group"):
        likwid.load(write(tmp_path, FLOPS, "1.2.txt"))


@given(st.integers(0, len(FLOPS)), st.text(max_size=8), st.integers(0, 40))
@example(17, "", 3)
def test_any_damage_is_understood_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, at: int, text: str, gap: int
) -> None:
    damaged = FLOPS[:at] + text + FLOPS[at + gap :]
    path = tmp_path_factory.getbasetemp() / "DAMAGED.txt"
    path.write_bytes(damaged.encode("utf-8", "surrogatepass"))
    try:
        found = likwid.load(path)
    except UsageError as error:
        problems = [str(error)]
    else:
        assert found.group.events
        assert all(re.match(rf"{re.escape(str(path))}:\d+:\d+: ", one) for one in found.notes)
        problems = list(found.notes)
    assert all(re.match(rf"{re.escape(str(path))}:\d+:", one) for one in problems)
    assert all(one.isprintable() for one in problems)


@given(st.text(max_size=300))
def test_any_text_is_understood_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "ANY.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        problems = list(likwid.load(path).notes)
    except UsageError as error:
        problems = [str(error)]
    assert all(one.startswith(f"{path}:") and one.isprintable() for one in problems)


# --- LIKWID's own ---------------------------------------------------------------------------------


def rows(text: str, section: str) -> list[str]:
    """Return the lines of a section, taken apart otherwise than likwid.py does it."""
    parts = re.split(r"^(SHORT|EVENTSET|METRICS|LONG)\b", text, flags=re.MULTILINE)
    body = next(parts[at + 1] for at in range(1, len(parts), 2) if parts[at] == section)
    return [row for row in map(str.strip, body.splitlines()) if row]


def transliterated(formula: str, numbers: dict[str, float]) -> float | None:
    """Return what Python makes of a formula of LIKWID's, its counters replaced by numbers."""
    text = formula
    for name in sorted(numbers, key=len, reverse=True):
        text = re.sub(rf"(?<![\w:]){re.escape(name)}(?![\w:=])", f"({numbers[name]!r})", text)
    try:
        return float(eval(text, {"__builtins__": {}}, {}))
    except (ZeroDivisionError, SyntaxError, NameError):
        return None


def test_every_group_of_likwid_loads_and_computes_as_python_does() -> None:
    assert len(SHIPPED) > 500, "install LIKWID: packaging/setup.sh packages test"
    computed = noted = 0
    for path in SHIPPED:
        found = likwid.load(path)
        name = f"{path.parent.name}/{path.name}"
        noted += len(found.notes)
        text = path.read_text()
        # A prime for each counter, so that no two formulas come to the same by chance.
        counters = [row.split()[0] for row in rows(text, "EVENTSET")
                    if row != "REQUIRE_NOHT"]  # fmt: skip
        events = [row.split()[1] for row in rows(text, "EVENTSET") if row != "REQUIRE_NOHT"]
        assert len(set(counters)) == len(counters)
        spelled = [likwid.spellings(counter, event)[0]
                   for counter, event in zip(counters, events, strict=True)]  # fmt: skip
        assert list(dict.fromkeys(spelled)) == list(found.group.events)
        by_event = {event: 1009.0 + 37 * at for at, event in enumerate(dict.fromkeys(spelled))}
        numbers = {"time": 2.5, "inverseClock": 4e-10, "num_numadomains": 2.0, "num_sockets": 1.0}
        for counter, event in zip(counters, spelled, strict=True):
            numbers.setdefault(counter.partition(":")[0], by_event[event])
            numbers[counter] = by_event[event]
        values = {identifier(event): FormulaInput(count) for event, count in by_event.items()}
        values["wall_seconds"] = FormulaInput(2.5)
        machine = StatedMachine(cycle_seconds=4e-10, sockets=1, numa_nodes=2)
        ours = {one.name: one.value for one in computable(found.metrics, values, machine)}
        wrong = {int(note.split(":")[1]) for note in found.notes}
        lines = {row: at for at, row in enumerate(map(str.strip, text.splitlines()), 1)}
        expected: dict[str, float | None] = {}
        for row in rows(text, "METRICS"):
            title, formula = row.rsplit(maxsplit=1)
            if lines[row] in wrong:
                # LIKWID itself cannot: brackets that do not match, counters that are not counted.
                assert transliterated(formula, numbers) is None
            else:
                expected.setdefault(" ".join(title.split()), transliterated(formula, numbers))
        assert ours == pytest.approx(
            {name: value for name, value in expected.items() if value is not None}, rel=1e-12
        ), name
        computed += len(ours)
    assert computed > 4000
    assert noted < 20
