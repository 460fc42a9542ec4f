"""Pictures of call paths, on real runs of C++, Python and eight ranks, and one with known waits."""

from __future__ import annotations

import math
import re
import shutil
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from sampled_runs import Frame, Stack, write

from browser.conftest import PROGRAMS, ran
from browser.drawings import Drawing, Rectangle, drawing
from browser.pages import GNOMON, Opened, Served, choose_run, comes_to, row_of, values_of, visit
from browser.test_accessible import AXE

MAIN, SOLVE, LOAD = Frame("main"), Frame("solve"), Frame("load")
WAITS = (
    Stack((MAIN, SOLVE), 120),
    Stack((MAIN, LOAD), 60, wait="[read]"),
    Stack((MAIN, SOLVE), 20),
    Stack((MAIN,), 200, tid=101, wait="[lock]"),
)
SIZES = ((1440, 800), (1024, 768))


def show_on(page: Page, size: tuple[int, int], theme: str) -> None:
    """Show pages in a window of a size, bright or dark."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")


@pytest.fixture(params=[(SIZES[0], "light"), (SIZES[1], "dark")], ids=["1440-light", "1024-dark"])
def page(page: Page, request: pytest.FixtureRequest) -> Page:
    """Return the page in a window of each size, bright or dark."""
    show_on(page, *request.param)
    return page


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve mesh (C++), slower (with more of one loop), heat (Python), ranks (eight) and waits."""
    folder = tmp_path_factory.mktemp("pictures")
    source = (PROGRAMS / "mesh.cpp").read_text()
    for name, code in (("mesh", source), ("slower", source.replace("smooth(40", "smooth(90"))):
        (folder / name).mkdir()
        (folder / name / "mesh.cpp").write_text(code)
        ran(["c++", "-g", "-O1", "-pthread", "-o", "mesh", "mesh.cpp"], folder / name)
        run = [GNOMON, "record", "--name", str(folder / name), "--", "./mesh", "1500"]
        ran(run, folder / name)
    shutil.copy(PROGRAMS / "heat.py", folder)
    ran([GNOMON, "record", "--name", "heat", "--", sys.executable, "heat.py"], folder)
    shutil.copy(PROGRAMS / "ranks.c", folder)
    ran(["mpicc.openmpi", "-g", "-O1", "-o", "ranks", "ranks.c", "-lm"], folder)
    eight = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "8"]
    ran([*eight, GNOMON, "record", "--name", "ranks", "--", "./ranks", "4"], folder)
    write(folder / "waits", WAITS)
    runs = ["mesh", "slower", "heat", "ranks", "waits"]
    with Opened([GNOMON, "view", *runs, "--no-browser"], folder) as opened:
        yield opened


def status(page: Page) -> str:
    """Return what stands below the picture: what is chosen, or what all of it is."""
    return page.locator(".flame-pane .status .crumbs").inner_text()


def test_frames_are_as_wide_as_their_values(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/tree")
    main = float(row_of(page, "main").locator(".meter-text").first.inner_text())
    visit(page, recorded, "#/flame")
    picture = drawing(page)
    by_y = sorted(picture.frames, key=lambda one: -one.y)
    assert by_y[0].name == "mesh"
    assert by_y[0].width == pytest.approx(picture.width, abs=1.1)
    (frame,) = (one for one in picture.frames if one.name == "main")
    assert 100 * (frame.width + 1) / picture.width == pytest.approx(main, abs=0.15)
    assert "main" in picture.texts
    # Callees stand on their callers, and within them.
    worker = next(one for one in picture.frames if one.name.startswith("mesh::worker"))
    assert worker.y < frame.y
    page.get_by_role("button", name="Icicle").click()
    comes_to(page, lambda: min(drawing(page).frames, key=lambda one: one.y).name, "mesh")


def test_keys_go_from_frame_to_frame(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame?picture=icicle")
    canvas = page.locator(".flame-scroll")
    canvas.focus()
    names = []
    for _ in range(5):
        page.keyboard.press("ArrowDown")
        names.append(status(page).partition(": ")[0])
    assert names[:1] == ["_start"]
    assert "main" in names
    expect(canvas.locator("#flame-focus")).to_have_text(re.compile(re.escape(names[-1])))
    page.keyboard.press("ArrowUp")
    comes_to(page, lambda: status(page).partition(": ")[0], names[-2])
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"zoom=\d+"))
    picture = drawing(page)
    zoomed = max(picture.frames, key=lambda one: (one.name == names[-2], one.width))
    assert zoomed.width == pytest.approx(picture.width, abs=1.1)
    canvas.focus()
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile(r"zoom=\d+"))
    page.keyboard.press("Home")
    comes_to(page, lambda: status(page).partition(": ")[0], "mesh")


