"""`gnomon annotate` of gmon.out files: bins are of instructions, and functions need no samples."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from profiled_programs import build, profile
from symbol_programs import symbol_of

from gnomon.cli.main import main
from gnomon.store.profile_files.gmon import function_times, gmon_sum
from gnomon.store.profile_files.gmon.gmon_file import GmonArrays, Histogram

INLINED = """
#include <math.h>
static inline double square(double x)
{
	return x * x
		+ 1.0;
}
__attribute__((noinline)) double solve(int n)
{
	double sum = 0;
	for (int i = 1; i < n; i++) {
		sum += (double)i / (n + i);
		sum -= square(sum) * 1e-9;
		if (i % 3 == 0)
			sum *= 0.999;
	}
	return sum;
}
int main(int argc, char **argv)
{
	double sum = 0;
	for (int i = 0; i < 10; i++)
		sum += solve(100 * argc) + square(sum + i);
	return sum == 12345.5;
}
"""


@pytest.fixture(scope="module")
def gmon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the gmon.out file of a program beside it."""
    program = build(tmp_path_factory.mktemp("gmon"))
    return profile(program).rename(program.with_name("gmon.out"))


def annotated(
    capsys: pytest.CaptureFixture[str], function: str, gmon: Path, *options: str
) -> dict[str, Any]:
    assert main(["annotate", function, str(gmon), "--json", *options]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def instructions(program: Path) -> dict[int, tuple[str, int]]:
    """Return the function and line of each instruction, those of inlined code, by binutils.

    Only those of the program's own source.
    """
    listed = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True
    ).stdout
    addresses = re.findall(r"^ +([0-9a-f]+):\t", listed, re.MULTILINE)
    told = subprocess.run(
        ["addr2line", "-f", "-e", program, *addresses], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    places = {}
    for address, function, place in zip(addresses, told[::2], told[1::2], strict=True):
        match = re.match(r".*/program\.c:(\d+)", place)
        if match:
            places[int(address, 16)] = function, int(match[1])
    return places


def synthesised(program: Path, samples: Mapping[int, int]) -> bytes:
    """Return a file as glibc would write it that samples these program counters."""
    low, high = min(samples) // 4 * 4, max(samples) // 4 * 4 + 4
    # glibc's gmon.c rounds the bytes of bins up to 8; its profil() gets their ratio to the code.
    n_bins = (high - low + 15) // 16 * 4
    scale = n_bins * 2 * 65536 // (high - low)
    bins = [0] * n_bins
    for address, count in samples.items():
        bins[(address - low) // 2 * scale // 65536] += count
    histogram = Histogram(low, high, 100, "seconds", "s", np.array(bins, np.uint32))
    layout = function_times.program_of(program).layout
    nothing = np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.int64)
    return gmon_sum.gmon_bytes(GmonArrays(layout, (histogram,), *nothing, *nothing[1:]))


def test_samples_are_of_the_instructions_that_begin_in_a_bin_and_of_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build(tmp_path, ".c", "-O2", "-finline", source=INLINED)
    monkeypatch.setenv("GNOMON_PROGRAM", str(program))
    places = instructions(program)
    samples = {address: 1 + number % 5 for number, address in enumerate(sorted(places))}
    file = tmp_path / "gmon.out"
    file.write_bytes(synthesised(program, samples))
    n_inlined = 0
    for name in ("solve", "main"):
        data = annotated(capsys, name, file, "--both", "--ticks")
        code = [one["address"] for one in data["instructions"] if one["address"] in places]
        assert data["whole"] == pytest.approx(sum(samples.values()))
        assert data["total"] == pytest.approx(sum(samples[address] for address in code))
        ticks: Counter[tuple[str, int]] = Counter()
        for one in data["instructions"]:
            if one["value"]:
                ticks[places[one["address"]]] += round(one["value"])
        lines = {(one["function"], one["line"]): one["value"] for one in data["lines"]}
        assert lines == pytest.approx(dict(ticks))
        n_inlined += sum(function != name for function, _ in ticks)
        caller = annotated(capsys, name, file, "--ticks", "--inlined", "caller")
        assert {one["function"] for one in caller["lines"]} == {name}
        assert sum(one["value"] for one in caller["lines"]) == pytest.approx(data["total"])
        # Samples of an instruction are at it, or at one before that begins in the same four bytes.
        value = {one["address"]: one["value"] for one in data["instructions"]}
        for address in code:
            before = [at for at in code if address - 3 <= at <= address]
            assert sum(value[at] for at in before) >= samples[address]
    assert n_inlined > 1


def test_functions_without_samples_are_known_by_their_calls(
    gmon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = annotated(capsys, "main", gmon)
    assert data["instructions"][0]["address"] == symbol_of(gmon.with_name("program"), "main")
