"""Takes the pictures of `gnomon view` that the documentation shows, of real runs made here.

    .venv/bin/python docs/screenshots.py [NAME ...]

Needs what `make test` needs: Chromium, Valgrind, Open MPI, C, C++ and Fortran compilers.
NAME is that of a picture to take; without any, all are taken.
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
RUNS = ("power", "longer", "uneven", "before", "after", "mesh", "slower", "heat", "ranks", "halo",
        "records", "steps", "gmon.out")  # fmt: skip


class Picture(NamedTuple):
    """One picture: its name, the run, the place, the theme, what to click and press first."""

    name: str
    run: str
    place: str
    theme: str
    clicks: tuple[str, ...] = ()
    against: str = ""
    keys: tuple[str, ...] = ()


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
    Picture("flame", "mesh", "#/flame", "light"),
    Picture("icicle", "heat", "#/flame?picture=icicle&colour=language", "dark"),
    Picture(
        "sandwich",
        "mesh",
        "#/flame?picture=icicle&q=__cbrt",
        "light",
        keys=(
            "n",
            "Shift+F10",
            "ArrowDown",
            "Enter",
            "/",
            "Escape",
        ),
    ),
    Picture("time", "heat", "#/flame?picture=time&colour=language", "light"),
    Picture("ranks", "ranks", "#/flame?picture=icicle&split=process", "dark"),
    Picture("routines", "halo", "#/tree?by=routine", "light"),
    Picture("messages", "halo", "#/ranks", "light", keys=("ArrowDown", "ArrowRight")),
    Picture("strips", "halo", "#/ranks?ranks=strips", "dark", (".outliers .link",)),
    Picture("io", "records", "#/io", "light"),
    Picture("io-ranks", "steps", "#/io?iopicture=processes", "dark"),
    Picture("callgraph", "gmon.out", "#/callgraph", "light"),
    Picture(
        "callgraph-report",
        "mesh",
        "#/callgraph",
        "light",
        (".graph-tools .menu-button:has-text('Report')", ".item:has-text('Call Graph Profile')"),
    ),
    Picture("difference", "slower", "#/flame?colour=difference", "light", (), "mesh"),
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
    source = (PROGRAMS / "mesh.cpp").read_text(encoding="utf-8")
    (folder / "mesh.cpp").write_text(source.replace("smooth(40", "smooth(70"), encoding="utf-8")
    run("c++", "-g", "-O1", "-pthread", "-o", "mesh", "mesh.cpp")
    run(GNOMON, "record", "--name", "slower", "--", "./mesh", "3000")
    shutil.copy(PROGRAMS / "mesh.cpp", folder)
    run(GNOMON, "record", "--name", "heat", "--", sys.executable, "heat.py")
    run("mpicc", "-g", "-O1", "-o", "ranks", "ranks.c", "-lm")
    run("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "8", GNOMON, "record", "--name",
        "ranks", "--", "./ranks", "24")  # fmt: skip
    run("mpicc", "-g", "-O1", "-o", "halo", "halo.c", "-lm")
    run(GNOMON, "run", "--name", "halo", "--", "mpirun", "--allow-run-as-root", "--oversubscribe",
        "-n", "8", "./halo", "200")  # fmt: skip
    run("cc", "-g", "-O1", "-o", "records_app", "records.c")
    run(GNOMON, "io", "--trace", "--name", "records", "--", "./records_app")
    run("mpicc", "-g", "-O1", "-o", "steps_app", "steps.c", "-lm")
    run(GNOMON, "run", "--with", "io", "--io-trace", "--name", "steps", "--", "mpirun",
        "--allow-run-as-root", "--oversubscribe", "-n", "4", "./steps_app")  # fmt: skip
    run("c++", "-g", "-O1", "-pg", "-pthread", "-o", "smoothing", "mesh.cpp")
    run("./smoothing", "3000")
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
        page.click(what, button="right" if what.startswith(".tree-row") else "left")
    if picture.keys:
        page.locator(".flame-scroll, canvas.matrix").first.focus()
    for key in picture.keys:
        page.keyboard.press(key)
        page.wait_for_timeout(500)
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
                    if sys.argv[1:] and picture.name not in sys.argv[1:]:
                        continue
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
