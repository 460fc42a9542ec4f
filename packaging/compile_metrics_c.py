"""Write the shipped metrics and groups as a table in C; the build of libhpm calls it.

    compile_metrics_c.py OUT.c [DEFINITIONS.toml]

The definitions are read, and checked, by the reader that Gnomon itself uses; formulas become its
postfix programs. The table holds no pointers, so that loading the library relocates nothing: texts
are offsets into one long string. libhpm writes the HPM guide's own files: metrics have the names
that they have there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
# What an earlier build made of the definitions is not asked.
sys.modules["gnomon.metrics._shipped"] = None  # type: ignore[assignment]

from compile_presets_c import Texts  # noqa: E402

from gnomon.metrics.definitions import (  # noqa: E402
    CONSTANTS,
    DomainRule,
    Metric,
    load_metrics,
    peaks,
)
from gnomon.metrics.groups import Group, load_groups  # noqa: E402

if TYPE_CHECKING:
    from gnomon.metrics.formula import Formula
    from gnomon.metrics.postfix import Step

STACK = 32
"""The deepest that a program may stack: HPM_STACK_MAX of native/hpm/metric_table.h."""

_DOMAINS = list(DomainRule)
_OPERATORS = ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "or")
_FUNCTIONS = ("abs", "max", "min", "sqrt", "sum")
_KINDS = {
    **dict(zip(_OPERATORS, ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "LESS", "LESS_EQUAL",
                            "GREATER", "GREATER_EQUAL", "EQUAL", "UNEQUAL", "AND", "OR"),
               strict=True)),
    **{name: name.upper() for name in _FUNCTIONS},
}  # fmt: skip


class Table:
    """The parts of the table, as they are filled."""

    def __init__(self) -> None:
        self.texts = Texts()
        self.names: list[str] = []
        self.aliases: dict[str, tuple[str, ...]] = {}
        self.alias_list: list[int] = []
        self.steps: list[str] = []
        self.used: list[int] = []
        self._numbers: dict[str, int] = {}

    def name(self, name: str) -> int:
        """Return the number of an identifier."""
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def program(self, formula: Formula | None) -> tuple[int, int]:
        """Return the first step of a formula's program and how many it has."""
        steps = formula.program() if formula is not None else ()
        depth = 0
        first = len(self.steps)
        for step in steps:
            depth += 1 - step.operands
            if depth > STACK:
                raise ValueError(f"{formula!r} needs a stack of more than {STACK}")
            self.steps.append(self._step(step))
        return first, len(steps)

    def uses(self, formula: Formula | None) -> tuple[int, int]:
        """Return where the numbers of a formula's identifiers stand, and how many there are."""
        names = sorted(formula.names) if formula is not None else []
        first = len(self.used)
        self.used.extend(map(self.name, names))
        return first, len(names)

    def _step(self, step: Step) -> str:
        if step.kind == "number":
            return f"{step.number!r}, HPM_OP_NUMBER, 0, 0"
        if step.kind == "name":
            return f"0, HPM_OP_NAME, 0, {self.name(step.name)}"
        if step.kind == "negate":
            return "0, HPM_OP_NEGATE, 1, 0"
        return f"0, HPM_OP_{_KINDS[step.name]}, {step.operands}, 0"


def main(out: str, definitions: str = "") -> None:
    """Write the table `out` of the shipped definitions, or of other ones for a test."""
    metrics = load_metrics(Path(definitions)) if definitions else load_metrics()
    if metrics.variables:
        raise ValueError("the table has no room for [variables]")
    groups = load_groups()
    table = Table()
    rows = {
        "hpm_quantities": [_definition(table, one, is_shared=True) for one in metrics.quantities],
        "hpm_metric_definitions": [_definition(table, one) for one in metrics.definitions],
        "hpm_group_rows": [_group(table, one) for one in groups],
    }
    for name, stand_ins in metrics.aliases.items():
        table.name(name)
        for one in stand_ins:
            table.name(one)
    for name in CONSTANTS:
        table.name(name)
    names = []
    for name in table.names:
        stand_ins = metrics.aliases.get(name, ())
        first = len(table.alias_list)
        table.alias_list.extend(map(table.name, stand_ins))
        is_constant = int(name in CONSTANTS)
        names.append(
            f"\t{{{table.texts.at(name)}, {first}, {len(stand_ins)}, {is_constant}, "
            f"{int(name.endswith('*'))}}},"
        )
    order = sorted(range(len(table.names)), key=lambda at: table.names[at].encode())
    highest = [f"\t{{{table.texts.at(cpu)}, {flops!r}}}," for cpu, flops in peaks().items()]
    kinds = {
        "hpm_names": ("struct hpm_name_row", names),
        "hpm_names_sorted": ("unsigned short", _numbers(order)),
        "hpm_aliases": ("unsigned short", _numbers(table.alias_list)),
        "hpm_used": ("unsigned short", _numbers(table.used)),
        "hpm_ops": ("struct hpm_op", [f"\t{{{step}}}," for step in table.steps]),
        "hpm_quantities": ("struct hpm_definition", rows["hpm_quantities"]),
        "hpm_metric_definitions": ("struct hpm_definition", rows["hpm_metric_definitions"]),
        "hpm_group_rows": ("struct hpm_group_row", rows["hpm_group_rows"]),
        "hpm_peaks": ("struct hpm_peak_row", highest),
    }
    lines = [
        "/* Made from src/gnomon/metrics/data by packaging/compile_metrics_c.py. */",
        '#include "metric_table.h"',
        f"const int hpm_name_count = {len(names)};",
        f"const int hpm_quantity_count = {len(metrics.quantities)};",
        f"const int hpm_definition_count = {len(metrics.definitions)};",
        f"const int hpm_group_count = {len(groups)};",
        f"const int hpm_peak_count = {len(highest)};",
    ]
    for array, (kind, entries) in kinds.items():
        lines += [f"const {kind} {array}[{max(len(entries), 1)}] = {{", *(entries or ["0"]), "};"]
    lines += ["const char hpm_texts[] =", f"{table.texts.literal()};", ""]
    Path(out).write_text("\n".join(lines), "utf-8")


def _definition(table: Table, metric: Metric, *, is_shared: bool = False) -> str:
    texts = table.texts
    # Where a name stands in the text, its number does between two control characters.
    marks = {name: f"\x01{table.name(name)}\x02" for name in metric.formula.names}
    formula = " ".join(metric.formula.spelled(marks).split())
    fields = (
        texts.at(metric.guide_name or metric.name),
        texts.at(metric.unit),
        texts.at(metric.title),
        texts.at(metric.description),
        texts.at(formula),
        texts.at(*metric.cpus, "") if metric.cpus else 0,
        len(metric.cpus),
        *table.program(metric.formula),
        *table.program(metric.condition),
        *table.uses(metric.formula),
        *table.uses(metric.condition),
        _DOMAINS.index(metric.domain),
        table.name(metric.name) if is_shared else 0,
        metric.limit,
        metric.limit_per_cpu,
    )
    return f"\t{{{', '.join(map(str, fields))}}},"


def _group(table: Table, group: Group) -> str:
    texts = table.texts
    fields = (
        group.number,
        texts.at(group.name),
        texts.at(group.description),
        texts.at(*group.events),
        texts.at(*group.cpus, "") if group.cpus else 0,
        len(group.events),
        len(group.cpus),
    )
    return f"\t{{{', '.join(map(str, fields))}}},"


def _numbers(numbers: list[int]) -> list[str]:
    return [f"\t{number}," for number in numbers]


if __name__ == "__main__":
    main(*sys.argv[1:])
