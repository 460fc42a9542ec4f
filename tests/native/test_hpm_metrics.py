"""Metrics and groups come to the same in C as in Python, to the last bit."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
from c_hpm import HOWS, MODES, constants, counted, item, number, ran, refused, times
from c_names import built

from gnomon.errors import UsageError
from gnomon.metrics.definitions import CONSTANTS, GIVEN, VARIABLES, Metric, Metrics, load_metrics
from gnomon.metrics.derived import FormulaInput, computable, formula_inputs
from gnomon.metrics.groups import find_group, load_groups
from gnomon.model.value import Domain, How, Scope, Value

METRICS = load_metrics()
DEFINITIONS = (*METRICS.quantities, *METRICS.definitions)
EVENTS = sorted(
    {name for one in DEFINITIONS for name in one.names}.union(METRICS.aliases)
    - {one.name for one in METRICS.quantities}
    - {*VARIABLES, *CONSTANTS, *GIVEN}
)
STAND_INS = {name: others for name, others in METRICS.aliases.items() if name in EVENTS}
CPUS = sorted({cpu for one in DEFINITIONS for cpu in one.cpus})


class Case(NamedTuple):
    """What was measured, once."""

    values: tuple[Value, ...]
    refused: tuple[str, ...] = ()
    variables: Mapping[str, float | None] = MappingProxyType({})
    given: Mapping[str, float] = MappingProxyType({})
    constants: Mapping[str, float] = MappingProxyType({})
    cpus: tuple[str, ...] = ()


class Known:
    """A machine that knows what a case says."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def constant(self, name: str) -> float | None:
        return self._case.constants.get(name)

    def cpus(self) -> Collection[str]:
        return self._case.cpus


@pytest.fixture(scope="module")
def print_hpm() -> Path:
    """Return the C program that shows what native/hpm makes of something."""
    return built("print_hpm")


def in_python(case: Case, metrics: Metrics = METRICS) -> list[tuple[str, ...]]:
    found = computable(
        metrics,
        formula_inputs(case.values, case.variables, case.given, case.refused),
        Known(case),
    )
    return [
        (
            one.guide_name or one.name,
            one.unit,
            one.value.hex(),
            str(HOWS.index(one.how)),
            str(MODES[one.domain] if one.domain else 0),
            "2" if one.scope is Scope.NODE else "0",
            one.formula,
            one.title,
            one.description,
        )
        for one in found
    ]


def in_c(program: Path, cases: Sequence[Case]) -> list[list[tuple[str, ...]]]:
    lines = []
    for case in cases:
        v = case.variables
        lines += [
            item(),
            times(wall=v.get("wall_seconds"), user=v.get("user_seconds"),
                  system=v.get("system_seconds")),
            *map(counted, case.values),
            *map(refused, case.refused),
            *constants({name: count for name, count in v.items() if name == "cpus" and count}),
            *constants(case.given, HOWS.index(How.ESTIMATED)),
            *constants(case.constants),
            *(f"cpu\t{cpu}" for cpu in case.cpus),
            "metrics",
        ]  # fmt: skip
    found: list[list[tuple[str, ...]]] = [[]]
    for line in ran(program, "items", lines):
        if line == ".":
            found.append([])
        else:
            name, unit, value, *rest = line.split("\t")
            found[-1].append((name, unit, float.fromhex(value).hex(), *rest))
    return found[:-1]


def same(program: Path, cases: Sequence[Case], metrics: Metrics = METRICS) -> int:
    """Assert that both come to the same; return how many values that were."""
    values = 0
    for case, ours in zip(cases, in_c(program, cases), strict=True):
        expected = in_python(case, metrics)
        assert ours == expected, case
        values += len(expected)
    return values


