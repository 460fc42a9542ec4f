"""`gnomon run` on real programs: alone, and what a kill leaves."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, gnomon, run
from hpm_programs import run as run_program
from run_programs import (
    EVENTS,
    EXAMPLES,
    GETPPID,
    LABEL,
    WAITS,
    compiled,
    flags,
    section_values,
)

from gnomon.cli.main import main
from gnomon.errors import GnomonError
from gnomon.model.tables import (
    LOCATIONS,
    METRICS,
    REGIONS,
)
from gnomon.store import hotspots, run_directory
from gnomon.view.session import Session

PASSES_ON = r"""
#include <pthread.h>
#include "libhpm.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int whose;
static void *play(void *other)
{
	const int me = other != NULL;
	volatile double sum = 0;
	for (int i = 0; i < 3000; i++) {
		pthread_mutex_lock(&lock);
		while (whose != me)
			pthread_cond_wait(&changed, &lock);
		for (int k = 0; k < 3000; k++)
			sum += k;
		whose = !me;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}
int main(void)
{
	pthread_t thread;
	hpmInit(0, "passes");
	hpmStart(1, "before");
	hpmStop(1);
	pthread_create(&thread, NULL, play, &lock);
	hpmStart(2, "in turns");
	play(NULL);
	hpmStop(2);
	pthread_join(thread, NULL);
	hpmTerminate(0);
	return 0;
}
"""


def test_sections_count_right_where_threads_are_counted_too(tmp_path: Path) -> None:
    """The kernel exchanges counts of threads that it takes for the same, event for other event."""
    program = tmp_path / "passes"
    (tmp_path / "passes.c").write_text(PASSES_ON)
    run_program("cc", "-O1", "-pthread", "-o", str(program), "passes.c", *flags(), folder=tmp_path)
    events = "task-clock,context-switches,page-faults,major-faults"
    environment = os.environ | {"GNOMON_EVENTS": events}
    # On one CPU the threads are switched from one to the other thousands of times.
    done = gnomon("run", "--name", "r", "--", "taskset", "-c", "0", program,
                  cwd=tmp_path, env=environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = run_directory.find(str(tmp_path / "r.gnomon")).query(
        "SELECT m.name, m.how, p.inclusive, p.enabled_ns, p.running_ns FROM profile p "
        "JOIN metrics m USING (metric) JOIN paths USING (path) JOIN regions r USING (region) "
        "WHERE r.name = 'in turns' AND m.formula = '' AND p.enabled_ns IS NOT NULL"
    )
    values = {name: value for name, _, value, _, _ in found}
    assert {how for _, how, *_ in found} == {"counted"}
    assert all(enabled == running for *_, enabled, running in found)
    assert values["task-clock"] == pytest.approx(found[0][3], rel=0.01)
    assert 0 <= values["page-faults"] < 1000
    assert 0 <= values["major-faults"] < 1000


def test_a_c_program_with_openmp_leaves_counters_and_sections(tmp_path: Path) -> None:
    program = tmp_path / "relax"
    run_program("cc", "-O2", "-g", "-fopenmp", "-o", str(program),
                str(EXAMPLES / "hpm-c" / "relax.c"), *flags(), "-lm", folder=tmp_path)  # fmt: skip
    environment = os.environ | {"OMP_NUM_THREADS": "2", "GNOMON_EVENTS": "task-clock"}
    alone = run(program, "100", "3", cwd=tmp_path, env=environment)
    written = {path.name for path in tmp_path.iterdir()}
    done = gnomon("run", "--name", "r", "--", program, "100", "3", cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    assert {path.name for path in tmp_path.iterdir()} == written | {"r.gnomon"}
    assert "top regions by wall time" in done.stderr
    assert "gnomon view r.gnomon" in done.stderr
    assert len(done.stderr.splitlines()) <= 24
    sweeps = section_values(tmp_path / "r.gnomon", "wall time")
    assert [row[3] for row in sweeps["a sweep, red and black"]] == [3]
    assert len(sweeps["one thread's share of a sweep"]) == 2
    opened = run_directory.find(str(tmp_path / "r.gnomon"))
    kinds = Counter(row["kind"] for row in opened.rows(LOCATIONS))
    assert kinds["command"] == 1
    assert kinds["process"] == 1
    parents = dict(
        opened.query(
            "SELECT r.name, q.name FROM paths p JOIN regions r USING (region) JOIN paths o "
            "ON p.parent = o.path JOIN regions q ON o.region = q.region"
        )
    )
    assert parents["a sweep, red and black"] == "relax"
    names = {row["name"] for row in opened.rows(METRICS)}
    assert {"wall time", "task-clock", "ru_minflt"} <= names
    (shown,) = Session().open([str(tmp_path / "r.gnomon")])
    tree = shown.tree("region")
    assert "set up" in {tree.text(tree.name, at) for at in range(tree.n)}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("true", "env"), "true"),
        (("env", "-u", "HOME", "A=1", "/bin/true", "env"), "true"),
        (("nice", "-n", "3", "true"), "true"),
        (("env",), "env"),
    ],
)
def test_a_run_is_called_after_the_program_not_its_launcher(
    tmp_path: Path, command: tuple[str, ...], name: str
) -> None:
    assert gnomon("run", "--", *command, cwd=tmp_path).returncode == 0
    (made,) = tmp_path.glob("*.gnomon")
    assert re.fullmatch(name + r"-\d{8}-\d{6}\.gnomon", made.name)


def test_the_programs_of_a_script_are_told_apart(tmp_path: Path) -> None:
    script = "for i in 1 2 3; do sort /dev/null; done; gzip -c /bin/bash | wc -c"
    done = gnomon("run", "--name", "s", "--", "sh", "-c", script, cwd=tmp_path)
    rows = [line.split() for line in done.stderr.partition("top programs")[2].splitlines()[1:5]]
    assert sorted((row[0], row[-2:]) for row in rows) == [
        ("gzip", ["1", "process"]),
        ("sh", ["1", "process"]),
        ("sort", ["3", "processes"]),
        ("wc", ["1", "process"]),
    ]
    opened = run_directory.find(str(tmp_path / "s.gnomon"))
    (sums,) = opened.query(
        "SELECT SUM(CASE WHEN kind = 'process' THEN inclusive END), "
        "SUM(CASE WHEN kind = 'command' THEN inclusive END) FROM profile "
        "JOIN metrics m USING (metric) JOIN locations USING (location) WHERE m.name = 'task-clock'"
    )
    assert sums[0] == sums[1] > 0


def test_processes_of_one_program_are_counted(tmp_path: Path) -> None:
    """Those of a pool are all called python; a long command is cut where one sees it."""
    script = (
        "from concurrent.futures import ProcessPoolExecutor as Pool\n"
        "with Pool(2) as pool: assert sum(pool.map(abs, range(-9, 0))) == 45\n"
    )
    (tmp_path / "pool.py").write_text(script)
    done = gnomon("run", "--", sys.executable, "pool.py", "x" * 80, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("pool-20*.gnomon")
    query = "SELECT COUNT(*) FROM locations WHERE kind = 'process'"
    ((n,),) = run_directory.find(str(path)).query(query)
    assert n >= 3
    first = done.stderr.splitlines()[1]
    assert first.endswith("x…  [exit 0]")
    assert f" CPUs busy, {n} processes " in " ".join(done.stderr.split())


def test_peak_memory_has_one_name_and_unit_in_run_and_count(tmp_path: Path) -> None:
    program = ("dd", "if=/dev/zero", "of=/dev/null", "bs=3M", "count=1")
    done = gnomon("run", "--name", "r", "--", *program, cwd=tmp_path)
    assert "not available: peak memory" not in done.stderr
    assert re.search(r"^    peak memory +[\d.]+ [KM]iB  counted$", done.stderr, re.MULTILINE)
    done = gnomon("count", "--name", "c", "--", *program, cwd=tmp_path)
    assert re.search(r"peak memory.* [\d.]+ [KM]iB\b", done.stderr)
    for name in ("r", "c"):
        ((unit, peak),) = run_directory.find(str(tmp_path / name)).query(
            "SELECT m.unit, p.inclusive FROM metrics m JOIN profile p USING (metric) "
            "WHERE m.name = 'peak memory'"
        )
        assert unit == "bytes"
        assert 3 << 20 <= peak < 7 << 20


def test_a_peak_that_is_not_the_programs_is_told_as_unknown(tmp_path: Path) -> None:
    """A library that is loaded before all others may need what would be given back."""
    preloaded = os.environ | {"LD_PRELOAD": "libm.so.6"}
    done = gnomon("run", "--name", "t", "--", "true", cwd=tmp_path, env=preloaded)
    assert "not available: peak memory: the peak was not above that of the process" in done.stderr
    opened = run_directory.find(str(tmp_path / "t.gnomon"))
    assert opened.query("SELECT 1 FROM metrics WHERE name = 'peak memory'") == []


def test_a_fortran_program_leaves_its_sections(tmp_path: Path) -> None:
    program = tmp_path / "heat"
    words = gnomon("config", "--fflags", "--libs", "hpm")
    options = words.stdout.split() if words.returncode == 0 else flags()
    run_program("gfortran", "-O2", "-g", "-fopenmp", "-o", str(program),
                str(EXAMPLES / "hpm-fortran" / "heat.F90"), *options, folder=tmp_path)  # fmt: skip
    done = gnomon("run", "--name", "f", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    opened = run_directory.find(str(tmp_path / "f.gnomon"))
    names = {str(row["name"]) for row in opened.rows(REGIONS) if row["kind"] == "hpm"}
    assert names - {"heat"} == set(
        LABEL.findall((EXAMPLES / "hpm-fortran" / "heat.F90").read_text())
    )


def test_a_python_program_leaves_its_sections_with_their_lines(tmp_path: Path) -> None:
    program = tmp_path / "prog.py"
    program.write_text(
        'import os\nfrom gnomon import hpm\n\nwith hpm.section("outer"):\n    os.getppid()\n'
        '    for _ in range(3):\n        with hpm.section("inner"):\n            os.getppid()\n'
    )
    done = gnomon("run", "--name", "p", "--without", "samples", "--", sys.executable, program,
                  cwd=tmp_path,
                  env=os.environ | EVENTS | {"HPM_EXCLUSIVE_VALUES": "yes"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    places = run_directory.find(str(tmp_path / "p.gnomon")).query(
        "SELECT name, file, line FROM regions WHERE file <> '' AND kind = 'hpm' ORDER BY line"
    )
    assert places == [("outer", str(program), 4), ("inner", str(program), 7)]
    found = section_values(tmp_path / "p.gnomon", GETPPID)
    assert found == {"outer": [(-1, 4, 1, 1)], "inner": [(-1, 3, 3, 3)]}
    asked = gnomon("report", "p", "--per", "line", cwd=tmp_path)
    assert asked.returncode == 1
    said = " ".join(asked.stdout.split())
    assert "those of its sections: gnomon report RUN profile --by line; or measure with:" in said
    assert gnomon("report", "p", "profile", "--by", "line", cwd=tmp_path).returncode == 0


def test_names_that_a_user_has_given_to_libhpm_stay(tmp_path: Path) -> None:
    program = compiled(tmp_path, WAITS.replace("for (;;)\n\t\tpause();", "return 0;"))
    environment = os.environ | {"HPM_OUTPUT_NAME": "mine", "HPM_CSV_OUTPUT": "yes"} | EVENTS
    done = gnomon("run", "--name", "r", "--", program, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"mine.csv", "r.gnomon", "program", "program.c"}
    assert section_values(tmp_path / "r.gnomon", GETPPID)["done"] == [(-1, 1, 1, 1)]
    places = run_directory.find(str(tmp_path / "r.gnomon")).query(
        "SELECT file, line FROM regions WHERE name = 'done'"
    )
    line = WAITS.splitlines().index("\tint done = hpmNewID(__FILE__, __LINE__);") + 1
    assert places == [(str(tmp_path / "program.c"), line)]


@pytest.mark.parametrize("status", [0, 7, 255])
def test_status_and_output_are_the_programs(tmp_path: Path, status: int) -> None:
    script = f"echo out; echo err >&2; exit {status}"
    done = gnomon("run", "--name", "s", "--", "sh", "-c", script, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "out\n")
    assert done.stderr.startswith("err\n")
    assert run_directory.find(str(tmp_path / "s.gnomon")).head["exit_status"] == status


def test_a_signal_is_the_programs(tmp_path: Path) -> None:
    done = gnomon("run", "--name", "s", "--", "sh", "-c", "kill -SEGV $$", cwd=tmp_path)
    assert done.returncode == -signal.SIGSEGV
    assert run_directory.find(str(tmp_path / "s.gnomon")).head["signal"] == signal.SIGSEGV


def test_runs_without_a_name_have_names_of_their_own(tmp_path: Path) -> None:
    for _ in range(2):
        assert gnomon("run", "--", "true", cwd=tmp_path).returncode == 0
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == 2
    assert all(name.startswith("true-20") for name in left)


def test_what_is_wrong_costs_no_run(tmp_path: Path) -> None:
    (tmp_path / "taken.gnomon").mkdir()
    for words, status, said in (
        (("--name", "taken", "--", "true"), 1, "--name NAME"),
        (("--with", "nothing", "--", "true"), 2, "counters, sections, samples, mpi, io, emulated"),
        (("--with", "counters,emulated", "--", "true"), 2, "count the emulator, not the program"),
        (("--", "no-such-program"), 127, "command not found"),
        ((), 2, "no program to run"),
    ):
        done = gnomon("run", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stderr
        assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken.gnomon"]


def test_emulated_counts_are_per_function_and_line(tmp_path: Path) -> None:
    done = gnomon("run", "--with", "emulated", "--name", "e", "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    heading, first = done.stderr.partition("top functions by PAPI_TOT_INS")[2].splitlines()[:2]
    assert heading.split() == ["of", "total", "exclusive"]
    opened = run_directory.find(str(tmp_path / "e.gnomon"))
    most = hotspots.hotspots(opened, "function", top=1)
    (row,) = most.rows
    share, count = (
        100 * row.values["PAPI_TOT_INS"] / most.totals["PAPI_TOT_INS"],
        row.values["PAPI_TOT_INS"],
    )
    assert first.split()[1:3] == [f"{share:.1f}", "%"]
    assert first.replace(" ", "").startswith(
        f"{row.function or '(unknown)'}{share:.1f}%{count:.0f}"
    )
    (total,), (lines,) = (
        opened.query(
            "SELECT SUM(inclusive) FROM profile JOIN metrics USING (metric) "
            "JOIN locations USING (location) JOIN paths USING (path) "
            f"WHERE metrics.name = 'PAPI_TOT_INS' AND kind = 'process' AND paths.parent {which} -1"
        )
        for which in ("=", "<>")
    )
    assert total == lines
    assert total[0] > 1000


# --- kills ----------------------------------------------------------------------------------------


def killed_while_it_waits(folder: Path, who: str) -> int:
    """Run WAITS and kill it, or gnomon and then it; return the status of gnomon."""
    program = compiled(folder, WAITS)
    with subprocess.Popen(
        [GNOMON, "run", "--name", "k", "--", str(program)], cwd=folder, env=os.environ | EVENTS,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        busy = gnomon("repair", "k", cwd=folder)
        assert (busy.returncode, "has not ended" in busy.stderr) == (1, True)
        if who == "gnomon":
            process.kill()
            process.wait()
            alone = gnomon("repair", "k", cwd=folder)
            assert (alone.returncode, alone.stderr.count("\n")) == (1, 1)
            assert f"process {children[0]} of its program has not ended" in alone.stderr
        os.kill(int(children[0]), signal.SIGKILL)
        return process.wait(60)


def test_sections_of_a_killed_program_are_in_the_run(tmp_path: Path) -> None:
    assert killed_while_it_waits(tmp_path, "program") == -signal.SIGKILL
    assert section_values(tmp_path / "k.gnomon", GETPPID) == {"done": [(-1, 1, 1, 1)]}
    warnings = run_directory.find(str(tmp_path / "k.gnomon")).head["warnings"]
    assert any("without hpmTerminate" in warning for warning in warnings)
    assert (tmp_path / "waits.hpmraw").exists()


def test_a_killed_run_is_repaired(tmp_path: Path) -> None:
    assert killed_while_it_waits(tmp_path, "gnomon") == -signal.SIGKILL
    assert not (tmp_path / "k.gnomon").exists()
    half = tmp_path / ".k.gnomon.4194305"  # a process of this number there never is
    half.mkdir()
    done = gnomon("repair", "k", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "k.gnomon\n"), done.stderr
    assert not half.exists()
    opened = run_directory.find(str(tmp_path / "k.gnomon"))
    assert opened.head["exit_status"] is None
    assert "was killed" in opened.head["warnings"][0]
    assert section_values(opened.path, GETPPID) == {"done": [(-1, 1, 1, 1)]}
    assert gnomon("report", "k", "run", cwd=tmp_path).returncode == 0
    # It was read and told, and no values of the command were asked for.
    whole = gnomon("report", "k", cwd=tmp_path)
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "no values of the whole command" in whole.stdout
    assert gnomon("report", "k", "--per", "process", cwd=tmp_path).returncode == 1
    assert not (tmp_path / "k.gnomon.raw").exists()
    again = gnomon("repair", "k", cwd=tmp_path)
    assert again.stderr == "gnomon: k.gnomon: this run is complete; nothing to repair\n"
    assert again.returncode == 1


def test_damaged_raw_folders_crash_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = tmp_path / "whole"
    seen = _kept_raw_folder(tmp_path, whole, monkeypatch)
    generator = random.Random(7)
    outcomes: Counter[int] = Counter()
    for _ in range(60):
        folder = tmp_path / "x.gnomon.raw"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(tmp_path / "x.gnomon", ignore_errors=True)
        shutil.copytree(whole, folder, symlinks=True)
        file = folder / generator.choice(seen)
        content = bytearray(file.read_bytes())
        for _ in range(generator.randint(1, 4)):
            content[generator.randrange(len(content))] = generator.choice(b'0,"[]{}x\xff\0-9')
        if generator.random() < 0.2:
            del content[generator.randrange(len(content)) :]
        file.write_bytes(content)
        outcomes[main(["repair", "x"])] += 1
        assert "Traceback" not in capsys.readouterr().err
    assert set(outcomes) == {0, 1}, outcomes


def _kept_raw_folder(tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Copy the raw folder of a real run, as it is before the run is made; return its files."""
    from gnomon.launch import run_assembly

    program = compiled(tmp_path, WAITS.replace("for (;;)\n\t\tpause();", "return 0;"))
    assemble = run_assembly.assemble_run

    def kept(folder: Path, *rest: Any, **options: Any) -> object:
        shutil.copytree(folder, whole, symlinks=True)
        return assemble(folder, *rest, **options)

    with monkeypatch.context() as changed:
        changed.setattr(run_assembly, "assemble_run", kept)
        assert main(["run", "--name", "real", "--", str(program)]) == 0
    files = [path.name for path in whole.iterdir() if not path.is_symlink()]
    assert len(files) == 5
    return files


def test_a_raw_folder_of_another_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.gnomon.raw").mkdir()
    done = gnomon("run", "--name", "x", "--", "true", cwd=tmp_path)
    assert (done.returncode, "gnomon repair x.gnomon" in done.stderr) == (1, True)
    done = gnomon("repair", "x", cwd=tmp_path)
    assert (done.returncode, "not left by a killed run" in done.stderr) == (1, True)
    with pytest.raises(GnomonError):
        run_directory.find(str(tmp_path / "x"))