# Colours of points of the canvas, each with what a browser makes of a colour's name.
POINTS = """points => {
  const canvas = document.querySelector(".flame-scroll canvas");
  const often = { willReadFrequently: true };
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", often);
  copy.drawImage(canvas, 0, 0);
  const sample = new OffscreenCanvas(1, 1).getContext("2d", often);
  return points.map(([x, y, colour]) => {
    sample.fillStyle = colour;
    sample.fillRect(0, 0, 1, 1);
    const drawn = copy.getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data;
    return [[...drawn], [...sample.getImageData(0, 0, 1, 1).data]];
  });
}"""


def test_the_canvas_shows_what_is_saved(page: Page, recorded: Served) -> None:
    for run, place in (("mesh", "#/flame?picture=icicle"), ("ranks", "#/flame?split=process")):
        visit(page, recorded, place, run=run)
        canvas = page.locator(".flame-scroll canvas")
        box = canvas.bounding_box()
        assert box is not None
        page.locator(".flame-scroll").evaluate("one => { one.scrollTop = 0; }")
        page.wait_for_function("() => document.querySelector('.flame-scroll').scrollTop === 0")
        # Beside names, within frames, and between them.
        wide = [one for one in drawing(page).frames if one.width > 4 and one.y < box["height"] - 18]
        assert len(wide) > 10
        points = [(one.x + 2, one.y + dy, one.fill) for one in wide for dy in (1, 8, 16)]
        for (x, y, fill), (drawn, wanted) in zip(
            points, page.evaluate(POINTS, points), strict=True
        ):
            assert drawn == wanted, (run, x, y, fill)
        ground = page.evaluate(
            "getComputedStyle(document.documentElement).getPropertyValue('--panel')"
        )
        below = [(one.x + 2, one.y + 17, ground) for one in wide]
        assert all(drawn == wanted for drawn, wanted in page.evaluate(POINTS, below))


