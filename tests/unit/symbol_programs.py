"""Programs to name addresses of, and what binutils says of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

C = """
#include <stdlib.h>
static volatile int sink;
static inline __attribute__((always_inline)) int innermost(int x)
{
	sink += x;
	return sink * 3;
}
static inline __attribute__((always_inline)) int middle(int x)
{
	int sum = 0;

	for (int i = 0; i < x; i++)
		sum += innermost(i);
	return sum;
}
static __attribute__((noinline)) int hidden(int x)
{
	return middle(x) + sink;
}
int visible(int x)
{
	if (__builtin_expect(x > 1000000, 0))
		abort();
	return hidden(x + 1) + middle(x);
}
int main(void)
{
	return visible(10) == 12345;
}
"""

CXX = """
#include <string>
#include <vector>
namespace solver {
namespace { volatile int sink; }
template <typename T> struct Grid {
	std::vector<T> cells;
	explicit Grid(int n) : cells(n) {}
	__attribute__((noinline)) T sum() const
	{
		T total = 0;
		for (T cell : cells)
			total += cell;
		return total;
	}
	T operator()(int i) const { sink += i; return cells[i]; }
};
__attribute__((noinline)) static int step(const Grid<int> &grid, int n)
{
	auto twice = [&](int i) { sink += i; return 2 * grid(i); };
	int total = 0;
	for (int i = 0; i < n; i++)
		total += twice(i);
	return total;
}
} // namespace solver
int main()
{
	solver::Grid<int> grid(8);
	return solver::step(grid, 8) + grid.sum() > 100;
}
"""

FORTRAN = """
module heat
  implicit none
contains
  subroutine relax(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i
    do i = 2, n - 1
      x(i) = 0.5d0 * (x(i - 1) + x(i + 1))
    end do
  end subroutine relax
end module heat
program main
  use heat
  real(8) :: x(100)
  x = 1.0d0
  call relax(100, x)
  print *, sum(x)
end program main
"""

SOURCES = {
    "c": ("gcc", "p.c", C),
    "cxx": ("g++", "p.cc", CXX),
    "fortran": ("gfortran", "p.f90", FORTRAN),
}


def compile_program(folder: Path, language: str, *options: str, compiler: str = "") -> Path:
    """Return a program in that language, skipping the test where its compiler is missing."""
    usual, source, text = SOURCES[language]
    compiler = compiler or usual
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here; install {compiler}")
    (folder / source).write_text(text)
    program = folder / "program"
    run(compiler, *options, "-o", program, folder / source, cwd=folder)
    return program


def run(*command: str | Path, text: str = "", cwd: Path | None = None) -> str:
    """Return what a command prints."""
    return subprocess.run(
        [str(word) for word in command],
        input=text, cwd=cwd, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


def instructions(program: Path) -> list[int]:
    """Return the addresses of all instructions in functions."""
    addresses = []
    function = ""
    for line in run("objdump", "-d", "-j", ".text", program).splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            function = head[1]
        match = re.match(r"\s+([0-9a-f]+):\t\S.*\t(\S+)", line)
        # What stands between functions is in none.
        if match and function and not re.search(r"nop|xchg|data16|cs", line):
            addresses.append(int(match[1], 16))
    return addresses


def by_addr2line(program: Path, addresses: list[int]) -> dict[int, list[tuple[str, str, int]]]:
    """Return function, file and line of each frame."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    return parse_frames(run("addr2line", "-a", "-f", "-i", "-C", "-e", program, text=text))


def by_llvm_symbolizer(
    program: Path, addresses: list[int]
) -> dict[int, list[tuple[str, str, int]]]:
    """Return the same as LLVM says it."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    command = ("llvm-symbolizer", "-a", "-f", "-i", "-C", "--output-style=GNU", "-e", program)
    return parse_frames(run(*command, text=text))


def parse_frames(text: str) -> dict[int, list[tuple[str, str, int]]]:
    """Return the frames in what addr2line prints with -a, -f and -i."""
    lines = text.splitlines()
    frames: dict[int, list[tuple[str, str, int]]] = {}
    own: list[tuple[str, str, int]] = []
    function = ""
    for line in lines:
        if re.fullmatch("0x[0-9a-f]+", line):
            own = frames.setdefault(int(line, 16), [])
        elif not function:
            function = line
        else:
            file, _, number = line.partition(" (")[0].rpartition(":")
            own.append(
                (function.replace("??", ""), file.replace("??", ""),
                 int(number) if number.isdigit() else 0)
            )  # fmt: skip
            function = ""
    return frames


def symbol_of(program: Path, name: str) -> int:
    """Return where a function begins."""
    match = re.search(rf"^([0-9a-f]+) . {re.escape(name)}$", run("nm", program), re.MULTILINE)
    assert match, name
    return int(match[1], 16)
