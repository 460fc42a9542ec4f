"""Whether two samples of repeated measurements differ, by how much, and how sure that is.

Noise of timings is skewed, and now and then a repetition is far off. Therefore logarithms are
compared (a ratio is asked for, and a long tail becomes a short one), and of five values or more the
fifth at either end counts only as much as its neighbour: Yuen's test of trimmed means, which is
Welch's where nothing is trimmed. Equal variances or sizes are not assumed.

Source: Yuen, The two-sample trimmed t for unequal population variances, Biometrika 61 (1974);
Welch, Biometrika 34 (1947).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, expm1, fsum, inf, isfinite, lgamma, log, log1p, sqrt

from gnomon.errors import UsageError
from gnomon.metrics.statistics import student_t
from gnomon.named_tuple import NamedTuple

TRIM = 0.2
"""Share of the values at either end that is trimmed, of samples that are large enough."""

_TRIMMED_FROM = 5
# Few events are rare events, whose number varies as it does: what is far off is no outlier.
_FEW = 100
_FEW_SAMPLES = 30
_TINY = 1e-300


class Difference(NamedTuple):
    """The difference between two samples.

    Attributes:
        before: centre of the first sample: its trimmed mean, geometric if `is_ratio`.
        after: that of the second.
        is_ratio: logarithms were compared; otherwise a value was zero or below, and the values
            themselves were.
        shift: centre of the second less that of the first, as compared.
        error: standard error of the shift; 0 where no value differs from its neighbours.
        degrees: of freedom of that error.
    """

    before: float
    after: float
    is_ratio: bool
    shift: float
    error: float
    degrees: float

    @property
    def change(self) -> float | None:
        """What the second is more than the first, as a share; None where there is no such ratio."""
        return self._as_change(self.shift)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Where the change lies with 95 % confidence; (None, None) where it is not known."""
        if self.change is None:
            return None, None
        reach = _quantile(self.degrees) * self.error if self.error else 0.0
        low, high = self._as_change(self.shift - reach), self._as_change(self.shift + reach)
        if low is not None and min(self.before, self.after) >= 0:
            low = max(low, -1.0)
        return low, high

    def p_beyond(self, margin: float) -> float:
        """Return the probability of such values if nothing differs by more than a share.

        Args:
            margin: the share, in either direction (0.01 for 1 %).
        """
        limit = self._limit(margin)
        return min(1.0, 2 * self._tail(abs(self.shift) - limit))

    def p_above(self, margin: float, *, downwards: bool = False) -> float:
        """Return the probability of such values if the change is at most a share upwards.

        Args:
            margin: the share (0.05 for 5 %).
            downwards: at most so much less, instead of more.
        """
        if downwards:
            limit = self._limit(margin)
            if self.is_ratio:
                # What is above zero cannot fall by all of it.
                limit = -log1p(-margin) if margin < 1 else inf
            return self._tail(-self.shift - limit)
        return self._tail(self.shift - self._limit(margin))

    def _limit(self, margin: float) -> float:
        return log1p(margin) if self.is_ratio else margin * abs(self.before)

    def _tail(self, beyond: float) -> float:
        if self.error == 0:
            return 1.0 if beyond <= 0 else 0.0
        t = beyond / self.error
        tail = student_tail(abs(t), self.degrees) / 2
        return tail if t > 0 else 1 - tail

    def _as_change(self, shift: float) -> float | None:
        try:
            change = expm1(shift) if self.is_ratio else shift / abs(self.before)
        except (OverflowError, ZeroDivisionError):
            return None
        return change if isfinite(change) else None


def difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    exact: bool = False,
    trim: float = TRIM,
) -> Difference:
    """Return the difference between two samples of two values or more each.

    Args:
        before: the values of the first sample.
        after: those of the second.
        exact: values that are all the same are so for certain. Otherwise counts are taken to be
            uncertain by the rounding to whole ones, lest five equal small counts prove too much.
        trim: share of the values at either end that is trimmed; 0 for values that are trimmed
            means themselves.

    Raises:
        UsageError: a sample has fewer than two values, or one that is no number.
    """
    if min(len(before), len(after)) < 2:
        raise UsageError(
            "a difference needs two values or more on each side; measure again with -r"
        )
    if not all(map(isfinite, (*before, *after))):
        raise UsageError("cannot compare values that are infinite or not numbers")
    everything = (*before, *after)
    if max(everything) < _FEW and all(float(value).is_integer() for value in everything):
        trim = 0.0
    is_ratio = min(everything) > 0
    # A power of two: sums stay within the range of doubles.
    largest = max(abs(value) for value in (*before, *after)) or 1.0
    centre_before = _Centre.of([_as_compared(value, largest, is_ratio) for value in before], trim)
    centre_after = _Centre.of([_as_compared(value, largest, is_ratio) for value in after], trim)
    if not exact:
        centre_before = centre_before.rounded(before, largest, is_ratio)
        centre_after = centre_after.rounded(after, largest, is_ratio)
    variance = centre_before.variance + centre_after.variance
    degrees = inf
    if variance > 0:
        shares = (centre_before.variance / variance, centre_after.variance / variance)
        degrees = 1 / (
            shares[0] ** 2 / (centre_before.kept - 1) + shares[1] ** 2 / (centre_after.kept - 1)
        )
    scale = 1.0 if is_ratio else largest
    return Difference(
        before=_value(before, trim, is_ratio, largest),
        after=_value(after, trim, is_ratio, largest),
        is_ratio=is_ratio,
        shift=(centre_after.mean - centre_before.mean) * scale,
        error=sqrt(variance) * scale,
        degrees=degrees,
    )


def sampled_difference(
    before: Sequence[float],
    after: Sequence[float],
    weights: tuple[float, float],
    *,
    trim: float = TRIM,
) -> Difference:
    """Return the difference between two samples of values that are sampled themselves.

    A value of n samples that stand for w each is known to sqrt(n) * w (Poisson), however often it
    is measured: its error is at least that. Therefore one value on each side is enough.

    Args:
        before: the values of the first sample, one or more.
        after: those of the second.
        weights: how much of the value a sample stands for, on each side.
        trim: as of `difference`.

    Raises:
        UsageError: a sample has no value, or one that is no number or negative, or a weight is no
            positive number.
    """
    everything = (*before, *after)
    if not before or not after or not all(isfinite(value) and value >= 0 for value in everything):
        raise UsageError("sampled values are one or more numbers from 0 on")
    if not all(isfinite(weight) and weight > 0 for weight in weights):
        raise UsageError("a sample stands for a positive number")
    # A few samples are as good as none: no logarithm of their number is normally distributed.
    few = any(
        sum(values) < _FEW_SAMPLES * weight
        for values, weight in zip((before, after), weights, strict=True)
    )
    is_ratio = min(everything) > 0 and not few
    variance = sum(
        _sampling_variance(values, weight, is_ratio=is_ratio)
        for values, weight in zip((before, after), weights, strict=True)
    )
    measured = None
    if min(len(before), len(after)) > 1:
        measured = difference(before, after, trim=trim)
        if measured.is_ratio != is_ratio:
            measured = None
    if measured is not None and measured.error**2 >= variance:
        return measured
    centres = [
        centre(values) if is_ratio else fsum(values) / len(values) for values in (before, after)
    ]
    shift = log(centres[1] / centres[0]) if is_ratio else centres[1] - centres[0]
    return Difference(centres[0], centres[1], is_ratio, shift, sqrt(variance), inf)


def _sampling_variance(values: Sequence[float], weight: float, *, is_ratio: bool) -> float:
    """Return the variance of the mean of sampled values, or of the logarithm of that."""
    samples = fsum(values) / weight
    if is_ratio:
        return 1 / samples
    # Where there was none there might have been one.
    return max(samples, 1.0) * (weight / len(values)) ** 2


