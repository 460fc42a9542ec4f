"""Derived metrics: which are computed from which counts, and what they carry with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.metrics.definitions import DomainRule, Metric, Metrics, load_metrics
from gnomon.metrics.derived import FormulaInput, MetricValue, computable, formula_inputs
from gnomon.metrics.formula import identifier, parse
from gnomon.model.value import Domain, How, Scope, Value

SHIPPED = load_metrics()


def test_obtainable_takes_aliases_and_the_first_definition() -> None:
    (ipc,) = (m for m in SHIPPED.obtainable(["cpu-cycles", "instructions"]) if m.name == "ipc")
    assert ipc.formula.text == "PAPI_TOT_INS / PAPI_TOT_CYC"
    cpus = {m.name: m.formula.text for m in SHIPPED.obtainable(["task-clock"])}["cpus_utilised"]
    assert cpus == "1e-9 * task_clock / wall_seconds"


# --- what is computed from what -------------------------------------------------------------------


def metric(name: str, formula: str, unit: str = "", condition: str | None = None) -> Metric:
    return Metric(name, unit, parse(formula), condition=parse(condition) if condition else None)


def value(
    event: str,
    raw: int,
    *,
    component: str = "cpu",
    running: float = 1,
    unit: str = "",
    factor: float = 1,
    domain: Domain = Domain.ALL,
    scope: Scope = Scope.THREAD,
    how: How | None = None,
) -> Value:
    """Return a count of an event that was enabled for one second."""
    running_ns = round(running * 10**9)
    if how is None:
        how = How.COUNTED if running == 1 else How.SCALED
    return Value(event, component, raw, 10**9, running_ns, unit, factor, domain, scope, how)


def shipped(*counted: Value, **variables: float) -> dict[str, MetricValue]:
    results = computable(SHIPPED, formula_inputs(counted, variables))
    assert len({result.name for result in results}) == len(results)
    return {result.name: result for result in results}


@pytest.mark.parametrize("clock", ["task-clock", "cpu-clock"])
def test_the_time_that_whole_cpus_were_watched_is_no_cpu_time(clock: str) -> None:
    """An idle machine's clocks run too: nothing follows from them, and faults have no rate."""

    def counted(scope: Scope) -> tuple[Value, ...]:
        time = value(clock, 2 * 10**9, component="kernel", unit="ns", scope=scope)
        return time, value("page-faults", 8, component="kernel", scope=scope)

    definitions = Metrics((metric("busy", f"1e-9 * {identifier(clock)} / wall_seconds"),
                           metric("rate", f"page_faults / {identifier(clock)}"),
                           metric("faults", "page_faults / wall_seconds")))  # fmt: skip

    def names(scope: Scope) -> list[str]:
        known = formula_inputs(counted(scope), {"wall_seconds": 1})
        return [one.name for one in computable(definitions, known)]

    assert names(Scope.NODE) == ["faults"]
    # Of a thread, a process or a cgroup, the same clocks are CPU time.
    for scope in (Scope.THREAD, Scope.PROCESS, Scope.CPU):
        assert names(scope) == ["busy", "rate", "faults"]
    assert [one.is_watch for one in counted(Scope.NODE)] == [True, False]


def test_a_metric_value_carries_everything_about_it() -> None:
    results = computable(
        SHIPPED,
        formula_inputs(
            [value("PAPI_TOT_INS", 300), value("PAPI_TOT_CYC", 200)], {"wall_seconds": 2}
        ),
    )
    assert [result.name for result in results] == ["ipc", "mips"]
    assert results[0] == MetricValue(
        name="ipc",
        unit="instructions/cycle",
        value=1.5,
        formula="PAPI_TOT_INS / PAPI_TOT_CYC",
        how=How.COUNTED,
        description="instructions per cycle",
        domain=Domain.ALL,
        scope=Scope.THREAD,
        title="Instructions per cycle",
    )


def test_only_what_was_counted_is_computed() -> None:
    assert shipped() == {}
    assert shipped(value("PAPI_TOT_INS", 300)) == {}
    assert set(shipped(wall_seconds=2, user_seconds=1, system_seconds=0)) == {
        "user_utilisation",
        "cpus_utilised",
        "user_share",
        "system_share",
    }
    assert shipped(value("PAPI_TOT_INS", 300), value("PAPI_TOT_CYC", 0)) == {}
    assert shipped(value("PAPI_TOT_INS", 300), value("PAPI_TOT_CYC", 9, running=0)) == {}


