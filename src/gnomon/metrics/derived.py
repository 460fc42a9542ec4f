"""Derived metrics: definitions as TOML data, and their values from what was counted.

    [[metric]]
    name = "ipc"
    unit = "instructions/cycle"
    formula = "PAPI_TOT_INS / PAPI_TOT_CYC"
    description = "instructions per cycle"
    domain = "same"                 # optional: see DomainRule
    condition = "PAPI_TOT_CYC"      # optional: computed only where this is above zero

    [aliases]                       # what else stands for an event, best first
    PAPI_TOT_CYC = ["cycles", "cpu-cycles"]

Several definitions may share a name (and then a unit): the first that can be computed counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import FormulaError
from gnomon.metrics import document
from gnomon.metrics.document import Document, Entry
from gnomon.metrics.formula import Formula, identifier, parse, trusted
from gnomon.metrics.groups import SECTIONS
from gnomon.model.value import Domain, How, Scope, Value

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = f"{document.SHIPPED}/metrics.toml"

VARIABLES = {
    "wall_seconds": "elapsed time",
    "user_seconds": "CPU time in user mode",
    "system_seconds": "CPU time in the kernel",
    "cpus": "CPUs that the program may run on",
}
"""Identifiers that are not events, and what they mean; in seconds where the name says so."""

# From what is known best to what is known least: a metric is as good as its worst input.
_HOWS = (How.COUNTED, How.SCALED, How.SAMPLED, How.EMULATED, How.MODELLED, How.ESTIMATED)
_SCOPES = (Scope.THREAD, Scope.PROCESS, Scope.CPU, Scope.NODE)

# A core PMU's event as typed or as hybrid CPUs give it: pmu/event/mods, PRESET:mods@pmu.
_ON_PMU = r"[\w.-]+/(?P<event>[\w.-]+)/(?P<modifiers>[ukhGHI]*)"
_MODIFIED = r"(?P<event>.+):(?P<modifiers>[ukhGHI]+)"


class DomainRule(StrEnum):
    """Which privilege levels a metric's events must have been counted in.

    ANY: no matter. SAME: all in the same ones, so that a ratio compares like with like. ALL,
    USER: in all of them, in user mode only. Times and variables have no privilege level.
    """

    ANY = "any"
    SAME = "same"
    ALL = "all"
    USER = "user"


_RULES = tuple(rule.value for rule in DomainRule)


class Quantity(NamedTuple):
    """A number that formulas may use.

    Attributes:
        value: None where nothing was measured.
        how: how it came to be.
        domain: privilege levels it was counted in; None for what has none.
        scope: what it covers; None for variables.
    """

    value: float | None
    how: How = How.COUNTED
    domain: Domain | None = None
    scope: Scope | None = None


class Metric(NamedTuple):
    """One definition of a derived metric.

    Attributes:
        name: what it is called; several definitions may share it.
        unit: unit of the formula's value; "" for a plain ratio.
        formula: over event identifiers and variables.
        description: one line.
        condition: where given, the metric holds only where this is above zero.
        domain: privilege levels that its events must have been counted in.
    """

    name: str
    unit: str
    formula: Formula
    description: str = ""
    condition: Formula | None = None
    domain: DomainRule = DomainRule.ANY

    @property
    def names(self) -> frozenset[str]:
        """Every identifier that the formula and the condition need."""
        return self.formula.names | (self.condition.names if self.condition else frozenset())


class Metrics(NamedTuple):
    """Definitions in the order in which they are tried and shown, and aliases of identifiers."""

    definitions: tuple[Metric, ...]
    aliases: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def preceded_by(self, others: Metrics) -> Metrics:
        """Return these metrics with others in front, which are tried first."""
        aliases = dict(self.aliases)
        for name, stand_ins in others.aliases.items():
            aliases[name] = tuple(dict.fromkeys(stand_ins + aliases.get(name, ())))
        return Metrics(others.definitions + self.definitions, aliases)

    def obtainable(self, names: Iterable[str]) -> tuple[Metric, ...]:
        """Return the metrics that counts of these events could give, one for each name.

        Args:
            names: event names as people type them; `VARIABLES` are taken to be there.
        """
        known = {identifier(name) for name in names}.union(VARIABLES)
        known.update(name for name, others in self.aliases.items() if known.intersection(others))
        found: dict[str, Metric] = {}
        for metric in self.definitions:
            if metric.names <= known:
                found.setdefault(metric.name, metric)
        return tuple(found.values())


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
    """

    name: str
    unit: str
    value: float
    formula: str
    how: How
    description: str = ""
    domain: Domain | None = None
    scope: Scope | None = None


