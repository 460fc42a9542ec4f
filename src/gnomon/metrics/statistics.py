"""The spread of repeated runs: mean, deviation, and how far the mean can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, frexp, fsum, inf, isfinite, ldexp, lgamma, log, log1p, pi, sqrt, tan

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple

CONFIDENCE = 0.95
"""Probability with which mean ± half-width holds the true mean (normally spread values)."""


class Summary(NamedTuple):
    """Statistics of repeated measurements of one quantity, all in that quantity's unit.

    Attributes:
        n: number of values.
        mean: arithmetic mean.
        deviation: sample standard deviation (divisor n - 1); None for a single value, and
            where a double cannot hold it.
        half_width: half the width of the 95 % confidence interval of the mean, by Student's t;
            None as for the deviation.
        minimum: smallest value.
        maximum: largest value.
        median: middle value, or the mean of the middle two.
    """

    n: int
    mean: float
    deviation: float | None
    half_width: float | None
    minimum: float
    maximum: float
    median: float

    @property
    def telling_half_width(self) -> float | None:
        """Half-width of an interval that says something: None where it holds 0 as well."""
        width = self.half_width
        return None if width and width >= abs(self.mean) else width

    @property
    def relative_half_width(self) -> float | None:
        """Half-width in percent of the mean's magnitude; None if unknown or the mean is 0."""
        if self.half_width is None or not self.mean:
            return None
        percent = 100 * (self.half_width / abs(self.mean))
        return percent if isfinite(percent) else None


def summarise(values: Iterable[float]) -> Summary:
    """Return mean, spread and confidence of repeated measurements.

    Sums are exact (`math.fsum`) and deviations are taken from the mean, so neither a large
    common offset nor the order of the values costs digits.

    Raises:
        UsageError: there are no values, or one of them is infinite or not a number.
    """
    ordered = sorted(map(float, values))
    n = len(ordered)
    if not n:
        raise UsageError("no values to summarise; measure at least once")
    if not all(map(isfinite, ordered)):
        raise UsageError("cannot summarise values that are infinite or not numbers")
    minimum, maximum = ordered[0], ordered[-1]
    # A power of two, so that scaling is exact and no sum or square leaves the doubles' range.
    exponent = frexp(max(-minimum, maximum))[1]
    scaled = [ldexp(value, -exponent) for value in ordered]
    mean = min(max(fsum(scaled) / n, scaled[0]), scaled[-1])
    deviation = half_width = None
    if n > 1:
        offsets = [value - mean for value in scaled]
        # The second term undoes the rounding of the mean (Chan, Golub and LeVeque 1983).
        squares = fsum(offset * offset for offset in offsets) - fsum(offsets) ** 2 / n
        spread = sqrt(max(squares, 0.0) / (n - 1))
        deviation = _unscaled(spread, exponent)
        half_width = _unscaled(student_t(n - 1) * spread / sqrt(n), exponent)
    return Summary(
        n=n,
        mean=ldexp(mean, exponent),
        deviation=deviation,
        half_width=half_width,
        minimum=minimum,
        maximum=maximum,
        median=_middle(ordered[(n - 1) // 2], ordered[n // 2]),
    )


def student_t(degrees: float) -> float:
    """Return the t for which Student's distribution has 95 % between -t and t.

    Right to at least nine digits for any number of degrees of freedom, whole or not: the
    regularised incomplete beta function I_x(1/2, degrees/2), x = t²/(degrees + t²), is that
    probability; it is summed as a series of positive terms and solved for t by Newton's method,
    which from the normal distribution's quantile climbs to the root without overshooting, the
    distribution being concave there.

    Source: Abramowitz and Stegun 26.5.4, 26.7.1, with closed forms for 1 and 2 degrees.

    Raises:
        UsageError: fewer than one degree of freedom.
    """
    if degrees < 1:
        raise UsageError(f"Student's t needs at least 1 degree of freedom, not {degrees}")
    if degrees == 1:
        return tan(pi * CONFIDENCE / 2)
    if degrees == 2:
        return CONFIDENCE * sqrt(2 / (1 - CONFIDENCE * CONFIDENCE))
    half = degrees / 2
    log_ratio = _log_gamma_ratio(half) - log(pi) / 2
    t = 1.959963984540054
    step = inf
    while step > 1e-12 * t:
        square = t * t
        x = square / (degrees + square)
        tail = exp(log_ratio - half * log1p(square / degrees))
        term = 2 * sqrt(x)
        total = 0.0
        k = 0
        while term > 1e-17 * total:
            total += term
            term *= x * (half + 0.5 + k) / (1.5 + k)
            k += 1
        density = tail / sqrt(degrees + square)
        step = (CONFIDENCE - tail * total) / (2 * density)
        t += step
    return t


def _log_gamma_ratio(half: float) -> float:
    """Return log(gamma(half + 1/2) / gamma(half)), also where both are astronomically large."""
    if half < 1000:
        return lgamma(half + 0.5) - lgamma(half)
    return log(half) / 2 - 1 / (8 * half) + 1 / (192 * half**3)


def _middle(lower: float, upper: float) -> float:
    """Return the mean of two values, also where their sum is beyond a double's range."""
    middle = (lower + upper) / 2
    return middle if isfinite(middle) else lower / 2 + upper / 2


def _unscaled(value: float, exponent: int) -> float | None:
    """Return value times 2**exponent; None where a double cannot hold it."""
    try:
        return ldexp(value, exponent)
    except OverflowError:
        return None
