/*
 * Work of known shares: threads, one after another or together, of which each gives 50, 30 and 20 %
 * of its work to three functions that call the same one. What is next comes from a shuffled deck of
 * ten cards, so that the shares are exact and their order is not periodic.
 *
 *	shares ROUNDS [THREADS [DEPTH]]
 *
 * With -DINLINED the three are inlined where they are chosen, with -DTAIL_CALLED who chooses jumps
 * to them and is gone.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 3000

#ifdef INLINED
#define SHARE inline __attribute__((always_inline))
#else
#define SHARE __attribute__((noinline))
#endif

#ifdef TAIL_CALLED
#define AFTER 0
#else
#define AFTER 1
#endif

static volatile unsigned long result;
static int rounds, depth;

__attribute__((noinline)) static unsigned long work(unsigned long x)
{
	for (int i = 0; i < STEPS; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

/* Not a tail call: each must stay on the stack. Nor is it the same code as in the others, of which
 * the compiler would make one. */
SHARE static unsigned long half(unsigned long x)
{
	__asm__ volatile("# half" : "+r"(x));
	return work(x) + 1;
}

SHARE static unsigned long third(unsigned long x)
{
	__asm__ volatile("# third" : "+r"(x));
	return work(x) + 2;
}

SHARE static unsigned long fifth(unsigned long x)
{
	__asm__ volatile("# fifth" : "+r"(x));
	return work(x) + 3;
}

__attribute__((noinline)) static unsigned long recurse(int card, int levels, unsigned long x)
{
	if (levels > 0) {
		x = recurse(card, levels - 1, x);
		/* Else the compiler makes a loop of it. */
		__asm__ volatile("" : "+r"(x));
		return x;
	}
	return card < 5 ? half(x) + AFTER : card < 8 ? third(x) + AFTER : fifth(x) + AFTER;
}

__attribute__((noinline)) static void *deal(void *seed)
{
	unsigned long random = (unsigned long)seed, x = 1;
	int card[10];

	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < 10; i++)
			card[i] = i;
		for (int i = 9; i > 0; i--) {
			random = random * 6364136223846793005ul + 1442695040888963407ul;
			const int j = (int)((random >> 33) % (unsigned long)(i + 1)),
				  kept = card[i];

			card[i] = card[j];
			card[j] = kept;
		}
		for (int i = 0; i < 10; i++)
			x = recurse(card[i], depth, x);
	}
	result += x;
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 2 ? atoi(argv[2]) : 0;

	rounds = argc > 1 ? atoi(argv[1]) : 1000;
	depth = argc > 3 ? atoi(argv[3]) : 0;
	if (!threads)
		deal((void *)1ul);
	/* Four at a time come and go. */
	for (int first = 0; first < threads; first += 4) {
		pthread_t thread[4];
		int n = threads - first < 4 ? threads - first : 4;

		for (int i = 0; i < n; i++)
			if (pthread_create(&thread[i], NULL, deal, (void *)(first + i + 1ul)))
				return 1;
		for (int i = 0; i < n; i++)
			pthread_join(thread[i], NULL);
	}
	return 0;
}
