/* Calls by way of the C library, and within it: callbacks, handlers, text. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;

static __attribute__((noinline)) int leaf(int x)
{
	return x * 3 + sink;
}

static int ordered(const void *left, const void *right)
{
	return leaf(*(const int *)left) - leaf(*(const int *)right);
}

static void handler(int signal)
{
	sink += leaf(signal);
}

int main(void)
{
	int numbers[] = {5, 3, 9, 1, 7};
	char text[64];

	signal(SIGUSR1, handler);
	qsort(numbers, 5, sizeof(*numbers), ordered);
	raise(SIGUSR1);
	return snprintf(text, sizeof(text), "%d %.3f", numbers[0], numbers[1] / 7.0) < 0;
}
