/*
 * Frames of all kinds.
 *
 *	frames			recursion, variable and realigned frames, signal handlers
 *	frames jumps		a jump out of a handler, coroutines
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;
static jmp_buf back;

static NOINLINE int leaf(int x)
{
	return x * 3 + sink;
}

static NOINLINE int recurse(int depth, int a, int b, int c, int d)
{
	int sum = leaf(a) + leaf(b);

	if (depth)
		sum += recurse(depth - 1, b + sum, c, d, a);
	return sum + leaf(c) * leaf(d);
}

static NOINLINE int variable(int n)
{
	char *room = alloca((size_t)n + 16);

	memset(room, n, (size_t)n);
	sink += room[n / 2];
	return leaf(n) + room[0];
}

static NOINLINE int realigned(int n)
{
	_Alignas(64) volatile char aligned[128];
	char *room = alloca((size_t)n * 8 + 8);

	aligned[n] = (char)n;
	room[n] = aligned[n];
	return leaf(room[n]) + variable(n);
}

static NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	return leaf(a + b + c) + leaf(d + e + f) + leaf(g + h + i) + a * i;
}

static int ordered(const void *left, const void *right)
{
	return leaf(*(const int *)left) - leaf(*(const int *)right);
}

static void handler(int signal)
{
	sink += recurse(2, signal, 1, 2, 3);
}

static void leaving_handler(int signal)
{
	longjmp(back, signal);
}

static NOINLINE void raise_from(int depth)
{
	if (depth)
		raise_from(depth - 1);
	else
		raise(SIGUSR1);
	sink++;
}

static void handlers(int flags)
{
	static char stack[65536];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_flags = flags};

	sigaltstack(&alternate, NULL);
	action.sa_handler = handler;
	sigaction(SIGUSR1, &action, NULL);
	raise_from(3);
}

static ucontext_t outside, inside;

static void coroutine(void)
{
	for (int i = 0; i < 3; i++) {
		sink += recurse(2, i, 2, 3, 4);
		swapcontext(&inside, &outside);
	}
}

static void coroutines(void)
{
	static char stack[65536];

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	for (int i = 0; i < 4; i++)
		swapcontext(&outside, &inside);
}

static void jumps(void)
{
	signal(SIGUSR2, leaving_handler);
	if (!setjmp(back))
		raise(SIGUSR2);
	coroutines();
}

int main(int argc, char **argv)
{
	int numbers[] = {5, 3, 9, 1, 7};
	char text[64];

	if (argc > 1 && !strcmp(argv[1], "jumps")) {
		jumps();
		return 0;
	}
	sink = recurse(6, 1, 2, 3, 4);
	for (int i = 1; i < 20; i += 6)
		sink += realigned(i) + many(i, 2, 3, 4, 5, 6, 7, 8, 9);
	qsort(numbers, 5, sizeof(*numbers), ordered);
	snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", numbers[1] / 7.0);
	handlers(0);
	handlers(SA_ONSTACK);
	return text[0] == '\0';
}
