"""Programs that are built with -pg, their gmon.out files, and what GNU gprof says of them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

CYCLES = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
static int odd(int n);
static int even(int n)
{
	for (int i = 0; i < 900; i++)
		sink += i;
	return n == 0 ? 1 : odd(n - 1);
}
static int odd(int n)
{
	for (int i = 0; i < 300; i++)
		sink += i;
	return n == 0 ? 0 : even(n - 1);
}
int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
void leaf(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
void middle(void)
{
	for (int i = 0; i < 40; i++)
		leaf(5000);
}
void never(void)
{
	leaf(1);
}
int main(int argc, char **argv)
{
	const clock_t end = clock() + CLOCKS_PER_SEC / 4;

	do {
		middle();
		for (int i = 0; i < 100; i++)
			even(50 + argc);
		leaf(fibonacci(15));
	} while (clock() < end);
	if (argc > 5)
		never();
	return 0;
}
"""

CXX = """
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace shapes {
struct Shape {
	virtual ~Shape() {}
	virtual double area(int n) const = 0;
};
template <typename T, int N> struct Polygon : Shape {
	T side;
	explicit Polygon(T length) : side(length) {}
	double area(int n) const override
	{
		double sum = 0;
		for (int i = 0; i < n; i++)
			sum += side * i / N;
		return sum;
	}
};
}
struct Node {
	std::unique_ptr<Node> left, right;
	int value;
	explicit Node(int v) : value(v) {}
	void insert(int v)
	{
		auto &child = v < value ? left : right;
		if (child)
			child->insert(v);
		else
			child = std::make_unique<Node>(v);
	}
};
template <class F> static auto total(F f, int n)
{
	long sum = 0;
	for (int i = 1; i < n; i++)
		sum += f(i);
	return sum;
}
static int collatz(long n)
{
	int steps = 0;
	for (; n != 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}
int main()
{
	const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 5;
	double sum = 0;
	do {
		std::vector<std::unique_ptr<shapes::Shape>> some;
		std::map<std::string, int> counts;
		Node root(500);
		for (int i = 0; i < 20; i++)
			some.emplace_back(new shapes::Polygon<float, 3>(i));
		for (auto &shape : some)
			sum += shape->area(2000);
		for (int i = 0; i < 2000; i++)
			counts[std::to_string(i * 7919 % 100)]++;
		for (int i = 0; i < 2000; i++)
			root.insert(i * 7919 % 1009);
		sum += total([](int i) { return collatz(i); }, 2000);
	} while (std::clock() < end);
	return sum == 12345.5;
}
"""

FORTRAN = """
module work
contains
  recursive integer function ackermann(m, n) result(r)
    integer, intent(in) :: m, n
    if (m == 0) then
      r = n + 1
    else if (n == 0) then
      r = ackermann(m - 1, 1)
    else
      r = ackermann(m - 1, ackermann(m, n - 1))
    end if
  end function
  subroutine smooth(a, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    integer :: i
    do i = 2, n - 1
      a(i) = (a(i - 1) + a(i) + a(i + 1)) / 3
    end do
  end subroutine
end module
program p
  use work
  real(8) :: a(20000), begin, now
  integer :: k
  a = 1
  call cpu_time(begin)
  do
    call smooth(a, 20000)
    k = ackermann(2, 60)
    call cpu_time(now)
    if (now - begin > 0.2) exit
  end do
  if (a(3) > 2) print *, k
end program
"""

_SOURCES = {".c": CYCLES, ".cpp": CXX, ".f90": FORTRAN}
_COMPILERS = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}


def build(folder: Path, ending: str = ".c", *options: str, source: str = "") -> Path:
    """Return a program that was built with -pg."""
    text = folder / f"program{ending}"
    text.write_text(source or _SOURCES[ending])
    program = folder / "program"
    # Clones have names that gprof 2.40 takes or leaves by what stands behind them in the file.
    command = [_COMPILERS[ending], "-pg", "-g", "-O1", "-fno-inline", "-fno-ipa-cp", *options]
    subprocess.run([*command, "-o", program, text], check=True)
    return program


def profile(program: Path, name: str = "gmon") -> Path:
    """Run a program in its folder and return its gmon.out file."""
    variables = os.environ | {"GMON_OUT_PREFIX": str(program.parent / name)}
    subprocess.run([program], check=True, cwd=program.parent, env=variables, capture_output=True)
    (file,) = program.parent.glob(f"{name}.[0-9]*")
    return file


def gprof(program: Path, files: Sequence[Path], *options: str) -> str:
    """Return what GNU gprof prints, with blanks for tabs and without its form feeds."""
    done = subprocess.run(
        ["gprof", "-b", *options, program, *files], check=True, capture_output=True, text=True
    )
    return re.sub(r"\f", "", done.stdout).expandtabs()