def load_metrics(path: Path | None = None) -> Metrics:
    """Return the metrics and aliases of a TOML file; by default the shipped ones.

    Raises:
        UsageError: the file cannot be read or an entry is wrong; names file and line.
        FormulaError: a formula is wrong; names file, line, and column within the formula.
    """
    read = Document(path or SHIPPED)
    read.only(SECTIONS)
    definitions: list[Metric] = []
    units: dict[str, str] = {}
    for entry in read.entries("metric"):
        metric = _metric(entry, trusted if read.is_compiled else parse)
        if units.setdefault(metric.name, metric.unit) != metric.unit:
            unit = units[metric.name]
            entry.refuse("unit", f"another definition of '{metric.name}' has the unit '{unit}'")
        definitions.append(metric)
    table = read.table("aliases")
    aliases = {
        identifier(name): tuple(identifier(word) for word in table.words(name))
        for name in table.fields
    }
    return Metrics(tuple(definitions), aliases)


def quantities(
    values: Iterable[Value],
    variables: Mapping[str, float | None] | None = None,
    given: Mapping[str, float | None] | None = None,
) -> dict[str, Quantity]:
    """Return what formulas may use, by identifier.

    An event that was typed with modifiers (`cycles:u`) or on its PMU (`cpu/cycles/`) also
    answers to its plain name, unless that was counted itself or would be ambiguous. The counts
    that a hybrid CPU gives for one event, one for each kind of core, are joined under its plain
    name.

    Args:
        values: what was counted, each event once.
        variables: measured numbers that are not events: those of `VARIABLES`.
        given: numbers that somebody stated, such as latencies; what is computed from them is
            an estimate.
    """
    found: dict[str, Quantity] = {}
    variants: dict[str, dict[str, list[Value]]] = {}
    for value in values:
        found.setdefault(identifier(value.event), _quantity([value]))
        plain, modifiers = _plain_name(value)
        if plain != value.event:
            by_modifiers = variants.setdefault(identifier(plain), {})
            by_modifiers.setdefault("".join(sorted(modifiers)), []).append(value)
    for name, by_modifiers in variants.items():
        if len(by_modifiers) == 1:
            found.setdefault(name, _quantity(*by_modifiers.values()))
    for name, number in (variables or {}).items():
        found[name] = Quantity(number)
    for name, number in (given or {}).items():
        found[name] = Quantity(number, How.ESTIMATED)
    return found