def value(
    rng: random.Random, name: str, domain: Domain = Domain.ALL, *, component: str = "cpu"
) -> Value:
    enabled = rng.randrange(1, 10**10)
    running = enabled if rng.random() < 0.7 else rng.randrange(0, enabled)
    raw = rng.choice([0, 1, rng.randrange(1000), rng.randrange(10**6), rng.randrange(2**44)])
    derived = rng.random() < 0.05
    how = How.COUNTED if running == enabled else How.SCALED
    if rng.random() < 0.1:
        how = rng.choice(HOWS)
    return Value(
        name, component, 0 if derived else raw, enabled, running,
        unit="ns" if name.endswith("clock") else "",
        unit_factor=1, domain=domain,
        scope=rng.choice([Scope.THREAD, Scope.PROCESS, Scope.PROCESS, Scope.NODE]),
        how=how, derived=rng.uniform(-10, 10) if derived else None, is_derived=derived,
    )  # fmt: skip


def machine(rng: random.Random) -> dict[str, float]:
    return {name: rng.choice([32.0, 64.0, 128.0, 1 / 3.1e9, 0.0])
            for name in CONSTANTS if rng.random() < 0.8}  # fmt: skip


def variables(rng: random.Random) -> dict[str, float | None]:
    found: dict[str, float | None] = {"cpus": float(rng.randrange(1, 300))}
    for name in VARIABLES:
        if name != "cpus":
            found[name] = rng.choice([rng.uniform(0, 100), rng.uniform(0, 100), 0.0, None])
    return found


def needed(metric: Metric) -> tuple[list[str], tuple[str, ...]]:
    """Return events that a definition follows from, and the CPUs that it takes."""
    names = set(metric.names)
    found = set()
    cpus = metric.cpus[:1]
    while names:
        name = names.pop()
        shared = next((one for one in METRICS.quantities if one.name == name), None)
        if shared is not None:
            names |= shared.names
            cpus += shared.cpus[:1]
        elif name[-1] == "*":
            found |= {name[:-1], name[:-1] + "_SHR", name[:-1] + "_MOD"}
        elif name not in VARIABLES and name not in CONSTANTS and name not in GIVEN:
            found.add(name)
    return sorted(found), cpus


def of_every_definition(seed: int) -> list[Case]:
    """Return for each definition a case from which it follows, with values that are drawn."""
    rng = random.Random(seed)
    cases = []
    for metric in DEFINITIONS:
        names, cpus = needed(metric)
        rng.shuffle(names)
        values = [
            value(rng, name)._replace(
                running_ns=5, enabled_ns=5, raw=rng.randrange(1, 2**40), is_derived=False
            )
            for name in names
        ]
        cases.append(
            Case(
                tuple(values),
                (),
                {**{name: rng.uniform(0.1, 10) for name in VARIABLES}, "cpus": 1e6},
                {name: float(rng.randrange(1, 500)) for name in GIVEN},
                {name: rng.uniform(0.1, 10) for name in CONSTANTS},
                cpus,
            )
        )
    return cases


@pytest.mark.parametrize("seed", range(3))
def test_every_definition(print_hpm: Path, seed: int) -> None:
    cases = of_every_definition(seed)
    assert same(print_hpm, cases) > len(cases)


def test_every_definition_is_reached() -> None:
    """With some of the values that are drawn; with others what it is of can be out of bounds."""
    drawn = [case for seed in range(3) for case in of_every_definition(seed)]
    reached = {row[0] for case in drawn for row in in_python(case)}
    assert reached >= {one.guide_name or one.name for one in METRICS.definitions}


