/* A power iteration: C that calls Fortran, each with lines of its own. */
#include <stdio.h>
#include <stdlib.h>

#ifndef ROUNDS
#define ROUNDS 5
#endif

void product_of_(const int *n, const double *a, const double *x, double *y);

static double squared(int n, const double *x)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sum;
}

int main(void)
{
	const int n = 150;
	double *a = malloc(sizeof(*a) * n * n);
	double *x = malloc(sizeof(*x) * n);
	double *y = malloc(sizeof(*y) * n);

	if (!a || !x || !y)
		return 1;
	for (int i = 0; i < n * n; i++)
		a[i] = 1.0 / (1 + i);
	for (int i = 0; i < n; i++)
		x[i] = 1;
	for (int round = 0; round < ROUNDS; round++) {
		double length;

		product_of_(&n, a, x, y);
		length = squared(n, y);
		for (int i = 0; i < n; i++)
			x[i] = y[i] / length;
	}
	printf("%g\n", x[0]);
	free(a);
	free(x);
	free(y);
	return 0;
}
