"""Definitions of derived metrics and of the quantities that they share, as TOML data.

    [[metric]]
    name = "ipc"
    unit = "instructions/cycle"
    formula = "PAPI_TOT_INS / PAPI_TOT_CYC"
    description = "instructions per cycle"
    title = "Instructions per cycle"    # optional: as IBM's HPM prints it
    guide_name = "..."                  # optional: its name in the HPM guide's own files
    limit = 100                         # optional: what is clearly beyond it cannot be, and
    limit_per_cpu = 1                   # is no value; for each CPU of the machine
    domain = "same"                     # optional: see DomainRule
    condition = "PAPI_TOT_CYC > 1000"   # optional: computed only where this holds
    cpus = ["power5", "power5p"]        # optional: libpfm4's names of the core PMUs it holds for
    guide = "PM_INST_CMPL / PM_CYC"     # optional: the formula that the HPM guide has
    differs = "..."                     # optional: why ours is another one

    [[quantity]]                        # what several formulas need: not shown itself
    name = "flops"
    formula = "PAPI_DP_OPS + PAPI_SP_OPS"

    [aliases]                           # what else stands for an event, best first
    PAPI_TOT_CYC = ["cycles", "cpu-cycles"]

    [variables]                         # numbers of the user's own, for formulas; what is
    watts = 65                          # computed from one is an estimate. It may be one of
    peak_flops_per_cycle = 16           # `CONSTANTS`, where the machine's is not known or wrong

Several definitions may share a name (and then a unit): the first that can be computed counts.
Quantities are computed before metrics, in their order: one may use those in front of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from math import inf, isfinite
from types import MappingProxyType

from gnomon.errors import FormulaError
from gnomon.metrics.formula import Formula, identifier, parse, plain_name, trusted
from gnomon.metrics.groups import SECTIONS
from gnomon.metrics.toml_document import SHIPPED, Document, TomlEntry
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, TypeGuard

FILES = ("metrics.toml", "hpm.toml", "machine.toml")
"""The shipped files, in the order in which their definitions are tried."""

VARIABLES = {
    "wall_seconds": "elapsed time",
    "user_seconds": "CPU time in user mode",
    "system_seconds": "CPU time in the kernel",
    "cpus": "CPUs of the machine that are online",
}
"""Identifiers that are not events, and what they mean; in seconds where the name says so."""

CONSTANTS = {
    "L1_line_bytes": "line size of the level 1 data cache",
    "L2_line_bytes": "line size of the level 2 cache",
    "L3_line_bytes": "line size of the level 3 cache",
    "cycle_seconds": "time of one cycle at the frequency that the CPU is sold with",
    "peak_flops_per_cycle": "double-precision operations that a core can do in a cycle",
    "cores": "cores of the machine",
    "sockets": "sockets of the machine",
    "numa_nodes": "NUMA nodes of the machine",
}
"""What the hardware description knows; without a value where the machine does not tell."""

GIVEN = {
    "HPM_MEM_LATENCY": "latency of a load from memory, in cycles",
    "HPM_AVG_L3_LATENCY": "average latency of a load from level 3, in cycles",
    "HPM_L3_LATENCY": "latency of a load from this module's level 3, in cycles",
    "HPM_L35_LATENCY": "latency of a load from another module's level 3, in cycles",
    "HPM_AVG_L2_LATENCY": "average latency of a load from level 2, in cycles",
    "HPM_L2_LATENCY": "latency of a load from the core's own level 2, in cycles",
    "HPM_L25_LATENCY": "latency of a load from another level 2 of the module, in cycles",
    "HPM_L275_LATENCY": "latency of a load from another module's level 2, in cycles",
    "HPM_TLB_LATENCY": "latency of a TLB miss, in cycles",
    "HPM_DIV_WEIGHT": "what a division counts as in weighted flops",
}
"""What users say in variables of the environment; what is computed from it is an estimate."""


class DomainRule(StrEnum):
    """Which privilege levels a metric's events must have been counted in.

    ANY: no matter. SAME: all in the same ones, so that a ratio compares like with like. ALL,
    USER: in all of them, in user mode only. Times and variables have no privilege level.
    """

    ANY = "any"
    SAME = "same"
    ALL = "all"
    USER = "user"


_RULES = {rule.value: rule for rule in DomainRule}


class Metric(NamedTuple):
    """One definition of a derived metric or of a quantity that metrics share.

    Attributes:
        name: what it is called; several definitions may share it.
        unit: unit of the formula's value; "" for a plain ratio.
        formula: over event identifiers, variables, constants and quantities.
        description: one line.
        condition: where given, the metric holds only where this is above zero.
        domain: privilege levels that its events must have been counted in.
        title: as IBM's HPM prints it, "" for what it does not have.
        cpus: libpfm4's names of the core PMUs that it holds for, () for all.
        guide: the formula that the HPM guide has, where it is another one in its text.
        differs: why ours is not the guide's, "" if they mean the same.
        guide_name: its name in the files that the guide describes, "" if that is `name`.
        limit: what no value can be above, 0 for none.
        limit_per_cpu: what no value can be above for each CPU of the machine, 0 for none.
    """

    name: str
    unit: str
    formula: Formula
    description: str = ""
    condition: Formula | None = None
    domain: DomainRule = DomainRule.ANY
    title: str = ""
    cpus: tuple[str, ...] = ()
    guide: str = ""
    differs: str = ""
    guide_name: str = ""
    limit: float = 0.0
    limit_per_cpu: float = 0.0

    @property
    def names(self) -> frozenset[str]:
        """Every identifier that the formula and the condition need."""
        names = self.formula.names
        return names if self.condition is None else names | self.condition.names


class Metrics(NamedTuple):
    """Definitions in the order in which they are tried and shown.

    Attributes:
        definitions: of metrics.
        aliases: for an identifier those that stand for it, best first.
        quantities: definitions of what metrics share, computed before them in this order.
        variables: numbers that a user's file gives.
    """

    definitions: tuple[Metric, ...]
    aliases: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    quantities: tuple[Metric, ...] = ()
    variables: Mapping[str, float] = MappingProxyType({})

    def preceded_by(self, others: Metrics) -> Metrics:
        """Return these metrics with others in front, which are tried first."""
        aliases = dict(self.aliases)
        for name, stand_ins in others.aliases.items():
            aliases[name] = tuple(dict.fromkeys(stand_ins + aliases.get(name, ())))
        return Metrics(
            others.definitions + self.definitions,
            aliases,
            others.quantities + self.quantities,
            {**self.variables, **others.variables},
        )

    def obtainable(
        self, names: Iterable[str], cpus: Collection[str] | None = None
    ) -> tuple[Metric, ...]:
        """Return the metrics that counts of these events could give, one for each name.

        Args:
            names: event names as people type them; variables and constants are taken to be
                there, and what users may say in the environment not to be.
            cpus: libpfm4's names of the core PMUs; None for any CPU.
        """
        names = tuple(names)
        obtainable_names = {identifier(name) for name in names}
        # Which PMU is a core's the name does not tell; other PMUs' events have other names.
        obtainable_names.update(identifier(plain_name(name, is_core=True)[0]) for name in names)
        events = frozenset(obtainable_names)
        obtainable_names.update(VARIABLES, CONSTANTS, self.variables)
        obtainable_names.update(
            name for name, others in self.aliases.items() if obtainable_names.intersection(others)
        )

        def holds(metric: Metric) -> bool:
            if metric.cpus and cpus is not None and not set(metric.cpus) & set(cpus):
                return False
            return all(
                name in obtainable_names
                or (name[-1] == "*" and any(event.startswith(name[:-1]) for event in events))
                for name in metric.names
            )

        for quantity in self.quantities:
            if holds(quantity):
                obtainable_names.add(quantity.name)
        by_name: dict[str, Metric] = {}
        for metric in self.definitions:
            if holds(metric):
                by_name.setdefault(metric.name, metric)
        return tuple(by_name.values())


def load_metrics(path: Path | str | None = None) -> Metrics:
    """Return the definitions of a TOML file; by default the shipped ones.

    Raises:
        UsageError: the file cannot be read or an entry is wrong; names file and line.
        FormulaError: a formula is wrong; names file, line, and column within the formula.
    """
    if path is not None:
        return _load(path)
    loaded = Metrics(())
    for name in reversed(FILES):
        loaded = loaded.preceded_by(_load(f"{SHIPPED}/{name}"))
    return loaded


def peaks() -> dict[str, float]:
    """Return the double-precision operations that a core can do in a cycle, by libpfm4's names."""
    table = Document(f"{SHIPPED}/peaks.toml").table("peak_flops_per_cycle")
    return {name: float(value) for name, value in table.fields.items()}


