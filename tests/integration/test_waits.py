"""Where threads wait, for how long and for what: against the clocks of programs that do so."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, WITHOUT_RIGHTS, run
from sampled import facts, opened

from gnomon.store.run import Run

Compiled = Callable[..., Path]
PROGRAMS = Path(__file__).parents[1] / "programs"
# Of the whole wall time.
EXACT, COMPLETE = 0.02, 0.01


def recorded(folder: Path, *command: str | Path, under: tuple[str, ...] = ()) -> tuple[Run, str]:
    """Return the run of a program with its waits, and what it printed."""
    done = run(*under, GNOMON, "record", "--off-cpu", "--name", "w", "--", *command, cwd=folder)
    assert done.returncode == 0, done.stderr
    return opened(folder / "w"), done.stdout


def rows(folder: Path, *options: str) -> list[dict[str, Any]]:
    """Return the rows of the part waits."""
    done = run(GNOMON, "report", "w", "waits", "--top", "0", "--json", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def by_thread(folder: Path) -> dict[str, dict[str, float]]:
    """Return seconds by the names of threads and reasons, `wall` and `cpu_time` among these."""
    threads: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows(folder):
        own = threads[row["name"]]
        own[row["reason"]] += row["seconds"]
        own["wall"], own["cpu_time"] = row["wall"], row["cpu_time"]
    return threads


def told(output: str) -> dict[str, float]:
    """Return what the program measured itself."""
    return {
        name: float(seconds)
        for name, _, seconds in (line.rpartition(" ") for line in output.splitlines())
        if name in ("sleep", "lock", "read: pipe", "condition variable", "waiting for a CPU", "cpu")
    }


def main_of(folder: Path) -> dict[str, float]:
    """Return those of the main thread of waits.c."""
    (name,) = by_thread(folder).keys() - {"server"}
    return by_thread(folder)[name]


def check_whole(own: dict[str, float], cpu: float) -> None:
    """Fail if running and waiting of a thread are not its wall time."""
    waiting = sum(value for key, value in own.items() if key not in ("wall", "cpu_time"))
    assert abs(waiting + cpu - own["wall"]) <= COMPLETE * own["wall"], (own, cpu)


def test_known_proportions(tmp_path: Path, compiled: Compiled) -> None:
    _, output = recorded(tmp_path, compiled("gcc", "waits.c", "-O2", "-pthread"))
    own, main = told(output), main_of(tmp_path)
    for reason in ("sleep", "lock", "read: pipe", "condition variable"):
        assert abs(main[reason] - own[reason]) <= EXACT * main["wall"], (reason, own, main)
    # Whoever was woken waited for a CPU, too.
    assert main["waiting for a CPU"] >= own["waiting for a CPU"] - EXACT * main["wall"]
    check_whole(main, own["cpu"])
    places = {(row["reason"], row["function"]): row for row in rows(tmp_path, "--by", "function")}
    lock = places["lock", "wait_for_lock"]
    assert lock["held_by"].startswith("server (")
    assert lock["woken_by"] == lock["held_by"]
    assert places["read: pipe", "read_pipe"]["woken_by"] == lock["held_by"]
    assert ("condition variable", "wait_for_condition") in places
    assert ("sleep", "sleep_for") in places


def test_without_rights_durations_are_exact_and_long_waits_have_places(
    tmp_path: Path, compiled: Compiled, paranoid: Callable[[int], None]
) -> None:
    paranoid(2)
    sampled, output = recorded(
        tmp_path, compiled("gcc", "waits.c", "-O2", "-pthread"), under=WITHOUT_RIGHTS
    )
    own, main = told(output), main_of(tmp_path)
    check_whole(main, own["cpu"])
    for reason in ("sleep", "lock", "read: pipe"):
        assert abs(main[reason] - own[reason]) <= EXACT * main["wall"], (reason, own, main)
    warnings = " ".join(sampled.head["warnings"])
    assert "waits: of long ones alone is known where they were" in warnings
    assert "perf_event_paranoid=1" in warnings
    places = {(row["reason"], row["function"]): row for row in rows(tmp_path, "--by", "function")}
    assert places["lock", "wait_for_lock"]["held_by"].startswith("server (")
    assert places["lock", "wait_for_lock"]["woken_by"] == ""


def test_gnomon_run_leaves_waits_out_where_stacks_may_not_be_taken(
    tmp_path: Path, compiled: Compiled, paranoid: Callable[[int], None]
) -> None:
    program = compiled("gcc", "waits.c", "-O2", "-pthread")
    paranoid(2)
    done = run(*WITHOUT_RIGHTS, GNOMON, "run", "--name", "w", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "waits:" not in done.stderr
    done = run(GNOMON, "report", "w", "waits", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "no waits were recorded, or of less than 50 ms in all; to record them: gnomon record"
        in (done.stderr)
    )


def test_gnomon_run_records_waits_by_default(tmp_path: Path, compiled: Compiled) -> None:
    program = compiled("gcc", "waits.c", "-O2", "-pthread")
    done = run(GNOMON, "run", "--name", "w", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 threads waited for " in done.stderr
    assert by_thread(tmp_path)["server"]["sleep"] > 1
    done = run(GNOMON, "run", "--name", "n", "--samples-off-cpu", "no", "--", program, cwd=tmp_path)
    assert "waited for" not in done.stderr


def test_a_program_that_switches_all_the_time(tmp_path: Path, compiled: Compiled) -> None:
    """Its stacks are taken of one wait in N; what is beyond them is estimated, and says so."""
    program = compiled("gcc", "switches.c", "-O2")
    sampled, _ = recorded(tmp_path, program, "100000")
    own = facts(sampled)
    assert own["waits"] > 100_000 > own["wait_stacks"]
    assert "the stacks of" in " ".join(sampled.head["warnings"])
    threads = rows(tmp_path)
    estimated = sum(row["estimated"] for row in threads)
    assert estimated > 0.5 * sum(row["seconds"] for row in threads)
    for row in {row["tid"]: row for row in threads}.values():
        waiting = sum(one["seconds"] for one in threads if one["tid"] == row["tid"])
        assert 0 < waiting <= row["wall"] * (1 + COMPLETE)
    pipe = sum(row["seconds"] for row in threads if row["reason"] == "read: pipe")
    cpu = sum(row["seconds"] for row in threads if row["reason"] == "waiting for a CPU")
    assert pipe + cpu > 0.9 * sum(row["seconds"] for row in threads)
    done = run(GNOMON, "run", "--name", "r", "--", program, "300000", cwd=tmp_path)
    assert "waits: recorded for a while alone" in " ".join(done.stderr.split())


def test_one_call_on_two_kinds_of_files(tmp_path: Path, compiled: Compiled) -> None:
    """The kernel's part of a stack, taken of some waits, holds for others of the same file."""
    rounds = 1000
    recorded(tmp_path, compiled("gcc", "two_channels.c", "-O2"), str(rounds))
    waits = {
        row["reason"]: row["waits"]
        for row in rows(tmp_path, "--by", "function")
        if row["function"].startswith("receive")
    }
    assert waits["read: pipe"] > 0.9 * rounds
    assert waits["read: socket"] > 0.9 * rounds
    assert sum(waits.values()) - waits["read: pipe"] - waits["read: socket"] < 0.1 * rounds


