"""Squares in processes and threads, in sections."""

from __future__ import annotations

import threading
from concurrent.futures import ProcessPoolExecutor

from gnomon import hpm


def squares(n: int) -> int:
    with hpm.section("squares"):
        return sum(at * at for at in range(n))


@hpm.section
def strings() -> int:
    return sum(len(str(at)) for at in range(200_000))


if __name__ == "__main__":
    with hpm.section("processes"), ProcessPoolExecutor(2) as pool:
        total = sum(pool.map(squares, [200_000] * 4))
    threads = [threading.Thread(target=strings) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(total)