@pytest.mark.parametrize("seed", range(20))
def test_random_counts(print_hpm: Path, seed: int) -> None:
    rng = random.Random(f"counts {seed}")
    cases = []
    for _ in range(25):
        names = rng.sample(EVENTS, rng.randrange(1, min(len(EVENTS), 40)))
        names = [name.rstrip("*") for name in names]
        names = [rng.choice([name, *STAND_INS.get(name, ())]) for name in names]
        domains = [rng.choice(list(Domain))] if rng.random() < 0.7 else list(Domain)
        values = {name: value(rng, name, rng.choice(domains)) for name in names}
        cases.append(
            Case(
                tuple(values.values()),
                tuple(rng.sample(EVENTS, 2)) if rng.random() < 0.3 else (),
                variables(rng),
                {name: float(rng.randrange(500)) for name in GIVEN if rng.random() < 0.5},
                machine(rng),
                tuple(rng.sample(CPUS, rng.randrange(3))) if CPUS else (),
            )
        )
    assert same(print_hpm, cases) > 100


SPELLINGS = (
    "{}", "{}:u", "{}:k", "{}:ku", "{}:uk", "cpu/{}/", "cpu/{}/u", "cpu_atom/{}/uG",
    "{}@cpu_core", "{}:u@cpu_core", "{}@cpu_atom", "{}:", ":{}", "a::{}:u:k", "cpu/{}",
    "cpu//{}", "{}/cpu/x", "skx::{}", "skx::{}:u", "skx:::{}", "::{}", "a b::{}",
)  # fmt: skip
PLAIN = (
    "PAPI_TOT_CYC", "papi_tot_ins", "Papi_Br_Ins", "cycles", "instructions", "branches",
    "branch-misses", "PM_DATA_FROM_L3", "pm_cyc", "Pm_Inst_Cmpl", "9lives", "a.b", "é",
    "page-faults", "task-clock",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_names_with_modifiers_and_pmus(print_hpm: Path, seed: int) -> None:
    rng = random.Random(f"names {seed}")
    cases = []
    for _ in range(25):
        values = {}
        for plain in rng.sample(PLAIN, rng.randrange(2, 8)):
            for spelling in rng.sample(SPELLINGS, rng.choice([1, 1, 2])):
                name = spelling.format(plain)
                one = value(
                    rng, name, rng.choice([Domain.ALL, Domain.ALL, Domain.USER]),
                    component=rng.choice(["cpu", "cpu", "kernel"]),
                )  # fmt: skip
                # What a counter that never ran read is not known either.
                values[name] = one if one.running_ns else one._replace(raw=0)
        cases.append(Case(tuple(values.values()), (), variables(rng), {}, machine(rng), ()))
    assert same(print_hpm, cases) > 25


def test_the_parts_of_a_hybrid_cpu_are_joined(print_hpm: Path) -> None:
    rng = random.Random(1)

    def part(name: str, raw: int, enabled: int, running: int) -> Value:
        how = How.COUNTED if enabled == running else How.SCALED
        how = rng.choice([how, how, how, How.ESTIMATED, How.EMULATED])
        return Value(name, "cpu", raw, enabled, running, "", 1, Domain.ALL, Scope.PROCESS, how)

    cases = []
    for _ in range(200):
        enabled = rng.randrange(1000, 10**11)
        running = rng.randrange(enabled)
        left = rng.choice([enabled - running, rng.randrange(enabled - running + 1)])
        values = [
            part(f"{event}@{pmu}", rng.randrange(2**40) if ran_ns else 0, enabled, ran_ns)
            for event in ("PAPI_TOT_INS", "PAPI_TOT_CYC")
            for pmu, ran_ns in (("cpu_core", running), ("cpu_atom", left))
        ]
        cases.append(Case(tuple(values), (), {"wall_seconds": 1.0}))
    assert same(print_hpm, cases) > 200


@pytest.fixture(scope="module")
def print_hpm_made() -> Path:
    """Return the same program with the definitions of made_metrics.toml."""
    return built("print_hpm_made")


@pytest.mark.parametrize("seed", range(10))
def test_all_of_the_formula_language(print_hpm_made: Path, seed: int) -> None:
    made = load_metrics(Path(__file__).parent / "made_metrics.toml")
    rng = random.Random(f"made {seed}")
    names = ("A", "B", "C", "D", "E", "PM_DATA", "PM_DATA_X", "PM_Y", "PM_*", "total", "plain",
             "A:u", "B:k", "PM_Z:u", "cpu/PM_DATA_W/", "HPM_L2_LATENCY", "line")  # fmt: skip
    cases = []
    for _ in range(150):
        domains = rng.choice([[Domain.ALL], [Domain.USER], [Domain.ALL, Domain.USER_KERNEL],
                              list(Domain)])  # fmt: skip
        values = [
            value(rng, name, rng.choice(domains))
            for name in rng.sample(names, rng.randrange(2, len(names)))
        ]
        if rng.random() < 0.5:
            few = rng.randrange(1, 12)
            values = [one._replace(raw=one.raw % few) for one in values]
        cases.append(
            Case(
                tuple(values),
                tuple(rng.sample(names, 2)) if rng.random() < 0.3 else (),
                variables(rng),
                {name: float(rng.randrange(500)) for name in (*GIVEN, "L2_line_bytes")
                 if rng.random() < 0.5},
                machine(rng),
                tuple(rng.sample(["icl", "power9", "x"], rng.randrange(3))),
            )
        )  # fmt: skip
    assert same(print_hpm_made, cases, made) > 300
    if not seed:
        reached = {row[0] for case in cases for row in in_python(case, made)}
        assert reached == {one.guide_name or one.name for one in made.definitions}


def test_an_unknown_number_is_none(print_hpm: Path) -> None:
    cycles = Value("cycles", "cpu", 0, 5, 0, "", 1, Domain.ALL, Scope.PROCESS, How.SCALED)
    work = cycles._replace(event="instructions", raw=7, running_ns=5)
    assert in_python(Case((cycles, work))) == in_c(print_hpm, [Case((cycles, work))])[0] == []
    assert FormulaInput(None).value is None
    assert number(None) == "nan"


def shown(word: str, cpu: str = "") -> str:
    group = find_group(load_groups(), word, lambda: (cpu,) if cpu else ())
    return f"{group.number} {group.name}:{','.join(group.events)}"


def known(word: str, cpu: str) -> str:
    try:
        return shown(word, cpu)
    except UsageError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("cpu", ["", *sorted({cpu for one in load_groups() for cpu in one.cpus})])
def test_groups_are_those_of_python(print_hpm: Path, cpu: str) -> None:
    groups = load_groups()
    words = [str(group.number) for group in groups] + [group.name for group in groups]
    words += ["007", " 2 ", "branch", "Branch", "nope", "-1", "1.5", "99999999999999999999", "²"]
    lines = ran(print_hpm, "groups", words, cpu)
    expected = {word: known(word, cpu) for word in words}
    for word, line in zip(words, lines, strict=True):
        kind, _, rest = expected[word].partition("'")
        assert line == expected[word] or (rest and line.startswith(f"{kind}'")), word
        assert not rest or "; gnomon groups lists" in line
    assert sum(one.startswith("refused: ") for one in expected.values()) >= 5


def test_several_groups_and_the_default(print_hpm: Path) -> None:
    lines = ran(print_hpm, "groups", ["", "1, branch ,3", "1,", "," * 3, "1,CPU,3,1"])
    assert lines[:2] == [shown("0"), ";".join(map(shown, ("1", "BRANCH", "3")))]
    assert lines[2].startswith("refused: no group ''; there are 0 DEFAULT, 1 CPU")
    assert lines[3].startswith("refused: no group ''")
    # What is named twice is counted once.
    assert lines[4] == ";".join(map(shown, ("1", "3")))
    every = ",".join(map(str, range(17)))
    assert ran(print_hpm, "groups", [every]) == ["refused: more than 16 groups; ask for fewer"]


def test_a_group_that_is_near(print_hpm: Path) -> None:
    assert ran(print_hpm, "groups", ["BRNCH"]) == [
        "refused: no group 'BRNCH'; did you mean BRANCH?; gnomon groups lists them"
    ]
