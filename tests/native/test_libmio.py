"""libmio as its users meet it: compiled, linked and controlled by its variables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from building import ROOT

import gnomon
from gnomon.measurement.mio_events import OPERATIONS, read_events

PACKAGE = Path(gnomon.__path__[0])
INCLUDE = PACKAGE / "include"
GNOMON = Path(sys.executable).parent / "gnomon"
EXAMPLE = ROOT / "tests" / "programs" / "mio_example.c"
PAGE = ROOT / "docs" / "io" / "write-a-module.md"


def run(*command: str | Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Return how a command that succeeds ended; these variables of MIO are the only ones."""
    environment = {name: value for name, value in os.environ.items() if "MIO_" not in name}
    done = subprocess.run(
        command, cwd=folder, env=environment | more, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program of Example 8-1, compiled."""
    folder = tmp_path_factory.mktemp("mio")
    words = run(GNOMON, "config", "--cflags", "--libs", "mio", folder=folder).stdout.split()
    run("cc", "-Wall", "-Wextra", "-Werror", EXAMPLE, *words, "-o", "example", folder=folder)
    return folder / "example"


def test_the_example_of_the_manual(example: Path, tmp_path: Path) -> None:
    run(example, "hello", folder=tmp_path, MIO_STATS="xml.stats", MIO_DEFAULTS="trace",
        MIO_FILES="*[trace/events=example.evt]", MIO_DEBUG="all")  # fmt: skip
    stats = (tmp_path / "xml.stats").read_text()
    header = stats.splitlines()[:9]
    assert header[0].startswith("MIO statistics file: ")
    assert header[1].startswith("hostname=")
    assert re.fullmatch(r"Program=.* pid=\d+ \((not )?threaded\)", header[2])
    assert header[3].startswith("MIO library libmio ")
    assert header[4:] == [
        "MIO_INCLUDE_PATH=(null)",
        "MIO_STATS =xml.stats",
        "MIO_DEBUG =all",
        "MIO_FILES =*[trace/events=example.evt]",
        "MIO_DEFAULTS =trace",
    ]
    assert "MIO_FILES: hello is matched by * [trace/events=example.evt]\n" in stats
    assert "MIO modules of hello: mio | trace/events={example.evt} | aix\n" in stats
    report = stats[stats.index("Trace close: ") :]
    seconds = r"\d+\.\d{6}"
    assert re.fullmatch(
        rf"Trace close: program <-> aix: hello: \(4915200/{seconds}\)=[\d.]+ bytes/s\n"
        rf" +demand rate=[\d.]+ bytes/s=4915200/\({seconds}-{seconds}\)\n"
        r" +open size=0, current size=0 max size=1638400\n"
        r" +mode =0640 FileSystemType=\w+ sector size=\d+\n"
        r" +oflags =0x242=RDWR CREAT TRUNC\n"
        rf" +open +1 +{seconds}\n"
        rf" +write +100 +{seconds} +1638400 == +1638400 +16384 +16384\n"
        rf" +read +200 +{seconds} +3276800 == +3276800 +16384 +16384\n"
        rf" +seek +101 +{seconds}\n"
        r" +101 backward seeks average=48503\n"
        rf" +trunc +1 +{seconds}\n"
        rf" +close +1 +{seconds}\n",
        report,
    )
    read = read_events(tmp_path / "example.evt")
    names = [OPERATIONS[number] for number in read.events["operation"].tolist()]
    assert {name: names.count(name) for name in names} == {
        "open": 1, "write": 100, "seek": 101, "read": 200, "trunc": 1, "close": 1,
    }  # fmt: skip
    assert read.is_closed
    assert read.files[0].path == "hello"
    writes = read.events[read.events["operation"] == OPERATIONS.index("write")]
    assert writes["offset"].tolist() == list(range(0, 1638400, 16384))


def test_without_variables_nothing_is_left(example: Path, tmp_path: Path) -> None:
    done = run(example, "hello", folder=tmp_path)
    assert done.stderr == done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["hello"]


def test_statistics_go_where_they_are_sent(example: Path, tmp_path: Path) -> None:
    trace = {"MIO_FILES": "* [ trace ]"}
    assert "Trace close" in run(example, "f", folder=tmp_path, MIO_STATS="stderr", **trace).stderr
    assert "Trace close" in run(example, "f", folder=tmp_path, MIO_STATS="stdout", **trace).stdout
    for _ in range(2):
        run(example, "f", folder=tmp_path, MIO_STATS="+more", **trace)
        run(example, "f", folder=tmp_path, **trace)
    assert (tmp_path / "more").read_text().count("Trace close") == 2
    assert (tmp_path / "mioout").read_text().count("Trace close") == 1


def test_what_makes_no_sense_is_told_and_left_out(example: Path, tmp_path: Path) -> None:
    done = run(example, "f", folder=tmp_path, MIO_FILES="* [ trace/stat ]")
    assert done.stderr == (
        "gnomon: MIO_FILES: trace has no option 'stat'\n  * [ trace/stat ]\n            ^\n"
    )
    done = run(example, "f", folder=tmp_path, GNOMON_MIO_MODULES="./none.so")
    assert done.stderr.startswith("gnomon: GNOMON_MIO_MODULES: cannot load: ")


def test_the_module_of_the_page(example: Path, tmp_path: Path) -> None:
    (source,) = re.findall(r"```c\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "slow.c").write_text(source)
    run("cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}", "slow.c", "-o",
        "slow.so", folder=tmp_path)  # fmt: skip
    done = run(example, "f", folder=tmp_path, GNOMON_MIO_MODULES="./slow.so", MIO_STATS="stderr",
               MIO_FILES="* [ trace | slow/pause_us=1 | trace/nostats ]")  # fmt: skip
    assert "Trace close: program <-> slow: f: " in done.stderr
    assert "slow: 200 pauses before reads of f\n" in done.stderr
    # The same of a program that knows nothing of MIO, and mistakes before it starts.
    script = "import os; fd = os.open('f', os.O_RDONLY); [os.read(fd, 10) for _ in range(7)]"
    more = {"GNOMON_MIO_MODULES": "./slow.so", "MIO_STATS": "stderr"}
    words = (GNOMON, "io", "--files", "f [ slow/pause_us=1 ]", "--", sys.executable, "-c", script)
    done = run(*words, folder=tmp_path, **more)
    assert "slow: 7 pauses before reads of f\n" in done.stderr
    refused = subprocess.run(
        [GNOMON, "io", "--files", "f [ slow/pause=1 ]", "--", "touch", "started"],
        cwd=tmp_path, env=os.environ | more, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (refused.returncode, (tmp_path / "started").exists()) == (2, False)
    assert "slow has no option 'pause'" in refused.stderr


@pytest.mark.parametrize(
    "compiler", ["cc -std=c99", "c++ -xc++ -std=c++11", "c++ -xc++ -std=c++20"]
)
def test_the_header_stands_alone(compiler: str, tmp_path: Path) -> None:
    user = tmp_path / "user.c"
    body = "  int fd = open(name, O_RDONLY);\n  return fd < 0 ? -1 : fcntl(fd, F_GETFD);\n"
    user.write_text(
        '#define USE_MIO_DEFINES\n#include "MIO_user.h"\nint use(const char *name);\n'
        f"int use(const char *name)\n{{\n{body}}}\n"
    )
    run(*compiler.split(), "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
        f"-I{INCLUDE / 'gnomon'}", user, folder=tmp_path)  # fmt: skip


def test_what_is_exported_is_declared() -> None:
    defined = subprocess.run(
        ["nm", "-D", "--defined-only", "-P", PACKAGE / "lib" / "libmio.so.0"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    exported = {line.split()[0].partition("@")[0] for line in defined}
    user = (ROOT / "native" / "include" / "gnomon" / "MIO_user.h").read_text()
    module = (ROOT / "native" / "mio" / "mio_module.h").read_text()
    declared = set(re.findall(r"^extern .*?\b(MIO_\w+)\(", user, re.MULTILINE))
    declared |= set(re.findall(r"\b(gn_mio_(?:below_\w+|print|descriptor))\(", module))
    assert exported == declared


def test_static_and_pkg_config(tmp_path: Path) -> None:
    found = {"PKG_CONFIG_PATH": str(PACKAGE / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "mio", folder=tmp_path, **found).stdout.split()
    run("cc", EXAMPLE, *flags, "-o", "shared", folder=tmp_path)
    words = run(GNOMON, "config", "--cflags", "--libs", "--static", "mio", folder=tmp_path)
    run("cc", EXAMPLE, *words.stdout.split(), "-o", "static", folder=tmp_path)
    for program in ("shared", "static"):
        done = run(f"./{program}", "f", folder=tmp_path, MIO_FILES="*[trace]", MIO_STATS="stderr")
        assert "Trace close" in done.stderr
