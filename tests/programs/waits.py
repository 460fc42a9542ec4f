"""Waits as Python programs do: for a queue, the interpreter's lock, an event loop, a pipe."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time

SECONDS = 0.4


def consume(items: queue.Queue[int]) -> None:
    while items.get():
        pass


def spin() -> None:
    end = time.thread_time() + SECONDS
    total = 0
    while time.thread_time() < end:
        for i in range(10_000):
            total += i


async def pause() -> None:
    await asyncio.sleep(SECONDS)


def read_pipe() -> None:
    out, into = os.pipe()
    threading.Timer(SECONDS, os.write, (into, b"x")).start()
    os.read(out, 1)


items: queue.Queue[int] = queue.Queue()
consumer = threading.Thread(target=consume, args=(items,))
consumer.start()
time.sleep(SECONDS)
items.put(0)
consumer.join()
spinners = [threading.Thread(target=spin) for _ in range(2)]
for spinner in spinners:
    spinner.start()
for spinner in spinners:
    spinner.join()
read_pipe()
asyncio.run(pause())
