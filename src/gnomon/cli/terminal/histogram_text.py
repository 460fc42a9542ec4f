"""Histograms as text."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.counters.sample_statistics import Bin

_LONGEST = 40


def bars(bins: Sequence[Bin]) -> list[str]:
    """Return a line for each bin: where it begins, a bar, how many values it holds."""
    most = max(one.n for one in bins)
    digits = 0 if bins[-1].low >= 100 or all(one.low == int(one.low) for one in bins) else 1
    starts = [f"{one.low:,.{digits}f}".replace(",", " ") for one in bins]
    wide = max(map(len, starts))
    lines = []
    for histogram_bin, start in zip(bins, starts, strict=True):
        # What is there at all gets a mark, however short.
        bar = "#" * max(round(_LONGEST * histogram_bin.n / most), 1 if histogram_bin.n else 0)
        line = f"  {start:>{wide}}  {bar:<{_LONGEST}}  {histogram_bin.n}"
        lines.append(
            line if histogram_bin is not bins[-1] else f"{line}  (up to {histogram_bin.high:,.0f})"
        )
    return lines