def test_perfs_names_stand_in_and_formulas_say_so() -> None:
    results = shipped(value("cpu-cycles", 200), value("instructions", 300))
    assert (results["ipc"].value, results["ipc"].formula) == (1.5, "instructions / cpu_cycles")
    clocked = shipped(value("cs", 8, component="kernel"), user_seconds=1.5, system_seconds=0.5)
    rate = clocked["context_switches_per_cpu_second"]
    assert (rate.value, rate.unit) == (4, "/CPU s")
    assert rate.formula == "cs / (user_seconds + system_seconds)"


def test_a_rate_per_second_is_of_elapsed_time() -> None:
    """945 context switches in a second of a machine that was busy for two."""
    machine = value("context-switches", 945, component="kernel")._replace(scope=Scope.NODE)
    found = shipped(machine, wall_seconds=1, user_seconds=1.5, system_seconds=0.5)
    assert (found["context_switch_rate"].value, found["context_switch_rate"].unit) == (945, "/s")
    # A machine's CPU time says how busy others were, and so nothing of its switches.
    assert "context_switches_per_cpu_second" not in found
    program = shipped(
        machine._replace(scope=Scope.PROCESS), wall_seconds=1, user_seconds=1.5, system_seconds=0.5
    )
    assert program["context_switches_per_cpu_second"].value == 472.5


def test_every_metric_per_second_divides_by_elapsed_time() -> None:
    for metric in SHIPPED.definitions:
        if metric.unit.endswith("/CPU s"):
            assert metric.name.endswith("_cpu_second"), metric.name
            assert "wall_seconds" not in metric.names, metric.name
        elif metric.unit.endswith("/s"):
            assert "wall_seconds" in metric.names, metric.name
            assert not metric.names & {"user_seconds", "system_seconds"}, metric.name


def test_what_cannot_be_has_no_value() -> None:
    """The kernel's ticks give a short section more CPU time than its CPUs had."""
    times = {"wall_seconds": 1e-3, "system_seconds": 0.0, "cpus": 4}
    assert {"user_utilisation", "cpus_utilised", "machine_utilisation"} <= set(
        shipped(user_seconds=4.1e-3, **times)
    )
    assert set(shipped(user_seconds=50e-3, **times)) == {"user_share", "system_share"}
    # Of how many CPUs there are nobody knows: nothing is beyond them.
    unknown = {name: number for name, number in times.items() if name != "cpus"}
    assert shipped(user_seconds=50e-3, **unknown)["cpus_utilised"].value == pytest.approx(50)


def test_an_event_itself_comes_before_its_aliases() -> None:
    counted = [value("cycles", 999), value("PAPI_TOT_CYC", 200), value("instructions", 300)]
    assert shipped(*counted)["ipc"].value == 1.5
    unmeasured = [value("cycles", 100), value("PAPI_TOT_CYC", 0, running=0), counted[2]]
    assert shipped(*unmeasured)["ipc"].value == 3


def test_the_first_computable_definition_wins() -> None:
    metrics = Metrics(
        (metric("m", "1 / a"), metric("n", "b"), metric("m", "2 * b"), metric("m", "3 * b"))
    )
    both = computable(metrics, {"a": FormulaInput(2), "b": FormulaInput(5)})
    assert [(result.name, result.value) for result in both] == [("m", 0.5), ("n", 5)]
    other = computable(metrics, {"a": FormulaInput(0), "b": FormulaInput(5)})
    assert [(result.name, result.value) for result in other] == [("n", 5), ("m", 10)]
    mine = metrics.preceded_by(Metrics((metric("m", "7 * b"),)))
    assert computable(mine, {"a": FormulaInput(2), "b": FormulaInput(5)})[0].value == 35


