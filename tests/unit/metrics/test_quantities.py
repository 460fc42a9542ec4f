"""What formulas may use beside counts: quantities, patterns, constants, CPUs, stated numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st
from stated import StatedMachine

from gnomon.errors import FormulaError, UsageError
from gnomon.metrics.definitions import GIVEN, Metric, Metrics, load_metrics
from gnomon.metrics.derived import FormulaInput, MetricValue, computable, formula_inputs
from gnomon.metrics.formula import parse
from gnomon.metrics.user_constants import DEFINE, read_user_constants
from gnomon.model.value import Domain, How, Scope, Value


def value(event: str, raw: int, *, running: float = 1, domain: Domain = Domain.ALL) -> Value:
    how = How.COUNTED if running == 1 else How.SCALED
    running_ns = round(running * 10**9)
    return Value(event, "cpu", raw, 10**9, running_ns, "", 1, domain, Scope.THREAD, how)


def metrics(formula: str, *others: Metric, cpus: tuple[str, ...] = ()) -> Metrics:
    return Metrics((Metric("m", "", parse(formula), cpus=cpus),), {}, others)


def shared(name: str, formula: str, cpus: tuple[str, ...] = ()) -> Metric:
    return Metric(name, "", parse(formula), cpus=cpus)


def one(found: tuple[MetricValue, ...]) -> MetricValue:
    (result,) = found
    return result


# --- quantities -----------------------------------------------------------------------------------


def test_the_first_quantity_that_can_be_computed_is_taken_and_written_out() -> None:
    definitions = metrics(
        "100 * flops / cycles",
        shared("flops", "a + b"),
        shared("flops", "dp_ops"),
        shared("flops", "c"),
    )
    found = one(computable(definitions, formula_inputs([value("cycles", 50), value("dp-ops", 20)])))
    assert (found.value, found.formula) == (40, "100 * dp_ops / cycles")
    both = [value("cycles", 50), value("dp-ops", 20), value("a", 2), value("b", 3)]
    found = one(computable(definitions, formula_inputs(both)))
    assert (found.value, found.formula) == (10, "100 * (a + b) / cycles")


def test_quantities_may_use_those_in_front_of_them() -> None:
    definitions = metrics("twice", shared("once", "a"), shared("twice", "2 * once"))
    assert one(computable(definitions, formula_inputs([value("a", 4)]))).value == 8
    reversed_order = metrics("twice", shared("twice", "2 * once"), shared("once", "a"))
    assert computable(reversed_order, formula_inputs([value("a", 4)])) == ()


def test_a_quantity_is_as_good_as_its_worst_input() -> None:
    definitions = metrics("q + c", shared("q", "a + b"))
    counts = [value("a", 4), value("b", 4, running=0.5), value("c", 1)]
    found = one(computable(definitions, formula_inputs(counts)))
    assert (found.value, found.how, found.scope) == (13, How.SCALED, Scope.THREAD)


def test_quantities_do_not_add_up_different_modes(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[quantity]]\nname = "q"\nformula = "a + b"\ndescription = "both"\n'
        '[[metric]]\nname = "m"\nformula = "q"\ndescription = "both"\n'
    )
    mixed = [value("a", 4), value("b", 4, domain=Domain.USER)]
    assert computable(load_metrics(path), formula_inputs(mixed)) == ()
    assert (
        one(computable(load_metrics(path), formula_inputs([value("a", 4), value("b", 4)]))).value
        == 8
    )


# --- patterns -------------------------------------------------------------------------------------


def test_a_pattern_adds_up_what_was_counted() -> None:
    counts = [value("PM_L2", 1), value("PM_L25:u", 2, domain=Domain.ALL), value("PM_L3", 4)]
    found = one(computable(metrics("sum(PM_L2*)"), formula_inputs(counts)))
    assert (found.value, found.formula) == (3, "sum(PM_L2, PM_L25)")
    assert one(computable(metrics("sum(PM_L*)"), formula_inputs(counts))).value == 7


@pytest.mark.parametrize(
    ("counts", "refused"),
    [
        ([value("PM_L2", 1)], ["PM_L25"]),  # one that was asked for was refused
        ([value("PM_L2", 1), value("PM_L25", 0, running=0)], []),  # one never ran
        ([value("PM_L2", 1), value("PM_L25", 2, domain=Domain.USER)], []),  # different modes
        ([value("PM_L2:u", 1), value("PM_L2:k", 1)], []),  # which one is PM_L2?
        ([value("PM_X", 1)], []),  # nothing matches
    ],
)
def test_a_pattern_is_never_half_computed(counts: list[Value], refused: list[str]) -> None:
    assert computable(metrics("sum(PM_L2*)"), formula_inputs(counts, refused=refused)) == ()


def test_patterns_find_events_and_nothing_else() -> None:
    counts = formula_inputs([value("wall", 1)], {"wall_seconds": 5}, {"walls": 7})
    definitions = metrics("sum(wall*)", shared("wallet", "wall * 10"))
    assert one(computable(definitions, counts)).value == 1


def test_obtainable_knows_patterns() -> None:
    definitions = metrics("sum(PM_L2*)")
    assert definitions.obtainable(["PM_L25"]) == definitions.definitions
    assert definitions.obtainable(["PM_L3"]) == ()


# --- constants and CPUs ---------------------------------------------------------------------------


def test_the_machine_is_asked_only_if_everything_else_is_known() -> None:
    machine = StatedMachine("skx", L1_line_bytes=64)
    assert computable(metrics("loads * L1_line_bytes"), {}, machine) == ()
    assert computable(metrics("loads", cpus=("skx",)), {}, machine) == ()
    assert machine.asked == []
    found = one(
        computable(metrics("loads * L1_line_bytes"), formula_inputs([value("loads", 2)]), machine)
    )
    assert (found.value, found.how, machine.asked) == (128, How.COUNTED, ["L1_line_bytes"])


def test_constants_that_the_machine_does_not_tell_have_no_value() -> None:
    counts = formula_inputs([value("loads", 2)])
    assert computable(metrics("loads * L3_line_bytes"), counts, StatedMachine()) == ()
    assert computable(metrics("loads * L3_line_bytes"), counts) == ()


def test_definitions_hold_for_their_cpus() -> None:
    definitions = Metrics((
        Metric("m", "", parse("a"), cpus=("power5", "power5p")),
        Metric("m", "", parse("2 * a")),
    ))  # fmt: skip
    counts = formula_inputs([value("a", 1)])
    assert one(computable(definitions, counts, StatedMachine("power5p"))).value == 1
    assert one(computable(definitions, counts, StatedMachine("power4"))).value == 2
    assert one(computable(definitions, counts)).value == 2
    assert definitions.obtainable(["a"], ("power4",)) == definitions.definitions[1:]
    assert definitions.obtainable(["a"]) == definitions.definitions[:1]


def test_the_guides_names_of_constants() -> None:
    aliases = load_metrics().aliases
    machine = StatedMachine(L1_line_bytes=64, cycle_seconds=0.5)
    formula = "L1_cache_line_size * loads * cycle_time / (wall_clock_time * user_time)"
    definitions = metrics(formula)._replace(aliases=aliases)
    counts = formula_inputs([value("loads", 3)], {"wall_seconds": 4, "user_seconds": 2})
    found = one(computable(definitions, counts, machine))
    assert found.value == 12
    assert found.formula == "L1_line_bytes * loads * cycle_seconds / (wall_seconds * user_seconds)"


# --- numbers of users -----------------------------------------------------------------------------


def test_variables_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "[variables]\nwatts = 65\npeak_flops_per_cycle = 2.5\n"
        '[[metric]]\nname = "m"\nformula = "watts * a / peak_flops_per_cycle"\ndescription = "d"\n'
    )
    machine = StatedMachine(peak_flops_per_cycle=16)
    found = one(computable(load_metrics(path), formula_inputs([value("a", 1)]), machine))
    assert (found.value, found.how, machine.asked) == (26, How.ESTIMATED, [])


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("[variables]\na = 1\nb = 'x'", 3, "'b' must be a number"),
        ("[variables]\na = true", 2, "'a' must be a number"),
        ("[variables]\na = nan", 2, "'a' must be a number"),
        ("[variables]\na = -inf", 2, "'a' must be a number"),
        (f"[variables]\na = {10**400}", 2, "'a' is beyond the range of a double"),
        ("[variables]\nwall_seconds = 1", 2, "'wall_seconds' is taken"),
        ("[variables]\nHPM_L2_LATENCY = 1", 2, "'HPM_L2_LATENCY' is taken"),
        ("[variables]\n'a-b' = 1", 2, "'a-b' must be letters, digits and _"),
        ("variables = 3", 1, "'variables' must be a table"),
        ("[[quantity]]\nname = 'a b'\nformula = 'x'\ndescription = 'd'", 2, "must be letters"),
        ("[[quantity]]\nname = 'cores'\nformula = 'x'\ndescription = 'd'", 2, "'cores' is taken"),
        ("[[quantity]]\nname = 'q'\nunit = 's'\nformula = 'x'\ndescription = 'd'", 3, "key 'unit'"),
        ("[[quantity]]\nname = 'q'\nformula = 'x +'\ndescription = 'd'", 3, "found the end"),
        ("[[metric]]\nname = 'q'\nformula = 'cores'\ndescription = 'd'", 3, "measures nothing"),
        ("[[metric]]\nname = 'q'\nformula = 'x'\ndescription = 'd'\ncpus = 3", 5, "'cpus' must be"),
        (
            "[[metric]]\nname = 'q'\nformula = 'x'\ncondition = 'a <'\ndescription = 'd'",
            4,
            "the end",
        ),
    ],
)
def test_wrong_entries(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises((UsageError, FormulaError)) as caught:
        load_metrics(path)
    assert str(caught.value).startswith(f"{path}:{line}:")
    assert problem in str(caught.value)


def test_numbers_of_the_environment() -> None:
    environment = {
        "HPM_L2_LATENCY": " 12.5 ",
        "HPM_MEM_LATENCY": "4e2",
        "HPM_L3_LATENCY": "",
        "HPM_TLB_LATENCY": "0",
        "HPM_DIV_WEIGHT": "007",
        DEFINE: "watts=65, L3_line_bytes = 128,",
        "HOME": "/",
    }
    assert read_user_constants(environment) == {
        "HPM_L2_LATENCY": 12.5,
        "HPM_MEM_LATENCY": 400,
        "HPM_TLB_LATENCY": 0,
        "HPM_DIV_WEIGHT": 7,
        "watts": 65,
        "L3_line_bytes": 128,
    }
    assert read_user_constants({}) == {}


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"HPM_DIV_WEIGHT": "0"}, "HPM_DIV_WEIGHT: '0' is no whole number from 1 on"),
        ({"HPM_DIV_WEIGHT": "-3"}, "'-3' is no whole number"),
        ({"HPM_DIV_WEIGHT": "2.5"}, "'2.5' is no whole number"),
        ({"HPM_DIV_WEIGHT": "5x"}, "'5x' is no whole number"),
        ({"HPM_DIV_WEIGHT": "9" * 400}, "is no whole number"),
        ({"HPM_DIV_WEIGHT": "²"}, "is no whole number"),
        ({"HPM_L2_LATENCY": "-1"}, "HPM_L2_LATENCY: '-1' is no number of cycles"),
        ({"HPM_L2_LATENCY": "nan"}, "is no number of cycles"),
        ({"HPM_L2_LATENCY": "1e999"}, "is no number of cycles"),
        ({"HPM_L2_LATENCY": "1_000"}, "is no number of cycles"),
        ({"HPM_MEM_LATENCY": "\x1b[2J"}, "HPM_MEM_LATENCY: '\\x1b[2J' is no number"),
        ({DEFINE: "watts"}, f"{DEFINE}: 'watts' is not NAME=NUMBER"),
        ({DEFINE: "watts=x"}, "'watts=x' is not NAME=NUMBER"),
        ({DEFINE: "=1"}, "'=1' is not NAME=NUMBER"),
        ({DEFINE: "a b=1"}, "'a b=1' is not NAME=NUMBER"),
        ({DEFINE: "wall_seconds=1"}, "'wall_seconds' is taken"),
        ({DEFINE: "HPM_L2_LATENCY=1"}, "'HPM_L2_LATENCY' is taken"),
    ],
)
def test_wrong_numbers_of_the_environment(environment: dict[str, str], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_user_constants(environment)
    assert problem in str(caught.value)
    assert str(caught.value).isprintable()


@examples(st.dictionaries(st.sampled_from([*GIVEN, DEFINE]), st.text(max_size=60)))
def test_any_environment_is_numbers_or_one_error(environment: Mapping[str, str]) -> None:
    try:
        found = read_user_constants(environment)
    except UsageError as error:
        found = {}
        problem = str(error)
        named = any(name in problem for name in environment)
    else:
        problem, named = "", True
    assert named
    assert problem.isprintable()
    assert all(isinstance(number, float) for number in found.values())


# --- a program's own numbers, in the end ----------------------------------------------------------


def test_stated_constants_come_before_the_machines() -> None:
    machine = StatedMachine(L3_line_bytes=64)
    counts = formula_inputs([value("a", 1)], given={"L3_line_bytes": 256})
    found = one(computable(metrics("a * L3_line_bytes"), counts, machine))
    assert (found.value, found.how) == (256, How.ESTIMATED)
    assert FormulaInput(256, How.ESTIMATED) == counts["L3_line_bytes"]
