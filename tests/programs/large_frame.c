/* A function with more on its stack than a sample has of it, called by way of another. */
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS 30000

__attribute__((noinline)) static double large_frame(long rounds)
{
	volatile double numbers[NUMBERS];
	double sum = 0;

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = i;
	for (long round = 0; round < rounds; round++)
		for (int i = 0; i < 1000; i++)
			sum += numbers[i] * 0.5;
	return sum;
}

__attribute__((noinline)) static double caller(long rounds)
{
	return large_frame(rounds) + 1;
}

int main(int argc, char **argv)
{
	printf("%g\n", caller(argc > 1 ? atol(argv[1]) : 1));
	return 0;
}
