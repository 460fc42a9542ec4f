"""`gnomon record` of Python programs that do something unusual: right functions, or one line."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from commands import gnomon
from sampled import Stack, check_shares, facts, opened, samples_with, stacks
from signalled_events import interpreters

INTERPRETERS = interpreters()
OTHER_BUILD = Path(__file__).parents[1] / "programs" / "python_frames" / "other_build.c"
SPIN = """
def spin(n):
    total = 0
    for number in range(2 * n):
        total ^= number
"""


def recorded(folder: Path, python: str, text: str) -> Counter[Stack]:
    """Record a program's text, which says that it is done, and return its stacks."""
    program = folder / "program.py"
    program.write_text(SPIN + textwrap.dedent(text) + "\nprint('done')\n")
    done = gnomon("record", "--name", "r", "--", python, program, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    said = facts(opened(folder / "r"))
    # Moments at which frames cannot be read are few.
    assert said["python_unreadable"] < 0.03 * said["samples"], said
    return stacks(opened(folder / "r"))


def shares_of(counted: Counter[Stack], *functions: str) -> Counter[Stack]:
    """Return the stacks that begin with one of some functions."""
    return Counter({stack: n for stack, n in counted.items() if stack and stack[0] in functions})


def test_greenlets_have_stacks_of_their_own(tmp_path: Path) -> None:
    counted = recorded(tmp_path, sys.executable, """
        import greenlet
        import random
        # Turns of equal length and a clock that samples keep in step.
        turns = [random.Random(4711 + turn).randrange(2000, 18000) for turn in range(400)]
        def ping():
            for turn in turns:
                spin(2 * turn)
                two.switch()
        def pong():
            for turn in turns:
                spin(turn)
                one.switch()
        def outer():
            one.switch()
        one, two = greenlet.greenlet(ping), greenlet.greenlet(pong)
        outer()
    """)  # fmt: skip
    own = shares_of(counted, "ping", "pong")
    check_shares(own, {"ping": 2 / 3, "pong": 1 / 3})
    spins = sum(n for stack, n in own.items() if stack[1:2] == ("spin",))
    assert spins > 0.9 * own.total(), own


@pytest.mark.parametrize("python", INTERPRETERS)
def test_an_interpreter_within_another_one(python: str, tmp_path: Path) -> None:
    counted = recorded(tmp_path, python, """
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        CODE = '''
        def work(n):
            total = 0
            for number in range(2 * n):
                total ^= number
        def within():
            for _ in range(20):
                work(200000)
        within()
        '''
        def outside():
            for _ in range(20):
                spin(200000)
        import textwrap
        inner = interpreters.create()
        interpreters.run_string(inner, textwrap.dedent(CODE))
        interpreters.destroy(inner)
        outside()
    """)  # fmt: skip
    own = shares_of(counted, "<module>")
    for path in (("<module>", "within", "work"), ("<module>", "outside", "spin")):
        n = sum(count for stack, count in own.items() if stack[:3] == path)
        assert n > 80, (path, own.most_common(10))
    assert not any({"outside", "within"} <= set(stack) for stack in counted)


@pytest.mark.parametrize("python", INTERPRETERS)
def test_programs_with_unusual_code(python: str, tmp_path: Path) -> None:
    counted = recorded(tmp_path, python, """
        import functools, hashlib, os, sys, threading
        # 10,000 functions, each from a text that is in no file.
        many = []
        for number in range(10000):
            names = {"spin": spin}
            exec(f"def made_{number}():\\n    spin(60)", names)
            many.append(names[f"made_{number}"])
        def all_of_them():
            for _ in range(3):
                for function in many:
                    function()
        def größe_Ω_函数():
            spin(2000000)
        def wrapper(function):
            @functools.wraps(function)
            def wrapped(*arguments):
                return function(*arguments)
            return wrapped
        @wrapper
        def decorated():
            spin(2000000)
        def traced():
            sys.settrace(lambda frame, event, argument: None)
            spin(2000000)
            sys.settrace(None)
        def hashes():
            for _ in range(40):
                hashlib.sha256(bytes(1 << 20)).digest()
        def forks():
            pid = os.fork()
            if not pid:
                spin(2000000)
                os._exit(0)
            os.waitpid(pid, 0)
        all_of_them()
        größe_Ω_函数()
        decorated()
        traced()
        threads = [threading.Thread(target=target) for target in (hashes, hashes, forks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """)  # fmt: skip
    for path in (
        ("<module>", "größe_Ω_函数", "spin"),
        ("<module>", "wrapper.<locals>.wrapped", "decorated", "spin"),
        ("<module>", "traced", "spin"),
        ("Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run", "forks", "spin"),
    ):
        n = sum(count for stack, count in counted.items() if stack[: len(path)] == path)
        assert n > 30, (path, counted.most_common(10))
    made = {name for stack in counted for name in stack if name.startswith("made_")}
    assert len(made) > 20
    # The lock is not held while it hashes.
    assert any("hashes" in stack and stack[-1] != "hashes" for stack in counted)
    assert samples_with(counted, "hashes") > 20


# --- interpreters whose frames are not known ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version", "code_bytes", "frame_bytes", "is_free_threaded"),
    [
        ("3.14.0", 0x030E00F0, 200, 136, 0),
        ("3.13.1", 0x030D01F0, 200, 136, 1),
        # A debug build has larger objects.
        ("3.12.1", 0x030C01F0, 208, 136, 0),
        ("3.11.2", 0x030B02F0, 200, 136, 0),
    ],
)
def test_builds_that_are_not_known_are_refused(
    name: str, version: int, code_bytes: int, frame_bytes: int, is_free_threaded: int,
    tmp_path: Path,
) -> None:  # fmt: skip
    program = tmp_path / "other"
    options = {
        "VERSION": version, "CODE_BYTES": code_bytes, "FRAME_BYTES": frame_bytes,
        "FREE_THREADED": is_free_threaded,
    }  # fmt: skip
    defined = [f"-D{option}={value}" for option, value in options.items()]
    subprocess.run(["cc", "-O1", "-rdynamic", *defined, OTHER_BUILD, "-o", program], check=True)
    done = gnomon("record", "--name", "r", "--", program, cwd=tmp_path)
    assert done.returncode == 7
    said = " ".join(done.stderr.split())
    assert f"of Python {name} the interpreter's own functions are shown" in said
    assert facts(opened(tmp_path / "r")).get("python", 0) == 0
