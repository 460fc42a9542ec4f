"""Write the pages of the presets from their data: docs/reference/preset-table*.md.

    .venv/bin/python packaging/preset_table.py [FOLDER]

One page for each vendor: which presets its CPUs have and of what kind, then of what native events
each is made, how it differs from PAPI's definition, or why there is none.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from gnomon.counters import presets
from gnomon.counters.presets import Preset, PresetFamily

ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "gnomon" / "counters" / "presets" / "data"
UNKNOWN = tomllib.loads((ROOT / "packaging" / "libpfm4_unknown.toml").read_text())
NEW = "PAPI 7 has none"

# Columns, oldest first, with what stands over them: a page for each vendor.
VENDORS: dict[str, tuple[str, dict[str, str]]] = {
    "intel": (
        "Intel",
        {
            "intel_nehalem": "NHM",
            "intel_westmere": "WSM",
            "intel_sandybridge": "SNB",
            "intel_ivybridge": "IVB",
            "intel_haswell": "HSW",
            "intel_broadwell": "BDW",
            "intel_skylake": "SKL",
            "intel_skylakex": "SKX, CLX",
            "intel_icelake": "ICL",
            "intel_icelakex": "ICX",
            "intel_sapphirerapids": "SPR, EMR",
            "intel_graniterapids": "GNR",
            "intel_goldencove": "ADL P",
        },
    ),
    "intel-small": (
        "Intel, small and many cores",
        {
            "intel_silvermont": "SLM",
            "intel_goldmont": "GLM",
            "intel_tremont": "TMT",
            "intel_gracemont": "ADL E",
            "intel_knightslanding": "KNL, KNM",
        },
    ),
    "amd": (
        "AMD",
        {
            "amd_zen1": "Zen",
            "amd_zen2": "Zen 2",
            "amd_zen3": "Zen 3",
            "amd_zen4": "Zen 4",
            "amd_zen5": "Zen 5",
        },
    ),
    "arm": (
        "Arm",
        {
            "arm_neoverse_n1": "N1",
            "arm_neoverse_n2": "N2",
            "arm_neoverse_v1": "V1",
            "arm_neoverse_v2": "V2",
            "arm_a64fx": "A64FX",
        },
    ),
    "power": ("IBM POWER", {"power9": "POWER9", "power10": "POWER10"}),
    "generic": ("any other CPU", {"generic": "generic"}),
}
SIGNS = {"not derived": "1", "sum": "+", "difference": "−", "infix": "f", "postfix": "f"}

_MADE = "<!-- Made by packaging/preset_table.py from the presets' data: do not edit. -->\n"
_HEAD = """\
# Presets and CPUs

{made}
A preset is an event that means the same on every CPU. Gnomon knows PAPI's {presets} standard
ones and how {families} families of CPUs count them; on any other CPU they are made of the kernel's
generic events. `gnomon presets` shows those of the machine at hand, and whether they open there.

| CPUs | libpfm4's names | presets | as PAPI 7 defines them | other or more than PAPI 7 | none |
| --- | --- | ---: | ---: | ---: | ---: |
{counts}

Each vendor's page has a table of all presets, and below it what each is made of: {links}. In the
tables

- `1` is one native event, `+` a sum, `−` a difference, `f` another formula, `—` none;
- `*` marks a preset that PAPI 7 does not define on that CPU;
- `†` marks one that needs a libpfm4 newer than 4.13 (see below).

PAPI 7's definitions are those of its `papi_events.csv` in its repository of August 2026.

## What libpfm4 4.13 does not know

Native events have libpfm4's names. All those of these pages are known to libpfm4 4.13, which
Debian 12 has, but for these:

{unknown}
"""
_PAGE = """\
# Presets on {vendor}

{made}
The signs are explained on the page [Presets and CPUs](preset-table.md).

| preset | {columns} |
| --- | {rule} |
{rows}

## What each is made of

