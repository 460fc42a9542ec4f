"""Calls of every kind. Each line calls what its comment names, so that stacks can be checked."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator


def spin(n: int) -> int:
    total = 0
    for number in range(n):
        total ^= number
    return total


def key(_: object) -> int:
    return spin(3)  # spin


def by_c() -> int:
    return max(range(30), key=key)  # key


def numbers(n: int) -> Iterator[int]:
    for _ in range(n):
        yield spin(5)  # spin


def outer_numbers() -> Iterator[int]:
    yield from numbers(10)  # numbers


def by_generators() -> None:
    sum(numbers(20))  # numbers
    list(outer_numbers())  # outer_numbers


class Thing:
    def __init__(self) -> None:
        spin(5)  # spin

    def __del__(self) -> None:
        spin(6)  # spin

    def __add__(self, _: object) -> int:
        return spin(4)  # spin

    @property
    def size(self) -> int:
        return spin(7)  # spin


def by_methods() -> None:
    thing = Thing()  # Thing.__init__
    added = thing + 1  # Thing.__add__
    size = thing.size  # Thing.size
    del added, size
    del thing  # Thing.__del__


def raises(n: int) -> int:
    if n:
        return raises(n - 1)  # raises
    raise ValueError(n)


def by_exceptions() -> None:
    try:
        raises(5)  # raises
    except ValueError:
        spin(3)  # spin


def recursive(n: int) -> int:
    if n:
        return recursive(n - 1)  # recursive
    return spin(20)  # spin


def through_c(n: int) -> int:
    if n:
        return max((n - 1,), key=through_c)  # through_c
    return spin(9)  # spin


def by_recursion() -> None:
    recursive(30)  # recursive
    through_c(6)  # through_c


async def coroutine(n: int) -> int:
    await asyncio.sleep(0)
    return spin(n)  # spin


async def coroutines() -> None:
    for _ in range(20):
        await coroutine(40)  # coroutine


DYNAMIC = "def made():\n    return spin(8)\nmade()\n"


def by_exec() -> None:
    exec(compile(DYNAMIC, "<dynamic>", "exec"), {"spin": spin})  # <module>


def work(rounds: int) -> None:
    for _ in range(rounds):
        by_c()  # by_c
        by_generators()  # by_generators
        by_methods()  # by_methods
        by_exceptions()  # by_exceptions
        by_recursion()  # by_recursion
        by_exec()  # by_exec


def main(rounds: int) -> None:
    threads: list[threading.Thread] = []
    for _ in range(3):
        threads.append(threading.Thread(target=work, args=(rounds,)))
    for thread in threads:
        thread.start()
    work(rounds)  # work
    for thread in threads:
        thread.join()
    for _ in range(rounds // 50):
        asyncio.run(coroutines())  # coroutines
    print("total", spin(100))  # spin


if __name__ == "__main__":
    main(int(sys.argv[1]))  # main
