"""Remedies that can be followed, and failures that are told."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

import pytest
from commands import GNOMON, HPMCOUNT, TOOLS, gnomon, run

from gnomon.counters.host_facts import core_pmu_names

# Root's files stay readable, so that the same installation runs; everything else is forbidden.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
NOBODY = pwd.getpwnam("nobody")
without_pmu = pytest.mark.skipif(bool(core_pmu_names()), reason="this machine has a PMU")


@pytest.fixture
def folder_of_another(tmp_path: Path) -> Path:
    """Return a folder with a run and its index, which belong to somebody else."""
    if os.geteuid() != 0:
        pytest.fail("giving files to another user needs root: run `make test` as root")
    gnomon("count", "--name", "kept", "--", "true", cwd=tmp_path).check_returncode()
    gnomon("runs", cwd=tmp_path).check_returncode()
    tmp_path.chmod(0o755)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    return tmp_path


def test_tags_of_another_user(folder_of_another: Path) -> None:
    done = run(*WITHOUT_RIGHTS, GNOMON, "runs", "tag", "kept", "mine", cwd=folder_of_another)
    assert done.returncode == 1
    assert "only its owner can change it: copy the runs to a folder of your own" in done.stderr
    assert "rebuild" not in done.stderr


def test_a_folder_that_cannot_be_written(folder_of_another: Path) -> None:
    done = run(*WITHOUT_RIGHTS, GNOMON, "count", "--name", "n", "--", "true", cwd=folder_of_another)
    assert done.returncode == 1
    assert "choose a name in another folder: FOLDER/NAME" in done.stderr
    done = run(*WITHOUT_RIGHTS, GNOMON, "run", "--", "true", cwd=folder_of_another)
    assert done.returncode == 1
    assert "FOLDER/NAME" in done.stderr


def test_the_machine_has_no_program_to_speak_of() -> None:
    text = gnomon("count", "-a", "-d", "0.1").stderr
    for words in ("not only the program", "name a process", "--pmu emulated", "io:::"):
        assert words not in text
    asked = gnomon("count", "-a", "-d", "0.1", "-e", "io:::read_bytes,page-faults").stderr
    assert "name a process instead of a CPU" in " ".join(asked.split())


def test_hpmstat_says_once_that_it_is_the_machine() -> None:
    text = run(TOOLS / "hpmstat", "0.1", "1").stdout
    assert "hpmstat: the whole machine" in text
    assert "not only the program" not in text


@without_pmu
def test_an_emulated_pmu_is_named_with_the_options_that_were_typed() -> None:
    text = " ".join(gnomon("count", "-g", "3", "--", "true").stderr.split())
    # Of a CPU that libpfm4 does not know it is unavailable for a reason of its own.
    is_known = "generic events of the first and the last level" not in text
    without = ", without PAPI_L2_TCM" if is_known else ""
    assert f"gnomon count --pmu emulated -g 3{without}" in text
    assert (", without PAPI_L2_TCM" in text) == is_known
    text = gnomon("count", "-e", "cycles", "--", "true").stderr
    assert "emulated" not in text  # which has no cycles
    text = " ".join(gnomon("count", "-e", "PAPI_TOT_INS", "--", "true").stderr.split())
    assert "gnomon count --pmu emulated -e PAPI_TOT_INS" in text


def test_two_tables_at_once_are_refused() -> None:
    for words in (("--per", "thread", "-A"), ("-A", "--per", "thread")):
        done = gnomon("count", *words, "--", "true")
        assert (done.returncode, done.stdout) == (2, "")
        assert "exclude each other" in done.stderr


@pytest.mark.parametrize("command", ["--help", "components", "runs"])
def test_a_closed_stdout_is_a_failure(command: str, tmp_path: Path) -> None:
    gnomon("count", "--name", "kept", "--", "true", cwd=tmp_path).check_returncode()
    script = 'exec "$0" "$@" >&-'
    done = run("sh", "-c", script, GNOMON, command, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "standard output is closed" in done.stderr


@pytest.mark.parametrize("tool", [f"{GNOMON} count", HPMCOUNT])
def test_a_closed_stdout_leaves_the_program_as_it_is(tool: str) -> None:
    script = f"{tool} sh -c 'test -e /proc/self/fd/1 && exit 7; exit 5' >&-"
    assert run("sh", "-c", script).returncode == 5


def test_an_export_that_fails_prints_nothing(tmp_path: Path) -> None:
    gnomon("count", "--name", "kept", "--", "true", cwd=tmp_path).check_returncode()
    profile = tmp_path / "kept.gnomon" / "profile.parquet"
    profile.write_bytes(profile.read_bytes()[:-20])
    for form in ("csv", "json", "viz"):
        done = gnomon("export", "kept", "--to", form, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, ""), form
        assert re.fullmatch(r"gnomon: .*profile.parquet.*\n", done.stderr), form


def test_reports_that_are_in_text_are_there(tmp_path: Path) -> None:
    gnomon("count", "--name", "kept", "--", "true", cwd=tmp_path).check_returncode()
    assert sorted(file.name for file in (tmp_path / "kept.gnomon" / "text").iterdir()) == [
        "count.json",
        "count.txt",
    ]
