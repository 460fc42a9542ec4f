"""Write the reference of metrics and groups from their data: docs/hpm/metric-reference.md.

    .venv/bin/python packaging/metric_table.py [FILE]

Each metric with its definitions, and where the HPM guide's formula is another one, that formula and
why; the quantities that metrics share; constants and variables; the groups.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gnomon.metrics import definitions
from gnomon.metrics.definitions import CONSTANTS, GIVEN, VARIABLES, DomainRule, Metric, Metrics
from gnomon.metrics.groups import Group, load_groups
from gnomon.metrics.toml_document import SHIPPED

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "hpm" / "metric-reference.md"

_MODES = {
    DomainRule.SAME: "same modes",
    DomainRule.ALL: "all modes",
    DomainRule.USER: "user mode",
}
_TEXT = """\
<!-- Made by packaging/metric_table.py from src/gnomon/metrics/data: do not edit. -->

# Reference of metrics and groups

How to read, choose and write them: [Groups and metrics](groups-and-metrics.md).

A metric may have several definitions: the first that can be computed from what was counted is. A
definition that names CPUs (libpfm4's names of their core PMUs) holds on those only. Names are
events, [quantities](#quantities), [constants and variables](#constants-and-variables). Where it
says "same modes", the events must all have been counted in the same ones (user, kernel, ...); "all
modes", in all; "user mode", in that only.

## Metrics of the HPM guide

All of the guide's section 5.2, in its order, {guide} of them. Where its formula is wrong or cannot
hold on every CPU, it stands here as the guide has it, and why ours is another one.

{guides}

## Further metrics

{further}

## Quantities

What several metrics are made of; not shown by themselves. What is added up must have been counted
in the same modes.

{quantities}

## Constants and variables

| name | meaning |
| --- | --- |
{names}

The guide's names of them are taken as well: {aliases}. Events may have other names:

{events}

## Peaks

Double-precision operations that a core can do in a cycle, by libpfm4's names of the core PMUs.
Other CPUs have no percentage of peak unless a number is given
(`GNOMON_DEFINE=peak_flops_per_cycle=16`).

| per cycle | core PMUs |
| ---: | --- |
{peaks}

## Groups

A group that names CPUs is for those; of several with one number the first is meant that is for the
machine's CPU or for all.

{groups}
"""


def page() -> str:
    """Return the text of the page."""
    metrics = definitions.load_metrics()
    order = _guides_order()
    titles = {one.name: one.title for one in metrics.definitions if one.title}
    guides = [name for name in order if name in titles]
    further = [name for name in _names(metrics.definitions) if name not in titles]
    return _TEXT.format(
        guide=len(guides),
        guides="\n\n".join(_metric(name, metrics.definitions) for name in guides),
        further="\n\n".join(_metric(name, metrics.definitions) for name in further),
        quantities="\n\n".join(
            _metric(name, metrics.quantities, with_modes=False)
            for name in _names(metrics.quantities)
        ),
        names="\n".join(
            f"| `{name}` | {meaning} |"
            for known in (VARIABLES, CONSTANTS, GIVEN)
            for name, meaning in known.items()
        ),
        aliases=", ".join(
            f"`{name}` for `{others[0]}`"
            for name, others in metrics.aliases.items()
            if others[0] in VARIABLES or others[0] in CONSTANTS
        ),
        events="\n".join(_aliases(metrics)),
        peaks="\n".join(_peaks()),
        groups="\n\n".join(map(_group, load_groups())),
    )


def _guides_order() -> list[str]:
    """Return the names of metrics as the guide has them: the file's, and where ours stood first."""
    names = _names(definitions.load_metrics(f"{SHIPPED}/hpm.toml").definitions)
    # These are defined among Gnomon's own, in the guide they stand behind the given ones.
    behind = {
        "fp_loads_stores": ("mips", "ipc"),
        "fixed_point_per_access": ("branch_misprediction_ratio",),
        "loads_per_tlb_miss": ("accesses_per_data_tlb_miss",),
    }
    order = ["user_utilisation"]
    for name in names:
        order += [name, *behind.get(name, ())]
    return order


def _names(metrics: Iterable[Metric]) -> list[str]:
    return list(dict.fromkeys(metric.name for metric in metrics))


def _metric(name: str, every: Sequence[Metric], *, with_modes: bool = True) -> str:
    """Return a metric with its definitions as an entry of a definition list."""
    found = [metric for metric in every if metric.name == name]
    first = found[0]
    title = f"{first.title}: " if first.title else ""
    unit = f" [{first.unit}]" if first.unit else ""
    description = _escaped(f"{title}{first.description}")
    lines = [f"**{name}**{unit} {description}"]
    if first.guide_name:
        lines.append(f": `{first.guide_name}` in the files that the guide describes")
    told: set[str] = set()
    for metric in found:
        parts = [_code(metric.formula.text)]
        if metric.cpus:
            parts.append(f"on {', '.join(metric.cpus)}")
        if metric.description != first.description:
            parts.append(metric.description)
        if metric.condition is not None:
            parts.append(f"where {_code(metric.condition.text)}")
        if with_modes and metric.domain in _MODES:
            parts.append(_MODES[metric.domain])
        lines.append(f": {'; '.join(parts)}")
    for metric in found:
        if metric.guide and metric.guide not in told:
            told.add(metric.guide)
            why = f"; {metric.differs}" if metric.differs else ""
            lines.append(f": the guide: {_code(metric.guide)}{_escaped(why)}")
    return "\n\n".join(lines)


def _aliases(metrics: Metrics) -> Iterable[str]:
    for name, others in metrics.aliases.items():
        if others[0] not in VARIABLES and others[0] not in CONSTANTS:
            yield f"- `{name}`: {', '.join(f'`{other}`' for other in others)}"


def _peaks() -> Iterable[str]:
    found: dict[float, list[str]] = {}
    for cpu, peak in definitions.peaks().items():
        found.setdefault(peak, []).append(cpu)
    for peak, cpus in sorted(found.items()):
        yield f"| {peak:g} | {', '.join(cpus)} |"


def _group(group: Group) -> str:
    lines = [f"**{group.number} {group.name}** {_escaped(group.description)}"]
    if group.cpus:
        lines.append(f": on {', '.join(group.cpus)}")
    lines.append(f": {', '.join(f'`{event}`' for event in group.events)}")
    if group.metrics:
        lines.append(f": for {', '.join(group.metrics)}")
    return "\n\n".join(lines)


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`"


def _escaped(text: str) -> str:
    return text.replace("*", r"\*").replace("_", r"\_")


def main(file: Path) -> None:
    """Write the page."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else PAGE)
