"""What a newcomer types: what README, the help and the end of the demo say, as it stands there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import TOOLS, gnomon, run

from gnomon.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROGRAM = """
#include <libhpm.h>
int main(void)
{
	hpmInit(0, "prog");
	hpmStart(1, "all of it");
	hpmStop(1);
	hpmTerminate(0);
	return 0;
}
"""


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment with the commands on PATH."""
    return os.environ | {"PATH": f"{TOOLS}:{os.environ['PATH']}"} | more


def test_python_m_gnomon() -> None:
    done = run(sys.executable, "-m", "gnomon", "--version")
    assert (done.returncode, done.stdout) == (0, gnomon("--version").stdout)
    done = run(sys.executable, "-m", "gnomon", "count", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7


def test_the_example_of_config_links(tmp_path: Path) -> None:
    """In the order shown: linkers drop a library that nobody before it has asked for."""
    (tmp_path / "prog.c").write_text(PROGRAM)
    command = re.findall(r"^ +(cc .*)$", gnomon("config", "--help").stdout, re.MULTILINE)[0]
    # Debian's compiler keeps every library that it is given; others, as Ubuntu's, do not.
    command = command.replace("cc ", "cc -Wl,--as-needed ", 1)
    done = run("sh", "-c", f"{command} && ./prog", cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stderr
    (report,) = tmp_path.glob("*.hpm")
    lines = report.read_text().splitlines()
    assert [line for line in lines if len(line) > 80 and "program: " not in line] == []


def test_readme_promises_what_is_there() -> None:
    links = re.findall(r"\]\((?!#|http)([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|\$ |sudo )make ([a-z-]+)", README))
    assert {"demo", "test", "build", "install"} <= named
    assert named <= targets
    commands = set(re.findall(r"(?:`|\$ (?:\S*/)?)gnomon ([a-z]+)", README))
    assert {"run", "view", "count", "doctor"} <= commands
    assert commands <= set(COMMANDS)
    for name in re.findall(r"\.venv/bin/([\w-]+)", README):
        assert (TOOLS / name).exists()


@pytest.mark.long
def test_the_demo_and_what_its_last_line_says() -> None:
    done = run("bash", ROOT / "examples" / "demo.sh", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    emulated = done.stdout.partition("on an emulated PMU")[2].partition("\n==> ")[0]
    (unknown,) = re.findall(r"^ +[\d ]+ +([\d.]+) .*\(unknown\) +\(unknown\)$", emulated, re.M)[:1]
    assert float(unknown) < 10
    assert "stencil.c" in emulated
    last = done.stdout.splitlines()[-1].strip()
    assert last.startswith(".venv/bin/gnomon ")
    server = subprocess.Popen(
        [*last.split(), "--no-browser"], cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    said = server.stdout.readline()
    server.send_signal(signal.SIGINT)
    server.communicate()
    assert "http://" in said


@pytest.mark.long
def test_make_install(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    done = run("make", "install", f"PREFIX={prefix}", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"try: {prefix}/bin/gnomon doctor"
    for command in ("gnomon", "hpmcount", "hpmstat", "peekperf", "xprofiler", "Xprofiler"):
        assert run(prefix / "bin" / command, "--help").returncode == 0
    assert run(prefix / "bin" / "gnomon", "count", "--", "sh", "-c", "exit 5").returncode == 5
    (tmp_path / "prog.c").write_text(PROGRAM)
    where = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    for flags in (
        f"$(pkg-config --cflags --libs hpm) -Wl,-rpath,{prefix}/lib",
        f"$({prefix}/bin/gnomon config --cflags --libs hpm)",
    ):
        built = run("sh", "-c", f"cc prog.c {flags} && ./a.out", cwd=tmp_path,
                    env=environment(**where))  # fmt: skip
        assert built.returncode == 0, built.stderr
    assert (prefix / "share" / "bash-completion" / "completions" / "gnomon").stat().st_size
    assert run("make", "install", f"PREFIX={prefix}", cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    ("prefix", "said"),
    [("here", "from the root on"), ("/a b", "without blanks"), ("/proc/nowhere", "cannot be")],
)
def test_where_it_cannot_be_installed(prefix: str, said: str) -> None:
    done = run("sh", ROOT / "packaging" / "install.sh", TOOLS.parent, prefix)
    assert done.returncode == 1
    assert done.stderr.startswith("install: ")
    assert said in done.stderr
