"""Write docs/reference/presets.md from the presets' data.

    preset_page.py > docs/reference/presets.md

The page is committed, so that a change of the data shows what it changes for the reader; a test
holds the two together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from gnomon.counters import presets
from gnomon.counters.presets import Family, Preset

INTRODUCTION = """\
# Presets

<!-- Made from src/gnomon/counters/presets/data by packaging/preset_page.py; do not edit. -->

What PAPI's {presets} standard presets are on each family of PMUs that Gnomon has definitions for.
`gnomon presets --pmu FAMILY` prints the same, `--detail` with what each native event counts by its
vendor's word. How presets are used, and how one adds one's own: [Presets](../commands/presets.md).

## What each preset means

{meanings}

## Which PMU has which

`=` is one native event, `+` a sum, `-` a difference, `f` another formula; an empty cell has none. A
star says that it differs from PAPI's definition. How, and why a cell is empty, stands below, family
by family.

{matrix}
"""

MARKS = {"not derived": "=", "sum": "+", "difference": "-"}


def page() -> str:
    """Return the page."""
    families = presets.families()
    meanings = presets.meanings()
    rows = [
        f"| `{name}` | {_cell(meaning.description)} | {meaning.unit} |"
        for name, meaning in meanings.items()
    ]
    text = INTRODUCTION.format(
        presets=len(meanings),
        meanings="\n".join(("| preset | counts | unit |", "|---|---|---|", *rows)),
        matrix="\n".join(_matrix(families, tuple(meanings))),
    )
    return "\n".join((text.rstrip(), *(line for one in families for line in _section(one)), ""))


def _matrix(families: Sequence[Family], names: Sequence[str]) -> Iterator[str]:
    yield "| preset | " + " | ".join(f"[{f.name}](#{f.name})" for f in families) + " |"
    yield "|---" * (len(families) + 1) + "|"
    for name in names:
        cells = (_mark(family.preset(name)) for family in families)
        yield f"| `{name}` | " + " | ".join(cells) + " |"


def _mark(preset: Preset | None) -> str:
    if preset is None or not preset.events:
        return ""
    return MARKS.get(preset.kind, "f") + ("\\*" if preset.differs else "")


def _section(family: Family) -> Iterator[str]:
    own = presets.own_of(family.name)
    yield from ("", f"## {family.title} {{ #{family.name} }}", "")
    pmus = ", ".join(f"`{pmu}`" for pmu in family.pmus)
    yield f"`{family.name}`; libpfm4's {pmus}." if pmus else f"`{family.name}`."
    yield f"Source: {family.source}."
    if own.extends:
        title = presets.family(own.extends).title
        yield f"As [{title}](#{own.extends}), but for what follows."
    shown = sorted(own.presets) if own.extends else family.presets
    defined = [preset for preset in shown if preset.events]
    if defined:
        yield from ("", "| preset | definition | differs from PAPI's |", "|---|---|---|")
        for one in defined:
            yield f"| `{one.name}` | `{one.definition}` | {_cell(one.differs)} |"
    reasons: dict[str, list[str]] = {}
    for one in shown:
        if not one.events:
            reasons.setdefault(one.reason, []).append(one.name)
    if reasons:
        yield from ("", "None here:", "")
        for reason, names in reasons.items():
            yield f"- {', '.join(f'`{name}`' for name in names)}: {_cell(reason)}"


def _cell(text: str) -> str:
    """Return a text as Markdown takes it for plain words, in a cell of a table too."""
    for symbol in "\\|*_[]<`":
        text = text.replace(symbol, f"\\{symbol}")
    return text


if __name__ == "__main__":
    sys.stdout.write(page())
