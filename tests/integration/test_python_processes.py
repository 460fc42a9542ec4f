"""Programs with samples of their Python functions that do what programs do: nothing changes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from signalled_events import interpreters, sampled, shared_interpreter, stack

from gnomon.sampling.python_records import COMPLETE, CUT, LATE, PythonProcess

EMBEDDING = Path(__file__).parents[1] / "programs" / "python_frames" / "embedding.c"
INTERPRETERS = interpreters()
SPIN = """
def spin(n):
    total = 0
    for number in range(n):
        total ^= number
    return total
"""
RATE = 4000
Sampled = tuple[subprocess.CompletedProcess[str], list[PythonProcess], list[tuple[int, int]]]


def run(
    folder: Path, python: str, text: str, *arguments: str, status: int = 0, hz: int = RATE
) -> Sampled:
    """Run a program's text; return what it printed and what its processes read."""
    file = folder / "program.py"
    file.write_text(SPIN + textwrap.dedent(text))
    done, processes, requests = sampled(folder / "run", [python, str(file), *arguments], hz)
    assert done.returncode == status, done.stderr
    return done, processes, requests


def functions(process: PythonProcess) -> set[str]:
    return {
        name for node in np.unique(process.node) if node >= 0 for name, *_ in stack(process, node)
    }


@pytest.mark.parametrize("python", INTERPRETERS)
def test_deep_recursion(python: str, tmp_path: Path) -> None:
    text = """
        import sys
        sys.setrecursionlimit(100000)
        def deep(n):
            return deep(n - 1) if n else [spin(3000) for _ in range(150)]
        def deepest(depth):
            deep(depth)
        deepest(3000)
        deepest(6000)
        print("deep")
    """
    done, (process,), _ = run(tmp_path, python, text)
    assert done.stdout == "deep\n"
    depths = [
        len([one for one in stack(process, node) if one[0] == "deep"])
        for node in np.unique(process.node[process.status == COMPLETE])
        if stack(process, node)[0][0] == "spin"
    ]
    assert 3001 in depths
    # Of what is deeper the innermost part is kept.
    cut = np.unique(process.node[process.status == CUT])
    assert len(cut)
    assert {len(stack(process, node)) for node in cut} == {4096}


@pytest.mark.parametrize("python", INTERPRETERS)
def test_forked_children_are_read_each_for_itself(python: str, tmp_path: Path) -> None:
    text = """
        import os
        def child():
            spin(1000000)
            os._exit(7)
        def grandchild():
            spin(1000000)
        def parent():
            spin(1000000)
        for _ in range(2):
            pid = os.fork()
            if not pid:
                if os.fork():
                    os.wait()
                    child()
                grandchild()
                os._exit(3)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        parent()
    """
    done, processes, _ = run(tmp_path, python, text)
    assert done.stdout == "7\n7\n"
    assert len(processes) == 5
    seen = [functions(process) & {"child", "grandchild", "parent"} for process in processes]
    assert sorted(map(sorted, seen)) == [["child"]] * 2 + [["grandchild"]] * 2 + [["parent"]]


@pytest.mark.parametrize("python", INTERPRETERS)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(python: str, method: str, tmp_path: Path) -> None:
    text = f"""
        import multiprocessing
        def work(n):
            return spin(n)
        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(pool.map(work, [300000] * 8))
    """
    done, processes, _ = run(tmp_path, python, text)
    assert done.stdout == f"{[0] * 8}\n".replace("0", str(spin_of(300000)))
    assert done.stderr == ""
    assert sum("work" in functions(process) for process in processes) >= 1


def spin_of(n: int) -> int:
    total = 0
    for number in range(n):
        total ^= number
    return total


@pytest.mark.parametrize("python", INTERPRETERS)
def test_a_program_that_executes_others_again_and_again(python: str, tmp_path: Path) -> None:
    # A signal of the last sample before would kill the next one.
    text = """
        import os, sys
        n = int(sys.argv[1])
        if n:
            os.execv(sys.executable, [sys.executable, "-S", "-E", __file__, str(n - 1)])
        try:
            os.execv("/nonexistent", ["nonexistent"])
        except FileNotFoundError:
            spin(2000000)
            print("the end")
    """
    done, processes, requests = run(tmp_path, python, text, "12", hz=20000)
    assert done.stdout == "the end\n"
    assert [request for _, request in requests].count(1) == 14
    assert "spin" in set().union(*map(functions, processes))


