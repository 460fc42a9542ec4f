"""Functions that no file holds: the kernel's, the vDSO's, and what a runtime compiled."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import GnomonError
from gnomon.symbols import Frame, Module, ModuleFrames, kernel_frames, perf_map_frames, resolve

KALLSYMS = (
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 t do_syscall_64\n"
    "ffffffff81000200 D a_variable\n"
    "ffffffff81000300 W weak_one\n"
    "no line of it\n"
    "ffffffffc0000000 t nft_do_chain\t[nf_tables]\n"
)


def names(frames: ModuleFrames, *addresses: int) -> list[str]:
    return [frames.at(address)[0].function for address in addresses]


def test_functions_of_the_kernel_and_its_modules(tmp_path: Path) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(KALLSYMS)
    base = 0xFFFFFFFF81000000
    wanted = [base + 1, base + 0x1FF, base + 0x350, 0xFFFFFFFFC0000010, base - 1, 5, 2**64 - 1]
    frames = kernel_frames(path, wanted)
    assert names(frames, *wanted) == [
        "_stext", "do_syscall_64", "weak_one", "nft_do_chain [nf_tables]", "", "", ""
    ]  # fmt: skip
    assert frames.at(base + 0x1FF)[0] == Frame("do_syscall_64", "", 0, False, base + 0x100)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0000000000000000 T _stext\n", "it has no addresses"),
        ("", "does not begin"),
        ("what\n", "does not begin"),
    ],
)
def test_a_copy_of_no_use_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(text)
    with pytest.raises(GnomonError, match=why):
        kernel_frames(path, [1])


def test_this_kernel_where_it_tells(tmp_path: Path) -> None:
    copy = tmp_path / "kallsyms"
    copy.write_bytes(Path("/proc/kallsyms").read_bytes())
    functions = {
        int(line.split()[0], 16): line.split(maxsplit=2)[2]
        for line in copy.read_text().splitlines()
        if line.split()[1] in "tTwW"
    }
    if not any(functions):
        pytest.skip("the kernel hides its addresses; as root: sysctl kernel.kptr_restrict=1")
    some = sorted(functions)[:: max(1, len(functions) // 1000)]
    frames = kernel_frames(copy, some)
    assert all(frames.at(address)[0].start == address for address in some)


def test_functions_of_the_vdso() -> None:
    module = Module("[vdso]")
    resolution = resolve({module: range(0, 0x4000, 16)})
    found = {resolution.frames[module].at(address)[0].function for address in range(0, 0x4000, 16)}
    # The kernel's documentation promises it (Documentation/ABI/stable/vdso).
    assert any("clock_gettime" in name for name in found)


def test_the_last_function_at_an_address_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "perf-1.map"
    path.write_text(
        "1000 100 LazyCompile:*first /app/a.js:3\n"
        "0x1040 0x20 inside\n"
        "1000 100 py::again:/app/b.py\n"
        "2000 0 of no size\n"
        "fffffffffffffff0 ffffffffffffffff last\n"
        "nonsense\n"
        "3000 10 cut o"
    )
    wanted = [0x1000, 0x1050, 0x10FF, 0x1100, 0x2000, 0x3005, 2**64 - 2]
    frames = perf_map_frames(path, wanted)
    again = "py::again:/app/b.py"
    assert names(frames, *wanted) == [again, again, again, "", "", "cut o", "last"]
    assert frames.at(0x1050)[0].start == 0x1000


def test_a_map_that_someone_else_put_there_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "perf-1.map"
    path.write_text("1000 100 f\n")
    with pytest.raises(GnomonError, match="another user's"):
        perf_map_frames(path, [0x1000], owners=(os.getuid() + 1,))
    link = tmp_path / "perf-2.map"
    link.symlink_to(path)
    with pytest.raises(GnomonError, match="cannot be read"):
        perf_map_frames(link, [0x1000])
    os.mkfifo(tmp_path / "perf-3.map")
    with pytest.raises(GnomonError, match="not a regular file"):
        perf_map_frames(tmp_path / "perf-3.map", [0x1000])


LINES = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 60), st.sampled_from("abcde")), max_size=30
)


@given(lines=LINES, noise=st.binary(max_size=60))
def test_any_map_is_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[int, int, str]], noise: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "perf-9.map"
    text = "".join(f"{start:x} {size:x} {name}\n" for start, size, name in lines)
    path.write_bytes(text.encode())
    frames = perf_map_frames(path, np.arange(500))
    for address in range(500):
        holding = [name for start, size, name in lines if start <= address < start + size]
        assert names(frames, address) == [holding[-1] if holding else ""]
    path.write_bytes(noise)
    perf_map_frames(path, [1])
    path.write_bytes(b"ffffffff81000000 T sound\n" + noise + b"\n")
    kernel_frames(path, [1])
