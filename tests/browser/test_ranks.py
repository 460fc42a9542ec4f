"""The page of ranks: messages as a heat map, values as strips, of few ranks and of thousands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import view_messages
from made_runs import made_run
from playwright.sync_api import Locator, Page, expect

from benchmarks import large_mpi
from browser.pages import GNOMON, Opened, Served, comes_to, names, text, visit
from browser.test_accessible import critical_faults
from gnomon.store import run_directory
from gnomon.units import number, quantity

MANY = 8192
PART = rf"\d+ of {number(MANY)} ranks"
FEW: list[view_messages.Sent] = [
    *view_messages.ring(8), *((0, rank, 8, 1) for rank in range(2, 7)), (2, -1, 5, 1),
]  # fmt: skip

# Of a copy: a canvas that is read often is drawn otherwise.
COLOURS = """canvas => {
    const { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return new Set(new Uint32Array(copy.getImageData(0, 0, width, height).data.buffer)).size;
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a run of 8 ranks and one of 8,192."""
    folder = tmp_path_factory.mktemp("ranks")
    view_messages.write(folder / "few", FEW)
    large_mpi.write(folder / "many", MANY)
    with Opened([GNOMON, "view", "few", "many", "--no-browser"], folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a run of a command alone."""
    folder = tmp_path_factory.mktemp("serial")
    made_run(folder, [("app", "f", "/src/a.c", 3, (600, 6, 1, 0))], name="serial")
    with Opened([GNOMON, "view", "serial", "--no-browser"], folder) as opened:
        yield opened


def facts(page: Page) -> dict[str, str]:
    """Return what is said of the chosen cell."""
    page.wait_for_selector(".cell-facts dl")
    return {
        row.locator("dt").inner_text(): text(row.locator("dd"))
        for row in page.locator(".cell-facts dl > div").all()
    }


def heaviest(page: Page) -> list[list[str]]:
    """Return the rows of the table of pairs."""
    rows = page.locator(".heaviest-pairs tbody tr")
    return [[text(cell) for cell in row.locator("td").all()] for row in rows.all()]


def block(served: Served, first: int, last: int) -> tuple[int, int]:
    """Return how many messages some ranks of the large run send each other, and of how many pairs.

    Locations of ranks in messages stand behind those of processes, in the order of ranks.
    """
    (row,) = run_directory.find(str(served.folder / "many")).query(
        "SELECT SUM(messages), COUNT(DISTINCT (sender, receiver)) FROM messages "
        f"WHERE sender BETWEEN {MANY + 1 + first} AND {MANY + 1 + last} "
        f"AND receiver BETWEEN {MANY + 1 + first} AND {MANY + 1 + last}"
    )
    return int(row[0]), int(row[1])


def colours(canvas: Locator) -> int:
    """Return how many colours a canvas has."""
    return int(canvas.evaluate(COLOURS))


def test_each_cell_of_few_ranks_is_told(page: Page, served: Served) -> None:
    visit(page, served, "#/ranks", run="few")
    matrix = page.locator("canvas.matrix")
    matrix.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert facts(page) == {
        "senders": "rank 0", "receivers": "rank 1", "bytes": quantity(1000, "bytes"),
        "messages": "1",
    }  # fmt: skip
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert facts(page)["bytes"] == quantity(2000, "bytes")
    page.keyboard.press("ArrowDown")
    assert facts(page) == {"senders": "rank 2", "receivers": "rank 2", "messages": "none"}
    rows = heaviest(page)
    assert [*rows[0][:2], rows[0][3]] == ["rank 7 on node1", "rank 0 on node0", "8"]
    assert len(rows) == len(FEW) - 1
    expect(page.locator(".list-pane .hint")).to_contain_text("Of 1 message the sender")
    assert colours(matrix) > 8
    page.get_by_role("group", name="colour").get_by_role("button", name="messages").click()
    expect(page.locator(".colour-legend")).to_contain_text("messages, a logarithmic scale")


def test_the_mouse_opens_a_cell_and_a_key_goes_back(page: Page, served: Served) -> None:
    visit(page, served, "#/ranks", run="many")
    comes_to(page, lambda: page.locator(".heaviest-cells tbody tr").count(), 12)
    matrix = page.locator("canvas.matrix")
    box = matrix.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    last = facts(page)
    assert last["senders"] == last["receivers"] == "ranks 8160 to 8191"
    count, pairs = block(served, 8160, 8191)
    assert (last["messages"], last["pairs"]) == (number(count), number(pairs))
    assert re.fullmatch(r"rank 8\d\d\d to rank 8\d\d\d: .* messages", last["heaviest pair"])
    page.mouse.down()
    page.mouse.up()
    comes_to(
        page,
        lambda: text(page.locator(".summary > div").first),
        f"in this part {number(count)}",
    )
    comes_to(page, lambda: "mzoom=8160-8192x8160-8192" in page.url, True)
    matrix.focus()
    page.keyboard.press("ArrowRight")
    assert facts(page)["senders"] == "rank 8160"
    assert all(row[0].startswith("rank 81") for row in heaviest(page))
    page.keyboard.press("Backspace")
    expect(page.locator(".summary dt").first).to_have_text("all messages")
    page.go_back()
    expect(page.locator(".summary dt").first).to_have_text("in this part")


def test_dragging_opens_what_was_dragged_over(page: Page, served: Served) -> None:
    visit(page, served, "#/ranks", run="few")
    box = page.locator("canvas.matrix").bounding_box()
    assert box is not None
    page.locator("canvas.matrix").focus()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.7, steps=4)
    page.mouse.up()
    comes_to(page, lambda: re.search(r"mzoom=(\d)-8x\1-8", page.url) is not None, True)
    page.keyboard.press("Escape")
    expect(page.locator(".summary dt").first).to_have_text("all messages")


@pytest.mark.parametrize(
    ("label", "groups"), [("node", MANY // large_mpi.RANKS_PER_HOST), ("community", 0)]
)
def test_ranks_come_together_by_node_and_community(
    page: Page, served: Served, label: str, groups: int
) -> None:
    visit(page, served, "#/ranks", run="many")
    page.get_by_role("group", name="senders and receivers by").get_by_role(
        "button", name=label
    ).click()
    count = page.locator(".summary > div", has_text="nodes" if label == "node" else "communities")
    expect(count).to_be_visible()
    shown = int(count.locator("dd").inner_text())
    assert shown == groups if groups else 4 <= shown <= 100
    first = page.locator(".heaviest-cells tbody tr").first
    assert re.match(rf"{label} ?\d+", text(first))
    first.get_by_role("button").click()
    expect(page.locator(".summary dt").first).to_have_text("in this part")
    page.locator("canvas.matrix").focus()
    page.keyboard.press("ArrowRight")
    assert re.match(r"(\d+ of the )?ranks? \d+", facts(page)["senders"])


def test_a_failure_is_said(page: Page, trouble: list[str], served: Served) -> None:
    visit(page, served, "#/ranks", run="few")
    page.route("**/matrix?*", lambda route: route.fulfill(
        status=422, json={"error": "few: its tables cannot be read"}
    ))  # fmt: skip
    page.get_by_role("button", name="node").click()
    expect(page.locator(".trouble")).to_have_text("few: its tables cannot be read")
    trouble.clear()


def test_a_run_without_ranks_says_how_to_get_them(page: Page, serial: Served) -> None:
    visit(page, serial, "#/ranks")
    expect(page.locator(".matrix-facts")).to_contain_text("gnomon run -- mpirun")
    page.keyboard.press("]")
    expect(page.locator(".strip-pane .waiting")).to_contain_text("no ranks and no processes")


# --- values of ranks ------------------------------------------------------------------------------


def test_a_mark_for_each_rank(page: Page, served: Served) -> None:
    visit(page, served, "#/ranks?ranks=strips", run="few")
    strips = page.locator("figure.strip")
    comes_to(page, strips.count, 4)
    assert text(strips.first.locator("figcaption")).startswith("MPI time")
    expect(strips.first).to_contain_text("1 outlier")
    strips.first.locator("canvas").focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    said = text(page.locator(".strip-foot"))
    of_rank = sum(view_messages.nanoseconds(5, site) for site in (2, 3, 5, 6))
    assert said.startswith(f"rank 5 on node1: MPI time {quantity(of_rank, 'ns')}; ")
    page.keyboard.press("Enter")
    expect(page.locator(".rank-sites h3")).to_contain_text("rank 5 on node1")
    sites = [text(row) for row in page.locator(".rank-sites tbody tr").all()]
    assert (
        sites[0] == f"MPI_Allreduce norm.c:21 {quantity(view_messages.nanoseconds(5, 5), 'ns')} 3"
    )
    page.locator(".rank-sites tbody").get_by_role("button", name="halo.c:9").click()
    expect(page.locator(".tree-row.is-selected")).to_contain_text("MPI_Send")
    expect(page.locator("select.location")).to_have_value(re.compile(r"\d+"))


def test_ranks_are_sorted(page: Page, served: Served) -> None:
    visit(page, served, "#/ranks?ranks=strips", run="few")
    page.get_by_label("sort by").select_option(label="MPI time")
    page.get_by_role("button", name="ascending").click()
    comes_to(page, lambda: page.get_by_role("button", name="descending").count(), 1)
    page.locator("figure.strip canvas").first.focus()
    comes_to(page, lambda: _first_mark(page), "rank 5")


def _first_mark(page: Page) -> str:
    page.keyboard.press("Home")
    return text(page.locator(".strip-foot")).partition(" on ")[0]


def test_bands_of_thousands_open_to_their_ranks(page: Page, served: Served) -> None:
    visit(page, served, "#/ranks?ranks=strips", run="many")
    expect(page.locator(".strip-foot")).to_contain_text(f"{number(MANY)} of {number(MANY)} ranks")
    strip = page.locator("figure.strip canvas").first
    strip.focus()
    page.keyboard.press("End")
    expect(page.locator(".strip-foot")).to_contain_text(re.compile(r"^\d+ ranks from rank 81\d\d"))
    expect(page.locator(".strip-foot")).to_contain_text(", median ")
    page.keyboard.press("Enter")
    comes_to(page, lambda: re.search(r"rpart=81\d\d-8192", page.url) is not None, True)
    expect(page.locator(".strip-foot")).to_contain_text(
        re.compile(rf"^\d+ of {number(MANY)} ranks$")
    )
    # As many marks as ranks: what is shown is the part.
    comes_to(page, lambda: bool(re.fullmatch(PART, text(page.locator(".strip-foot")))), True)
    strip.focus()
    page.keyboard.press("End")
    expect(page.locator(".strip-foot")).to_contain_text("rank 8191 on node127: MPI time")
    page.keyboard.press("Backspace")
    expect(page.locator(".strip-foot")).to_contain_text(f"{number(MANY)} of {number(MANY)} ranks")
    outliers = [text(row)[:13] for row in page.locator(".outliers tbody tr").all()]
    slow = {rank for rank in large_mpi.SLOW_RANKS if rank < MANY}
    assert {int(row.split()[0]) for row in outliers if "MPI time" in row} == slow
    page.locator(".outliers tbody tr").first.get_by_role("button").click()
    expect(page.locator(".rank-sites tbody tr").first).to_contain_text("MPI_")


def test_other_values_can_be_chosen(page: Page, served: Served) -> None:
    visit(page, served, "#/ranks?ranks=strips", run="few")
    page.locator(".strip-pane .picker .menu-button").click()
    page.get_by_role("checkbox", name="MPI bytes sent").click()
    comes_to(page, page.locator("figure.strip").count, 3)
    page.get_by_role("checkbox", name="time between MPI_Init").click()
    comes_to(page, page.locator("figure.strip").count, 4)
    page.get_by_role("button", name="The usual ones").click()
    comes_to(page, lambda: text(page.locator("figure.strip").last)[:14], "MPI bytes sent")


# --- the tree, and all of it for all --------------------------------------------------------------


def test_calls_stand_in_the_tree_by_class(page: Page, served: Served) -> None:
    visit(page, served, "#/tree", run="few")
    page.get_by_role("group", name="group by").get_by_role("button", name="MPI").click()
    expect(page.locator(".tree-pane .note")).to_have_text("12 nodes")
    page.get_by_role("button", name="Expand all").click()
    rows = names(page)
    assert rows[0] == "app"
    assert rows[1:] == [
        "collective", "MPI_Allreduce", "norm", "I/O", "MPI_File_write", "norm",
        "point to point", "MPI_Recv", "exchange", "MPI_Send", "exchange",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1440, 1024])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_fit_and_have_no_critical_fault(
    page: Page, served: Served, width: int, scheme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 900 if width > 1100 else 768})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for place, shown in (
        ("#/ranks", ".heaviest-pairs tr"),
        ("#/ranks?ranks=strips", ".strip canvas"),
    ):
        visit(page, served, place, run="many")
        expect(page.locator(shown).first).to_be_visible()
        canvas = page.locator("canvas.matrix, .strip canvas").first
        comes_to(page, lambda: colours(canvas) > 4, True)  # noqa: B023 - asked at once
        box = canvas.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert critical_faults(page) == {}


@pytest.mark.long
def test_131072_ranks(page: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("most")
    ranks = 131_072
    large_mpi.write(folder / "most", ranks)
    with Opened([GNOMON, "view", "most", "--no-browser"], folder) as opened:
        visit(page, opened, "#/ranks")
        expect(page.locator(".summary > div").nth(2)).to_contain_text(number(ranks))
        page.locator("canvas.matrix").focus()
        page.keyboard.press("ArrowRight")
        assert facts(page)["senders"] == "ranks 0 to 511"
        page.keyboard.press("Enter")
        expect(page.locator(".summary dt").first).to_have_text("in this part")
        page.get_by_role("button", name="community").click()
        expect(page.locator(".summary > div", has_text="communities")).to_be_visible()
        page.keyboard.press("]")
        expect(page.locator(".strip-foot")).to_contain_text(f"of {number(ranks)} ranks")
        expect(page.locator(".outliers")).to_contain_text(str(large_mpi.SLOW_RANKS[-1]))
        page.goto("about:blank")
