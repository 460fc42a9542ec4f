"""The tables of counters: those that ship, and files that are none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from libpfm_tables import needs_tables

from gnomon.counters.allocation.constraint_tables import read, shipped
from gnomon.counters.libpfm import libpfm_pmus
from gnomon.errors import ConstraintFileError

DATA = Path(__file__).parents[3] / "src/gnomon/counters/allocation/data"
WHOLE = """
title = "a PMU"
source = "this test"
general = ["PMC0-3"]
special = ["FIXED"]
number = "16-19"
watchdog = 0x11
same = [[0x2, 0x500fa]]
[generic]
cycles = 0x11
LLC-loads = [0x1b7, 0x10001]
[[rule]]
when = { "0-7" = ["0x10-0x1f", 0x22], "config1:0" = 1 }
counters = ["PMC1-2"]
pairs = ["PMC0-3"]
[[shared]]
name = "a register"
value = "config1:0-63"
when = { "0-15" = 0x01b7 }
registers = 2
[[needs]]
when = { "0-7" = 1 }
beside = { "0-7" = 2 }
why = "it does"
"""


def test_every_shipped_table_reads_and_names_a_pmu_once() -> None:
    families = shipped()
    assert [family.name for family in families] == sorted(path.stem for path in DATA.glob("*.toml"))
    names = [name for family in families for name in (*family.pmus, *family.kernel)]
    assert len(set(names)) == len(names)
    for family in families:
        assert family.title
        assert family.source
        assert family.pmus or family.kernel
        assert 0 < family.with_smt <= family.general <= len(family.counters)


@needs_tables("skx", "spr", "amd64_fam19h_zen4")
def test_every_intel_and_amd_core_since_nehalem_has_a_table() -> None:
    """But family 15h, whose counters are numbered by rules of their own."""
    tables = {name for family in shipped() for name in family.pmus}
    without = {"netburst", "netburst_p", "knc", "ix86arch", "amd64_fam15h_interlagos"}
    known = {pmu.name for pmu in libpfm_pmus() if pmu.is_core}
    assert known - tables <= without


@needs_tables("skx", "spr", "amd64_fam19h_zen4")
def test_tables_and_libpfm4_agree_on_the_number_of_counters() -> None:
    """libpfm4 says 16 where the kernel and the processor count 8, and 4 where there are 2."""
    known = {pmu.name: (pmu.counters, pmu.fixed_counters) for pmu in libpfm_pmus()}
    doubled = {"icl": 16, "icx": 16, "spr": 16, "emr": 16, "gnr": 16, "slm": 4}
    compared = 0
    for family in shipped():
        fixed = [name for name in family.counters if name.startswith("FIXED")]
        for name in family.pmus:
            if name in known and family.name.startswith(("intel_", "amd_")):
                assert known[name] == (doubled.get(name, family.general), len(fixed)), name
                compared += 1
    assert compared > 30


def test_a_table_says_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "whole.toml"
    path.write_text(WHOLE)
    family = read(path)
    assert family.counters == ("PMC0", "PMC1", "PMC2", "PMC3", "FIXED")
    assert family.number is not None
    assert family.number.of(0x50000, 0) == 5
    assert family.same == {0x2: (0x500FA,)}
    assert family.generic == {"cycles": (0x11, 0), "LLC-loads": (0x1B7, 0x10001)}
    (rule,) = family.rules
    assert rule.places == ((1,), (2,), (0, 1), (2, 3))
    assert rule.when.holds(0x1F, 1)
    assert rule.when.holds(0x22, 3)
    assert not rule.when.holds(0x1F, 2)
    assert not rule.when.holds(0x20, 1)
    assert (family.shared[0].registers, family.shared[0].value.of(0, 2**63)) == (2, 2**63)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('title = "a PMU"', "", "title"),
        ('title = "a PMU"', 'title = "\\u0007"', "title"),
        ('general = ["PMC0-3"]', "general = []", "general"),
        ('general = ["PMC0-3"]', 'general = ["PMC0-3", "PMC2"]', "general"),
        ('general = ["PMC0-3"]', 'general = ["PMC0-99"]', "general"),
        ('general = ["PMC0-3"]', 'general = "PMC0"', "general"),
        ('special = ["FIXED"]', 'special = ["pmc"]', "special"),
        ('special = ["FIXED"]', 'specials = ["FIXED"]', "specials"),
        ('number = "16-19"', 'number = "60-64"', "number"),
        ('number = "16-19"', 'number = "19-16"', "number"),
        ('number = "16-19"', 'number = "1,1"', "number"),
        ('number = "16-19"', "number = 16", "number"),
        ("watchdog = 0x11", "watchdog = -1", "watchdog"),
        ("watchdog = 0x11", "watchdog = true", "watchdog"),
        ("watchdog = 0x11", "with_smt = 5", "with_smt"),
        ("watchdog = 0x11", "with_smt = true", "with_smt"),
        ("same = [[0x2, 0x500fa]]", "same = [[0x2]]", "same"),
        ("same = [[0x2, 0x500fa]]", "same = 2", "same"),
        ("cycles = 0x11", "cycles = 18446744073709551616", "generic.cycles"),
        ("cycles = 0x11", "cycles = [1, 2, 3]", "generic.cycles"),
        ('"0x10-0x1f"', '"0x1f-0x10"', "rule 1"),
        ('"0x10-0x1f"', f'"0x{"1" * 5000}-0x2"', "rule 1"),
        ('"config1:0" = 1', '"config2:0" = 1', "rule 1"),
        ('"config1:0" = 1', '"config1:0" = []', "rule 1"),
        ('counters = ["PMC1-2"]', 'counters = ["PMC1-9"]', "rule 1"),
        ('counters = ["PMC1-2"]\npairs = ["PMC0-3"]', "", "rule 1"),
        ('counters = ["PMC1-2"]', "counter = 1", "rule 1"),
        ("registers = 2", "registers = 0", "shared 1"),
        ('name = "a register"', "", "shared 1"),
        ('why = "it does"', "", "needs 1"),
        ('beside = { "0-7" = 2 }', "", "needs 1"),
        ("[[needs]]", "[needs]", "needs"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_place(
    tmp_path: Path, old: str, new: str, place: str
) -> None:
    assert old in WHOLE
    path = tmp_path / "broken.toml"
    path.write_text(WHOLE.replace(old, new, 1))
    with pytest.raises(ConstraintFileError, match=re.escape(f"{path}: {place}: ")) as caught:
        read(path)
    assert caught.value.place == place
    assert len(str(caught.value)) < 6000


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"title = ", b"\0", b"[" * 100_000, b"#" * (1 << 21)]
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "none.toml"
    path.write_bytes(data)
    with pytest.raises(ConstraintFileError, match=re.escape(str(path))):
        read(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConstraintFileError, match="No such file"):
        read(tmp_path / "missing.toml")
    with pytest.raises(ConstraintFileError, match="cannot be read"):
        read(tmp_path)


@given(st.data())
def test_a_damaged_table_reads_or_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever happens to a file: a family, or the one error that names it."""
    source = data.draw(st.sampled_from([WHOLE, (DATA / "power9.toml").read_text()]))
    at = data.draw(st.integers(0, len(source)))
    cut = data.draw(st.integers(0, 20))
    put = data.draw(st.text(max_size=8))
    path = tmp_path / "damaged.toml"
    path.write_text(source[:at] + put + source[at + cut :])
    refusal = None
    try:
        assert read(path).counters
    except ConstraintFileError as error:
        refusal = str(error)
    assert refusal is None or refusal.startswith(f"{path}: ")


def test_every_family_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs/counters/allocation.md").read_text()
    for family in shipped():
        for name in family.pmus:
            is_between = re.fullmatch(r"amd64_k8_rev[c-f]", name)
            assert is_between or f"`{name}`" in page, name