def _load(path: Path | str) -> Metrics:
    document = Document(path)
    if document.is_compiled:
        return _compiled(document)
    document.only(SECTIONS)
    definitions: list[Metric] = []
    units: dict[str, str] = {}
    for entry in document.entries("metric"):
        metric = _metric(entry)
        if units.setdefault(metric.name, metric.unit) != metric.unit:
            unit = units[metric.name]
            entry.refuse("unit", f"another definition of '{metric.name}' has the unit '{unit}'")
        definitions.append(metric)
    table = document.table("aliases")
    aliases = {
        identifier(name): tuple(identifier(word) for word in table.words(name))
        for name in table.fields
    }
    return Metrics(
        tuple(definitions),
        aliases,
        tuple(_quantity(entry) for entry in document.entries("quantity")),
        _variables(document.table("variables")),
    )


def _compiled(document: Document) -> Metrics:
    """Return the definitions of a shipped file, which was checked before it was shipped."""
    sections, source = document.sections, document.source

    def defined(fields: dict[str, Any], rule: str) -> Metric:
        condition = fields.get("condition")
        return Metric(
            fields["name"],
            fields.get("unit", ""),
            trusted(fields["formula"], fields["formula_names"], source),
            fields["description"],
            None
            if condition is None
            else trusted(condition, fields["condition_names"], source, is_condition=True),
            _RULES[fields.get("domain", rule)],
            fields.get("title", ""),
            tuple(fields.get("cpus", ())),
            fields.get("guide", ""),
            fields.get("differs", ""),
            fields.get("guide_name", ""),
            fields.get("limit", 0.0),
            fields.get("limit_per_cpu", 0.0),
        )

    return Metrics(
        tuple(defined(fields, "any") for fields in sections.get("metric", ())),
        {
            identifier(name): tuple(map(identifier, words))
            for name, words in sections.get("aliases", {}).items()
        },
        tuple(defined(fields, "same") for fields in sections.get("quantity", ())),
    )


