"""How the text reports of measurements look: options, bold and dim words, values and remarks."""

from __future__ import annotations

from gnomon.model.value import Domain, How, Scope, Value
from gnomon.named_tuple import NamedTuple
from gnomon.terminal_text import WIDTH
from gnomon.units import quantity


class ReportOptions(NamedTuple):
    """How a report is to look.

    Attributes:
        tool: name of the command, for the headline.
        brief: only what most runs are asked for; the rest is left to `--all`.
        default_events: the user chose no events; a brief report leaves out most of them.
        formulas: print each metric's formula.
        every_usage_row: one line for each field of getrusage(2), those without meaning on
            Linux as n/a; otherwise only those with one.
        per: "thread" or "process" for a table of them, "" for totals only.
        parts: what each of several groups counted apart, and not all of it as one.
        styled: use bold and dim, for a terminal.
        width: columns of the terminal.
        guide_names: metrics by the names that the HPM guide's own files have.
    """

    tool: str = "gnomon count"
    brief: bool = False
    default_events: bool = False
    formulas: bool = False
    every_usage_row: bool = False
    per: str = ""
    parts: bool = False
    styled: bool = False
    width: int = WIDTH
    guide_names: bool = False


class Style:
    """Bold and dim words, where the terminal has them."""

    def __init__(self, styled: bool) -> None:
        self._styled = styled

    def bold(self, words: str) -> str:
        """Return words in bold."""
        return f"\x1b[1m{words}\x1b[0m" if self._styled else words

    def dim(self, words: str) -> str:
        """Return words that stand back."""
        return f"\x1b[2m{words}\x1b[0m" if self._styled else words


def joined(*parts: str, sep: str = "; ") -> str:
    """Return the non-empty texts, joined."""
    return sep.join(part for part in parts if part)


def format_value(value: Value) -> str:
    """Return a value as tables print it."""
    return quantity(value.value, value.unit, "not measured")


def remark(value: Value, doubt: str = "", *, of_machine: bool = False) -> str:
    """Return the remark beside a value: modes, scope, multiplexing; "" for none.

    Args:
        value: the value.
        doubt: why emulated counts of this measurement are not whole, "" if they are.
        of_machine: the report is of a machine or cgroup and says so above.
    """
    parts = []
    if value.how is How.EMULATED:
        from gnomon.counters.emulation.events import emulated_event
        from gnomon.counters.event_grammar import modifiers

        event = emulated_event(modifiers(value.event)[0])
        if doubt:
            return doubt
        return "exact" if event is not None and event.is_exact else "simulated"
    if value.domain not in (Domain.ALL, Domain.USER_KERNEL):
        parts.append(f"{value.domain.value} mode only")
    if value.is_watch:
        parts.append("the time CPUs were watched, busy or idle")
    elif value.scope is Scope.NODE:
        parts += [] if of_machine else ["whole machine, not only the program"]
    elif value.how is How.SAMPLED:
        parts.append("of the process itself, now and then while it ran")
    elif value.scope is Scope.PROCESS:
        parts.append("process and the children it waited for")
    if value.how is How.SCALED and value.enabled_ns:
        parts.append(f"counted {100 * value.running_ns / value.enabled_ns:.1f} % of the time")
    if value.is_negative:
        parts.append("negative: less was counted of what is added than of what is taken away")
    if value.is_derived and value.derived is None and value.running_ns:
        parts.append("its formula has no value here: it divides by zero")
    elif value.value is None and value.component in ("cpu", "kernel"):
        parts.append("never had a counter: the run was too short or the PMU was full")
    elif value.value is None:
        parts.append("could not be read while the program ran")
    return "; ".join(parts)
