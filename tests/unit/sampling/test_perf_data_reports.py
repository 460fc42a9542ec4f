"""Files that perf records here: their totals, functions and losses are those of perf report."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from perf_reports import (
    Shares,
    by_module,
    need_perf,
    opened,
    perf_report,
    shares_of_gnomon,
    shares_of_perf,
    total,
)

from gnomon.store.run import Run

PROGRAM = r"""
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sink;
#define APART __attribute__((noinline, noclone))
APART static void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i * i; }
APART static void first(unsigned long n) { spin(n); sink++; }
APART static void second(unsigned long n) { spin(2 * n); sink++; }
APART static void touch(unsigned long pages)
{
    char *memory = mmap(NULL, pages << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    for (unsigned long i = 0; i < pages; i++) memory[i << 12] = 1;
    munmap(memory, pages << 12);
}
int main(int n, char **words)
{
    const unsigned long work = n > 1 ? strtoul(words[1], NULL, 10) : 1;
    first(work); second(work); touch(300); usleep(1000); touch(200);
    return 0;
}
"""
WORK = "2000000"


def recorded(path: Path, *options: str | Path) -> Path:
    command = ["perf", "record", "-q", "-o", str(path), *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"perf cannot record: {done.stderr.strip()[:200]}; run as root")
    return path


@pytest.fixture(scope="module", autouse=True)
def _perf() -> None:
    need_perf()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "work.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O0", "-g", "work.c", "-o", "work"], cwd=folder, check=True)
    return folder / "work"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    """Perf's cache of files is the tests' own."""
    monkeypatch.setenv("HOME", str(program.parent))


HOW: dict[str, tuple[str, ...]] = {
    "clock": ("-e", "cpu-clock", "-F", "2000"),
    "task-clock, frame pointers": ("-e", "task-clock", "-g"),
    "stacks": ("-e", "cpu-clock", "-F", "500", "--call-graph", "dwarf,8192"),
    "compressed": ("-e", "cpu-clock", "-g", "-z"),
    "a period": ("-e", "cpu-clock", "-c", "500000"),
    "several events": ("-e", "cpu-clock,page-faults,context-switches", "-g"),
    "addresses": ("-e", "page-faults", "-c", "1", "-d"),
    "threads": ("-e", "cpu-clock", "--per-thread"),
    "a group": ("-e", "{cpu-clock,page-faults}:S"),
    "a tracepoint": ("-e", "sched:sched_switch", "-g"),
    "user code": ("-e", "cpu-clock:u", "-g"),
    "build ids of mappings": ("-e", "cpu-clock", "--buildid-mmap"),
    "times": ("-e", "cpu-clock", "-k", "CLOCK_MONOTONIC", "-T"),
    "without a buildid cache": ("-e", "cpu-clock", "-N"),
}


def matched(of_perf: dict[str, Shares], run: Run) -> Iterator[tuple[Shares, Shares]]:
    """Yield each event's functions, by perf and by Gnomon."""
    own = shares_of_gnomon(run)
    assert len(own) == len([shares for shares in of_perf.values() if shares])
    for event, shares in of_perf.items():
        if not shares:
            continue
        name = event.split(":")[0] if event.endswith((":u", ":ppp")) else event
        keys = [f"{event} (sampled)", event, f"{name} (sampled)"]
        yield shares, own[next((key for key in keys if key in own), "CPU time")]


def own_functions(shares: Shares) -> Shares:
    """Return those of the test's program: of others perf and Gnomon choose among several names."""
    return {key: share for key, share in shares.items() if key[0] == "work"}


# A recording takes perf a second; of the others `make test-long` has all.
ALWAYS = ("stacks", "compressed", "several events")


@pytest.mark.parametrize(
    "how", [how if how in ALWAYS else pytest.param(how, marks=pytest.mark.long) for how in HOW]
)
def test_functions_are_those_of_perf_report(how: str, program: Path, tmp_path: Path) -> None:
    path = recorded(tmp_path / "perf.data", *HOW[how], "--", program, WORK)
    of_perf = shares_of_perf(path)
    assert of_perf
    for theirs, ours in matched(of_perf, opened(path)):
        assert total(ours) == total(theirs)
        assert by_module(ours) == by_module(theirs)
        assert own_functions(ours) == own_functions(theirs)


def test_a_pipe(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "pipe.data"
    with path.open("wb") as file:
        done = subprocess.run(
            ["perf", "record", "-q", "-e", "cpu-clock", "-g", "-o", "-", "--", program, WORK],
            stdout=file, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr.decode()[:200]}; run as root"
    run = opened(path)
    for theirs, ours in matched(shares_of_perf(path), run):
        assert total(ours) == total(theirs)
        assert own_functions(ours) == own_functions(theirs)
    assert run.head["command"] == [str(program), WORK]
    assert run.head["hosts"] == [{"name": os.uname().nodename}]


@pytest.mark.long
def test_a_whole_machine(program: Path, tmp_path: Path) -> None:
    path = recorded(tmp_path / "perf.data", "-a", "-e", "cpu-clock", "-g", "--", program, WORK)
    for theirs, ours in matched(shares_of_perf(path), opened(path)):
        assert total(ours) == total(theirs)
        assert own_functions(ours) == own_functions(theirs)


@pytest.mark.parametrize("how", ["frame pointers", "stacks"])
def test_callers_are_those_of_perf_script(how: str, program: Path, tmp_path: Path) -> None:
    graph = "fp" if how == "frame pointers" else "dwarf,8192"
    path = recorded(tmp_path / "perf.data", "-e", "cpu-clock:u", "--call-graph", graph, "--",
                    program, WORK)  # fmt: skip
    text = subprocess.run(
        ["perf", "script", "-i", path, "--no-inline", "-F", "ip,sym"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    theirs = _spun(re.findall(r"^\s*[0-9a-f]+ (\S+)", block, re.M) for block in text.split("\n\n"))
    paths = {int(path): (int(parent), str(name)) for path, parent, name in opened(path).query(
        "SELECT path, parent, name FROM paths JOIN regions USING (region)")}  # fmt: skip

    def stack(path: int) -> list[str]:
        names = []
        while path >= 0:
            path, name = paths[path]
            names.append(name)
        return names

    ours = _spun(
        stack(int(str(path))) for (path,) in opened(path).query("SELECT path FROM samples")
    )
    assert ours == theirs
    assert {"first", "second"} <= set(theirs)


def _spun(stacks: Iterable[list[str]]) -> dict[str, int]:
    """Return how often `spin` was called by which function."""
    callers: dict[str, int] = {}
    for stack in stacks:
        if stack[:1] == ["spin"]:
            callers[stack[1]] = callers.get(stack[1], 0) + 1
    return callers


@pytest.mark.long
def test_clocks_are_seconds_and_other_events_numbers(program: Path, tmp_path: Path) -> None:
    path = recorded(tmp_path / "perf.data", "-e", "task-clock,cpu-clock,page-faults", "--", program,
                    WORK)  # fmt: skip
    run = opened(path)
    assert run.query("SELECT name, unit, how FROM metrics ORDER BY metric") == [
        ("CPU time", "s", "sampled"), ("cpu-clock (sampled)", "s", "sampled"),
        ("page-faults (sampled)", "", "sampled"),
    ]  # fmt: skip
    (faults,) = run.query(
        "SELECT SUM(inclusive) FROM profile JOIN metrics USING (metric) "
        "JOIN locations USING (location) "
        "WHERE metrics.name LIKE 'page-faults%' AND path = 0 AND kind = 'command'"
    )
    (taken,) = run.query(
        "SELECT SUM(weight) FROM samples JOIN metrics USING (metric) WHERE name LIKE 'page-f%'"
    )
    assert faults == taken


@pytest.mark.long
def test_losses_are_those_of_perf_report(program: Path, tmp_path: Path) -> None:
    path = recorded(tmp_path / "perf.data", "-e", "page-faults", "-c", "1", "-m", "1", "--",
                    program, "1")  # fmt: skip
    said = perf_report(path)
    match = re.search(r"# Total Lost Samples: (\d+)", said)
    assert match
    notes = [one for one in opened(path).head["warnings"] if "samples were lost" in one]
    lost = int(notes[0].split()[0].replace(",", "")) if notes else 0
    assert lost == int(match[1])


def test_a_recorder_that_was_killed(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    recorder = subprocess.Popen(
        ["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-m", "1", "-o", path, "--",
         program, "60000000000"],
        start_new_session=True,
    )  # fmt: skip
    try:
        for _ in range(1000):
            if path.exists() and path.stat().st_size > 20_000:
                break
            try:
                recorder.wait(0.01)
                pytest.fail("perf cannot record: run as root")
            except subprocess.TimeoutExpired:
                pass
    finally:
        os.killpg(recorder.pid, 9)
        recorder.wait()
    run = opened(path)
    assert any("the file ends early" in one for one in run.head["warnings"])
    modules = run.query("SELECT DISTINCT module FROM samples JOIN paths USING (path) "
                        "JOIN regions USING (region) WHERE module = 'work'")  # fmt: skip
    assert modules == [("work",)]
