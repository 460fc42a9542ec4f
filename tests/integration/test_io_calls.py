"""`gnomon io`: what it says of programs whose calls on files are known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest
from commands import gnomon, run
from mpi import BOTH, OPEN_MPI, Mpi
from mpi import environment as mpi_environment

from gnomon.measurement.totals_file import read_totals

TRACKED = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[4096];

__attribute__((noinline)) static void write_blocks(int fd)
{
	for (int i = 0; i < 100; i++)
		write(fd, block, sizeof(block));
}

__attribute__((noinline)) static void read_back(int fd)
{
	for (int i = 99; i >= 0; i--)
		pread(fd, block, sizeof(block), i * 4096);
}

int main(void)
{
	const int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	const int same = dup(fd), other = open("data", O_RDONLY);
	FILE *stream = fopen("lines", "w+");
	char line[64];
	pid_t child;

	write_blocks(fd);
	read_back(fd);
	/* The position is that of both descriptors; the other one has its own. */
	lseek(same, 0, SEEK_SET);
	for (int i = 0; i < 10; i++)
		read(fd, block, 100);
	for (int i = 0; i < 10; i++)
		read(other, block, 100);
	for (int i = 0; i < 50; i++)
		fprintf(stream, "line %2d\n", i);
	rewind(stream);
	while (fgets(line, sizeof(line), stream))
		;
	fclose(stream);
	open("missing", O_RDONLY);
	child = vfork();
	if (!child) {
		const int null = open("/dev/null", O_WRONLY);

		dup2(null, fd);
		write(fd, "child", 5);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	lseek(fd, 0, SEEK_END);
	write(fd, "parent", 6);
	child = fork();
	if (!child) {
		write(fd, "fork", 4);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close_range(fd, fd, 0);
	if (open("/dev/null", O_WRONLY) != fd)
		return 1;
	write(fd, "to null", 7);
	puts("done");
	return 3;
}
"""

File = dict[str, Any]


def compile_program(source: str, folder: Path, *flags: str) -> Path:
    text, program = folder / "program.c", folder / "program"
    text.write_text(source)
    done = run("gcc", "-g", "-O2", "-w", *flags, "-o", program, text)
    assert done.returncode == 0, done.stderr
    return program


def reported(folder: Path, name: str, *options: str) -> Any:
    return json.loads(gnomon("report", name, "io", "--json", *options, cwd=folder).stdout)


def measured(folder: Path, *command: str | Path, status: int = 0) -> dict[str, File]:
    """Return the files of a program's run by their names."""
    done = gnomon("io", "--name", "run", "--", *command, cwd=folder)
    assert done.returncode == status, done.stderr
    return {Path(one["path"]).name: one for one in reported(folder, "run")["files"]}


def operation(file: File, name: str) -> tuple[float, float, float]:
    """Return calls, bytes asked for and bytes of a call on a file."""
    (own,) = [one for one in file["operations"] if one["name"] == name]
    return own["calls"], own["bytes_asked"], own["bytes"]


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, File]]:
    folder = tmp_path_factory.mktemp("tracked")
    program = compile_program(TRACKED, folder, "-D_GNU_SOURCE")
    return folder, measured(folder, program, status=3)


def test_calls_and_bytes_of_descriptors(tracked: tuple[Path, dict[str, File]]) -> None:
    data, null = tracked[1]["data"], tracked[1]["null"]
    # Also a child of fork wrote there; that of vfork wrote to /dev/null through the same number.
    assert operation(data, "write") == (102, 409610, 409610)
    assert operation(data, "pread") == (100, 409600, 409600)
    assert operation(data, "read") == (20, 2000, 2000)
    assert operation(data, "open")[0] == 2
    assert operation(null, "write") == (2, 12, 12)
    assert tracked[1]["missing"]["operations"][0]["failures"] == 1


def test_seeks_are_those_of_open_files(tracked: tuple[Path, dict[str, File]]) -> None:
    (reads,) = tracked[1]["data"]["reads"]
    # From the end of what was written each goes back by two blocks, the first by one; so does the
    # read of the start after the lseek. The other descriptor begins at 0, where it reads on.
    assert reads["backward"] == 101
    assert reads["backward_bytes"] == 4096 + 99 * 8192 + 4096
    assert reads["forward"] == 0
    assert reads["end"] == 409600
    assert tracked[1]["data"]["read_again"] == 2000


