"""Quantities as people read them: pure functions from numbers to text.

Whole numbers without a prefix are printed exactly, their digits in threes ("3 203 120"), however
large a count is. Everything else has four significant digits without trailing zeros ("3.214 s",
"12.3 ms"). What is not there (None, infinite, not a number) prints as the word that the caller
chooses, never as a number.
"""

from __future__ import annotations

from math import isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

NOT_AVAILABLE = "n/a"
"""For what has no meaning here."""

NOT_MEASURED = "not measured"
"""For what has one, but was not counted."""

_DIGITS = 4
_BINARY_PREFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")
_EXACT_BELOW = 2**53


def printable(text: str) -> str:
    r"""Return text that came from a program, a file or a name, safe to print on one line.

    What would move the cursor, change colours or end the line is shown as Python writes it
    (`\x1b`), a tab as a blank.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else " " if one == "\t" else ascii(one)[1:-1] for one in text
    )


def number(value: float | None, missing: str = NOT_AVAILABLE) -> str:
    """Return a number: whole ones exactly, others to four significant digits.

    Others of 1000 and more are rounded to whole ones, so no digit before the point is ever lost.

    Args:
        value: the number, or None.
        missing: what to print for None.
    """
    if not _known(value):
        return missing
    if isinstance(value, int) or (value.is_integer() and abs(value) < _EXACT_BELOW):
        return _grouped(int(value))
    scientific = f"{value:.{_DIGITS - 1}e}"
    exponent = int(scientific.partition("e")[2])
    if not -4 <= exponent < 15:
        return scientific
    sign = "-" if value < 0 else ""
    whole, _, fraction = f"{abs(value):.{max(_DIGITS - 1 - exponent, 0)}f}".partition(".")
    fraction = fraction.rstrip("0")
    return sign + _grouped(int(whole)) + (f".{fraction}" if fraction else "")


def count(value: float | None, missing: str = NOT_AVAILABLE) -> str:
    """Return a count as a whole number in groups of three digits: "3 203 120".

    A scaled count, which has a fraction, is rounded to the nearest whole number; one that lies
    between 0 and 10 keeps four significant digits, lest it look like no event or one more.

    Args:
        value: the count, or None.
        missing: what to print for None.
    """
    if not _known(value):
        return missing
    if isinstance(value, float) and abs(value) < 10:
        return number(value)
    return _grouped(round(value))


def duration(value_ns: float | None, missing: str = NOT_AVAILABLE) -> str:
    """Return a duration: "840 ns", "12.3 ms", "3.214 s", "12 min 3.5 s", "3 h 25 min 4 s".

    Args:
        value_ns: nanoseconds, or None.
        missing: what to print for None.
    """
    if not _known(value_ns):
        return missing
    if value_ns < 0:
        return f"-{duration(-value_ns)}"
    # 999.95 and more would print as 1000 of the smaller unit.
    for limit, unit_ns, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if value_ns < limit - unit_ns / 20:
            return f"{number(value_ns / unit_ns)} {unit}"
    seconds = value_ns / 1e9
    if seconds < 59.995:
        return f"{number(seconds)} s"
    if seconds < 3599.95:
        minutes, tenths = divmod(round(seconds * 10), 600)
        return f"{minutes} min {number(tenths / 10)} s"
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{_grouped(hours)} h {minutes} min {rest} s"


def size(value_bytes: float | None, missing: str = NOT_AVAILABLE) -> str:
    """Return a number of bytes with a binary prefix: "840 B", "3.214 KiB", "12.3 MiB".

    Args:
        value_bytes: bytes, or None.
        missing: what to print for None.
    """
    return _binary(value_bytes, "B", missing)


def byte_rate(value: float | None, missing: str = NOT_AVAILABLE) -> str:
    """Return bytes per second with a binary prefix: "12.3 MiB/s".

    Args:
        value: bytes per second, or None.
        missing: what to print for None.
    """
    return _binary(value, "B/s", missing)


def rate(value: float | None, missing: str = NOT_AVAILABLE) -> str:
    """Return events per second: "12.3 /s".

    Args:
        value: events per second, or None.
        missing: what to print for None.
    """
    return _with_unit(value, "/s", missing)


def percent(value: float | None, missing: str = NOT_AVAILABLE) -> str:
    """Return a percentage: "12.3 %".

    Args:
        value: the percentage (50 for a half), or None.
        missing: what to print for None.
    """
    return _with_unit(value, "%", missing)


def quantity(value: float | None, unit: str, missing: str = NOT_AVAILABLE) -> str:
    """Return a value in the form that its unit asks for.

    Args:
        value: the value in `unit`, or None.
        unit: "ns" and "s" print as durations, "bytes" and "bytes/s" with binary prefixes, "" as
            a bare number; any other unit follows the number.
        missing: what to print for None.
    """
    if unit == "ns":
        return duration(value, missing)
    if unit == "s":
        return duration(None if value is None else value * 1e9, missing)
    if unit == "bytes":
        return size(value, missing)
    if unit == "bytes/s":
        return byte_rate(value, missing)
    return _with_unit(value, unit, missing)


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and (isinstance(value, int) or isfinite(value))


def _grouped(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _with_unit(value: float | None, unit: str, missing: str) -> str:
    if not _known(value):
        return missing
    return f"{number(value)} {unit}" if unit else number(value)


def _binary(value: float | None, unit: str, missing: str) -> str:
    if not _known(value):
        return missing
    scaled = abs(value)
    prefix = _BINARY_PREFIXES[0]
    for prefix in _BINARY_PREFIXES:
        # 1023.5 and more would print as 1024 of the smaller unit.
        if scaled < 1023.5:
            break
        if prefix != _BINARY_PREFIXES[-1]:
            scaled /= 1024
    return f"{'-' if value < 0 else ''}{number(scaled)} {prefix}{unit}"


def signal_name(number_of: int) -> str:
    """Return a signal's name, such as SIGSEGV."""
    import signal

    try:
        return signal.Signals(number_of).name
    except ValueError:
        return f"signal {number_of}"


def rounded(value: float) -> float:
    """Return a mean with no more digits than say something."""
    return float(f"{value:.3g}") if abs(value) < 1000 else round(value)