@pytest.mark.parametrize(("minimum", "names"), [(0, ["m"]), (9, ["m"]), (10, []), (11, [])])
def test_a_condition_must_be_above_zero(minimum: float, names: list[str]) -> None:
    metrics = Metrics((metric("m", "a", condition="10 - minimum"),))
    values = {"a": FormulaInput(1), "minimum": FormulaInput(minimum)}
    assert [result.name for result in computable(metrics, values)] == names
    assert computable(metrics, {"a": FormulaInput(1)}) == ()
    assert computable(Metrics((metric("m", "a", condition="1 / a"),)), {"a": FormulaInput(0)}) == ()


HOWS = [How.COUNTED, How.SCALED, How.SAMPLED, How.EMULATED, How.MODELLED, How.ESTIMATED]


@given(st.lists(st.sampled_from(HOWS), min_size=1, max_size=4))
def test_a_metric_is_as_good_as_its_worst_input(hows: list[How]) -> None:
    values = {f"e{i}": FormulaInput(1, how) for i, how in enumerate(hows)}
    (result,) = computable(Metrics((metric("m", "+".join(values)),)), values)
    assert result.how is HOWS[max(map(HOWS.index, hows))]


def test_inputs_that_are_not_used_do_not_matter() -> None:
    results = shipped(
        value("PAPI_TOT_INS", 300),
        value("PAPI_TOT_CYC", 200),
        value("PAPI_BR_MSP", 3, running=0.5),
    )
    assert results["ipc"].how is How.COUNTED
    assert results["branch_mispredictions_per_1000"].how is How.SCALED
    assert results["branch_mispredictions_per_1000"].value == 20


def test_numbers_that_somebody_stated_make_estimates() -> None:
    metrics = Metrics((metric("m", "latency * misses"),))
    values = formula_inputs([value("misses", 5)], {"latency": 1}, {"latency": 100})
    (result,) = computable(metrics, values)
    assert (result.value, result.how) == (500, How.ESTIMATED)


def test_constants_alone_are_an_estimate_of_no_scope() -> None:
    (result,) = computable(Metrics((metric("m", "6 * 7"),)), {})
    assert (result.value, result.how, result.scope) == (42, How.ESTIMATED, None)


def test_the_widest_scope_is_the_metrics() -> None:
    received = value("network:::rx_bytes", 600, component="network", scope=Scope.NODE)
    assert shipped(received, wall_seconds=2)["receive_bandwidth"].scope is Scope.NODE
    metrics = Metrics((metric("m", "network___rx_bytes / cycles"),))
    (result,) = computable(metrics, formula_inputs([received, value("cycles", 3)]))
    assert (result.value, result.scope) == (200, Scope.NODE)


# --- privilege levels, modifiers, hybrid CPUs -----------------------------------------------------


def test_modified_events_answer_to_their_plain_name() -> None:
    user = Domain.USER
    results = shipped(
        value("instructions:u", 300, domain=user), value("cycles:u", 200, domain=user)
    )
    assert (results["ipc"].value, results["ipc"].domain) == (1.5, user)
    values = formula_inputs([value("cycles", 1), value("cycles:u", 2), value("cycles:k", 3)])
    assert {name: quantity.value for name, quantity in values.items()} == {
        "cycles": 1,
        "cycles_u": 2,
        "cycles_k": 3,
    }
    unclear = formula_inputs([value("cycles:u", 2), value("cycles:k", 3)])
    assert {name for name, one in unclear.items() if one.value is not None} == {
        "cycles_u",
        "cycles_k",
    }


@pytest.mark.parametrize(
    ("event", "plain"),
    [
        ("cpu/cycles/", "cycles"),
        ("cpu/cycles/u", "cycles"),
        ("papi_tot_cyc", "PAPI_TOT_CYC"),
        ("papi_tot_cyc:uk", "PAPI_TOT_CYC"),
        ("sched:sched_switch:k", "sched_sched_switch"),
        ("power9::PM_CYC", "PM_CYC"),
        ("pm_cyc:u", "PM_CYC"),
        ("cpu/pm_cyc/", "PM_CYC"),
        ("skx::UOPS_ISSUED:ANY", "UOPS_ISSUED_ANY"),
        ("skx::UOPS_ISSUED:ANY:u", "UOPS_ISSUED_ANY"),
    ],
)
def test_plain_names(event: str, plain: str) -> None:
    assert set(formula_inputs([value(event, 1)])) == {identifier(event), plain}