def test_streams_are_a_layer_of_their_own(tracked: tuple[Path, dict[str, File]]) -> None:
    lines = tracked[1]["lines"]
    assert operation(lines, "fprintf") == (50, 400, 400)
    assert operation(lines, "fgets") == (51, 400, 400)
    assert {one["layer"] for one in lines["operations"]} == {"stdio"}


def test_sites_are_functions_and_lines(tracked: tuple[Path, dict[str, File]]) -> None:
    folder, _ = tracked
    rows = reported(folder, "run", "--by", "site")["rows"]
    lines = TRACKED.splitlines()
    for call, function, count in (("write", "write_blocks", 100), ("pread", "read_back", 100)):
        (own,) = [one for one in rows if (one["name"], one["function"]) == (call, function)]
        assert own["calls"] == count
        assert f"{call}(fd" in lines[own["line"] - 1]


def test_sizes_are_told_apart(tracked: tuple[Path, dict[str, File]]) -> None:
    sizes = {(one["name"], one["size"]): one["calls"] for one in tracked[1]["data"]["sizes"]}
    assert sizes == {
        ("reads", "up to 128 bytes"): 20,
        ("reads", "up to 4 KiB"): 100,
        ("writes", "up to 4 bytes"): 1,
        ("writes", "up to 8 bytes"): 1,
        ("writes", "up to 4 KiB"): 100,
    }


def test_the_program_is_as_it_is_without(tmp_path: Path) -> None:
    program = compile_program(TRACKED, tmp_path, "-D_GNU_SOURCE")
    plain = run(program, cwd=tmp_path)
    written = (tmp_path / "data").read_bytes()
    with_io = gnomon("io", "--name", "run", "--", program, cwd=tmp_path)
    assert (plain.returncode, with_io.returncode) == (3, 3)
    assert with_io.stdout == plain.stdout
    assert (tmp_path / "data").read_bytes() == written


def test_checked_and_old_names_are_counted(tmp_path: Path) -> None:
    source = r"""
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <stdio.h>
    #include <sys/stat.h>
    #include <unistd.h>
    int __xstat(int, const char *, struct stat *);
    int main(int n, char **words)
    {
        char text[64];
        struct stat status;
        const int fd = open(words[0], O_RDONLY);
        FILE *stream = fopen("out", "w");
        __asm__(".symver __xstat, __xstat@GLIBC_2.2.5");
        read(fd, text, n * 32);
        fprintf(stream, "%d\n", n);
        fclose(stream);
        stat(words[0], &status);
        return __xstat(1, words[0], &status);
    }
    """
    program = compile_program(source, tmp_path, "-D_FORTIFY_SOURCE=2", "-fno-pie", "-no-pie")
    files = measured(tmp_path, program)
    assert operation(files["out"], "fprintf") == (1, 2, 2)
    assert operation(files["program"], "read")[0] == 1
    assert operation(files["program"], "stat")[0] == 2


def test_a_handler_and_threads_lose_no_call(tmp_path: Path) -> None:
    source = r"""
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/time.h>
    #include <unistd.h>
    static int ticks, out;
    static void tick(int signal) { write(out, "tick", 4); ticks++; }
    static void *work(void *fd)
    {
        char text[8] = "";
        for (int i = 0; i < 20000; i++) {
            pwrite(*(int *)fd, text, 8, i);
            free(malloc(i));
        }
        return NULL;
    }
    int main(void)
    {
        const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
        int fd = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0600);
        pthread_t threads[4];
        out = open("ticks", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        signal(SIGALRM, tick);
        setitimer(ITIMER_REAL, &often, NULL);
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, work, &fd);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        setitimer(ITIMER_REAL, &never, NULL);
        printf("%d\n", ticks);
        return 0;
    }
    """
    program = compile_program(source, tmp_path, "-pthread")
    done = gnomon("io", "--name", "run", "--", program, cwd=tmp_path)
    files = {Path(one["path"]).name: one for one in reported(tmp_path, "run")["files"]}
    ticks = (tmp_path / "ticks").stat().st_size // 4
    assert operation(files["shared"], "pwrite") == (80000, 640000, 640000), done.stderr
    assert ticks > 0
    assert operation(files["ticks"], "write") == (ticks, 4 * ticks, 4 * ticks)


