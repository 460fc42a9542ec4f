"""Takes the pictures of `gnomon view` that the documentation shows, of real runs made here.

    .venv/bin/python docs/screenshots.py

Needs what `make test` needs: Chromium, Valgrind, a C and a Fortran compiler.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "tests" / "browser" / "programs"
EXAMPLES = HERE.parent / "examples"
IMAGES = HERE / "images"
GNOMON = str(Path(sys.executable).with_name("gnomon"))
RUNS = ("power", "longer", "uneven", "before", "after", "mesh")


class Picture(NamedTuple):
    """One picture: its name, the run, the place in the view, the theme, what to click first."""

    name: str
    run: str
    place: str
    theme: str
    clicks: tuple[str, ...] = ()
    against: str = ""


PICTURES = (
    Picture("tree", "power", "#/tree", "light"),
    Picture("calls", "mesh", "#/tree", "light"),
    Picture("callers", "mesh", "#/tree?by=callers", "light"),
    Picture("node", "power", "#/tree", "light", (".tree-row >> nth=1",)),
    Picture("table", "power", "#/table", "light"),
    Picture("metrics", "uneven", "#/metrics?metric=task-clock", "dark"),
    Picture("compare", "after", "#/compare", "light", (), "before"),
    Picture("against", "longer", "#/tree", "dark", (), "power"),
    Picture("run", "uneven", "#/run", "light"),
)


def make(folder: Path) -> None:
    """Build the programs and measure them."""

    def run(*command: str) -> None:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    for source in (*PROGRAMS.iterdir(), EXAMPLES / "stencil.c"):
        shutil.copy(source, folder)
    run("gfortran", "-g", "-O1", "-c", "product.f90")
    for name, rounds in (("power", 5), ("longer", 8)):
        run(
            "cc",
            "-g",
            "-O1",
            f"-DROUNDS={rounds}",
            "-o",
            "app",
            "power.c",
            "product.o",
            "-lgfortran",
        )
        run(GNOMON, "count", "--pmu", "emulated", "--name", name, "--", "./app")
    run("cc", "-g", "-O1", "-pthread", "-o", "threads", "uneven.c")
    run(GNOMON, "count", "--per", "thread", "-r", "4", "--name", "uneven", "--", "./threads")
    run("c++", "-g", "-O1", "-pthread", "-o", "mesh", "mesh.cpp")
    run(GNOMON, "record", "--name", "mesh", "--", "./mesh", "3000")
    run("cc", "-O2", "-o", "stencil", "stencil.c", "-lm")
    for name, iterations in (("before", "60"), ("after", "78")):
        run(GNOMON, "count", "-r", "12", "--name", name, "--", "./stencil", "500", iterations)


def take(page: Page, address: str, picture: Picture) -> None:
    """Take one picture."""
    page.goto(address + picture.place)
    page.click(".run-title .menu-button")
    page.locator(
        ".run-title .item", has=page.locator("b", has_text=re.compile(f"^{picture.run}$"))
    ).click()
    if picture.against:
        page.select_option(".against select", label=picture.against)
    page.wait_for_timeout(3000)
    for what in picture.clicks:
        page.click(what, button="right")
    page.mouse.move(640, 790)
    page.wait_for_timeout(1500)
    page.screenshot(path=IMAGES / f"view-{picture.name}.png")


def main() -> None:
    """Make the runs, serve them, take the pictures."""
    IMAGES.mkdir(exist_ok=True)
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory(prefix="gnomon-") as name:
        folder = Path(name) / "work"
        folder.mkdir()
        make(folder)
        command = [GNOMON, "view", *RUNS, "--no-browser"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = next(word for word in server.stdout.readline().split() if "://" in word)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                for picture in PICTURES:
                    page = browser.new_page(
                        viewport={"width": 1280, "height": 800},
                        color_scheme="dark" if picture.theme == "dark" else "light",
                    )
                    take(page, address, picture)
                    page.close()
                browser.close()
            server.terminate()


if __name__ == "__main__":
    main()
