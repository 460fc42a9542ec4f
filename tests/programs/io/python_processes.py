"""Processes of Python: os.fork, multiprocessing by fork and by spawn, subprocess."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

WORKERS = 4
CHILD = """
import os
import sys
with open(sys.argv[1], "ab", buffering=0) as file:
    file.write(b"0123456789")
sys.stdout.write("spoken\\n")
sys.stdout.flush()
if len(sys.argv) > 2:
    os._exit(9)
"""


def work(number: int) -> int:
    path = Path(f"worker-{number}")
    with open(path, "wb", buffering=0) as file:
        for _ in range(5):
            file.write(b"0123456789")
    return len(path.read_bytes())


def by_fork() -> None:
    child = os.fork()
    if child == 0:
        work(100)
        os._exit(6)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6


def by_subprocess() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD, "said"], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"spoken\n"
    with open("redirected", "wb") as file:
        ended = subprocess.run([sys.executable, "-c", CHILD, "said", "at once"], stdout=file)
    assert ended.returncode == 9
    assert Path("redirected").read_bytes() == b"spoken\n"
    assert Path("said").read_bytes() == b"0123456789" * 2


def main() -> None:
    os.access("/gnomon-corpus-begin", os.F_OK)
    for method, first in (("fork", 0), ("spawn", WORKERS)):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, range(first, first + WORKERS), 1) == [50] * WORKERS
            pool.close()
            pool.join()
    by_fork()
    by_subprocess()
    os.access("/gnomon-corpus-end", os.F_OK)
    print("python_processes:", 2 * WORKERS, "workers")


if __name__ == "__main__":
    main()
