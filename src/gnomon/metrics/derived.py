"""Derived metrics: their values from what was counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from gnomon.metrics.definitions import CONSTANTS, DomainRule, Metric, Metrics
from gnomon.metrics.formula import identifier, plain_name
from gnomon.model.value import Domain, How, Scope, Value
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.metrics.machine_constants import Machine

# From what is known best to what is known least: a metric is as good as its worst input.
_HOWS = (How.COUNTED, How.SCALED, How.SAMPLED, How.EMULATED, How.MODELLED, How.ESTIMATED)

TOLERANCE = 1.05
"""How many times its limit a value may be: times and counts are not read at the same moment."""

PER_CPU_SECOND = "/CPU s"
"""Unit of rates that a program has and no machine: there they would tell how idle it was."""

_SCOPES = (Scope.THREAD, Scope.PROCESS, Scope.CPU, Scope.NODE)


class FormulaInput(NamedTuple):
    """A number that formulas may use.

    Attributes:
        value: None where nothing was measured.
        how: how it was obtained.
        domain: privilege levels it was counted in; None for what has none.
        scope: what it covers; None for variables.
        is_event: it is the count of an event under its plain name: patterns find it.
        tasks: how many tasks of a job it is over, those that had a value; less than 0 if it is over
            so many of something else, such as earlier runs; 0 for one task's own.
    """

    value: float | None
    how: How = How.COUNTED
    domain: Domain | None = None
    scope: Scope | None = None
    is_event: bool = False
    tasks: int = 0


class MetricValue(NamedTuple):
    """A metric's value for one run, thread, section, ...

    Attributes:
        name: the metric.
        unit: unit of `value`.
        value: always finite.
        formula: how it was computed, in the names that were counted.
        how: the worst of its inputs'.
        description: the definition's.
        domain: privilege levels that its events were counted in; None if they had none, or
            different ones.
        scope: the widest of its inputs'; None if it comes from variables only. What covers a
            node must not be added up over its processes.
        title: as IBM's HPM prints it, "" for what it does not have.
        guide_name: its name in the files that the HPM guide describes, "" if that is `name`.
        tasks: those of its inputs.
    """

    name: str
    unit: str
    value: float
    formula: str
    how: How
    description: str = ""
    domain: Domain | None = None
    scope: Scope | None = None
    title: str = ""
    guide_name: str = ""
    tasks: int = 0


def formula_inputs(
    values: Iterable[Value],
    variables: Mapping[str, float | None] | None = None,
    given: Mapping[str, float | None] | None = None,
    refused: Iterable[str] = (),
    tasks: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, FormulaInput]:
    """Return the inputs of formulas, by identifier.

    An event that was typed with modifiers (`cycles:u`) or on its PMU (`cpu/cycles/`) also
    answers to its plain name, unless that was counted itself or would be ambiguous. The counts
    that a hybrid CPU gives for one event, one for each kind of core, are joined under its plain
    name. The clocks of whole CPUs (`Value.is_watch`) have no value: formulas mean CPU time.

    Args:
        values: what was counted, each event once.
        variables: measured numbers that are not events: those of `VARIABLES`.
        given: numbers that the user stated, such as latencies; what is computed from them is
            an estimate.
        refused: events that were asked for and could not be counted; a pattern that matches one
            of them has no value.
        tasks: `Quantity.tasks` of each value, by event or variable.
    """
    inputs: dict[str, FormulaInput] = {}
    variants: dict[str, dict[str, list[Value]]] = {}
    for value in values:
        plain, modifiers = plain_name(value.event, is_core=value.component == "cpu")
        is_plain = plain == value.event
        quantity = _quantity([value])._replace(is_event=is_plain, tasks=tasks.get(value.event, 0))
        inputs.setdefault(identifier(value.event), quantity)
        if not is_plain:
            by_modifiers = variants.setdefault(identifier(plain), {})
            by_modifiers.setdefault("".join(sorted(modifiers)), []).append(value)
    for name, by_modifiers in variants.items():
        over = {tasks.get(part.event, 0) for parts in by_modifiers.values() for part in parts}
        is_clear = len(by_modifiers) == 1 and len(over) == 1
        joined = _quantity(*by_modifiers.values()) if is_clear else FormulaInput(None)
        inputs.setdefault(name, joined._replace(is_event=True, tasks=over.pop()))
    for event in refused:
        inputs.setdefault(identifier(event), FormulaInput(None, is_event=True))
    for name, number in (variables or {}).items():
        inputs[name] = FormulaInput(number, tasks=tasks.get(name, 0))
    for name, number in (given or {}).items():
        inputs[name] = FormulaInput(number, How.ESTIMATED)
    return inputs


def computable(
    metrics: Metrics, values: Mapping[str, FormulaInput], machine: Machine | None = None
) -> tuple[MetricValue, ...]:
    """Return every metric that follows from what was counted, one value for each name.

    A metric is left out where an input is missing or was not measured, the condition or the
    rule on domains does not hold, the formula has no finite value, or one that cannot be (more
    CPUs busy than there are, as the kernel's ticks may have it), or where its inputs are means over
    different numbers of a job's tasks: nothing is invented.

    Args:
        metrics: definitions, the first that can be computed counts; quantities; and aliases.
        values: what `quantities` returns.
        machine: knows the constants and the CPUs; without one nothing holds that needs them.
    """
    inputs = _Inputs(metrics, values, machine)
    for quantity in metrics.quantities:
        if quantity.name not in inputs.known:
            computed = _computed(quantity, inputs)
            if computed is not None:
                inputs.add(quantity, computed)
    by_name: dict[str, MetricValue] = {}
    for metric in metrics.definitions:
        if metric.name not in by_name:
            computed = _computed(metric, inputs)
            if computed is not None:
                by_name[metric.name] = computed
    return tuple(by_name.values())


def possible(
    metrics: Metrics, values: Mapping[str, FormulaInput], machine: Machine | None = None
) -> Metrics:
    """Return the definitions that numbers of these names could make, whatever their values.

    Who computes the same metrics every second asks this once, and `computable` only of them.

    Args:
        metrics: all definitions.
        values: what `quantities` returns of what will be counted, with values or without.
        machine: as for `computable`.
    """
    inputs = _Inputs(metrics, {n: one._replace(value=1.0) for n, one in values.items()}, machine)
    shared = []
    for quantity in metrics.quantities:
        if inputs.has(quantity):
            shared.append(quantity)
            inputs.known[quantity.name] = FormulaInput(1.0)
    definitions = tuple(metric for metric in metrics.definitions if inputs.has(metric))
    return metrics._replace(definitions=definitions, quantities=tuple(shared))


class _Inputs:
    """What is known, by the names that formulas use, and how each is spelled."""

    def __init__(
        self, metrics: Metrics, values: Mapping[str, FormulaInput], machine: Machine | None
    ) -> None:
        self._values = values
        self._machine = machine
        self._aliases = metrics.aliases
        self._cpus: frozenset[str] | None = None
        self.known = {name: one for name, one in values.items() if one.value is not None}
        self.numbers = {name: one.value for name, one in self.known.items()}
        self.spellings: dict[str, str] = {}
        for name, number in metrics.variables.items():
            self._set(name, FormulaInput(number, How.ESTIMATED), name)
        counted = frozenset(self.known)
        for name, others in metrics.aliases.items():
            if name not in counted:
                other = next((other for other in others if other in counted), None)
                if other is not None:
                    self._set(name, self.known[other], other)

    def add(self, quantity: Metric, computed: MetricValue) -> None:
        text = computed.formula
        spelling = text if identifier(text) == text else f"({text})"
        value = FormulaInput(
            computed.value, computed.how, computed.domain, computed.scope, tasks=computed.tasks
        )
        self._set(quantity.name, value, spelling)

    def has(self, metric: Metric) -> bool:
        """Whether all that a definition needs is known; asks the machine only if it is the last."""
        missing = metric.names.difference(self.known)
        constants: dict[str, str] = {}
        for name in missing:  # most definitions end here, at a name that nothing counts
            if name[-1] != "*":
                word = self._constant_of(name)
                if not word:
                    return False
                constants[name] = word
        if metric.cpus and not self._is_on(metric.cpus):
            return False
        patterns = all(self._has_pattern(name) for name in missing if name[-1] == "*")
        return patterns and all(self._ask(name, word) for name, word in constants.items())

    def _is_on(self, cpus: Iterable[str]) -> bool:
        if self._cpus is None:
            self._cpus = frozenset(self._machine.cpus()) if self._machine else frozenset()
        return not self._cpus.isdisjoint(cpus)

    def _constant_of(self, name: str) -> str:
        """Return the constant that a name stands for, "" if none."""
        if name in CONSTANTS:
            return name
        for word in self._aliases.get(name, ()):
            if word in CONSTANTS:
                return word
        return ""

    def _ask(self, name: str, constant: str) -> bool:
        value = self._machine.constant(constant) if self._machine else None
        if value is not None:
            self._set(name, FormulaInput(value), constant)
        return value is not None

    def _has_pattern(self, pattern: str) -> bool:
        """Add up what a pattern matches, if there is any and all of it has a value."""
        matching = {
            name: one
            for name, one in self._values.items()
            if one.is_event and name.startswith(pattern[:-1])
        }
        values = [one.value for one in matching.values() if one.value is not None]
        if not values or len(values) < len(matching):
            return False
        domains = {_levels(one.domain) for one in matching.values()}
        if len(domains) > 1 or len({one.tasks for one in matching.values()}) > 1:
            return False
        total = 0.0
        for value in values:
            total += value
        joined = next(iter(matching.values()))._replace(
            value=total,
            how=_worst(matching.values()),
            scope=_widest(matching.values()),
        )
        self._set(pattern, joined, ", ".join(matching))
        return True

    def _set(self, name: str, value: FormulaInput, spelling: str) -> None:
        self.known[name] = value
        self.numbers[name] = value.value
        self.spellings[name] = spelling


def _computed(metric: Metric, inputs: _Inputs) -> MetricValue | None:
    if not inputs.has(metric):
        return None
    used = [inputs.known[name] for name in metric.formula.names]
    domains = {_levels(quantity.domain) for quantity in used} - {None}
    tasks = {quantity.tasks for quantity in used} - {0}
    if not _holds(metric.domain, domains) or len(tasks) > 1:
        return None
    if metric.condition is not None and not (metric.condition.evaluate(inputs.numbers) or 0) > 0:
        return None
    scope = _widest(used)
    if metric.unit == PER_CPU_SECOND and scope is Scope.NODE:
        return None
    number = metric.formula.evaluate(inputs.numbers)
    if number is None or _is_beyond(metric, number, inputs.numbers.get("cpus")):
        return None
    return MetricValue(
        name=metric.name,
        unit=metric.unit,
        value=number,
        formula=" ".join(metric.formula.spelled(inputs.spellings).split()),
        how=_worst(used),
        description=metric.description,
        domain=domains.pop() if len(domains) == 1 else None,
        scope=scope,
        title=metric.title,
        guide_name=metric.guide_name,
        tasks=tasks.pop() if tasks else 0,
    )


def _is_beyond(metric: Metric, number: float, cpus: float | None) -> bool:
    """Whether a value is clearly above what it can be; clocks may differ a little."""
    least = metric.limit * TOLERANCE
    per_cpu = metric.limit_per_cpu * TOLERANCE
    return (0 < least < number) or (cpus is not None and 0 < per_cpu * cpus < number)


def _worst(used: Collection[FormulaInput]) -> How:
    return max((one.how for one in used), key=_HOWS.index, default=How.ESTIMATED)


def _widest(used: Collection[FormulaInput]) -> Scope | None:
    scopes = (one.scope for one in used if one.scope is not None)
    return max(scopes, key=_SCOPES.index, default=None)


def _quantity(parts: list[Value]) -> FormulaInput:
    """Return a count, or the total of one event's counts on several kinds of core.

    A thread runs on one core at a time, so the parts' running times add up to the enabled time
    unless the counters were multiplexed; the sum is scaled by what is missing, as for one counter.
    """
    first = parts[0]
    domain = None if first.unit in ("ns", "s") else first.domain
    if first.is_watch:
        return FormulaInput(None, first.how, domain, first.scope)
    if len(parts) == 1:
        return FormulaInput(first.value, first.how, domain, first.scope)
    if any(part.is_derived for part in parts):  # formulas of several kinds of cores do not add up
        return FormulaInput(None, first.how, domain, first.scope)
    enabled_ns = max(part.enabled_ns for part in parts)
    running_ns = sum(part.running_ns for part in parts)
    if not running_ns or any(part.domain != first.domain for part in parts):
        return FormulaInput(None, first.how, domain, first.scope)
    total = sum(part.raw * part.unit_factor for part in parts)
    worst = max((part.how for part in parts), key=_HOWS.index)
    if running_ns != enabled_ns:
        how = max(worst, How.SCALED, key=_HOWS.index)
        return FormulaInput(total * (enabled_ns / running_ns), how, domain, first.scope)
    how = How.COUNTED if worst is How.SCALED else worst
    return FormulaInput(total, how, domain, first.scope)


def _levels(domain: Domain | None) -> Domain | None:
    """Return a domain such that those which mean the same to a program compare equal."""
    return Domain.ALL if domain is Domain.USER_KERNEL else domain


def _holds(rule: DomainRule, domains: set[Domain | None]) -> bool:
    if rule is DomainRule.SAME:
        return len(domains) <= 1
    if rule is DomainRule.ALL:
        return domains <= {Domain.ALL}
    if rule is DomainRule.USER:
        return domains <= {Domain.USER}
    return True
