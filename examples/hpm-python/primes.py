"""Count primes in segments, several threads at once, with sections around the parts.

    python primes.py [LIMIT [THREADS]]

Then read primes.hpm: all of it, the sieve of the small primes, and what each thread did.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from math import isqrt

from gnomon import hpm

SEGMENT = 1 << 16


@hpm.section
def small_primes(limit: int) -> list[int]:
    """Return the primes up to a limit."""
    is_prime = bytearray([1]) * (limit + 1)
    for n in range(2, isqrt(limit) + 1):
        if is_prime[n]:
            is_prime[n * n :: n] = bytes(len(range(n * n, limit + 1, n)))
    return [n for n in range(2, limit + 1) if is_prime[n]]


@hpm.section("one segment")
def primes_of(first: int, last: int, small: list[int]) -> int:
    """Return how many primes there are from first to last."""
    is_prime = bytearray([1]) * (last - first + 1)
    with hpm.section("crossing out"):
        for n in small:
            begin = max(n * n, -(-first // n) * n) - first
            is_prime[begin::n] = bytes(len(range(begin, len(is_prime), n)))
    return sum(is_prime)


def main(limit: int = 2_000_000, threads: int = 2) -> None:
    """Print how many primes there are up to a limit."""
    with hpm.section("all threads", whole_process=True):
        small = small_primes(isqrt(limit))
        segments = range(2, limit + 1, SEGMENT)
        with ThreadPoolExecutor(threads) as pool:
            counts = pool.map(
                lambda first: primes_of(first, min(first + SEGMENT - 1, limit), small), segments
            )
        print(sum(counts), "primes up to", limit)
    hpm.check()


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
