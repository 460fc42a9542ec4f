/* Memory for calls of a signal's handler: nothing is anybody else's, whatever comes over what. */
#include "check.h"
#include "mio_heap.h"
#include "random.h"

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <sys/time.h>

#define THREADS 4
#define KEPT 64
#define ROUNDS 4000
#ifdef __SANITIZE_ADDRESS__ /* where the heap is malloc(3) */
#define HAS_HANDLER 0
#else
#define HAS_HANDLER 1
#endif

struct keeper {
	unsigned char *kept[KEPT];
	size_t bytes[KEPT];
	uint32_t state;
	unsigned char mark;
};

static struct keeper of_handler = {.state = 1, .mark = 0xff};
static volatile sig_atomic_t wrong, handlers;

static uint32_t next(struct keeper *keeper)
{
	keeper->state = keeper->state * 1664525u + 1013904223u;
	return keeper->state >> 8;
}

static int is_filled(const unsigned char *from, size_t bytes, unsigned char with)
{
	for (size_t i = 0; i < bytes; i++)
		if (from[i] != with)
			return 0;
	return 1;
}

/* One piece is given back, if it holds what was put there, and another is taken. */
static int exchange(struct keeper *keeper)
{
	const uint32_t which = next(keeper) % KEPT;
	const uint32_t most = next(keeper) % 50 ? 3000 : 40000;
	const size_t bytes = next(keeper) % most;
	unsigned char *piece = keeper->kept[which];

	if (piece && !is_filled(piece, keeper->bytes[which], keeper->mark))
		return 0;
	if (piece && next(keeper) % 4 == 0 && bytes > keeper->bytes[which]) {
		piece = gn_mio_heap_resize(piece, bytes);
		if (!piece || !is_filled(piece, keeper->bytes[which], keeper->mark))
			return 0;
	} else {
		gn_mio_heap_give(piece);
		piece = gn_mio_heap_take(bytes);
		if (!piece || !is_filled(piece, bytes, 0) ||
		    (uintptr_t)piece % alignof(max_align_t))
			return 0;
	}
	memset(piece, keeper->mark, bytes);
	keeper->kept[which] = piece;
	keeper->bytes[which] = bytes;
	return 1;
}

static int give_all(struct keeper *keeper)
{
	for (int i = 0; i < KEPT; i++) {
		if (keeper->kept[i] && !is_filled(keeper->kept[i], keeper->bytes[i], keeper->mark))
			return 0;
		gn_mio_heap_give(keeper->kept[i]);
	}
	return 1;
}

static void handle(int number)
{
	(void)number;
	handlers++;
	for (int i = 0; i < 20; i++)
		if (!exchange(&of_handler))
			wrong = 1;
}

static void *work(void *of_thread)
{
	struct keeper keeper = {.state = (uint32_t)(uintptr_t)of_thread,
				.mark = (unsigned char)(uintptr_t)of_thread};

	for (int i = 0; i < ROUNDS; i++)
		if (!exchange(&keeper))
			return of_thread;
	return give_all(&keeper) ? NULL : of_thread;
}

/* The handler is of the first thread alone: what it keeps is not locked. */
static void pieces_are_nobody_elses(void)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	pthread_t thread[THREADS];
	sigset_t timer;
	void *failed;

	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &timer, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, work, (void *)(i + 1)), 0);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &timer, NULL), 0);
	signal(SIGALRM, handle);
	if (HAS_HANDLER)
		CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (HAS_HANDLER && !handlers)
		usleep(100);
	CHECK(!work((void *)(uintptr_t)(THREADS + 1)));
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_IGN);
	for (int i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(thread[i], &failed), 0);
		CHECK(!failed);
	}
	CHECK(!wrong);
	CHECK(give_all(&of_handler));
}

static void what_cannot_be_is_refused(void)
{
	char *kept = gn_mio_heap_take(3);

	strcpy(kept, "ab");
	errno = 7;
	CHECK(!gn_mio_heap_take(SIZE_MAX));
	CHECK(!gn_mio_heap_take(SIZE_MAX / 2));
	CHECK(!gn_mio_heap_resize(kept, SIZE_MAX / 2));
	CHECK_EQ(errno, 7);
	CHECK(!strcmp(kept, "ab"));
	gn_mio_heap_give(kept);
	gn_mio_heap_give(NULL);
}

int main(void)
{
	RUN(pieces_are_nobody_elses);
	RUN(what_cannot_be_is_refused);
	return check_result;
}
