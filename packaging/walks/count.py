"""The walk of a count: a program with a section, the run, the server, the page."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from commands import HERE, Part, environment_of, run, trace, under_gdb
from playwright.sync_api import sync_playwright

GNOMON = str(Path(sys.executable).with_name("gnomon"))
WEB = HERE.parents[1] / "src" / "gnomon" / "view" / "web"
# So many page faults are counted for a section, and nothing else comes to that number.
COUNT = 23_456
# What the program had before the section; the kernel's counts go on.
BEFORE = 700
TABLE = "api/runs/1/table?name=functions"
PATIENCE_MS = 90_000


def record_count(folder: Path) -> list[Part]:
    """Count a section in a program, store the run and look at it."""
    program = folder / "section"
    found = subprocess.run(
        [GNOMON, "config", "--cflags", "--libs", "hpm"], check=True, capture_output=True, text=True
    )
    run(["cc", "-o", str(program), str(HERE / "section.c"), *found.stdout.split()], folder)
    command = [str(program), str(COUNT)]
    value = {"number": COUNT}
    section, stored, served, shown = (folder / name for name in ("c", "run", "view", "page"))
    about = environment_of(section, {"number": COUNT, "above": BEFORE})
    about |= {"GNOMON_WALKS_FIRST": "hpmStop", "GNOMON_WALKS_LAST": "hpm_items_write"}
    run([GNOMON, "run", "--name", "c", "--", *under_gdb(command)], folder, **about)
    run(trace(stored, value, "run", "--name", "count", "--", *command), folder)
    look(trace(served, value, "view", "count", "--no-browser"), folder, shown)
    return [
        Part(section, ("hpm_stop", "hpm_items_of", "hpm_items_write")),
        Part(stored, ("ParquetWriter._append_plain",)),
        Part(served, ("read_profile_rows", "as_json")),
        Part(shown, ("shown",)),
    ]


def look(command: list[str], folder: Path, log: Path) -> None:
    """Serve the run with a page whose functions say what they give, and look at the count there."""
    static = folder / "static"
    run(["node", str(HERE / "page_build.mjs"), str(WEB), str(static)], folder)
    server = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"GNOMON_WALKS_PAGE": str(static)},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    address = ""
    while not address and (line := server.stdout.readline()):
        match = re.search(r"http://127\.0\.0\.1:\d+/\S*", line)
        address = match[0] if match else ""
    try:
        steps = visit(address)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)
    with log.open("w", encoding="utf-8") as lines:
        for number, (file, function) in enumerate(steps, 1):
            call = {"number": number, "parent": 0, "file": file, "function": function}
            times = {"began": number, "ended": number, "gives": True}
            print(json.dumps(call | times), file=lines)
            print(json.dumps({"end": number, "how": "shown"}), file=lines)


def visit(address: str) -> list[tuple[str, str]]:
    """Return the page's functions that gave the count, up to the cell that shows it."""
    text = f"{COUNT:,}".replace(",", r"\s")
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = chromium.new_page()
        page.set_default_timeout(PATIENCE_MS)
        # The first answer that holds the count: later ones come of what the server remembers.
        page.route("**/*.js", lambda route: route.abort())
        page.goto(address)
        page.evaluate("address => fetch(address).then(answer => answer.text())", TABLE)
        page.unroute_all()
        script = (HERE / "page_calls.js").read_text(encoding="utf-8")
        page.add_init_script(script.replace("COUNT", str(COUNT)).replace("TEXT", f"/{text}/"))
        page.goto(address.partition("?")[0] + "#/table")
        page.locator(".table-row .value").filter(has_text=re.compile(text)).first.wait_for()
        steps: list[tuple[str, str]] = page.evaluate("gnomonSteps")
        chromium.close()
    return steps
