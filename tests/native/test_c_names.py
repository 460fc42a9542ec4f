"""A name means the same in C as in Python: all that are known here, and of recorded machines.

Both are given the same names. Types, configs, what is left out, units, factors and formulas have to
be equal, and what one refuses the other has to refuse.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.counters import presets
from gnomon.counters.component import Event
from gnomon.counters.components.cpu import CpuComponent, libpfm_pmus
from gnomon.counters.components.kernel import KernelComponent
from gnomon.counters.components.tsc import TscComponent
from gnomon.counters.perf import PerfSpec
from gnomon.counters.pmu import SYSFS
from gnomon.errors import EventError, UsageError
from gnomon.model.value import Domain

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
COMPONENTS = ("cpu", "kernel", "tsc")
HARDWARE, TRACEPOINT, KERNEL_ONLY, EVERY_MODE, PRESET = 1, 2, 4, 8, 16
DOMAINS = {
    Domain.ALL: 0,
    Domain.USER: 1,
    Domain.KERNEL: 2,
    Domain.HYPERVISOR: 4,
    Domain.USER_KERNEL: 3,
}
MODIFIERS = ("", ":u", ":k", ":uk", ":ukh", ":uG", ":HI")

Resolved = dict[str, Any]


class Machine(NamedTuple):
    """Where a machine's trees are, and what libpfm4 calls its PMUs; None for this one."""

    sysfs: Path = SYSFS
    tracefs: Path | None = None
    models: dict[str, str] | None = None


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the C program that resolves names."""
    folder = tmp_path_factory.mktemp("names")
    options = ["-DGNOMON_PYTHON=OFF", "-DGNOMON_TESTS=ON", "-DCMAKE_BUILD_TYPE=Debug"]
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options],
        ["cmake", "--build", str(folder), "--target", "print_events"],
    ):
        if shutil.which(command[0]) is None:
            pytest.fail("cmake is not installed: run `make setup`, or install the package cmake")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "native" / "tests" / "print_events"


def in_c(program: Path, machine: Machine, names: Iterable[str], **variables: str) -> list[Resolved]:
    models = ",".join(f"{k}={v}" for k, v in (machine.models or {}).items())
    tracefs = str(machine.tracefs) if machine.tracefs else ""
    done = subprocess.run(
        [program, str(machine.sysfs), tracefs, models],
        input="".join(f"{name}\n" for name in names).encode(),
        env=os.environ | {"LIBPFM_ENCODE_INACTIVE": "1"} | variables,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return [json.loads(line) for line in done.stdout.decode(errors="replace").splitlines()]


def in_python(machine: Machine, names: Iterable[str]) -> Iterator[tuple[str, tuple[Event, ...]]]:
    """Yield each name with its events, () where Python refuses it."""
    cpu = CpuComponent(machine.sysfs, machine.models)
    kernel = KernelComponent([machine.tracefs]) if machine.tracefs else KernelComponent()
    sources = (kernel, TscComponent(machine.sysfs), cpu)
    for name in names:
        try:
            events = presets.find(name, cpu).events
            for source in sources:
                events = events or source.resolve(name)
        except (EventError, UsageError):
            events = ()
        yield name, events


def plain(event: Event) -> Resolved:
    """Return what the C program would say of an event."""
    spec: PerfSpec = event.spec
    flags = (
        HARDWARE * spec.hardware
        | TRACEPOINT * spec.tracepoint
        | KERNEL_ONLY * spec.kernel_only
        | EVERY_MODE * spec.every_mode
    )
    # The msr PMU refuses to leave anything out, so that in C no set's domain is put on it.
    if event.info.component == "tsc":
        flags |= EVERY_MODE
    every_mode = bool(flags & EVERY_MODE)
    return {
        "name": event.name,
        "unit": event.info.unit,
        "component": event.info.component,
        "flags": flags,
        "domain": 0 if every_mode else DOMAINS[event.domain],
        "scale": event.unit_factor,
        "terms": [[t.factor, *t.encoding] for t in spec.terms],
        "formula": [] if spec.formula is None else words(spec.formula.postfix()),
        "value": None if spec.formula is None else value_of(spec),
    }


def value_of(spec: PerfSpec) -> object:
    """Return what the formula comes to of the counts that the C program takes."""
    assert spec.formula is not None
    value = spec.formula.evaluate([1000 * i * i + 7 for i in range(len(spec.terms))], 0.5)
    # C has doubles where Python has whole numbers, and nothing is lost below 2**53.
    return value if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)


def words(postfix: str) -> list[str | float]:
    return [
        word if word[0] in "Ns+-*/" else float(word)
        for word in postfix.removesuffix("|").split("|")
    ]


def of_c(event: Resolved) -> Resolved:
    """Return the same of what the C program said."""
    flags = event["flags"] & (HARDWARE | TRACEPOINT | KERNEL_ONLY | EVERY_MODE)
    formula = words(event["formula"]) if event["formula"] else []
    # ukh asks for all, as no modifier does.
    domain = 0 if event["domain"] == 7 else event["domain"]
    known = {key: event[key] for key in ("name", "unit", "scale", "terms", "value")}
    return known | {
        "component": COMPONENTS[event["component"]],
        "flags": flags,
        "domain": domain,
        "formula": formula,
    }


def compare(program: Path, machine: Machine, names: Iterable[str], **variables: str) -> int:
    """Compare both on every name; return how many of them have events."""
    names = list(dict.fromkeys(names))
    libpfm_pmus()  # starts libpfm4 so that it encodes for CPUs that are not here
    said = in_c(program, machine, names, **variables)
    assert len(said) == len(names)
    found = 0
    for (name, events), answer in zip(in_python(machine, names), said, strict=True):
        assert [of_c(one) for one in answer["events"]] == [plain(one) for one in events], name
        assert (answer["error"] == 0) == bool(events), name
        if answer["error"]:
            assert name.partition("@")[0][:60] in answer["message"]
            assert ": " in answer["message"], name
        found += bool(events)
    return found


def modified(names: Iterable[str]) -> list[str]:
    """Return each name, and each with one of the modifiers, in turn."""
    made = []
    for at, name in enumerate(names):
        suffix = MODIFIERS[at % len(MODIFIERS)]
        made += [name, name + (suffix.removeprefix(":") if name.endswith("/") else suffix)]
    return made


def names_of(machine: Machine) -> list[str]:
    cpu = CpuComponent(machine.sysfs, machine.models)
    kernel = KernelComponent([machine.tracefs]) if machine.tracefs else KernelComponent()
    sources = (cpu, kernel, TscComponent(machine.sysfs))
    names = [info.name for source in sources for info in source.events()]
    # The only event that C leaves to a function of its own.
    names.remove("tsc:::cycles")
    return names


def test_every_event_of_this_machine(program: Path) -> None:
    names = names_of(Machine())
    assert compare(program, Machine(), modified(names)) >= len(names)


def test_every_preset_of_this_machine(program: Path) -> None:
    names = [preset.name for preset in presets.of_this_machine()]
    assert compare(program, Machine(), modified(names)) > 0
    assert compare(program, Machine(), [name.lower() for name in names]) > 0


@pytest.mark.parametrize("tree", sorted(path.name for path in GOLDEN.glob("sysfs-*")))
def test_recorded_machines(program: Path, tree: str) -> None:
    machine = Machine(GOLDEN / tree, models={})
    names = names_of(machine)
    assert compare(program, machine, modified(names)) >= len(names)


HYBRID = Machine(GOLDEN / "sysfs-hybrid", models={"cpu_core": "adl_glc", "cpu_atom": "adl_grt"})


def test_presets_of_a_hybrid_machine(program: Path) -> None:
    names = [preset.name for preset in presets.of_this_machine()]
    on_one = [f"{name}@cpu_atom" for name in names] + [f"{name}:u@cpu_core" for name in names]
    assert compare(program, HYBRID, [*modified(names), *on_one, "PAPI_TOT_INS@cpu_nil"]) > 4


def test_events_of_one_kind_of_core(program: Path) -> None:
    """What the counts of a hybrid machine are called can be typed."""
    names = ("cycles", "L1-dcache-load-misses", "r1c2", "cpu-cycles:u")
    said = in_c(program, HYBRID, names)
    labels = [event["name"] for answer in said for event in answer["events"]]
    assert labels[:2] == ["cpu_atom/cycles/", "cpu_core/cycles/"]
    assert len(labels) == 2 * len(names)
    assert compare(program, HYBRID, labels) == len(labels)


FAMILIES = [(f.name, pmu) for f in presets.families() for pmu in f.pmus]


@pytest.mark.parametrize(("family", "pmu"), FAMILIES)
def test_presets_of_every_family(program: Path, tmp_path: Path, family: str, pmu: str) -> None:
    machine = Machine(tmp_path, models={"cpu": pmu})
    names = [preset.name for preset in presets.family(family).presets]
    found = compare(program, machine, modified(names))
    known = [one for one in libpfm_pmus() if one.name == pmu]
    assert found > 0 or not known  # this libpfm4 has no tables of the other architectures


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


def test_mistakes(program: Path) -> None:
    compare(program, Machine(), MISTAKES)
    compare(program, HYBRID, MISTAKES)


def test_names_that_are_too_long(program: Path) -> None:
    for name in ("x" * 255, "x" * 256, "x" * 60000, "msr/" + "," * 300 + "/"):
        (answer,) = in_c(program, Machine(), [name])
        assert answer["error"] < 0
        assert answer["message"].startswith("event '")


def test_events_of_other_components(program: Path) -> None:
    """They are said to be counted elsewhere, not to be unknown."""
    machine = Machine(GOLDEN / "sysfs-hybrid", models={})
    names = ["io:::read", "network:::x", "gpu:::x", "power:::energy-pkg", "emulated:::x"]
    names += ["uncore_cbox/x/", "cbox/x/", "uncore_imc_*/x/", "power/energy-pkg/"]
    for name, answer in zip(names, in_c(program, machine, names), strict=True):
        assert answer["error"] == -17, name
        assert "in Python (gnomon.counters)" in answer["message"]


WORDS = "cycles sched: msr/ PAPI_ TOT_INS config= event= 0x icl:: page-faults"
ALPHABET = st.sampled_from([*"ukhGHIpxr01_-.:/,=@*?[]", *WORDS.split()])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(ALPHABET, min_size=1, max_size=8).map("".join), max_size=60))
def test_whatever_is_typed(program: Path, names: list[str]) -> None:
    elsewhere = [name for name in names if ":::" in name]
    compare(program, Machine(), [name for name in names if name not in elsewhere])
    compare(program, HYBRID, [name for name in names if name not in elsewhere])


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


@settings(max_examples=60, deadline=None)
@given(formats=st.lists(LAYOUTS, min_size=2, max_size=3), aliases=st.lists(TERMS, max_size=2),
       typed=st.lists(TERMS, min_size=1, max_size=4))  # fmt: skip
def test_whatever_sysfs_says(
    program: Path,
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
    compare(program, Machine(sysfs, models={}), [f"cpu/{terms}/" for terms in typed])


def test_hostile_sysfs(program: Path, tmp_path: Path) -> None:
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
    for answer in in_c(program, Machine(tmp_path, models={}), names):
        assert answer["error"] == -7, answer
        assert answer["message"].startswith("event '")


def test_hostile_tracefs(program: Path, tmp_path: Path) -> None:
    for point, text in {"good": "7\n", "text": "x", "none": "", "long": "9" * 100}.items():
        (tmp_path / "events" / "sys" / point).mkdir(parents=True)
        (tmp_path / "events" / "sys" / point / "id").write_text(text)
    (tmp_path / "events" / "sys" / "folder" / "id").mkdir(parents=True)
    (tmp_path / "events" / "file").write_text("")
    machine = Machine(tracefs=tmp_path)
    names = [f"sys:{point}" for point in ("good", "text", "none", "folder", "absent", "go?d", "*d")]
    assert compare(program, machine, [*names, "file:x", "..:sys"]) == 3
    (answer,) = in_c(program, machine, ["sys:long"])
    assert answer["error"] == -3


def test_no_tracefs(program: Path, tmp_path: Path) -> None:
    (answer,) = in_c(program, Machine(tracefs=tmp_path), ["sched:sched_switch"])
    assert answer["error"] == -7
    assert "tracefs is not mounted; as root: mount -t tracefs" in answer["message"]


def test_the_same_without_variables(program: Path) -> None:
    """That libpfm4 encodes for other CPUs only serves the messages: C does without it."""
    names = ["skx::INST_RETIRED", "cycles", "PAPI_TOT_INS"]
    plain_answers = in_c(program, Machine(), names, LIBPFM_ENCODE_INACTIVE="")
    assert plain_answers == in_c(program, Machine(), names)
    assert "it belongs to Intel Skylake X" in plain_answers[0]["message"]


def test_codes_are_papis(program: Path) -> None:
    names = ["PAPI_L1_DCM", "PAPI_REF_CYC", "papi_tot_ins", "PAPI_TOT_INS:u", "cycles"]
    codes = [a["events"][0]["code"] for a in in_c(program, Machine(), names) if a["events"]]
    assert 0x80000000 in codes
    assert 0x80000032 in codes
    assert codes[-2] == 0xA0000000
    assert codes[-1] == 0x40000000