@pytest.mark.parametrize("python", INTERPRETERS)
def test_programs_that_python_starts(python: str, tmp_path: Path) -> None:
    text = """
        import os, subprocess, sys
        for _ in range(8):
            subprocess.run(["/bin/true"], check=True)
            subprocess.run(["/bin/true"], check=True, preexec_fn=lambda: spin(1000))
            assert os.system("exit 3") >> 8 == 3
            os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
        print(subprocess.check_output(
            ["sh", "-c", "grep -E 'SigIgn|SigCgt|SigBlk' /proc/self/status"], text=True))
    """
    done, _, _ = run(tmp_path, python, text, hz=20000)
    assert done.stderr == ""
    masks = {line.split()[0]: int(line.split()[1], 16) for line in done.stdout.split("\n") if line}
    for mask in masks.values():
        assert not mask >> (signal.SIGTRAP - 1) & 1


@pytest.mark.parametrize("python", INTERPRETERS)
def test_signals_are_those_of_the_program(python: str, tmp_path: Path) -> None:
    text = """
        import faulthandler, os, signal, time
        faulthandler.enable()
        assert signal.getsignal(signal.SIGTRAP) is signal.SIG_DFL
        seen = []
        signal.signal(signal.SIGTRAP, lambda number, frame: seen.append(number))
        signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        begin = time.monotonic()
        while time.monotonic() < begin + 0.5:
            spin(1000)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert set(seen) == {signal.SIGALRM}, set(seen)
        os.kill(os.getpid(), signal.SIGTRAP)
        spin(10000)
        assert seen[-1] == signal.SIGTRAP
        assert signal.getsignal(signal.SIGTRAP) is not signal.SIG_DFL
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        spin(3000000)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        spin(1000000)
        print("signals")
    """
    done, (process,), _ = run(tmp_path, python, text)
    assert (done.stdout, done.stderr) == ("signals\n", "")
    assert "spin" in functions(process)
    assert LATE in process.status
    assert (process.node[process.status == LATE] < 0).all()


@pytest.mark.parametrize("text", [
    "import os, signal; os.kill(os.getpid(), signal.SIGTRAP)",
    "import os, signal; spin(1000000); signal.raise_signal(signal.SIGTRAP)",
    "import os; os.abort()",
    "import faulthandler; faulthandler.enable(); spin(1000000); faulthandler._sigsegv()",
])  # fmt: skip
def test_programs_that_die_of_a_signal_die_of_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SPIN + text)
    command = [sys.executable, str(tmp_path / "program.py")]
    alone = subprocess.run(command, capture_output=True, text=True, check=False)
    done, _, _ = sampled(tmp_path / "run", command, RATE)
    assert done.returncode == alone.returncode < 0
    assert done.stdout == alone.stdout
    assert re.sub("0x[0-9a-f]+", "", done.stderr) == re.sub("0x[0-9a-f]+", "", alone.stderr)


@pytest.mark.parametrize("python", INTERPRETERS)
def test_calls_that_wait_are_not_interrupted(python: str, tmp_path: Path) -> None:
    text = """
        import ctypes, os, threading
        libc = ctypes.CDLL(None, use_errno=True)
        def waits():
            failed = 0
            for _ in range(50):
                failed += libc.usleep(2000) != 0
                failed += libc.poll(None, 0, 2) != 0
            results.append(failed)
        results = []
        threads = [threading.Thread(target=waits) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            spin(1000)
        print(results)
    """
    done, _, _ = run(tmp_path, python, text, hz=20000)
    assert done.stdout == "[0, 0, 0, 0]\n"


def test_a_virtual_environment(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([INTERPRETERS[0], "-m", "venv", "--without-pip", venv], check=True)
    done, (process,), _ = run(tmp_path, str(venv / "bin" / "python"), "spin(3000000)")
    assert "spin" in functions(process)
    assert done.stderr == ""


@pytest.mark.parametrize("late", [False, True], ids=["linked", "loaded"])
def test_python_in_a_c_program(late: bool, tmp_path: Path) -> None:
    library = shared_interpreter()
    program = tmp_path / "embedding"
    more = ["-DLATE", "-ldl"] if late else [str(library)]
    subprocess.run(["cc", "-O1", str(EMBEDDING), "-o", str(program), *more], check=True)
    command = [str(program), str(library)]
    done, (process,), _ = sampled(tmp_path / "run", command, RATE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "embedded 0\n", "")
    assert {"spin", "embedded"} <= functions(process)


def test_programs_without_python_are_left_alone(tmp_path: Path) -> None:
    done, processes, requests = sampled(tmp_path / "run", ["sh", "-c", "echo out; exit 3"], RATE)
    assert (done.returncode, done.stdout, processes, requests) == (3, "out\n", [], [])
