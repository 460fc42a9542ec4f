"""The page of I/O: access patterns, heat maps and lanes over time, of calls that are known."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
import traced_runs
from playwright.sync_api import Locator, Page, expect
from traced_runs import CALLS, Call

from browser.conftest import PROGRAMS, ran
from browser.drawings import SVG
from browser.pages import GNOMON, Opened, Served, comes_to, text, visit
from browser.test_accessible import critical_faults
from browser.test_dark import LEAST_CONTRAST, contrast

RECORD, RECORDS = 16384, 100
STEP_NS, LASTS_NS = 10_000, 4_000
# Where a plot is within its canvas: plot.ts and pattern-panel.tsx.
LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 78, 12, 22, 20
MANY = 30_000

# Of a copy: a canvas that is read often is drawn otherwise.
HAS_COLOUR = """(canvas, name) => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    for (let at = 0; at < data.length; at += 4)
        if (data[at] === r && data[at + 1] === g && data[at + 2] === b) return true;
    return false;
}"""


def example() -> list[Call]:
    """Return what the program of MIO's manual does: it writes, reads, and reads backward."""
    places = [*range(RECORDS), *range(RECORDS), *reversed(range(RECORDS))]
    return [
        Call(0, "write" if nth < RECORDS else "read", 0, nth * STEP_NS, LASTS_NS,
             place * RECORD, RECORD)
        for nth, place in enumerate(places)
    ]  # fmt: skip


def job() -> list[Call]:
    """Return 4 ranks that write their parts of a file, wait for each other, and read others'."""
    calls = []
    for rank in range(4):
        for nth in range(20):
            start = nth * 2_000_000
            calls += [
                Call(rank, "pwrite", 0, start, 900_000, (nth * 4 + rank) * RECORD, RECORD),
                Call(rank, "pread", 0, 50_000_000 + start, 500_000 * (1 + 2 * (rank == 3)),
                     (nth * 4 + (rank + 1) % 4) * RECORD, RECORD),
            ]  # fmt: skip
        calls.append(Call(rank, "MPI_Barrier", -1, 41_000_000, 8_000_000))
        calls.append(Call(rank, "pwrite", 1, 95_000_000, 1000, rank * 100, 100))
    return calls


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve runs of one process, of 4 ranks with samples, and of more calls than are drawn."""
    folder = tmp_path_factory.mktemp("io")
    traced_runs.write(folder / "example", example(), ["/data/hello"])
    traced_runs.write(folder / "job", job(), ["/gpfs/shared.dat", "/gpfs/log"], ranks=4, samples=10)
    many = [
        Call(0, "pread", 0, nth * 1000, 500, nth * 7919 % MANY * 512, 512) for nth in range(MANY)
    ]
    traced_runs.write(folder / "many", many, ["/data/large"])
    small = [
        Call(0, "read", file, file * 1000, 500, 0, 100 * (file + 1), 4096) for file in range(300)
    ]
    traced_runs.write(folder / "small", small, [f"/src/part{file}.c" for file in range(300)])
    traced_runs.write(folder / "none", [], [])
    runs = ["example", "job", "many", "small", "none"]
    with Opened([GNOMON, "view", *runs, "--no-browser"], folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a run of a program that writes and reads a file of records, as it was recorded."""
    folder = tmp_path_factory.mktemp("recorded")
    ran(["cc", "-g", "-O1", "-o", "records", str(PROGRAMS / "records.c")], folder)
    ran([GNOMON, "io", "--trace", "--name", "run", "--", "./records"], folder)
    with Opened([GNOMON, "view", "run", "--no-browser"], folder) as opened:
        yield opened


def point(plot: Locator, time: float, offset: float) -> tuple[float, float]:
    """Return where a part of the time and of the file is on the page, each from 0 to 1."""
    box = plot.bounding_box()
    assert box is not None
    x = box["x"] + LEFT_PX + time * (box["width"] - LEFT_PX - RIGHT_PX)
    y = box["y"] + TOP_PX + (1 - offset) * (box["height"] - TOP_PX - BOTTOM_PX)
    return x, y


def sums(page: Page) -> dict[str, list[str]]:
    """Return the rows of the sums of the shown time: reads, then writes."""
    rows = page.locator(".io-totals table").first.locator("tbody tr").all()
    return {text(row.locator("th")): [text(one) for one in row.locator("td").all()] for row in rows}


