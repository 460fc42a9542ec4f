"""Names in C, by themselves and through the extension: whatever is typed, whatever machines say.

The sanitizers watch the C program. What Python has of the extension is to be the same: types,
configs, what is left out, units, factors, formulas, and what is refused.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from c_names import GOLDEN, Machine, built, compare, in_c, modified
from hypothesis import example, given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.counters import presets
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.components.kernel import KernelComponent
from gnomon.counters.components.tsc import TscComponent


@pytest.fixture(scope="module")
def print_events() -> Path:
    """Return the C program that says what names resolve to."""
    return built()


def names_of(machine: Machine) -> list[str]:
    cpu = CpuComponent(machine.sysfs, machine.models)
    kernel = KernelComponent(machine.tracefs)
    sources = (cpu, kernel, TscComponent(machine.sysfs))
    names = [info.name for source in sources for info in source.events()]
    # The only event that C leaves to a function of its own.
    names.remove("tsc:::cycles")
    return names


@pytest.mark.parametrize("tree", sorted(path.name for path in GOLDEN.glob("sysfs-*")))
def test_recorded_machines(print_events: Path, tree: str) -> None:
    machine = Machine(GOLDEN / tree, models={})
    names = names_of(machine)
    assert compare(print_events, machine, modified(names)) >= len(names)


# With one kind of core, of a model that libpfm4 does not know.
NAMELESS = Machine(GOLDEN / "sysfs-numa", models={})
HYBRID = Machine(GOLDEN / "sysfs-hybrid", models={"cpu_core": "adl_glc", "cpu_atom": "adl_grt"})


# Debian 12's libpfm4 knows no hybrid CPU: two models that it knows stand for the kinds of cores.
STAND_IN = HYBRID._replace(
    models={"cpu_core": "amd64_fam19h_zen3", "cpu_atom": "amd64_fam17h_zen1"}
)


@pytest.mark.parametrize(("machine", "least"), [(HYBRID, 0), (STAND_IN, 4)])
@pytest.mark.cpu
def test_presets_of_a_hybrid_machine(print_events: Path, machine: Machine, least: int) -> None:
    cpu = CpuComponent(machine.sysfs, machine.models)
    names = [preset.name for preset in presets.of_this_machine(cpu)]
    on_one = [f"{name}@cpu_atom" for name in names] + [f"{name}:u@cpu_core" for name in names]
    typed = [*modified(names), *on_one, "PAPI_TOT_INS@cpu_nil"]
    assert compare(print_events, machine, typed) >= least


def test_events_of_one_kind_of_core(print_events: Path) -> None:
    """What the counts of a hybrid machine are called can be typed."""
    names = ("cycles", "L1-dcache-load-misses", "r1c2", "cpu-cycles:u")
    said = in_c(print_events, HYBRID, names)
    labels = [event["name"] for answer in said for event in answer["events"]]
    assert labels[:2] == ["cpu_atom/cycles/", "cpu_core/cycles/"]
    assert len(labels) == 2 * len(names)
    assert compare(print_events, HYBRID, labels) == len(labels)


MISTAKES = (
    "", ":", "/", "//", "a/b", "cpu//", "cpu/,/", "msr/tsc/u", "msr/tsc,tsc/", "msr/event=/",
    "msr/event=0x100000000/", "msr/event=-1/", "msr/event=08/", "msr/event=0x/", "msr/config=010/",
    "msr/config=18446744073709551615/", "msr/config=18446744073709551616/", "msr/config/",
    "msr/event= 0x1 /", "msr/name=x,tsc/", "page-faults:", "page-faults:uhk", "page-faults:uh",
    "page-faults:x", "page-faults:u:k", "page-faults::u", "sched:", ":sched_switch", "sched:*",
    "sched:sched_[sw]*", "sched:[", "sched:sched_switch:u", "sched:nope", "nope:nope", "Sched:x",
    "sched/sched_switch", "r", "r0", "rg", "r12345678901234567", "L1-dcache-", "LLC-loads:uu",
    "skx::INST_RETIRED", "skx::", "::x", "icl::INST_RETIRED:ANY_P:u", "perf::PAGE-FAULTS",
    "perf::CYCLES", "perf_raw::r3c", "x:::y", "tsc:::nope", "PAPI_", "PAPI_TOT_INS@", "PAPI_X@cpu",
    "PAPI_TOT_INS@cpu", "PAPI_TOT_INS@nope", "@", "cycles@cpu", "a/b/p", "cpu/cycles/ppp",
    "cycles:p", "uk", "u", "\u00e9v\u00e9nement", "cycles:u\u00e9",
)  # fmt: skip


@pytest.mark.cpu
def test_mistakes(print_events: Path) -> None:
    compare(print_events, Machine(), MISTAKES)
    compare(print_events, HYBRID, MISTAKES)


def test_names_that_are_too_long(print_events: Path) -> None:
    for name in ("x" * 255, "x" * 256, "x" * 60000, "msr/" + "," * 300 + "/"):
        (answer,) = in_c(print_events, Machine(), [name])
        assert answer["error"] < 0
        assert answer["message"].startswith("event '")


def test_events_of_other_components(print_events: Path) -> None:
    """They are said to be counted elsewhere, not to be unknown."""
    machine = Machine(GOLDEN / "sysfs-hybrid", models={})
    names = ["io:::read", "network:::x", "gpu:::x", "power:::energy-pkg", "emulated:::x"]
    names += ["uncore_cbox/x/", "cbox/x/", "uncore_imc_*/x/", "power/energy-pkg/"]
    for name, answer in zip(names, in_c(print_events, machine, names), strict=True):
        assert answer["error"] == -17, name
        assert "or Python (gnomon.counters)" in answer["message"]


WORDS = "cycles sched: msr/ PAPI_ TOT_INS config= event= 0x icl:: page-faults"
ALPHABET = st.sampled_from([*"ukhGHIpxr01_-.:/,=@*?[]", *WORDS.split()])


@examples(15)
@given(st.lists(st.lists(ALPHABET, min_size=1, max_size=8).map("".join), max_size=60))
def test_whatever_is_typed(print_events: Path, names: list[str]) -> None:
    elsewhere = [name for name in names if ":::" in name]
    compare(print_events, Machine(), [name for name in names if name not in elsewhere])
    compare(print_events, HYBRID, [name for name in names if name not in elsewhere])


SIZES = st.one_of(st.integers(0, 70), st.sampled_from([255, 4000]))
BITS = st.one_of(
    st.tuples(SIZES).map(lambda t: str(t[0])), st.tuples(SIZES, SIZES).map("{0[0]}-{0[1]}".format)
)
LAYOUTS = st.one_of(
    st.tuples(st.sampled_from(["config", "config1", "config3", "config4", ""]),
              st.lists(BITS, max_size=4).map(",".join)).map(":".join),
    st.text(st.characters(codec="ascii"), max_size=12),
)  # fmt: skip
TERMS = st.lists(
    st.sampled_from(["a", "b=1", "b=0xff", "c=?", "a=077", "config2=5", "d", "period=3", "e = 7",
                     "b=9999999999999999999", "=", "", "a/b=1", "..", "name"]), max_size=4
).map(",".join)  # fmt: skip


@examples(60)
@example(formats=["config:0,255-0", "config:3,2-1"], aliases=[], typed=["a", "b"])
@given(formats=st.lists(LAYOUTS, min_size=2, max_size=3), aliases=st.lists(TERMS, max_size=2),
       typed=st.lists(TERMS, min_size=1, max_size=4))  # fmt: skip
def test_whatever_sysfs_says(
    print_events: Path,
    tmp_path_factory: pytest.TempPathFactory,
    formats: list[str],
    aliases: list[str],
    typed: list[str],
) -> None:
    sysfs = tmp_path_factory.mktemp("sysfs")
    pmu = sysfs / "bus/event_source/devices/cpu"
    (pmu / "format").mkdir(parents=True)
    (pmu / "events").mkdir()
    (pmu / "type").write_text("4\n")
    for name, text in zip("abc", formats, strict=False):
        (pmu / "format" / name).write_text(f"{text}\n")
    for name, text in zip("de", aliases, strict=False):
        (pmu / "events" / name).write_text(f"{text}\n")
    compare(print_events, Machine(sysfs, models={}), [f"cpu/{terms}/" for terms in typed])


def test_hostile_sysfs(print_events: Path, tmp_path: Path) -> None:
    devices = tmp_path / "bus/event_source/devices"
    for name, kind in {
        "cpu": "4",
        "big": "9" * 30,
        "none": "",
        "text": "four",
        "nul": "4\0",
    }.items():
        (devices / name / "format").mkdir(parents=True)
        (devices / name / "events").mkdir()
        (devices / name / "type").write_text(kind)
        (devices / name / "cpus").write_text("0")
    cpu = devices / "cpu"
    (cpu / "format" / "huge").write_text("config:" + "0-63," * 2000 + "1")
    (cpu / "format" / "wide").write_text("config:0-4000000000")
    (cpu / "format" / "folder").mkdir()
    (cpu / "events" / "itself").write_text("itself")
    (cpu / "events" / "long").write_text("huge," * 5000)
    (cpu / "events" / "up").write_text("../type=1")
    (cpu / "events" / "noise").write_bytes(bytes(range(256)))
    os.mkfifo(cpu / "events" / "pipe")
    keys = ["huge", "wide", "folder", "itself", "long", "up", "noise", "pipe", "wide=1", "huge=1"]
    names = [f"{pmu.name}/{key}/" for pmu in devices.iterdir() for key in keys]
    for answer in in_c(print_events, Machine(tmp_path, models={}), names):
        assert answer["error"] == -7, answer
        assert answer["message"].startswith("event '")


def test_hostile_tracefs(print_events: Path, tmp_path: Path) -> None:
    for point, text in {"good": "7\n", "text": "x", "none": "", "long": "9" * 100}.items():
        (tmp_path / "events" / "sys" / point).mkdir(parents=True)
        (tmp_path / "events" / "sys" / point / "id").write_text(text)
    (tmp_path / "events" / "sys" / "folder" / "id").mkdir(parents=True)
    (tmp_path / "events" / "file").write_text("")
    machine = Machine(tracefs=tmp_path)
    names = [f"sys:{point}" for point in ("good", "text", "none", "folder", "absent", "go?d", "*d")]
    assert compare(print_events, machine, [*names, "file:x", "..:sys"]) == 3
    (answer,) = in_c(print_events, machine, ["sys:long"])
    assert answer["error"] == -3


def test_no_tracefs(print_events: Path, tmp_path: Path) -> None:
    (answer,) = in_c(print_events, Machine(tracefs=tmp_path), ["sched:sched_switch"])
    assert answer["error"] == -7
    assert "tracefs is not mounted; as root: mount -t tracefs" in answer["message"]


@pytest.mark.cpu
def test_the_same_without_variables(print_events: Path) -> None:
    """That libpfm4 encodes for other CPUs only serves the messages: C does without it."""
    # Of AMD's K7, which has no 64 bits and so is never this machine's.
    names = ["amd64_k7::RETIRED_INSTRUCTIONS", "cycles", "PAPI_TOT_INS"]
    plain_answers = in_c(print_events, Machine(), names, LIBPFM_ENCODE_INACTIVE="")
    assert plain_answers == in_c(print_events, Machine(), names)
    assert "it belongs to AMD64 K7" in plain_answers[0]["message"]


@pytest.mark.cpu
def test_without_libpfm4(print_events: Path, tmp_path: Path) -> None:
    """A library that cannot be loaded is as none: the kernel's names are left."""
    (tmp_path / "libpfm.so.4").write_bytes(b"")
    names = ["cycles:u", "PAPI_TOT_INS", "page-faults", "SOME_EVENT:OF_A_CPU"]
    answers = in_c(print_events, NAMELESS, names, LD_LIBRARY_PATH=str(tmp_path))
    assert [answer["error"] for answer in answers] == [0, 0, 0, -7]
    assert answers[1]["events"][0]["terms"] == [[1, 0, 1, 0, 0, 0, 0]]
    assert answers[3]["message"].endswith("install it (Debian: apt-get install libpfm4)")


@pytest.mark.cpu
def test_codes_are_papis(print_events: Path) -> None:
    names = ["PAPI_L1_DCM", "PAPI_REF_CYC", "papi_tot_ins", "PAPI_TOT_INS:u", "cycles"]
    codes = [a["events"][0]["code"] for a in in_c(print_events, NAMELESS, names) if a["events"]]
    assert 0x80000000 in codes
    assert 0x80000032 in codes
    assert codes[-2] == 0xA0000000
    assert codes[-1] == 0x40000000