def computable(metrics: Metrics, values: Mapping[str, Quantity]) -> tuple[MetricValue, ...]:
    """Return every metric that follows from what was counted, one value for each name.

    A metric is left out where an input is missing or was not measured, the condition or the
    rule on domains does not hold, or the formula has no finite value: nothing is invented.

    Args:
        metrics: definitions, the first that can be computed counts; and aliases.
        values: what `quantities` returns.
    """
    known = {name: name for name, quantity in values.items() if quantity.value is not None}
    for name, others in metrics.aliases.items():
        if name not in known:
            counted = next((other for other in others if known.get(other) == other), None)
            if counted is not None:
                known[name] = counted
    numbers = {name: values[counted].value for name, counted in known.items()}
    found: dict[str, MetricValue] = {}
    for metric in metrics.definitions:
        if metric.name in found or not metric.names <= known.keys():
            continue
        inputs = [values[known[name]] for name in metric.formula.names]
        domains = {_levels(quantity.domain) for quantity in inputs} - {None}
        if not _holds(metric.domain, domains):
            continue
        if metric.condition is not None and not (metric.condition.evaluate(numbers) or 0) > 0:
            continue
        number = metric.formula.evaluate(numbers)
        if number is None:
            continue
        spelled = {name: known[name] for name in metric.formula.names if known[name] != name}
        found[metric.name] = MetricValue(
            name=metric.name,
            unit=metric.unit,
            value=number,
            formula=" ".join(metric.formula.spelled(spelled).split()),
            how=max((quantity.how for quantity in inputs), key=_HOWS.index, default=How.ESTIMATED),
            description=metric.description,
            domain=domains.pop() if len(domains) == 1 else None,
            scope=max(
                (quantity.scope for quantity in inputs if quantity.scope is not None),
                key=_SCOPES.index,
                default=None,
            ),
        )
    return tuple(found.values())


def _metric(entry: Entry, formula_of: Callable[[str, str, int], Formula]) -> Metric:
    entry.only(("name", "unit", "formula", "description", "condition", "domain"))
    rule = entry.text("domain", DomainRule.ANY.value)
    if rule not in _RULES:
        entry.refuse("domain", f"'domain' must be one of {', '.join(_RULES)}")
    formula = formula_of(entry.raw_text("formula"), entry.source, entry.line_of("formula"))
    if not formula.names:
        raise FormulaError(formula.source, formula.line, 1, "measures nothing: it names no event")
    condition = None
    if "condition" in entry.fields:
        text = entry.raw_text("condition")
        condition = formula_of(text, entry.source, entry.line_of("condition"))
    return Metric(
        name=entry.text("name"),
        unit=entry.text("unit", ""),
        formula=formula,
        description=entry.text("description"),
        condition=condition,
        domain=DomainRule(rule),
    )


def _plain_name(value: Value) -> tuple[str, str]:
    """Return an event's name without PMU and modifiers, and the modifiers."""
    name, modifiers = value.event, ""
    on_pmu = None
    if value.component == "cpu":
        name = name.partition("@")[0]
        on_pmu = re.fullmatch(_ON_PMU, name) if "/" in name else None
    matched = on_pmu or (re.fullmatch(_MODIFIED, name) if ":" in name else None)
    if matched:
        name, modifiers = matched["event"], matched["modifiers"]
    # Presets may be typed in any case.
    return (name.upper() if name[:5].upper() == "PAPI_" else name), modifiers


def _quantity(parts: list[Value]) -> Quantity:
    """Return a count, or what the counts of one event on several kinds of core come to.

    A thread runs on one core at a time, so the parts' running times add up to the enabled time
    unless the counters were multiplexed; the sum is scaled by what is missing, as for one counter.
    """
    first = parts[0]
    domain = None if first.unit in ("ns", "s") else first.domain
    if len(parts) == 1:
        return Quantity(first.value, first.how, domain, first.scope)
    if any(part.is_derived for part in parts):  # formulas of several kinds of cores do not add up
        return Quantity(None, first.how, domain, first.scope)
    enabled_ns = max(part.enabled_ns for part in parts)
    running_ns = sum(part.running_ns for part in parts)
    if not running_ns or any(part.domain != first.domain for part in parts):
        return Quantity(None, first.how, domain, first.scope)
    total = sum(part.raw * part.unit_factor for part in parts)
    worst = max((part.how for part in parts), key=_HOWS.index)
    if running_ns != enabled_ns:
        how = max(worst, How.SCALED, key=_HOWS.index)
        return Quantity(total * (enabled_ns / running_ns), how, domain, first.scope)
    how = How.COUNTED if worst is How.SCALED else worst
    return Quantity(total, how, domain, first.scope)


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
