"""Programs with threads and children that are killed at any moment: every file of theirs opens."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from random import Random
from time import sleep

import pytest
from random_io import LIBRARY

from gnomon.measurement.totals_file import read_totals

MOST_SECONDS = 0.06
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *of)
{
	char path[32], block[512] = "";

	for (unsigned int i = 0;; i++) {
		FILE *stream;
		int fd;

		snprintf(path, sizeof(path), "%d-%ld-%u", getpid(), (long)of, i % 50);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		pwrite(fd, block, 8, i % 1000);
		close(fd);
		stream = fopen(path, "r");
		fgets(block, sizeof(block), stream);
		fclose(stream);
		if (i % 20 == 19) {
			const pid_t child = fork();

			if (!child) {
				fd = open("of-children", O_WRONLY | O_CREAT | O_APPEND, 0600);
				write(fd, "12345678", 8);
				_exit(0);
			}
			waitpid(child, NULL, 0);
		}
	}
	return of;
}

int main(void)
{
	pthread_t thread;

	for (long i = 1; i < 4; i++)
		pthread_create(&thread, NULL, work, (void *)i);
	work(NULL);
}
"""


def check(tmp_path: Path, kills: int) -> None:
    """Kill the program so many times; fail if a file of totals does not open, or is not sound."""
    program, text = tmp_path / "program", tmp_path / "program.c"
    text.write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-w", "-pthread", "-o", program, text], check=True)
    random, calls = Random(kills), 0
    for number in range(kills):
        folder, place = tmp_path / f"{number}.run", tmp_path / str(number)
        folder.mkdir()
        place.mkdir()
        environment = os.environ | {"LD_PRELOAD": str(LIBRARY), "GNOMON_RUN_DIR": str(folder)}
        with subprocess.Popen(
            [program], env=environment, cwd=place, start_new_session=True
        ) as process:
            sleep(random.uniform(0, MOST_SECONDS))
            os.killpg(process.pid, signal.SIGKILL)
        # One that was being made has no name yet.
        for path in folder.glob("*.io.totals"):
            sites = read_totals(path).sites
            calls += int(sites["calls"].sum())
            # Eight bytes a call; a kill may come between the two.
            moved = sites[sites["sent"] > 0]
            assert (moved["received"] <= moved["sent"]).all()
    assert calls > kills


def test_files_open_after_twenty_kills(tmp_path: Path) -> None:
    check(tmp_path, 20)


@pytest.mark.long
def test_files_open_after_two_hundred_kills(tmp_path: Path) -> None:
    check(tmp_path, 200)
