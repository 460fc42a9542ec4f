/* Calls that crash, hang or come back, and items that lie. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "call_guard.h"
#include "check.h"
#include "item_copy.h"

static int calls;

static void come_back(void *context)
{
	calls += *(int *)context;
}

static void fall(void *context)
{
	raise(*(int *)context);
}

static void stop(void *context)
{
	(void)context;
	abort();
}

static void hang(void *context)
{
	sigset_t all;

	(void)context;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	for (;;)
		pause();
}

static int heard;

static void hear(int number)
{
	heard = number;
}

static void test_endings(void)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction before = {.sa_handler = hear}, after;
	sigset_t mask;
	int one = 1;

	sigaction(SIGFPE, &before, NULL);
	for (unsigned int round = 0; round < 3; round++) {
		CHECK_EQ(gn_call_guarded(come_back, &one, 10, -1), 0);
		for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
			CHECK_EQ(gn_call_guarded(fall, (void *)&fatal[i], 10, -1), fatal[i]);
		CHECK_EQ(gn_call_guarded(stop, NULL, 10, -1), SIGABRT);
		CHECK_EQ(gn_call_guarded(hang, NULL, 0.05, -1), -ETIMEDOUT);
		CHECK(!gn_call_guard_leave());
	}
	CHECK_EQ(calls, 3);
	/* The program's own handlers and mask are as they were. */
	CHECK(!sigaction(SIGFPE, NULL, &after) && after.sa_handler == hear);
	raise(SIGFPE);
	CHECK_EQ(heard, SIGFPE);
	CHECK(!sigaction(SIGABRT, NULL, &after) && after.sa_handler == SIG_DFL);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	CHECK(!sigismember(&mask, SIGABRT) && !sigismember(&mask, SIGRTMAX));
}

/* A file that is touched while the call goes on: it waits for others, and has that much longer. */
static void wait_long(void *context)
{
	const struct timespec pause_for = {0, 50000000};
	int fd = *(int *)context;

	for (int i = 0; i < 45; i++) {
		CHECK_EQ(pwrite(fd, "x", 1, 0), 1);
		nanosleep(&pause_for, NULL);
	}
}

/* What exits is not guarded any more: it ends as anybody does. */
static void leave(void *context)
{
	(void)context;
	CHECK(gn_call_guard_leave());
	CHECK(!gn_call_guard_leave());
	raise(SIGABRT);
}

static void test_exit(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		gn_call_guarded(leave, NULL, 10, -1);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void test_beats(void)
{
	FILE *file = tmpfile();
	int fd;

	CHECK(file);
	fd = fileno(file);
	CHECK_EQ(gn_call_guarded(wait_long, &fd, 1, fd), 0);
	CHECK_EQ(gn_call_guarded(wait_long, &fd, 1, -1), -ETIMEDOUT);
	fclose(file);
}

static hpm_event_info event = {.name = "e", .unit = "s", .value = 1};
static long long bins[3] = {1, 0, 2};
static hpm_spread spreads[HPM_NTIM];

static hpm_data_item good(void)
{
	hpm_data_item item = {.num_data = 1, .data = &event, .label = "here"};

	for (int t = 0; t < HPM_NTIM; t++)
		spreads[t] = (hpm_spread){.n = 3, .n_bins = t ? 0 : 3, .bins = t ? NULL : bins};
	item.times_spread = spreads;
	return item;
}

static void test_copies(void)
{
	hpm_data_item item = good();
	struct hpm_copy copy;

	CHECK_EQ(hpm_items_copy(1, &item, &copy), 0);
	CHECK_EQ(copy.n, 1);
	CHECK(copy.items[0].label != item.label && !strcmp(copy.items[0].label, "here"));
	CHECK(copy.items[0].data != item.data && !strcmp(copy.items[0].data[0].name, "e"));
	CHECK(!copy.items[0].description && !copy.items[0].data[0].spread);
	CHECK_EQ(copy.items[0].times_spread[0].bins[2], 2);
	hpm_items_copy_free(&copy);
	CHECK_EQ(hpm_items_copy(0, NULL, &copy), 0);
	hpm_items_copy_free(&copy);
}

static void lies(int n, const hpm_data_item *item, const char *what)
{
	struct hpm_copy copy;

	CHECK_EQ(hpm_items_copy(n, item, &copy), EBADMSG);
	if (strcmp(copy.lie, what) != 0)
		fprintf(stderr, "%s\n", copy.lie);
	CHECK(!strcmp(copy.lie, what));
}

static void test_lies(void)
{
	hpm_data_item item = good();
	char *endless = malloc((1 << 20) + 1);

	CHECK(endless);
	lies(-1, &item, "num_out is -1");
	lies(3, NULL, "num_out is 3 and out is NULL");
	item.num_data = -4;
	lies(1, &item, "item 0 has num_data -4");
	item.num_data = 1 << 20;
	lies(1, &item, "item 0 has num_data 1048576");
	item.num_data = 2;
	item.data = NULL;
	lies(1, &item, "item 0 has num_data 2 and no data");
	item = good();
	spreads[2].n_bins = 4;
	lies(1, &item, "a histogram of it has 4 bins");
	item = good();
	memset(endless, 'x', 1 << 20);
	endless[1 << 20] = '\0';
	item.label = endless;
	lies(1, &item, "a text of it does not end");
	free(endless);
}

int main(void)
{
	RUN(test_endings);
	RUN(test_exit);
	RUN(test_beats);
	RUN(test_copies);
	RUN(test_lies);
	return check_result;
}