def test_the_chosen_frame_has_an_outline_where_it_is(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame?picture=icicle")
    page.locator(".flame-scroll").focus()
    canvas = page.locator(".flame-scroll canvas").bounding_box()
    assert canvas is not None
    for key in ("Home", "ArrowDown", "ArrowDown", "ArrowDown", "Enter", "ArrowDown"):
        page.keyboard.press(key)
    outline = page.locator("#flame-focus")
    expect(outline).to_be_visible()
    edge = outline.bounding_box()
    assert edge is not None
    said = outline.inner_text()
    # Frames of one name are told apart by where they are.
    own = [one for one in drawing(page).frames if said.startswith(one.said)]
    assert [edge["x"] - canvas["x"], edge["y"] - canvas["y"], edge["width"]] in [
        pytest.approx([one.x, one.y, one.width + 1], abs=1.1) for one in own
    ]


def test_a_search_says_the_share_of_all_that_matches(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame")
    page.keyboard.press("/")
    page.keyboard.type("module:libm")
    note = page.locator(".flame-pane .tools .note[role=status]")
    expect(note).to_have_text(re.compile(r"frames match: .* % of all"))
    page.evaluate("location.hash = '#/tree?by=module&q=libm.so'")
    row = page.locator(".tree-row[aria-level='2']", has_text="libm.so.6")
    wanted = row.locator(".meter-text").first.inner_text()
    visit(page, recorded, "#/flame?q=module%3Alibm")
    expect(note).to_have_text(re.compile(f" {re.escape(wanted)} % of all"))
    page.locator(".flame-scroll").focus()
    page.keyboard.press("n")
    expect(page.locator("#flame-focus")).not_to_be_empty()
    page.fill(".flame-pane .filter", "/(/")
    expect(note).to_contain_text("not a regular expression")


def sandwich_of(page: Page, recorded: Served, function: str) -> Drawing:
    """Show a function between its callers and callees; return the icicle that it was chosen in."""
    visit(page, recorded, f"#/flame?picture=icicle&q={quote(function)}")
    before = drawing(page)
    page.locator(".flame-scroll").focus()
    page.keyboard.press("n")
    comes_to(page, lambda: status(page).partition(":")[0] != "", True)
    page.keyboard.press("Shift+F10")
    page.get_by_role("menuitem", name="Callers and callees").click()
    expect(page.get_by_role("button", name="Sandwich")).to_have_attribute("aria-pressed", "true")
    return before


def test_a_function_between_its_callers_and_what_it_calls(page: Page, recorded: Served) -> None:
    before = sandwich_of(page, recorded, "mesh::worker(int)")
    wide = sum(one.width + 1 for one in before.frames if one.name == "mesh::worker(int)")
    whole = 100 * wide / before.width
    picture = drawing(page)
    assert any(text.startswith("callers of mesh::worker(int)") for text in picture.texts)
    own = [one for one in picture.frames if one.name == "mesh::worker(int)"]
    assert [one.width for one in own] == pytest.approx([picture.width - 1] * 2, abs=1.1)
    # Two threads run it: from main, and from what the library of C++ calls.
    assert {"main", "main::{lambda}::operator()"} <= {one.name for one in picture.frames}
    (title,) = (text for text in picture.texts if text.startswith("mesh::worker(int): "))
    share = re.search(r"([\d.]+) % of all", title)
    assert share is not None
    assert float(share[1]) == pytest.approx(whole, abs=0.5)


def test_what_is_hidden_and_folded_can_be_taken_back(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame?picture=icicle&q=__cbrt")
    whole = status(page)
    page.locator(".flame-scroll").focus()
    page.keyboard.press("n")
    page.keyboard.press("Shift+F10")
    page.get_by_role("menuitem", name="Hide libm.so.6").click()
    expect(page.locator(".flame-chips")).to_contain_text("hidden: libm.so.6")
    assert not [one for one in drawing(page).frames if one.name == "__cbrt"]
    assert status(page) != whole
    page.get_by_role("button", name="Hide, fold").click()
    page.get_by_label("fold frames").fill("refine")
    page.keyboard.press("Enter")
    refining = [one for one in drawing(page).frames if "::refine(" in one.name]
    assert len({one.y for one in refining}) <= 2, "recursive calls are one frame in each thread"
    for chip in ("hidden: libm.so.6", "folded: refine"):
        page.get_by_role("button", name=chip).click()
    expect(page.locator(".flame-chips")).to_have_count(0)
    comes_to(page, lambda: status(page), whole)


def test_all_views_follow_a_window_of_time(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame")
    band = page.locator(".activity").bounding_box()
    assert band is not None
    whole = status(page)
    page.mouse.move(band["x"] + 0.25 * band["width"], band["y"] + 10)
    page.mouse.down()
    page.mouse.move(band["x"] + 0.5 * band["width"], band["y"] + 10, steps=4)
    page.mouse.up()
    bar = page.locator(".window-bar")
    expect(bar).to_contain_text("of what has times: CPU time")
    expect(page.locator(".flame-scroll canvas")).to_be_visible()
    comes_to(page, lambda: status(page) not in ("", whole), True)
    part = status(page).partition(" of ")[0]
    page.keyboard.press("1")
    comes_to(page, lambda: values_of(row_of(page, "mesh"))[:1], [part])
    page.keyboard.press("4")
    expect(bar).to_be_visible()
    page.keyboard.press("5")
    expect(page.locator(".summary")).to_be_visible()
    page.keyboard.press("8")
    expect(bar).to_have_count(0)
    page.keyboard.press("2")
    page.get_by_role("slider", name="end of the window").focus()
    page.keyboard.press("End")
    page.get_by_role("slider", name="beginning of the window").focus()
    page.keyboard.press("Home")
    expect(bar).to_have_count(0)
    comes_to(page, lambda: status(page), whole)


def seconds(text: str) -> float:
    """Return the seconds of a duration as the view writes it."""
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]


def test_lanes_of_a_window_have_its_times_above_them(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame?picture=time")
    axis = page.locator(".flame-box .time-axis")
    expect(axis).to_have_count(0)
    page.get_by_role("slider", name="beginning of the window").focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    expect(axis).to_be_visible()
    said = re.match(r"(.*?) to (.*?) of ", page.locator(".window-bar").inner_text())
    assert said is not None
    begin, end = (seconds(text) for text in said.groups())
    box = page.locator(".flame-scroll canvas").bounding_box()
    assert box is not None
    ticks = axis.locator("span").all()
    assert len(ticks) > 2
    for tick in ticks:
        place = tick.bounding_box()
        assert place is not None
        time = begin + (end - begin) * (place["x"] - box["x"]) / box["width"]
        assert time == pytest.approx(seconds(tick.inner_text()), abs=0.01 * (end - begin))


def test_python_in_the_order_of_time(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame?picture=time&colour=language", run="heat")
    expect(page.locator(".flame-legend")).to_contain_text("Python")
    picture = drawing(page)
    assert any(text.startswith("thread ") for text in picture.texts)
    solving = [one for one in picture.frames if one.said.startswith("solve: ")]
    # However long it had to wait for a CPU: most of what it ran.
    ran_for = sum(one.width for one in picture.frames if one.said.startswith("python: "))
    assert sum(one.width for one in solving) > 0.5 * ran_for
    importing = [one for one in picture.frames if one.said.startswith("_find_and_load: ")]
    assert min(one.x for one in importing) < min(one.x for one in solving)


def test_eight_ranks_beside_each_other(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame?picture=icicle&split=process", run="ranks")
    picture = drawing(page)
    titles = [
        text.partition(" on ")[0] for text in picture.texts if re.match(r"rank \d on .*: ", text)
    ]
    assert titles[:1] == ["rank 0"]
    tops = [one for one in picture.frames if re.match(r"rank \d on ", one.said)]
    assert [one.name.partition(" on ")[0] for one in tops] == [f"rank {n}" for n in range(8)]
    assert len({one.y for one in tops}) == 1 or picture.width < 1280
    # Ranks 3 and 7 have four times the work of 0 and 4.
    wide = picture.width / len({one.x for one in tops})

    def work(top: Rectangle) -> float:
        below = min((one.y for one in tops if one.y > top.y), default=math.inf)
        own = [
            one.width
            for one in picture.frames
            if one.name == "relax" and 0 <= one.x - top.x < wide - 1 and top.y <= one.y < below
        ]
        return max(own, default=0.0)

    assert work(tops[3]) > 2 * work(tops[0])
    visit(page, recorded, "#/flame?picture=time", run="ranks")
    lanes = [text for text in drawing(page).texts if text.startswith("rank ")]
    assert lanes == sorted(lanes)
    assert len({lane[:6] for lane in lanes}) == 8


def test_running_and_waiting_apart_and_together(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame", run="waits")
    for choice, total, hatched in (
        ("Running", "1.4 s of CPU time", set()),
        ("Waiting", "2.6 s of Waiting time", {"[read]", "[lock]"}),
        ("Both", "4 s of CPU time and Waiting time", {"[read]", "[lock]"}),
    ):
        page.get_by_role("button", name=choice, exact=True).click()
        comes_to(page, lambda: status(page).partition(",")[0], total)
        frames = drawing(page).frames
        assert {one.name for one in frames if one.is_hatched} == hatched
    # Both: main has all of it, and its running share is known.
    page.locator(".flame-scroll").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    comes_to(page, lambda: status(page).startswith("main: 4 s, 100.0 %"), True)


def test_only_what_differs_for_certain_has_a_colour(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame", run="slower")
    page.select_option(".against select", label="mesh")
    page.select_option("select[aria-label=colours]", "difference")
    expect(page.locator(".flame-legend")).to_contain_text("no significant difference")
    said = [one.said for one in drawing(page).frames]
    smoothing = next(text for text in said if text.startswith("mesh::mean("))
    assert re.search(r"was .*, \+.*, significant, p < 0\.001", smoothing)
    assert [text for text in said if "not significant" in text or "too small" in text]
    # The address follows a choice a moment later.
    expect(page).to_have_url(re.compile("colour=difference"))
    page.goto(page.url + "&split=thread")
    expect(page.locator(".flame-pane .hint").first).to_contain_text("colours are of modules")


def test_a_picture_is_saved_as_png_as_fine_as_the_screen(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame")
    page.get_by_role("button", name="Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="as PNG").click()
    content = Path(saved.value.path()).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    assert width == page.locator(".flame-scroll canvas").evaluate("one => one.width")
    assert height > 10 * 18


def check_accessible(page: Page, what: str) -> None:
    """Fail if axe finds a fault in the pictures, or a critical one beside them, or they are cut."""
    found = page.evaluate("() => axe.run('.flame-pane')")
    faults = {one["id"]: [node["html"] for node in one["nodes"]] for one in found["violations"]}
    assert faults == {}, what
    found = page.evaluate("() => axe.run()")
    critical = [one["id"] for one in found["violations"] if one["impact"] == "critical"]
    assert critical == [], what
    is_wider = "one => one.scrollWidth > one.clientWidth"
    assert not page.locator(".flame-pane").evaluate(is_wider), what


@pytest.mark.parametrize(
    "page", [(size, theme) for size in SIZES for theme in ("light", "dark")], indirect=True,
    ids=lambda param: f"{param[0][0]}-{param[1]}",
)  # fmt: skip
def test_pictures_have_no_fault_that_axe_finds(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/flame")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for run, place in (
        ("mesh", "#/flame"), ("mesh", "#/flame?picture=icicle&q=mesh"),
        ("heat", "#/flame?picture=time&colour=language"), ("ranks", "#/flame?split=process"),
        ("waits", "#/flame?state=both&hide=solve"),
    ):  # fmt: skip
        page.evaluate("place => { location.hash = place; }", place)
        choose_run(page, run)
        expect(page.locator(".flame-scroll canvas")).to_be_visible()
        page.locator(".flame-scroll").focus()
        page.keyboard.press("Home")
        expect(page.locator("#flame-focus")).to_have_count(1)
        check_accessible(page, f"{run} {place}")
    sandwich_of(page, recorded, "mesh::worker(int)")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    check_accessible(page, "sandwich")
    visit(page, recorded, "#/flame", run="slower")
    page.select_option(".against select", label="mesh")
    page.select_option("select[aria-label=colours]", "difference")
    expect(page.locator(".flame-legend")).to_contain_text("no significant difference")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    check_accessible(page, "difference")
