"""`gnomon view` and `peekperf` as people start them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import TOOLS as BIN
from commands import gnomon

PROGRAM = "/bin/true"


class Page(NamedTuple):
    """A running server: what it printed, and the process."""

    lines: list[str]
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", self.lines[0])
        assert found, self.lines
        return found[0]

    def ask(self, path: str) -> Any:
        base, _, token = self.url.partition("#")[0].partition("/?token=")
        request = urllib.request.Request(base + path, headers={"X-Gnomon-Token": token})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


@contextmanager
def started(folder: Path, command: Sequence[str], **environment: str) -> Iterator[Page]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    }
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=kept | environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        assert lines, process.communicate()[1]
        yield Page(lines, process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("first", "second"):
        done = gnomon("count", "--name", name, "--", PROGRAM, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_ended(runs: Path, number: signal.Signals) -> None:
    with started(runs, [str(BIN / "gnomon"), "view", "first", "second"]) as page:
        state = page.ask("/api/state")
        assert [run["title"] for run in state["runs"]] == ["first", "second"]
        assert state["folder"] == str(runs)
        port = page.url.partition("/?")[0].rpartition(":")[2]
        assert f"ssh -N -L {port}:127.0.0.1:{port} " in page.lines[1]
        page.process.send_signal(number)
        out, error = page.process.communicate(timeout=60)
        assert (error, out) == ("", "")
        assert page.process.returncode in (0, -number)


def test_without_a_name_it_is_the_latest_run_here(runs: Path, tmp_path: Path) -> None:
    with started(runs, [str(BIN / "gnomon"), "view", "--no-browser"]) as page:
        assert [run["title"] for run in page.ask("/api/state")["runs"]] == ["second"]
    with started(tmp_path, [str(BIN / "gnomon"), "view"]) as page:
        assert page.ask("/api/state")["runs"] == []


def test_a_browser_is_opened_where_there_is_one(runs: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    asked = tmp_path / "asked"
    browser.write_text(f'#!/bin/sh\necho "$1" > {asked}\n')
    browser.chmod(0o755)
    command = [str(BIN / "gnomon"), "view", "first"]
    with started(runs, command, BROWSER=f"{browser} %s &", DISPLAY=":9") as page:
        assert page.lines[0].startswith("opening in the browser: ")
        for _ in range(500):
            if asked.exists() and asked.read_text():
                break
            subprocess.run(["sleep", "0.02"], check=True)
        assert asked.read_text().strip() == page.url
    asked.unlink()
    with started(runs, [*command, "--no-browser"], BROWSER=f"{browser} %s &", DISPLAY=":9") as page:
        assert page.lines[0].startswith("open in a browser: ")
    assert not asked.exists()


def test_peekperf_combines_what_it_is_given(runs: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        command = [str(BIN / "hpmcount"), "-o", str(tmp_path / name), "--", PROGRAM]
        subprocess.run(command, capture_output=True, check=True, env=os.environ | {
            "HPM_VIZ_OUTPUT": "1"})  # fmt: skip
    files = sorted(str(file) for file in tmp_path.glob("*.viz"))
    assert len(files) == 2
    command = [str(BIN / "peekperf"), "-num", "3", *files, str(runs / "first")]
    with started(tmp_path, command) as page:
        state = page.ask("/api/state")
        assert state["sourcesBeforeAsking"] == 3
        assert [run["kind"] for run in state["runs"]] == ["file", "file", "run", "combined"]
        assert len(state["runs"][-1]["parts"]) == 3
        assert page.url.endswith(f"#/tree?run={state['runs'][-1]['id']}")


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["view", "nowhere"], 1, "no such run"),
        (["view", "first", "--port", "70000"], 2, "must be 1 to 65535"),
        (["view", "first", "--sources", "/no/such"], 2, "no directory"),
        (["view", "no.viz"], 1, "no.viz: no such file"),
        (["view", "nowhere", "nothing"], 1, "nowhere.gnomon"),
    ],
)
def test_what_cannot_be_shown_is_said(runs: Path, words: list[str], status: int, why: str) -> None:
    done = gnomon(*words, cwd=runs)
    assert done.returncode == status, done.stderr
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_said(runs: Path) -> None:
    with started(runs, [str(BIN / "gnomon"), "view", "first"]) as page:
        port = page.url.partition("/?")[0].rpartition(":")[2]
        done = gnomon("view", "first", "--port", port, cwd=runs)
        assert done.returncode == 2
        assert f"--port {port}: cannot listen there: Address already in use" in done.stderr


def test_one_of_several_that_is_broken_is_a_note_on_the_page(runs: Path) -> None:
    with started(runs, [str(BIN / "gnomon"), "view", "first", "nowhere"]) as page:
        state = page.ask("/api/state")
        assert [run["title"] for run in state["runs"]] == ["first"]
        assert "nowhere.gnomon" in state["problems"][0]
