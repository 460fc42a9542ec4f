"""A real program of 8 ranks: its messages, its call sites, and its calls in tree and source."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.conftest import PROGRAMS, ran
from browser.pages import GNOMON, Opened, Served, comes_to, names, row_of, text, visit
from browser.test_accessible import critical_faults
from browser.test_ranks import facts, heaviest
from gnomon.units import number, quantity

STEPS, RANKS, BORDER, PART = 50, 8, 8, 4000 * 8
SOURCE = (PROGRAMS / "halo.c").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def halo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Build and measure the program; serve the run."""
    folder: Path = tmp_path_factory.mktemp("halo")
    shutil.copy(PROGRAMS / "halo.c", folder)
    ran(["mpicc.openmpi", "-g", "-O1", "-o", "halo", "halo.c", "-lm"], folder)
    eight = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(RANKS)]
    ran([GNOMON, "run", "--with", "mpi", "--name", "halo", "--", *eight, "./halo", str(STEPS)],
        folder)  # fmt: skip
    with Opened([GNOMON, "view", "halo", "--no-browser"], folder) as opened:
        yield opened


def line_of(word: str) -> int:
    """Return the first line of the program that has a text."""
    return next(nth for nth, line in enumerate(SOURCE, start=1) if word in line)


def cells(row: Locator) -> list[str]:
    return [text(cell) for cell in row.locator("td").all()]


def test_the_matrix_is_what_the_program_sends(page: Page, halo: Served) -> None:
    visit(page, halo, "#/ranks")
    totals = {
        row.locator("dt").inner_text(): text(row.locator("dd"))
        for row in page.locator(".summary > div").all()
    }
    messages = 2 * STEPS * RANKS + RANKS - 1
    size = 2 * STEPS * RANKS * BORDER + (RANKS - 1) * PART
    assert totals == {
        "all messages": number(messages), "bytes": quantity(size, "bytes"),
        "senders and receivers": str(RANKS),
    }  # fmt: skip
    pairs = {(row[0][:6], row[1][:6]): row[2:] for row in heaviest(page)}
    assert pairs["rank 4", "rank 0"] == [quantity(PART, "bytes"), "1"]
    assert pairs["rank 1", "rank 0"][1] == str(STEPS + 1)
    page.locator("canvas.matrix").focus()
    page.keyboard.press("ArrowDown")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert facts(page) == {
        "senders": "rank 5", "receivers": "rank 4", "bytes": quantity(STEPS * BORDER, "bytes"),
        "messages": str(STEPS),
    }  # fmt: skip


def test_who_gets_most_stands_out_and_has_its_sites(page: Page, halo: Served) -> None:
    visit(page, halo, "#/ranks?ranks=strips")
    outlier = page.locator(".outliers tbody tr", has_text="MPI bytes received")
    received = 2 * STEPS * BORDER + (RANKS - 1) * PART + STEPS * BORDER
    assert cells(outlier)[:3] == ["0", "MPI bytes received", quantity(received, "bytes")]
    outlier.get_by_role("button").click()
    expect(page.locator(".rank-sites h3")).to_contain_text("rank 0")
    sites = [cells(row) for row in page.locator(".rank-sites tbody tr").all()]
    calls = {(row[0], row[1]): row[3] for row in sites}
    assert calls["MPI_Allreduce", f"halo.c:{line_of('MPI_Allreduce')}"] == str(STEPS)
    assert calls["MPI_Recv", f"halo.c:{line_of('MPI_Recv(')}"] == str(RANKS - 1)
    assert len(sites) == 11
    assert ("MPI_Send", f"halo.c:{line_of('MPI_Send')}") not in calls


def test_classes_have_their_calls(page: Page, halo: Served) -> None:
    visit(page, halo, "#/tree?by=routine")
    page.get_by_role("button", name="Expand all").click()
    assert {"point to point", "collective", "other"} <= set(names(page))
    counts = {
        name: text(row_of(page, name).locator(".calls, .number").first)
        for name in ("MPI_Allreduce", "MPI_Waitall", "MPI_Isend", "MPI_Recv", "collective")
    }
    assert counts == {
        "MPI_Allreduce": number(STEPS * RANKS), "MPI_Waitall": number(STEPS * RANKS),
        "MPI_Isend": number(2 * STEPS * RANKS), "MPI_Recv": str(RANKS - 1),
        "collective": number(STEPS * RANKS),
    }  # fmt: skip
    expect(page.locator(".tree-head")).to_contain_text("MPI time")


def test_lines_have_their_time_in_mpi(page: Page, halo: Served) -> None:
    visit(page, halo, "#/tree?by=routine")
    page.get_by_role("button", name="Expand all").click()
    page.locator(".tree-row", has_text=f"halo.c:{line_of('MPI_Waitall')}").first.click()
    expect(page.locator(".cm-lit")).to_contain_text("MPI_Waitall(4, requests")
    values = page.locator(".cm-values >> nth=0").locator(".line-value")
    with_time = ("MPI_Waitall", "MPI_Send", "MPI_Recv")
    tops = {text(row): row.bounding_box() for row in page.locator(".cm-line").all()}
    comes_to(page, lambda: values.count() >= len(with_time), True)
    places = [one.bounding_box() for one in values.all() if text(one) not in ("", "0 ns")]
    beside = {place["y"] for place in places if place is not None}
    for word in with_time:
        box = next(place for line, place in tops.items() if f"{word}(" in line)
        assert box is not None
        assert any(abs(y - box["y"]) < box["height"] / 2 for y in beside), word
    loop = next(place for line, place in tops.items() if line.startswith("double next"))
    assert loop is not None
    assert not any(abs(y - loop["y"]) < loop["height"] / 2 for y in beside)


def test_the_pages_have_no_critical_fault(page: Page, halo: Served) -> None:
    pages = {
        "#/ranks": ".heaviest-pairs tbody tr", "#/ranks?ranks=strips": ".outliers tbody tr",
        "#/tree?by=routine": ".cm-lit",
    }  # fmt: skip
    for place, shown in pages.items():
        visit(page, halo, place)
        expect(page.locator(shown).first).to_be_visible()
        # What is read later, as names beside pictures, is there.
        page.wait_for_load_state("networkidle")
        assert critical_faults(page) == {}, place
