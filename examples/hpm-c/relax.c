/*
 * Red-black relaxation of a square with a hot edge, with sections around its parts: all of it, each
 * sweep, and what each thread does of it. Run it and read relax.hpm.
 *
 *	./relax [SIZE [SWEEPS]]
 */
#include <stdio.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_thread_num() 0
#endif

#include "libhpm.h"

enum {
	SET_UP = 1,
	RELAX,
	SWEEP,
	RESIDUAL,
	THREAD = 30, /* and one more for each thread: a number belongs to one thread */
};

static int n;
static double *square;

#define AT(row, column) square[(size_t)(row) * (size_t)n + (size_t)(column)]

static void must(void)
{
	if (hpm_error_count)
		exit(4);
}

static void set_up(void)
{
	square = calloc((size_t)n * (size_t)n, sizeof(*square));
	if (!square)
		exit(1);
	for (int column = 0; column < n; column++)
		AT(0, column) = 100;
}

static void sweep(int colour)
{
#pragma omp parallel
	{
		const int id = THREAD + omp_get_thread_num();

		hpmTstart(id, "one thread's share of a sweep");
#pragma omp for
		for (int row = 1; row < n - 1; row++) {
			for (int column = 1 + (row + colour) % 2; column < n - 1; column += 2)
				AT(row, column) =
					0.25 * (AT(row - 1, column) + AT(row + 1, column) +
						AT(row, column - 1) + AT(row, column + 1));
		}
		hpmTstop(id);
	}
}

static double residual(void)
{
	double sum = 0;

	for (int row = 1; row < n - 1; row++) {
		for (int column = 1; column < n - 1; column++) {
			const double off = AT(row - 1, column) + AT(row + 1, column) +
					   AT(row, column - 1) + AT(row, column + 1) -
					   4 * AT(row, column);

			sum += off * off;
		}
	}
	return sum;
}

int main(int argc, char **argv)
{
	const int sweeps = argc > 2 ? atoi(argv[2]) : 50;
	double left;

	n = argc > 1 ? atoi(argv[1]) : 600;
	if (n < 3 || n > 20000 || sweeps < 1)
		return 2;
	hpmInit(0, "relax");
	must();
	hpmStart(SET_UP, "set up");
	set_up();
	hpmStop(SET_UP);
	hpmStart(RELAX, "relax");
	for (int i = 0; i < sweeps; i++) {
		hpmStart(SWEEP, "a sweep, red and black");
		sweep(0);
		sweep(1);
		hpmStop(SWEEP);
	}
	hpmStart(RESIDUAL, "residual");
	left = residual();
	hpmStop(RESIDUAL);
	hpmStop(RELAX);
	must();
	hpmTerminate(0);
	must();
	printf("%d sweeps: residual %g\n", sweeps, left);
	free(square);
	return 0;
}
