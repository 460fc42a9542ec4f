/*
 * A Jacobi iteration on a square grid: the five-point stencil that half of HPC is made of.
 *
 *	stencil [N [iterations]]	N x N inner points, by default 1000 and 200
 *
 * Prints the residual, which is the same for every number of threads, and the work done.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static long argument(const char *text, long low, long high)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || value < low || value > high) {
		fprintf(stderr, "stencil: '%s' is not a number from %ld to %ld\n", text, low, high);
		exit(2);
	}
	return value;
}

/* One sweep; the largest change of any point. */
static double sweep(long n, const double *restrict from, double *restrict to)
{
	const long width = n + 2;
	double largest = 0;

#pragma omp parallel for schedule(static) reduction(max : largest)
	for (long row = 1; row <= n; row++) {
		for (long column = 1; column <= n; column++) {
			const long at = row * width + column;
			double change;

			to[at] = 0.25 * (from[at - 1] + from[at + 1] + from[at - width] +
					 from[at + width]);
			change = fabs(to[at] - from[at]);
			if (change > largest)
				largest = change;
		}
	}
	return largest;
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? argument(argv[1], 1, 30000) : 1000;
	const long iterations = argc > 2 ? argument(argv[2], 1, 1000000) : 200;
	const size_t points = (size_t)(n + 2) * (size_t)(n + 2);
	double *from = calloc(points, sizeof(*from));
	double *to = calloc(points, sizeof(*to));
	double residual = 0;

	if (!from || !to) {
		fprintf(stderr, "stencil: no memory for %zu points\n", points);
		return 1;
	}
	/* One hot edge. */
	for (long column = 0; column < n + 2; column++)
		from[column] = to[column] = 1;
	for (long i = 0; i < iterations; i++) {
		double *swap = from;

		residual = sweep(n, from, to);
		from = to;
		to = swap;
	}
	printf("stencil: %ld x %ld points, %ld iterations, %.3g Mflop, residual %.9e\n", n, n,
	       iterations, 4e-6 * (double)n * (double)n * (double)iterations, residual);
	free(from);
	free(to);
	return 0;
}
