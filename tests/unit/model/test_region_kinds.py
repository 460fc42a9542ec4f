"""Kinds of regions that Gnomon does not know: a run says what may be done with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from view_runs import Place, Quantity, Region, Value, write

from gnomon.model import region_kinds
from gnomon.model.region_kinds import RegionKind
from gnomon.store import run_directory
from gnomon.store.comparison import samples
from gnomon.store.hotspots import hotspots
from gnomon.store.run import Run
from gnomon.view.session import Session

KERNELS = RegionKind("kernel's", "GPU kernels", "kernel", is_code=True)
RANGES = RegionKind("nvtx", "ranges", "range", is_section=True)
HEAD = region_kinds.as_head([KERNELS, RANGES, region_kinds.KINDS[0]])


def gpu_run(folder: Path, name: str = "gpu", head: dict[str, Any] | None = None) -> Run:
    """Write a run of a range, and in it two lines of a kernel."""
    regions = [
        Region(-1, "hpm", "app"), Region(0, "nvtx", "step"),
        Region(1, "kernel's", "axpy", "/src/axpy.cu", 7),
        Region(1, "kernel's", "axpy", "/src/axpy.cu", 8),
    ]  # fmt: skip
    values = [Value(0, 0, 0, 10.0, 1.0), Value(0, 1, 0, 9.0, 2.0), Value(0, 2, 0, 4.0, 4.0),
              Value(0, 3, 0, 3.0, 3.0)]  # fmt: skip
    path = write(
        folder / name, [Place(-1, "command")], regions, [Quantity("warps")], values,
        HEAD if head is None else head,
    )  # fmt: skip
    return run_directory.find(str(path))


def test_code_of_another_kind_is_code_everywhere(tmp_path: Path) -> None:
    run = gpu_run(tmp_path)
    (row,) = hotspots(run, "function").rows
    assert (row.function, row.file, row.values) == ("axpy", "/src/axpy.cu", {"warps": 7.0})
    side = samples.side(str(run.path))
    lines = samples.measured([side, side], "line")[0].samples
    assert {(place[1], place[3]) for place, _ in lines} == {("axpy", 7), ("axpy", 8)}
    (opened,) = Session().open([str(run.path)])
    tree = opened.tree("region")
    names = [(tree.kinds[kind], tree.strings[name])
             for kind, name in zip(tree.kind, tree.name, strict=True)]  # fmt: skip
    assert names == [
        ("run", "app"), ("range", "step"), ("kernel", "axpy"), ("line", "axpy.cu:7"),
        ("line", "axpy.cu:8"),
    ]  # fmt: skip
    assert opened.data.has_sections
    titles = opened.tree("capability")
    assert {"ranges", "GPU kernels"} <= set(titles.strings)


def test_runs_are_combined_with_their_kinds(tmp_path: Path) -> None:
    session = Session()
    gpu_run(tmp_path, "one")
    gpu_run(tmp_path, "other")
    (both,) = session.open([str(tmp_path / "one"), str(tmp_path / "other")], combined=True)
    assert both.data.region_kinds.of("nvtx") == RANGES


@pytest.mark.parametrize(
    "entry",
    [
        7, {}, {"kind": "nvtx"}, {"kind": "", "title": "x", "node": "y"},
        {"kind": "nvtx", "title": 5, "node": "y"}, {"kind": "x" * 300, "title": "x", "node": "y"},
    ],
)  # fmt: skip
def test_what_is_no_kind_is_left_out(tmp_path: Path, entry: object) -> None:
    run = gpu_run(tmp_path, head={"region_kinds": [entry]})
    assert run.region_kinds.of("nvtx") == RegionKind("nvtx", "nvtx", "nvtx")
    assert hotspots(run, "function").rows == ()


def test_gnomons_own_kinds_stay_what_they_are(tmp_path: Path) -> None:
    mine = {"kind": "cpu", "title": "mine", "node": "mine", "is_code": False}
    run = gpu_run(tmp_path, head={"region_kinds": [mine] * 200})
    assert run.region_kinds.of("cpu").title == "functions and lines"
    assert gpu_run(tmp_path, "else", head={"region_kinds": "none"}).region_kinds.of("io").node