def _metric(entry: TomlEntry) -> Metric:
    entry.only(Metric._fields)
    return _definition(entry)._replace(
        unit=entry.text("unit", ""),
        title=entry.text("title", ""),
        guide=entry.text("guide", ""),
        differs=entry.text("differs", ""),
        guide_name=entry.text("guide_name", ""),
        limit=_limit(entry, "limit"),
        limit_per_cpu=_limit(entry, "limit_per_cpu"),
    )


def _limit(entry: TomlEntry, key: str) -> float:
    value = entry.fields.get(key, 0.0)
    if key in entry.fields and not (_is_number(value) and 0 < value < inf):
        entry.refuse(key, f"'{key}' must be a number above 0")
    return float(value)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quantity(entry: TomlEntry) -> Metric:
    """Return a quantity; what it is made of must have been counted in the same modes."""
    entry.only(("name", "formula", "description", "condition", "cpus"))
    quantity = _definition(entry)
    _own_name(entry, "name", quantity.name)
    return quantity._replace(domain=DomainRule.SAME)


def _definition(entry: TomlEntry) -> Metric:
    rule = entry.text("domain", DomainRule.ANY.value)
    if rule not in _RULES:
        entry.refuse("domain", f"'domain' must be one of {', '.join(_RULES)}")
    formula = parse(entry.raw_text("formula"), entry.source, entry.line_of("formula"))
    if not formula.names - CONSTANTS.keys() - GIVEN.keys():
        raise FormulaError(formula.source, formula.line, 1, "measures nothing: it names no event")
    condition = None
    if "condition" in entry.fields:
        text, line = entry.raw_text("condition"), entry.line_of("condition")
        condition = parse(text, entry.source, line, is_condition=True)
    return Metric(
        name=entry.text("name"),
        unit="",
        formula=formula,
        description=entry.text("description"),
        condition=condition,
        domain=_RULES[rule],
        cpus=entry.words("cpus") if "cpus" in entry.fields else (),
    )


def _variables(table: TomlEntry) -> dict[str, float]:
    values = {}
    for name, value in table.fields.items():
        _own_name(table, name, name)
        if not _is_number(value):
            table.refuse(name, f"'{name}' must be a number")
        try:
            values[name] = float(value)
        except OverflowError:
            table.refuse(name, f"'{name}' is beyond the range of a double")
        if not isfinite(values[name]):
            table.refuse(name, f"'{name}' must be a number, neither infinite nor nan")
    return values


def _own_name(entry: TomlEntry, key: str, name: str) -> None:
    """Refuse a name that a formula cannot use or that already means something else."""
    if not name.isascii() or identifier(name) != name:
        entry.refuse(key, f"{name!a} must be letters, digits and _, as formulas write it")
    if name in VARIABLES or name in GIVEN or (name in CONSTANTS and key == "name"):
        entry.refuse(key, f"'{name}' is taken: Gnomon gives it its value")
