"""What a preset is: a name, its meaning, and the native events that it is made of on a PMU."""

from __future__ import annotations

from gnomon.counters.preset_formula import Formula, parse, sum_of
from gnomon.named_tuple import NamedTuple


class Meaning(NamedTuple):
    """What a preset means on every CPU: our description of it, and its unit ("" for a count)."""

    description: str
    unit: str = ""


class Preset(NamedTuple):
    """A preset as one family of PMUs, or one user's file, defines it.

    Attributes:
        name: its name; PAPI's for those that PAPI has.
        description: what it counts, in our words.
        unit: unit of its value, "" for a count.
        events: native events by libpfm4's or the kernel's names, or other presets; () if it has
            none.
        formula: over N0, N1, ... of `events`, infix or postfix; "" for the event itself, or the
            sum of several.
        kind: "not derived", "sum", "difference", "infix", "postfix" or "per second"; "" if it
            has no events.
        meanings: what the vendor says that each event counts; () where none is given.
        differs: how it differs from PAPI's definition of the preset, "" if it does not.
        reason: why it has no events.
        family: the family of PMUs, by its file's name.
        source: what the meanings are cited from; the file of a user's preset.
        pmus: libpfm4's names of the PMUs that it holds for; () for any.
        is_users: it comes from a user's file.
        line: where it stands in that file.
    """

    name: str
    description: str
    unit: str = ""
    events: tuple[str, ...] = ()
    formula: str = ""
    kind: str = ""
    meanings: tuple[str, ...] = ()
    differs: str = ""
    reason: str = ""
    family: str = ""
    source: str = ""
    pmus: tuple[str, ...] = ()
    is_users: bool = False
    line: int = 0

    @property
    def program(self) -> Formula:
        """The formula, whether it is written out or the sum that goes without saying.

        Raises:
            FormulaError: the formula is none; the files' readers have refused such presets.
        """
        n = len(self.events)
        return parse(self.formula, n, self.source, self.line) if self.formula else sum_of(n)

    @property
    def definition(self) -> str:
        """The formula over the events' names, as people write it; "" if it has no events."""
        return self.program.infix(self.events) if self.events else ""


class PresetFamily(NamedTuple):
    """The presets of one family of PMUs, or of one user's file.

    Attributes:
        name: the file's name without its ending.
        title: what people call these PMUs.
        pmus: libpfm4's names of them; () for any PMU that no other family names.
        source: what the meanings of the native events are cited from.
        presets: every preset, those that the family lacks included with the reason.
        path: the file, "" for one that comes with Gnomon.
        extends: the family whose presets hold where the file does not speak of them, "" for none.
    """

    name: str
    title: str
    pmus: tuple[str, ...]
    source: str
    presets: tuple[Preset, ...]
    path: str = ""
    extends: str = ""

    def preset(self, name: str) -> Preset | None:
        """Return the preset of that name, None if the file does not speak of it."""
        return next((preset for preset in self.presets if preset.name == name), None)


def made(
    name: str,
    events: tuple[str, ...],
    formula: str,
    program: Formula,
    meaning: Meaning,
) -> Preset:
    """Return a preset that has events.

    Args:
        name: its name.
        events: its native events.
        formula: over them, "" for none.
        program: what the formula means.
        meaning: its description and unit; a value per second has "/s" where no unit is given.
    """
    return Preset(
        name,
        meaning.description,
        meaning.unit or ("/s" if program.is_timed else ""),
        events,
        formula,
        kind_of(formula, program, len(events)),
    )


def kind_of(text: str, program: Formula, events: int) -> str:
    """Return the kind of a preset, judged by its formula.

    Args:
        text: the formula as written, "" for none.
        program: what it means.
        events: how many native events there are.
    """
    if program.is_timed:
        return "per second"
    factors = program.factors(events)
    if factors == (1,):
        return "not derived"
    if factors is not None and set(factors) == {1}:
        return "sum"
    if factors is not None and factors[0] == 1 and set(factors[1:]) == {-1}:
        return "difference"
    return "postfix" if "|" in text else "infix"