def test_switches_are_not_sampled_twice(tmp_path: Path, compiled: Compiled) -> None:
    """The kernel gives samples of two events of one switch one number: which it was is lost."""
    program = compiled("gcc", "two_channels.c", "-O2")
    event = ("-e", "context-switches", "-c", "1")
    done = run(GNOMON, "record", "--off-cpu", *event, "--", program, "20", cwd=tmp_path)
    assert done.returncode == 2
    assert "context-switches" in done.stderr
    assert "--off-cpu" in done.stderr
    done = run(GNOMON, "record", "--name", "w", *event, "--", program, "20", cwd=tmp_path)
    assert "waited for" not in done.stderr


def seconds_of(folder: Path, reason: str, function: str) -> float:
    """Return how long a function waited for something."""
    places = rows(folder, "--by", "function")
    return sum(
        float(row["seconds"])
        for row in places
        if row["reason"] == reason and function in row["function"]
    )


def test_a_condition_variable_of_cpp(tmp_path: Path, compiled: Compiled) -> None:
    recorded(tmp_path, compiled("g++", "waits.cpp", "-O2", "-pthread"))
    threads = rows(tmp_path)
    consumer = [row for row in threads if row["reason"] == "condition variable"]
    assert len({row["tid"] for row in consumer}) == 1
    assert sum(row["seconds"] for row in consumer) > 0.55
    assert any(row["reason"] == "sleep" and row["seconds"] > 0.55 for row in threads)


def test_a_team_of_openmp(tmp_path: Path, compiled: Compiled) -> None:
    recorded(tmp_path, compiled("gcc", "waits_openmp.c", "-O2", "-fopenmp"))
    reasons = {row["reason"] for row in rows(tmp_path)}
    assert {"sleep", "OpenMP team"} <= reasons
    assert "futex" not in reasons
    assert seconds_of(tmp_path, "OpenMP team", "main") > 0.3