{entries}
"""


def pages() -> dict[str, str]:
    """Return the text of every page, by the name of its file."""
    families = {family.name: family for family in presets.families()}
    forgotten = families.keys() - {name for _, columns in VENDORS.values() for name in columns}
    if forgotten:
        raise SystemExit(f"VENDORS has no column for {', '.join(sorted(forgotten))}")
    found = {"preset-table.md": _index(families)}
    for page, (vendor, columns) in VENDORS.items():
        found[f"preset-table-{page}.md"] = _vendor_page(
            vendor, {families[name]: title for name, title in columns.items()}
        )
    return found


def _index(families: dict[str, PresetFamily]) -> str:
    counts = []
    for _, columns in VENDORS.values():
        for name in columns:
            family = families[name]
            defined = [preset for preset in family.presets if preset.events]
            same = [preset for preset in defined if "PAPI 7" not in preset.differs]
            pmus = ", ".join(f"`{pmu}`" for pmu in family.pmus) or "all others"
            counts.append(
                f"| {family.title} | {pmus} | {len(defined)} | "
                + (f"{len(same)} | {len(defined) - len(same)}" if family.pmus else "— | —")
                + f" | {len(family.presets) - len(defined)} |"
            )
    links = ", ".join(
        f"[{vendor}](preset-table-{page}.md)" for page, (vendor, _) in VENDORS.items()
    )
    unknown = [f"- the PMU `{pmu}` ({reason})" for pmu, reason in UNKNOWN["pmu"].items()]
    for pmu, events in UNKNOWN["event"].items():
        unknown += [f"- `{pmu}::{event}` ({reason})" for event, reason in events.items()]
    return _HEAD.format(
        made=_MADE,
        presets=len(_order()),
        families=len(families) - 1,
        counts="\n".join(counts),
        links=links,
        unknown="\n".join(unknown),
    )


def _vendor_page(vendor: str, columns: dict[PresetFamily, str]) -> str:
    rows, entries = [], []
    for name, description in _order().items():
        row = [(title, family, _preset(family, name)) for family, title in columns.items()]
        cells = [_cell(family, preset) for _, family, preset in row]
        rows.append(f"| {name} | {' | '.join(cells)} |")
        entries.append(f"**{name}** {description}\n" + "".join(_entry(row, len(columns))))
    return _PAGE.format(
        made=_MADE,
        vendor=vendor,
        columns=" | ".join(columns.values()),
        rule=" | ".join(":---:" for _ in columns),
        rows="\n".join(rows),
        entries="\n".join(entries).rstrip(),
    )


def _entry(row: list[tuple[str, PresetFamily, Preset]], families: int) -> Iterator[str]:
    """Yield what a preset is, once for all the families where it is the same."""
    same: dict[str, list[str]] = {}
    for title, _, preset in row:
        text = f"— {preset.reason}"
        if preset.events:
            text = f"`{preset.definition}`"
            text += f"; {preset.differs}" if preset.differs else ""
        same.setdefault(text, []).append(title)
    for text, titles in same.items():
        who = "" if len(titles) == families else f"{', '.join(titles)}: "
        yield f"\n: {who}{text}\n"


def _cell(family: PresetFamily, preset: Preset) -> str:
    if not preset.events:
        return "—"
    unknown = [UNKNOWN["event"].get(pmu, {}) for pmu in family.pmus]
    newer = all(pmu in UNKNOWN["pmu"] for pmu in family.pmus) and family.pmus != ()
    newer |= any(event in events for events in unknown for event in preset.events)
    new = preset.differs.startswith(NEW)
    return SIGNS[preset.kind] + ("*" if new else "") + ("†" if newer else "")


def _preset(family: PresetFamily, name: str) -> Preset:
    preset = family.preset(name)
    if preset is None:
        raise SystemExit(f"{family.name} does not speak of {name}")
    return preset


def _order() -> dict[str, str]:
    """Return the presets' names, grouped as the file of their meanings is, with descriptions."""
    meanings = tomllib.loads((DATA / "meanings.toml").read_text())
    return {name: fields["description"] for name, fields in meanings.items()}


def main(folder: Path) -> None:
    """Write the pages into a folder."""
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "reference")
