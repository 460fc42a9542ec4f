"""`gnomon stat` for monitoring: OpenMetrics in a file and served, as its readers read it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from commands import TOOLS, gnomon, run
from prometheus_client import Metric
from prometheus_client import parser as prometheus_parser
from prometheus_client.openmetrics import parser as openmetrics_parser
from watching import ended, first_line, until, watching

pytestmark = pytest.mark.usefixtures("busy_cpu")
Programs = Callable[[str], Path]
OPEN = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}
CPUS = os.cpu_count() or 1


@pytest.fixture(scope="session")
def promtool() -> str:
    """Return promtool; without it nobody says whether Prometheus takes our output: a failure."""
    own = TOOLS / "promtool"
    found = str(own) if own.exists() else shutil.which("promtool")
    if found is None:
        pytest.fail("promtool is not installed: run `make setup` (Debian's package prometheus)")
    return found


def checked(promtool: str, text: str) -> None:
    done = run(promtool, "check", "metrics", stdin=None, input=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr


def openmetrics(text: str) -> dict[str, Metric]:
    """Return the families of a text by name, as a strict parser of OpenMetrics reads it."""
    read: Any = openmetrics_parser.text_string_to_metric_families
    return {family.name: family for family in read(text)}


def prometheus(text: str) -> dict[str, Metric]:
    """Return the families of a text by name, as a parser of Prometheus's format reads it."""
    read: Any = prometheus_parser.text_string_to_metric_families
    return {family.name: family for family in read(text)}