def drag(page: Page, begin: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag the mouse from one point to another."""
    page.mouse.move(*begin)
    page.mouse.down()
    page.mouse.move(*end, steps=3)
    page.mouse.up()


def has_colour(picture: Locator, name: str) -> bool:
    """Return whether a canvas has a colour of the theme somewhere."""
    return bool(picture.evaluate(HAS_COLOUR, name))


def test_writes_are_blue_reads_red_and_sums_beside_them(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="example")
    picture = page.locator(".io-panel canvas").first
    expect(page.locator(".io-panel figcaption")).to_have_text("/data/hello300 requests")
    for name in ("--io-write", "--io-read"):
        comes_to(page, lambda: has_colour(picture, name), True)  # noqa: B023 - asked at once
    assert not has_colour(picture, "--io-both")
    found = sums(page)
    assert found["requests"] == ["200", "100"]
    assert found["bytes"] == ["3.125 MiB", "1.562 MiB"]
    assert (found["consecutive"], found["backward"]) == (["49.5 %", "100.0 %"], ["50.5 %", "0 %"])
    assert text(page.locator(".io-sizes tr").first).startswith("up to 16 KiB")
    page.get_by_role("button", name="reads").click()
    comes_to(page, lambda: has_colour(picture, "--io-read"), False)
    assert has_colour(picture, "--io-write")
    assert critical_faults(page) == {}


def test_the_mouse_tells_a_request_and_leads_to_its_source(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="example")
    plot = page.locator("canvas.io-plot")
    expect(page.locator(".io-panel figcaption")).to_contain_text("300 requests")
    nth = 250
    time = (nth * STEP_NS + LASTS_NS / 2) / ((3 * RECORDS - 1) * STEP_NS + LASTS_NS)
    page.mouse.move(*point(plot, time, (3 * RECORDS - nth - 0.5) / RECORDS))
    tooltip = page.locator(".flame-tooltip")
    expect(tooltip).to_contain_text("read")
    told = text(tooltip)
    assert "sweep app.c:41" in told
    assert re.search(r"at offset 802.816 \(784 KiB\)", told), told
    assert "took 4 µs" in told
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".io-request")).to_contain_text("began2.5 ms")
    page.get_by_role("button", name="Show the source").click()
    page.wait_for_function("location.hash.includes('#/tree')")
    assert f"line={CALLS['read']}" in page.url


def test_dragging_and_keys_zoom(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="example")
    plot = page.locator("canvas.io-plot")
    caption = page.locator(".io-panel figcaption")
    expect(caption).to_contain_text("300 requests")
    drag(page, point(plot, 0.0, 0.25), point(plot, 1 / 3 - 0.01, 0.75))
    expect(caption).to_contain_text(re.compile("(49|50|51) requests"))
    comes_to(page, lambda: "iotime=0-" in page.url and "iorange=0%3A4" in page.url, True)
    comes_to(page, lambda: sums(page)["requests"][0], "0")
    page.keyboard.press("Escape")
    expect(caption).to_contain_text("300 requests")
    # Along one axis alone.
    drag(page, point(plot, 0.5, 0.5), point(plot, 0.7, 0.5))
    comes_to(page, lambda: "iotime" in page.url and "iorange" not in page.url, True)
    page.go_back()
    expect(caption).to_contain_text("300 requests")
    plot.focus()
    page.keyboard.press("z")
    expect(caption).to_contain_text(re.compile("1(49|50|51) requests"))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    comes_to(page, lambda: "iotime=0-1497" in page.url, True)
    page.keyboard.press("x")
    expect(caption).to_contain_text("300 requests")
    page.keyboard.press("a")
    comes_to(page, lambda: "iorange=0%3A409600-1228800" in page.url, True)
    page.keyboard.press("Backspace")
    expect(caption).to_contain_text("300 requests")
    page.keyboard.press("z")
    page.keyboard.press("z")
    page.keyboard.press("f")
    comes_to(page, lambda: "iorange=0%3A" in page.url, True)


def test_keys_go_from_request_to_request(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="example")
    plot = page.locator("canvas.io-plot")
    expect(page.locator(".io-panel figcaption")).to_contain_text("300 requests")
    plot.focus()
    page.keyboard.press("n")
    chosen = page.locator(".io-request")
    expect(chosen).to_contain_text("at offset0 B")
    page.keyboard.press("n")
    expect(chosen).to_contain_text("at offset16")
    page.keyboard.press("N")
    expect(chosen).to_contain_text("at offset0 B")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.includes('#/tree')")
    assert f"line={CALLS['write']}" in page.url


def test_files_and_ranks_have_pictures_of_their_own(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="job")
    panels = page.locator(".io-panel")
    expect(panels).to_have_count(1)
    expect(panels.locator("figcaption")).to_have_text("/gpfs/shared.dat160 requests")
    page.get_by_label("each").check()
    expect(panels).to_have_count(4)
    expect(panels.nth(3).locator("figcaption")).to_have_text("rank 3 on node140 requests")
    page.get_by_label("each").uncheck()
    page.get_by_role("checkbox", name="show /gpfs/log beside others").check()
    expect(panels).to_have_count(2)
    expect(page.locator(".io-totals h3")).to_contain_text("All files")
    page.get_by_role("button", name="all ranks").click()
    page.locator(".io-place", has_text="rank 2").get_by_role("checkbox").check()
    expect(panels.first.locator("figcaption")).to_contain_text("40 requests")
    page.keyboard.press("Escape")
    page.get_by_label("filter of files").fill("LOG gpfs")
    expect(page.locator(".io-file")).to_have_count(1)
    page.locator(".io-file").click()
    expect(panels).to_have_count(1)
    expect(panels.locator("figcaption")).to_have_text("/gpfs/log1 request")
    assert critical_faults(page) == {}


def test_what_is_too_much_is_drawn_by_points(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="many")
    caption = page.locator(".io-panel figcaption")
    expect(caption).to_contain_text("those that look alike as one")
    expect(caption).to_contain_text(re.compile(r"30.000 requests"))
    plot = page.locator("canvas.io-plot")
    plot.focus()
    page.keyboard.press("z")
    expect(caption).to_have_text(re.compile(r"/data/large15.00\d requests$"))
    page.keyboard.press("x")
    expect(caption).to_contain_text("those that look alike as one")
    page.mouse.move(*point(plot, 0.503, 0.505))
    page.mouse.move(*point(plot, 0.5, 0.5))
    expect(page.locator(".flame-tooltip")).to_contain_text("click to zoom in")
    page.mouse.down()
    page.mouse.up()
    expect(caption).to_have_text(re.compile(r"requests$"))


def test_a_heat_map_of_ranks(page: Page, served: Served) -> None:
    visit(page, served, "#/io?iopicture=processes", run="job")
    canvas = page.locator(".io-heat > canvas")
    status = page.locator(".io-heat-foot p")
    expect(status).to_contain_text("4 rows, each mark")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    expect(status).to_contain_text("rank 0 on node1, 0 ns to")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(status).to_contain_text("rank 3 on node1, 0 ns to")
    expect(status).to_contain_text(re.compile(r"read 0 B/s, written .* MiB/s"))
    page.select_option("[aria-label=colour]", "seconds")
    expect(page.locator(".colour-legend")).to_contain_text("part of the time in calls")
    expect(page.locator(".colour-legend")).to_contain_text("100.0 %")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".io-panel figcaption")).to_contain_text("40 requests")
    assert "ioplaces=4" in page.url
    page.keyboard.press("[")
    assert critical_faults(page) == {}


def test_a_heat_map_of_files_in_the_order_of_their_use(page: Page, served: Served) -> None:
    visit(page, served, "#/io?iopicture=files", run="small")
    expect(page.locator(".io-files .note")).to_have_text("200 of 300 files")
    expect(page.locator(".io-heat-foot p")).to_contain_text("rows, each mark")
    canvas = page.locator(".io-heat > canvas")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator(".io-heat-foot p")).to_contain_text(re.compile(r"part\d+\.c"))
    page.get_by_role("button", name="Access pattern").click()
    expect(page.locator(".io-panel figcaption")).to_contain_text("/src/part299.c1 request")


def test_a_window_is_the_same_in_all_views(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="job")
    lanes = page.locator(".io-lane canvas")
    comes_to(page, lambda: len(lanes.all()), 4)
    said = [lane.get_attribute("aria-label") or "" for lane in lanes.all()]
    expect(lanes.nth(3)).to_have_attribute("aria-label", "in MPI: up to 4 at once")
    expect(lanes.nth(0)).to_have_attribute("aria-label", "CPU time: up to 4 threads")
    assert said[1].startswith("bytes: ")
    box = lanes.nth(1).bounding_box()
    assert box is not None
    wide = box["width"] - LEFT_PX - RIGHT_PX
    begin = (box["x"] + LEFT_PX, box["y"] + 10)
    drag(page, begin, (begin[0] + wide * 0.4, begin[1] + 5))
    comes_to(page, lambda: re.search(r"window=0-(39|40)\d{6}\b", page.url) is not None, True)
    expect(lanes.nth(3)).to_have_attribute("aria-label", "in MPI: none")
    expect(page.locator(".io-totals h3")).to_contain_text(re.compile(r"0 to (39|40)"))
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_selector(".window-bar")
    expect(page.locator(".window-bar")).to_contain_text("0 ns to")
    bands = page.locator(".activity")
    # Calls have times, too: the picture is of those within the window.
    page.select_option("[aria-label=metric]", "I/O time")
    expect(bands).to_have_count(2)
    page.select_option("[aria-label=metric]", "CPU time")
    expect(bands).to_have_count(3)
    expect(bands.nth(1)).to_contain_text("I/O up to")
    expect(bands.nth(2)).to_contain_text("MPI up to 4 at once")
    end = bands.nth(1).get_by_role("slider", name="end of the window")
    expect(end).to_have_attribute("aria-valuenow", re.compile(r"(39|40)\d\d\d"))
    end.focus()
    page.keyboard.press("Escape")
    expect(page.locator(".window-bar")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(lanes.nth(3)).to_have_attribute("aria-label", "in MPI: up to 4 at once")


def test_pictures_are_saved(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="example")
    expect(page.locator(".io-panel figcaption")).to_contain_text("300 requests")
    files: dict[str, Path] = {}
    for kind in ("SVG", "PNG"):
        page.get_by_role("button", name="Save").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"as {kind}").click()
        assert saved.value.suggested_filename == f"example I_O.{kind.lower()}"
        files[kind] = Path(saved.value.path())
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    root = ET.parse(files["SVG"]).getroot()
    lines = {
        group.findtext(f"{SVG}title"): group.find(f"{SVG}path") for group in root.iter(f"{SVG}g")
    }
    counts = {
        name: path.get("d", "").count("M") for name, path in lines.items() if path is not None
    }
    assert counts == {"writes": RECORDS, "reads": 2 * RECORDS}
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert "/data/hello" in texts
    page.get_by_role("button", name="Processes").click()
    expect(page.locator(".io-heat-foot p")).to_contain_text("1 row")
    page.get_by_role("button", name="Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="as SVG").click()
    assert len(list(ET.parse(saved.value.path()).getroot().iter(f"{SVG}rect"))) > 20


def test_a_real_program_is_drawn_as_it_ran(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/io")
    expect(page.locator(".io-panel figcaption")).to_contain_text("records.dat300 requests")
    found = sums(page)
    assert found["requests"] == ["200", "100"]
    # Its first read goes back to the begin of the file, and so does each backward one.
    assert found["backward"] == ["50.5 %", "0 %"]
    calls = [text(row) for row in page.locator(".io-sites tbody tr").all()]
    source = (PROGRAMS / "records.c").read_text(encoding="utf-8").splitlines()
    lines = [nth for nth, line in enumerate(source, 1) if re.search(r"(read|write)\(fd", line)]
    for name, line in zip(("write", "read", "read"), lines, strict=True):
        assert any(call.startswith(f"{name} records.c:{line} ") for call in calls), calls
    plot = page.locator("canvas.io-plot")
    plot.focus()
    page.keyboard.press("N")
    expect(page.locator(".io-request")).to_contain_text("at offset0 B")
    expect(page.locator(".io-request")).to_contain_text("read_backward")


def test_dark_colours_can_be_read(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="example")
    expect(page.locator(".io-panel figcaption")).to_contain_text("300 requests")
    for theme in ("Dark", "Bright"):
        page.get_by_role("button", name=theme, exact=True).click()
        picture = page.locator(".io-panel canvas").first
        for name in ("--io-write", "--io-read"):
            comes_to(page, lambda: has_colour(picture, name), True)  # noqa: B023 - asked at once
        # Marks on the ground: WCAG 2.2, 1.4.11 asks for 3.
        for name in ("--io-write", "--io-read", "--io-both"):
            page.evaluate(
                "name => { const sign = document.querySelector('.io-legend .io-sign');"
                " sign.style.color = `var(${name})`;"
                " sign.style.background = 'var(--panel)'; }",
                name,
            )
            assert contrast(page.locator(".io-legend .io-sign").first) >= 3 < LEAST_CONTRAST


def test_a_run_without_calls_says_how_to_get_them(page: Page, served: Served) -> None:
    visit(page, served, "#/io", run="none")
    expect(page.locator(".io-nothing pre")).to_have_text("gnomon io --trace -- program")


def test_a_failure_is_said(page: Page, trouble: list[str], served: Served) -> None:
    visit(page, served, "#/io", run="example")
    page.route("**/pattern?*", lambda route: route.fulfill(
        status=422, json={"error": "example: its tables cannot be read"}
    ))  # fmt: skip
    page.locator("canvas.io-plot").focus()
    page.keyboard.press("z")
    expect(page.locator(".io-panel .trouble")).to_have_text("example: its tables cannot be read")
    trouble.clear()
