"""File names, settings, numbers and texts of libhpm: as Python has them, by the guide's rules."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from c_hpm import hexed, ran
from c_names import GOLDEN, built
from hypothesis import example, given
from hypothesis import strategies as st

from gnomon.counters.hardware.metric_constants import Constants
from gnomon.errors import UsageError
from gnomon.metrics.user_constants import read_user_constants as given_numbers
from gnomon.units import quantity


@pytest.fixture(scope="module")
def print_hpm() -> Path:
    """Return the C program that shows what native/hpm makes of something."""
    return built("print_hpm")


def test_unique_names_by_the_guide(print_hpm: Path) -> None:
    rest = "host.domain\t7\t2026\t3\t9\t5\t6\t8"
    names = ["out", "out.txt", ".out", "dir.d/out", "a.b.c"]
    text = "host_7_09.03.2026_05.06.08"
    assert ran(print_hpm, "names", [f"{name}\t{rest}" for name in names]) == [
        f"out_{text}", f"out_{text}.txt", f"{text}.out", f"dir.d/out_{text}", f"a.b_{text}.c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "task"),
    [
        ({}, "-1"),
        ({"OMPI_COMM_WORLD_RANK": "3"}, "3"),
        ({"PMI_RANK": "4", "SLURM_PROCID": "5"}, "4"),
        ({"PMIX_RANK": "x", "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8"}, "5"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, "-1"),
        ({"PMIX_RANK": "12345678901234567890"}, "-1"),
        ({"PMIX_RANK": "\u0663"}, "-1"),
    ],
)
def test_the_mpi_task_is_found(print_hpm: Path, variables: dict[str, str], task: str) -> None:
    assert f"task\t{task}" in ran(print_hpm, "settings", argument="x", **variables)


def asked(print_hpm: Path, **variables: str) -> dict[str, str]:
    lines = ran(print_hpm, "settings", argument="my program", **variables)
    return {line.split("\t")[0]: line.split("\t")[1] for line in lines}


@pytest.mark.parametrize(
    ("variables", "files"),
    [
        ({}, "110"),
        ({"HPM_ASC_OUTPUT": "1"}, "100"),
        ({"HPM_VIZ_OUTPUT": "yes"}, "010"),
        ({"HPM_CSV_OUTPUT": "Y"}, "001"),
        ({"HPM_CSV_OUTPUT": "yup", "HPM_VIZ_OUTPUT": "no", "HPM_ASC_OUTPUT": "y"}, "101"),
        ({"HPM_ASC_OUTPUT": "no"}, "000"),
        ({"HPM_ASC_OUTPUT": ""}, "110"),
    ],
)
def test_which_files_are_written(print_hpm: Path, variables: dict[str, str], files: str) -> None:
    found = asked(print_hpm, **variables)
    assert found["asc"] + found["viz"] + found["csv"] == files


def test_the_settings_of_the_guide(print_hpm: Path) -> None:
    found = asked(print_hpm)
    assert (found["name"], found["stdout"], found["formulas"]) == ("my program", "0", "0")
    found = asked(print_hpm, HPM_OUTPUT_NAME="a/b", HPM_STDOUT="YES", HPM_PRINT_FORMULA="1",
                  HPM_UNIQUE_FILE_NAME="1", HPM_L2_LATENCY="12", HPM_DIV_WEIGHT="5")  # fmt: skip
    assert (found["name"], found["stdout"], found["formulas"]) == ("a/b", "1", "1")
    assert found["unique"] == "1"
    assert float.fromhex(found["HPM_L2_LATENCY"]) == 12
    assert float.fromhex(found["HPM_DIV_WEIGHT"]) == 5
    assert asked(print_hpm, HPM_STDOUT="No")["stdout"] == "0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HPM_STDOUT", "maybe"),
        ("HPM_ASC_OUTPUT", "\x1b[2J"),
        ("HPM_L3_LATENCY", "-1"),
        ("HPM_L3_LATENCY", "nan"),
        ("HPM_MEM_LATENCY", "4e999"),
        ("HPM_DIV_WEIGHT", "0"),
        ("HPM_DIV_WEIGHT", "2.5"),
        ("HPM_OUTPUT_NAME", "x" * 5000),
        ("HPM_PRINT_FORMULA", "Yes"),
        ("GNOMON_GROUPS", "mine.toml"),
    ],
)
def test_odd_values_are_said_once_with_a_remedy(print_hpm: Path, name: str, value: str) -> None:
    done = subprocess.run(
        [print_hpm, "settings", "p"],
        env={**os.environ, name: value},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("HPM WARNING - ")
    assert name in line
    assert any(remedy in line for remedy in ("set it to", "at most", "count with hpmcount"))
    assert line.isprintable()
    assert name not in done.stdout


NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(2**53), 2**53).map(float)
UNITS = st.sampled_from(["", "ns", "s", "bytes", "bytes/s", "%", "/s", "Mflop/s"])


@given(st.lists(st.tuples(NUMBERS, UNITS), min_size=1))
@example([(0.0, ""), (-0.0, "s"), (59.995, "s"), (3599.95, "s"), (999.95, "ns"), (1023.5, "bytes")])
def test_quantities_are_printed_as_in_python(
    print_hpm: Path, cases: list[tuple[float, str]]
) -> None:
    # Beyond these, whole seconds are not exact in a double.
    cases = [(value, unit) for value, unit in cases if not 2**50 < abs(value) < float("inf")
             or unit not in ("ns", "s")]  # fmt: skip
    lines = ran(print_hpm, "numbers", [f"{value!r}\t{unit}\t" for value, unit in cases])
    assert [line.split("\t")[0] for line in lines] == [quantity(*case) for case in cases]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_are_written_exactly_and_read_back(print_hpm: Path, values: list[float]) -> None:
    lines = ran(print_hpm, "numbers", [f"{one!r}\t\t{abs(one)!r}" for one in values])
    for value, line in zip(values, lines, strict=True):
        _, exact, again = line.split("\t")
        assert float(exact) == value
        assert float.fromhex(again) == abs(value)


@given(st.lists(st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"")), min_size=1))
@example([b"a\x1b[2Jb\nc\td", "\u202eabc\u00e9\U0001f600".encode(), b"\xff\xc3", b"\xed\xa0\x80"])
def test_texts_are_printable_on_one_line(print_hpm: Path, texts: list[bytes]) -> None:
    lines = ran(print_hpm, "texts", [text.hex() or "-" for text in texts])
    assert len(lines) == len(texts)
    for text, line in zip(texts, lines, strict=True):
        assert not any(ord(one) < 32 or 0x7F <= ord(one) < 0xA0 for one in line)
        assert not any(0x202A <= ord(one) <= 0x202E for one in line)
        line.encode()
        if text.isascii() and text.decode().isprintable():
            assert line == text.decode()


def test_hostile_text_is_shown_as_python_shows_it(print_hpm: Path) -> None:
    from gnomon.units import printable

    text = "a\x1b[2Jb\nc\td\u202e\x9b\U000e0001"
    assert ran(print_hpm, "texts", [hexed(text)]) == [printable(text)]


CONSTANTS = ("L1_line_bytes", "L2_line_bytes", "L3_line_bytes", "cycle_seconds")


@pytest.mark.parametrize("tree", ["", *sorted(path.name for path in GOLDEN.glob("sysfs-*"))])
def test_the_machine_tells_c_what_it_tells_python(
    print_hpm: Path, tmp_path: Path, tree: str
) -> None:
    root = Path("/")
    if tree:
        root = tmp_path
        (root / "sys").symlink_to(GOLDEN / tree)
    machine = Constants(root, {} if tree else None)
    found = ran(print_hpm, "machine", argument=str(root) if tree else "")
    told = {line.split("\t")[0]: line.split("\t")[1] for line in found}
    names = (*CONSTANTS, "peak_flops_per_cycle") if not tree else CONSTANTS
    for name in names:
        expected = machine.constant(name)
        assert (float.fromhex(told[name]) if name in told else None) == expected, name
    if not tree:
        assert float.fromhex(told["cpus"]) == os.cpu_count()
        cpus = [line.split("\t")[1] for line in found if line.startswith("cpu\t")]
        assert cpus == list(machine.cpus())


@pytest.mark.parametrize(
    "files",
    [
        {"sys/devices/system/cpu/cpu0/cpufreq/base_frequency": "2100000"},
        {"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3900000\n"},
        {"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "0"},
        {"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "9" * 30},
        {"proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU @ 2.20GHz\n\n"},
        {"proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU @ 2.2x0GHz\n\n"},
        {"sys/devices/system/cpu/cpu0/cache/index0/level": "1",
         "sys/devices/system/cpu/cpu0/cache/index0/type": "Data",
         "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size": "128",
         "sys/devices/system/cpu/cpu0/cache/index1/level": "1",
         "sys/devices/system/cpu/cpu0/cache/index1/type": "Instruction",
         "sys/devices/system/cpu/cpu0/cache/index1/coherency_line_size": "32"},
        {"sys/devices/system/cpu/online": "2-3",
         "sys/devices/system/cpu/cpu2/cpufreq/base_frequency": "1000000"},
    ],
)  # fmt: skip
def test_made_machines(print_hpm: Path, tmp_path: Path, files: dict[str, str]) -> None:
    files = {"sys/devices/system/cpu/online": "0", **files}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    machine = Constants(tmp_path, {})
    told = {line.split("\t")[0]: line.split("\t")[1]
            for line in ran(print_hpm, "machine", argument=str(tmp_path))}  # fmt: skip
    for name in CONSTANTS:
        expected = machine.constant(name)
        assert (float.fromhex(told[name]) if name in told else None) == expected, name


def test_numbers_of_ones_own(print_hpm: Path) -> None:
    found = asked(print_hpm, GNOMON_DEFINE="watts=65, L1_line_bytes = 32,x=-1.5e3,")
    assert float.fromhex(found["watts"]) == 65
    assert float.fromhex(found["L1_line_bytes"]) == 32
    assert float.fromhex(found["x"]) == -1500


@pytest.mark.parametrize("text", ["x", "=1", "x=", "x=1=2", "x=nan", "1x=2", "cpus=3", "a b=1"])
def test_what_is_no_number_of_ones_own(print_hpm: Path, text: str) -> None:
    with pytest.raises(UsageError):
        given_numbers({"GNOMON_DEFINE": text})
    done = subprocess.run(
        [print_hpm, "settings", "p"],
        env={**os.environ, "GNOMON_DEFINE": text},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert "GNOMON_DEFINE" in line
    assert "give NAME=NUMBER" in line


@pytest.mark.parametrize("name", ["HPM_L2_LATENCY", "HPM_DIV_WEIGHT"])
@pytest.mark.parametrize(
    "text",
    ["12", " 12 ", "+12", "1e2", ".5", "5.", "0", "-0", "-1", "1 2", "1_000", "0x10", "inf", "nan",
     "", " ", "12x", "999999999999999", "9999999999999999", "1e999", "--5", "+-5", "0001"],
)  # fmt: skip
def test_stated_numbers_are_those_of_python(print_hpm: Path, name: str, text: str) -> None:
    try:
        expected = given_numbers({name: text})
    except UsageError:
        expected = {}
    told = asked(print_hpm, **{name: text})
    assert ({name: float.fromhex(told[name])} if name in told else {}) == expected