# --- the file -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-A"],
        ["--per=node"],
        ["-G", "/"],
        ["-p", "1"],
        ["-g", "SCHED,PAGEFAULTS"],
        ["-e", "page-faults,page-faults:u,task-clock,sched:sched_switch,io:::disk_reads"],
        ["-e", "memory:::numa_hit,tsc:::cycles,network:::rx_bytes"],
    ],
)
def test_files_are_what_their_readers_take(words: list[str], promtool: str, tmp_path: Path) -> None:
    file, other = tmp_path / "node.prom", tmp_path / "node.txt"
    for path in (file, other):
        done = gnomon("stat", "-n", "--openmetrics", path, *words, "0.05", "2")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    text = file.read_text()
    checked(promtool, text)
    theirs = prometheus(text)
    ours = openmetrics(other.read_text())
    # A metric may have had a value in one of the two runs only.
    assert {name for name in {*ours} ^ {*theirs} if "_metric_" not in name} == set()
    for name, family in ours.items():
        assert name not in theirs or family.type == theirs[name].type
        assert family.documentation
        assert family.samples
        assert not family.unit or name.endswith(f"_{family.unit}")
    assert {family.type for family in ours.values()} == {"counter", "gauge"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node.prom", "node.txt"]


def test_labels_say_whose_a_number_is_and_how_it_came_to_be(tmp_path: Path) -> None:
    file = tmp_path / "x"
    gnomon("stat", "-n", "--openmetrics", file, "-A", "0.1", "1")
    families = openmetrics(file.read_text())
    faults = families["gnomon_page_faults"]
    assert faults.type == "counter"
    # The machine is not among them: a sum over CPUs would count it twice.
    assert {one.labels.get("cpu") for one in faults.samples} == {*map(str, range(CPUS))}
    (disks,) = families["gnomon_io_disk_read_bytes"].samples
    assert "cpu" not in disks.labels
    assert {one.labels["how"] for one in faults.samples} == {"counted"}
    assert {one.name for one in faults.samples} == {"gnomon_page_faults_total"}
    user = families["gnomon_proc_user_seconds"]
    assert (user.unit, {one.labels["how"] for one in user.samples}) == ("seconds", {"sampled"})
    assert families["gnomon_proc_runnable"].type == "gauge"
    assert families["gnomon_metric_page_fault_rate_per_second"].type == "gauge"
    gnomon("stat", "-n", "--openmetrics", file, "-g", "PAGEFAULTS", "-p", "1", "0.1", "1")
    (one,) = openmetrics(file.read_text())["gnomon_page_faults"].samples
    assert one.labels["pid"] == "1"
    assert one.labels["program"]
    assert one.labels["group"] == "PAGEFAULTS"


def test_names_that_need_escapes(promtool: str, tmp_path: Path) -> None:
    strange = tmp_path / 'a"b\n\\c'
    strange.symlink_to("/bin/sleep")
    process = subprocess.Popen([strange, "600"])
    try:
        for name, parse in (("x.prom", prometheus), ("x", openmetrics)):
            gnomon(
                "stat", "-n", "--openmetrics", tmp_path / name, "-p", str(process.pid), "0.05", "1"
            )
            (one, *_) = (parse((tmp_path / name).read_text()))["gnomon_page_faults"].samples
            assert one.labels["program"] == 'a"b\n\\c'
    finally:
        process.kill()
        process.wait()
    checked(promtool, (tmp_path / "x.prom").read_text())


def test_the_file_is_whole_whenever_it_is_read(promtool: str, tmp_path: Path) -> None:
    file = tmp_path / "node.prom"
    with watching("-n", "--openmetrics", file, "-A", "0.01") as ours:
        until(file.exists)
        seen: set[int] = set()

        def has_seen_ten() -> bool:
            for _ in range(50):
                text = file.read_text()
                assert text.endswith("\n")
                counted = re.search(r"^gnomon_intervals_total (\d+)$", text, re.MULTILINE)
                assert counted is not None
                seen.add(int(counted[1]))
            return len(seen) >= 10

        until(has_seen_ten)
        assert ended(ours)[0] == 0
    checked(promtool, file.read_text())
    assert list(tmp_path.iterdir()) == [file]


def test_the_documented_configuration_is_one(promtool: str, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands" / "stat.md").read_text()
    (configuration,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    token = tmp_path / "token"
    token.write_text("x" * 32)
    file = tmp_path / "prometheus.yml"
    file.write_text(re.sub(r"(credentials_file:) \S+", rf"\1 {token}", configuration))
    done = run(promtool, "check", "config", file)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the server -----------------------------------------------------------------------------------


@contextmanager
def serving(*words: str | Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Start a server on any free port; yield its process, its URL and its token."""
    with watching("-n", "--listen", "0", *words, "0.05") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        while "listening" not in line:
            assert line
            line = process.stderr.readline()
        said = re.fullmatch(r"gnomon: listening on (http://\S+?/metrics)(?:\?token=(\S+))?\n", line)
        assert said is not None, line
        yield process, said[1], said[2] or ""


def fetched(url: str, **headers: str) -> tuple[int, str, str]:
    """Return status, content type and body."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_a_client_with_the_token_gets_what_grows(promtool: str, programs: Programs) -> None:
    with serving("-e", "page-faults") as (_, url, token):
        bearer = {"Authorization": f"Bearer {token}"}
        status, kind, first = fetched(url, **bearer, **OPEN)
        assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        assert first.endswith("# EOF\n")
        until(lambda: "gnomon_page_faults_total" in fetched(url, **bearer)[2])
        _, _, first = fetched(url, **bearer, **OPEN)
        before = openmetrics(first)["gnomon_page_faults"].samples[0].value
        run(programs("pages"), "5000")

        def has_grown() -> bool:
            _, _, later = fetched(f"{url}?token={token}", **OPEN)
            return bool(openmetrics(later)["gnomon_page_faults"].samples[0].value >= before + 5000)

        until(has_grown)
        status, kind, plain = fetched(url, **bearer)
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        checked(promtool, plain)


def test_nobody_else_gets_anything() -> None:
    with serving() as (_, url, token):
        wrong = ("", "x", token[:-1], token + "x", "\xe9")
        for one in wrong:
            for answer in (
                fetched(url, Authorization=f"Bearer {one}"),
                fetched(f"{url}?token={quote(one)}"),
                fetched(url, Authorization=f"Basic {token}"),
            ):
                assert answer[0] == 401
                assert "gnomon_" not in answer[2]
        assert fetched(url)[0] == 401
        assert fetched(url.replace("/metrics", "/"), Authorization="Bearer x")[0] == 401
        assert fetched(url.replace("/metrics", "/x"), Authorization=f"Bearer {token}")[0] == 404
        request = urllib.request.Request(url, data=b"x", method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        assert refused.value.code == 501
        refused.value.close()


def test_it_listens_on_loopback_only() -> None:
    with serving() as (process, url, token):
        port = int(url.rpartition(":")[2].partition("/")[0])
        listening = [
            line.split()[1]
            for line in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]
            if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) == port
        ]
        assert listening == [f"0100007F:{port:04X}"]
        with socket.socket(socket.AF_INET6) as six, pytest.raises(OSError, match=r"refused|assign"):
            six.connect(("::1", port))
        assert fetched(url, Authorization=f"Bearer {token}")[0] == 200


def test_clients_that_say_nothing_or_rubbish_cost_nobody_anything() -> None:
    with serving() as (process, url, token):
        host, port = url.removeprefix("http://").partition("/")[0].split(":")
        idle = [socket.create_connection((host, int(port))) for _ in range(5)]
        for rubbish in (b"\0" * 5000, b"GET " + b"x" * 100_000, b"GET /metrics HTTP/9.9\r\n\r\n",
                        b"GET http://[ HTTP/1.0\r\n\r\n"):  # fmt: skip
            with socket.create_connection((host, int(port)), timeout=30) as client:
                client.sendall(rubbish)
        assert fetched(url, Authorization=f"Bearer {token}")[0] == 200
        for one in idle:
            one.close()
        status, _, err = ended(process)
        assert (status, err) == (0, "")


def test_the_token_of_a_file(tmp_path: Path) -> None:
    """Made by the first start, for its owner alone, and the same in the next."""
    file = tmp_path / "token"
    tokens = []
    for _ in range(2):
        with serving("--token-file", file) as (_, url, told):
            assert told == ""
            assert file.stat().st_mode & 0o777 == 0o600
            tokens.append(file.read_text().strip())
            assert fetched(url, Authorization=f"Bearer {tokens[-1]}")[0] == 200
            assert fetched(url)[0] == 401
    assert tokens[0] == tokens[1]
    assert len(tokens[0]) >= 32
    for text in ("", "short\n", "two\nlines are no token\n", "\0" * 50, "x" * 5000):
        file.write_text(text)
        done = gnomon("stat", "-n", "--listen", "0", "--token-file", file)
        assert done.returncode == 1
        assert "a token has 16 to 4096 characters" in done.stderr


def test_a_port_that_is_taken() -> None:
    with serving() as (_, url, _):
        port = url.rpartition(":")[2].partition("/")[0]
        done = gnomon("stat", "-n", "--listen", port)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            f"gnomon: --listen 127.0.0.1:{port}: Address already in use; give another port, or "
            "0 for any free one"
        )


def test_a_signal_ends_the_server() -> None:
    with serving() as (process, url, token):
        fetched(url, Authorization=f"Bearer {token}")
        status, _, _ = ended(process, signal.SIGTERM)
        assert status == 0
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(url, timeout=5)


def test_a_named_host_is_used_and_warned_of() -> None:
    with watching("--listen", "0.0.0.0:0", "0.05") as process:
        first_line(process)
        _, _, err = ended(process)
    assert "0.0.0.0 is not loopback: token and metrics travel unencrypted" in err