def centre(values: Sequence[float]) -> float:
    """Return the trimmed mean of values, geometric if all are above zero.

    Raises:
        UsageError: there are none.
    """
    if not values:
        raise UsageError("no values to find the centre of; measure at least once")
    return _value(values, TRIM, min(values) > 0, max(map(abs, values)) or 1.0)


def holm(chances: Sequence[float]) -> list[float]:
    """Return p-values such that those below a level hold a false one with at most that chance.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[at]))
        adjusted[at] = highest
    return adjusted


def benjamini_hochberg(chances: Sequence[float]) -> list[float]:
    """Return p-values such that of those below a level at most that share is false, on average.

    Source: Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995).
    """
    adjusted = [0.0] * len(chances)
    lowest = 1.0
    order = sorted(range(len(chances)), key=chances.__getitem__)
    for rank in range(len(chances), 0, -1):
        at = order[rank - 1]
        lowest = min(lowest, chances[at] * len(chances) / rank)
        adjusted[at] = lowest
    return adjusted


def student_tail(t: float, degrees: float) -> float:
    """Return the probability that Student's t is beyond ±t.

    It is the regularised incomplete beta function I_x(degrees/2, 1/2), x = degrees/(degrees + t²),
    by its continued fraction, evaluated from the front.

    Source: Abramowitz and Stegun 26.5.8, 26.7.1; Lentz, Applied Optics 15 (1976).
    """
    if degrees == inf:
        degrees = 1e9
    ratio = t * t / degrees
    if not isfinite(ratio):
        return 0.0
    x, rest = 1 / (1 + ratio), ratio / (1 + ratio)
    a = degrees / 2
    if x > (a + 1) / (a + 2.5):
        return 1 - _beta(0.5, a, rest, x)
    return _beta(a, 0.5, x, rest)


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """Return I_x(a, b) for x below (a + 1) / (a + b + 2); `rest` is 1 - x to all its digits."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or _TINY)
    fraction = d
    for m in range(1, 1000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + factor * d) or _TINY)
            c = (1 + factor / c) or _TINY
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)
    return min(exp(front) * fraction / a, 1.0)


class _Centre(NamedTuple):
    """A trimmed mean, the variance of that mean, and how many values are not trimmed."""

    mean: float
    variance: float
    kept: int

    @classmethod
    def of(cls, values: Sequence[float], trim: float) -> _Centre:
        n = len(values)
        kept = _kept(values, trim)
        trimmed = (n - len(kept)) // 2
        # Winsorised: what is trimmed counts as much as its neighbour.
        whole = [kept[0]] * trimmed + kept + [kept[-1]] * trimmed
        mean = fsum(whole) / n
        squares = fsum((value - mean) ** 2 for value in whole)
        h = len(kept)
        return cls(fsum(kept) / h, squares / (h * (h - 1)), h)

    def rounded(self, values: Sequence[float], largest: float, is_ratio: bool) -> _Centre:
        """Return the centre with at least the variance of counts that were rounded."""
        if not all(float(value).is_integer() for value in values):
            return self
        step = 1 / exp(self.mean) if is_ratio else 1 / largest
        return self._replace(variance=max(self.variance, step * step / 12 / len(values)))


def _kept(values: Sequence[float], trim: float) -> list[float]:
    ordered = sorted(values)
    trimmed = int(trim * len(ordered)) if len(ordered) >= _TRIMMED_FROM else 0
    return ordered[trimmed : len(ordered) - trimmed]


def _value(values: Sequence[float], trim: float, is_ratio: bool, largest: float) -> float:
    """Return the centre as a value; of counts that are all the same exactly that count."""
    kept = _kept(values, trim)
    if kept[0] == kept[-1]:
        return kept[0]
    mean = fsum(_as_compared(value, largest, is_ratio) for value in kept) / len(kept)
    return exp(mean) if is_ratio else mean * largest


def _as_compared(value: float, largest: float, is_ratio: bool) -> float:
    return log(value) if is_ratio else value / largest


@lru_cache(maxsize=4096)
def _quantile(degrees: float) -> float:
    return student_t(min(round(degrees, 3), 1e6))