def test_other_pmus_do_not_count_for_the_cores() -> None:
    assert set(formula_inputs([value("arm_cmn_0/cycles/", 1, component="uncore")])) == {
        "arm_cmn_0_cycles_"
    }
    assert set(formula_inputs([value("cpu/event=0x3c/", 1)])) == {"cpu_event_0x3c_"}


def test_like_is_compared_with_like() -> None:
    mixed = [value("instructions:u", 300, domain=Domain.USER), value("cycles", 200)]
    assert "ipc" not in shipped(*mixed)
    same = [value("instructions:uk", 300, domain=Domain.USER_KERNEL), value("cycles", 200)]
    assert shipped(*same)["ipc"].domain is Domain.ALL
    asked = Metrics((metric("share", "instructions_u / instructions"),))
    parts = [value("instructions:u", 3, domain=Domain.USER), value("instructions", 4)]
    (share,) = computable(asked, formula_inputs(parts))
    assert (share.value, share.domain) == (0.75, None)


def test_the_clock_rate_takes_the_time_that_the_cycles_were_counted_in() -> None:
    clock = value("task-clock", 3 * 10**9, component="kernel", unit="ns", domain=Domain.USER)
    times = {"user_seconds": 2.5, "system_seconds": 0.5}
    everything = shipped(value("cycles", 9 * 10**9), clock, **times)["clock_rate"]
    assert (everything.value, everything.formula) == (3, "cycles / task_clock")
    in_user_mode = value("cycles:u", 5 * 10**9, domain=Domain.USER)
    only_user = shipped(in_user_mode, clock, **times)["clock_rate"]
    assert (only_user.value, only_user.domain) == (2, Domain.USER)
    assert "clock_rate" not in shipped(in_user_mode, clock)
    kernel = value("cycles:k", 5 * 10**9, domain=Domain.KERNEL)
    assert "clock_rate" not in shipped(kernel, clock, **times)


@pytest.mark.parametrize("rule", DomainRule)
def test_variables_have_no_privilege_level(rule: DomainRule) -> None:
    rated = Metric("m", "", parse("wall_seconds * 2"), domain=rule)
    assert computable(Metrics((rated,)), formula_inputs([], {"wall_seconds": 4}))[0].value == 8


@pytest.mark.parametrize(
    ("running", "expected", "how"),
    [
        ((0.75, 0.25), 400, How.COUNTED),
        ((0.375, 0.125), 800, How.SCALED),
        ((1, 0), 400, How.COUNTED),
        ((1, 1), 200, How.SCALED),
    ],
)
@pytest.mark.parametrize("names", ["cpu_core/cycles/ cpu_atom/cycles/", "P@cpu_core P@cpu_atom"])
def test_kinds_of_cores_are_joined(
    running: tuple[float, float], expected: float, how: How, names: str
) -> None:
    big, little = names.replace("P@", "PAPI_TOT_CYC@").split()
    counted = [value(big, 300, running=running[0]), value(little, 100, running=running[1])]
    name = "cycles" if "cycles" in big else "PAPI_TOT_CYC"
    joined = formula_inputs(counted)[name]
    assert (joined.value, joined.how) == (expected, how)
    assert joined.domain is Domain.ALL


def test_kinds_of_cores_that_never_counted_give_nothing() -> None:
    idle = [value("cpu_core/cycles/", 0, running=0), value("cpu_atom/cycles/", 0, running=0)]
    assert formula_inputs(idle)["cycles"].value is None
    narrowed = [
        value("cpu_core/cycles/", 3, running=0.5, domain=Domain.USER),
        value("cpu_atom/cycles/", 3, running=0.5),
    ]
    assert formula_inputs(narrowed)["cycles"].value is None


def test_units_are_applied_when_parts_are_joined() -> None:
    parts = [
        value("cpu_core/energy/", 10, running=0.5, factor=0.5, how=How.EMULATED),
        value("cpu_atom/energy/", 30, running=0.5, factor=0.5),
    ]
    assert formula_inputs(parts)["energy"] == FormulaInput(
        20, How.EMULATED, Domain.ALL, Scope.THREAD, is_event=True
    )