def test_a_kill_leaves_what_was_done(tmp_path: Path) -> None:
    source = r"""
    #include <fcntl.h>
    #include <unistd.h>
    int main(void)
    {
        const int fd = open("out", O_WRONLY | O_CREAT, 0600);
        for (;;)
            pwrite(fd, "12345678", 8, 0);
    }
    """
    program = compile_program(source, tmp_path)
    library = Path(sys.modules["gnomon"].__path__[0]) / "io" / "libgnomon_io.so"
    random = Random(20)
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = os.environ | {"LD_PRELOAD": str(library), "GNOMON_RUN_DIR": str(folder)}
        with subprocess.Popen([program], env=environment, cwd=tmp_path) as process:
            sleep(random.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
        for path in folder.iterdir():
            # Killed between the file and its header.
            if not any(path.read_bytes()[:8]):
                continue
            file = read_totals(path)
            assert not file.is_closed
            assert (file.sites["sent"] == file.sites["calls"] * 8)[file.sites["sent"] > 0].all()


def test_a_killed_program_has_a_run(tmp_path: Path) -> None:
    script = "import os, signal\nopen('out', 'w').write('text')\nos.kill(os.getpid(), 9)\n"
    done = gnomon("io", "--name", "run", "--", sys.executable, "-c", script, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    document = reported(tmp_path, "run")
    assert document["coverage"]["is_complete"] is None
    assert "coverage: not known" in gnomon("report", "run", "io", cwd=tmp_path).stdout


def test_what_passes_by_is_said(tmp_path: Path) -> None:
    source = r"""
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    static char block[1 << 20];
    int main(void)
    {
        const int fd = open("out", O_WRONLY | O_CREAT, 0600);
        for (int i = 0; i < 8; i++)
            syscall(SYS_write, fd, block, sizeof(block));
        return 0;
    }
    """
    measured(tmp_path, compile_program(source, tmp_path))
    coverage = reported(tmp_path, "run")["coverage"]
    assert coverage["is_complete"] is False
    assert coverage["unseen_written"] >= 8 << 20
    assert "no call was seen" in " ".join(
        gnomon("report", "run", "io", cwd=tmp_path).stdout.split()
    )


def test_a_static_program_is_said_to_be_unseen(tmp_path: Path) -> None:
    program = compile_program("int main(void) { return 0; }", tmp_path, "-static")
    done = gnomon("io", "--name", "run", "--", program, cwd=tmp_path)
    assert done.returncode == 0
    assert "io" in done.stderr
    assert "statically" in done.stderr or "no process" in done.stderr


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_ranks_are_told_apart(tmp_path: Path, mpi: Mpi) -> None:
    source = r"""
    #include <mpi.h>
    #include <stdio.h>
    int main(int n, char **words)
    {
        char name[16];
        FILE *stream;
        int rank;
        MPI_Init(&n, &words);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        snprintf(name, sizeof(name), "of-%d", rank);
        stream = fopen(name, "w");
        fwrite("text", 1, rank + 1, stream);
        fclose(stream);
        return MPI_Finalize();
    }
    """
    (tmp_path / "job.c").write_text(source)
    assert run(mpi.command("mpicc"), "-o", "job", "job.c", cwd=tmp_path).returncode == 0
    launcher = [mpi.command("mpirun"), *(["--oversubscribe"] if mpi is OPEN_MPI else [])]
    done = gnomon(
        "io",
        "--name",
        "run",
        "--",
        *launcher,
        "-n",
        "2",
        "./job",
        cwd=tmp_path,
        env=mpi_environment(mpi),
    )
    assert done.returncode == 0, done.stderr
    files = {Path(one["path"]).name: one for one in reported(tmp_path, "run")["files"]}
    assert operation(files["of-0"], "fwrite") == (1, 1, 1)
    assert operation(files["of-1"], "fwrite") == (1, 2, 2)
    rows = reported(tmp_path, "run", "--by", "process")["rows"]
    assert {0, 1} <= {one["rank"] for one in rows if one["name"] == "job"}


def test_errors_name_the_remedy(tmp_path: Path) -> None:
    assert gnomon("io", cwd=tmp_path).returncode == 2
    assert gnomon("run", "--name", "plain", "--", "true", cwd=tmp_path).returncode == 0
    done = gnomon("report", "plain", "io", cwd=tmp_path)
    assert done.returncode == 1
    assert "gnomon io -- PROGRAM" in done.stderr