def test_threads_queues_and_asyncio_of_python(tmp_path: Path) -> None:
    sampled, _ = recorded(tmp_path, "python3", PROGRAMS / "waits.py")
    assert facts(sampled)["python"] > 0
    main, *_ = sorted(by_thread(tmp_path).items(), key=lambda item: -item[1]["wall"])
    assert main[1]["sleep"] > 0.39
    assert main[1]["poll"] > 0.39
    gil = [row for row in rows(tmp_path) if row["reason"] == "GIL" and row["seconds"] > 0.1]
    # Both spin, and only one of them can.
    assert len({row["tid"] for row in gil}) == 2
    stacks = {
        name
        for (name,) in sampled.query(
            "SELECT DISTINCT r.name FROM profile p JOIN metrics m USING (metric) "
            "JOIN paths t USING (path) JOIN regions r USING (region) "
            "WHERE m.name = 'Waiting time' AND p.inclusive > 0.3"
        )
    }
    assert {"consume", "Queue.get", "spin", "read_pipe"} <= stacks
    assert {"[sleep]", "[poll]", "[lock]"} <= stacks


def test_a_process_that_runs_already(tmp_path: Path) -> None:
    """It waits before and after the measurement, of which neither end is told by a switch."""
    script = 'sleep 30 & child=$!; "$0" record --off-cpu -p $child -d 1 --name w; kill $child'
    done = run("bash", "-c", script, GNOMON, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = rows(tmp_path)
    assert row["wall"] >= 1
    assert row["seconds"] >= 0.99 * row["wall"]


@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_what_was_recorded_before_the_program_was_killed(signal: str, tmp_path: Path) -> None:
    script = f"sleep 0.3; kill -{signal} $$"
    run(GNOMON, "record", "--off-cpu", "--name", "w", "--", "sh", "-c", script, cwd=tmp_path)
    threads = by_thread(tmp_path)
    assert threads["sh"]["child process"] > 0.25
    assert threads["sleep"]["sleep"] > 0.25


def test_processes_that_come_and_go_on_a_machine_that_is_watched(tmp_path: Path) -> None:
    """What a CPU tells of a thread after its end is of no new one."""
    script = "sleep 1; for i in 1 2 3 4 5 6 7 8; do /bin/true; done"
    done = run(
        GNOMON, "record", "--off-cpu", "-a", "-F", "99", "--name", "w", "--", "sh", "-c", script,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    short = {row["tid"]: row for row in rows(tmp_path) if row["name"] == "true"}
    assert len(short) >= 4
    # Before they came the shell slept.
    assert sum(row["wall"] for row in short.values()) < max(row["wall"] for row in rows(tmp_path))


def test_a_program_that_is_stopped(tmp_path: Path) -> None:
    script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; exit 0"
    recorded(tmp_path, "sh", "-c", script)
    assert by_thread(tmp_path)["sh"]["stopped"] > 0.25


def test_a_run_that_comes_back_from_viz(tmp_path: Path) -> None:
    """A .viz file has no samples and events: its run has waits all the same."""
    recorded(tmp_path, "sleep", "0.2")
    for words in (
        ("export", "w", "--to", "viz", "-o", "o.viz"),
        ("import", "o.viz", "--name", "i"),
    ):
        done = run(GNOMON, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = run(GNOMON, "report", "i", "waits", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (slept,) = (row for row in json.loads(done.stdout)["rows"] if row["reason"] == "sleep")
    assert slept["seconds"] >= 0.2
    assert slept["wall"] is None


@pytest.mark.parametrize("options", [(), ("-a",)])
def test_a_thread_that_executes_a_program_ends_there(
    options: tuple[str, ...], tmp_path: Path, compiled: Compiled
) -> None:
    program = compiled("gcc", "exec_thread.c", "-pthread")
    done = run(GNOMON, "record", "--off-cpu", *options, "--name", "w", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Their first names: what is executed has the number of the first thread.
    own = [row for row in rows(tmp_path) if row["name"] == program.name[:15]]
    first, other = sorted({row["tid"] for row in own})
    for tid in (first, other):
        wall = next(row["wall"] for row in own if row["tid"] == tid)
        waited = sum(row["seconds"] for row in own if row["tid"] == tid)
        assert waited > 0.9 * wall
    lengths = {row["tid"]: row["wall"] for row in own}
    assert lengths[first] > 2 * lengths[other]
