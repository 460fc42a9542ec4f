"""The component in examples/component does what docs/counters/components.md says of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "component" / "waiting.py"


def run(script: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=EXAMPLE.parent,
        check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_example_counts() -> None:
    lines = run("import waiting; waiting.main()")
    counts = {line.split()[0]: int(line.split()[2].replace(",", "")) for line in lines}
    assert list(counts) == ["waiting:::run_ns", "waiting:::wait_ns", "waiting:::slices",
                            "task-clock"]  # fmt: skip
    # The scheduler's account and the kernel's clock are of the same thread.
    assert counts["waiting:::run_ns"] > 0
    assert counts["waiting:::slices"] >= 1


def test_example_refuses_as_the_others_do() -> None:
    said = run(
        "import waiting\n"
        "from gnomon.counters import EventSet, Target, add_component\n"
        "from gnomon.errors import GnomonError\n"
        "add_component(waiting.Waiting())\n"
        "print(waiting.Waiting().availability().available)\n"
        "for make in (\n"
        "    lambda: EventSet('waiting:::sleep_ns'),\n"
        "    lambda: EventSet('waiting:::run_ns', target=Target(pid=0x3fffffff)),\n"
        "    lambda: EventSet('waiting:::run_ns', domain='user'),\n"
        "):\n"
        "    try:\n"
        "        make()\n"
        "    except GnomonError as error:\n"
        "        print(type(error).__name__, error.papi_name)\n"
    )
    assert said == [
        "True",
        "EventNameError PAPI_ENOEVNT",
        "EventUnavailableError PAPI_ENOEVNT",
        "DomainError PAPI_EINVAL_DOM",
    ]
