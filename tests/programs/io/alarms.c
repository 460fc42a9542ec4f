/* Calls in a handler of SIGALRM that interrupts reads, other calls and malloc. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

enum { RESTARTED = 20, INTERRUPTED = 5, BESIDE = 50, READS = 2000, SIZE = 16 };

static const struct expected EXPECTED[] = {
	{"log", "open", "posix", 1, 0, 0},
	{"log", "write", "posix", RESTARTED + BESIDE, 10 * (RESTARTED + BESIDE),
	 10 * (RESTARTED + BESIDE)},
	{"log", "close", "posix", 1, 0, 0},
	{"data", "open", "posix", 1, 0, 0},
	{"data", "write", "posix", 1, SIZE, SIZE},
	{"data", "pread", "posix", READS + BESIDE, SIZE * (READS + BESIDE),
	 SIZE * (READS + BESIDE)},
	{"data", "close", "posix", 1, 0, 0},
};

static int log_fd, data, ends[2];
static volatile sig_atomic_t alarms, wanted, stops;

/* One alarm, not before the last was handled: their number is known however slow the machine. */
static void arm(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 1000}};

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void during_read(int signal)
{
	(void)signal;
	CHECK(write(log_fd, "0123456789", 10) == 10);
	if (++alarms < wanted)
		arm();
	else
		CHECK(write(ends[1], "x", 1) == 1);
}

static void beside(int signal)
{
	const int before = errno;
	char bytes[SIZE];

	(void)signal;
	CHECK(write(log_fd, "abcdefghij", 10) == 10);
	CHECK(pread(data, bytes, SIZE, 0) == SIZE && is_filled(bytes, SIZE, 0));
	if (++alarms < wanted)
		arm();
	errno = before;
}

/* However late the read begins, an alarm comes while it waits. */
static void until_stopped(int signal)
{
	(void)signal;
	if (!stops)
		arm();
}

static void handle(void (*handler)(int), int flags, int n)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	alarms = 0;
	wanted = n;
	arm();
}

int main(int argc, char **argv)
{
	char bytes[SIZE];

	TELL(argc, argv, EXPECTED);
	fill(bytes, SIZE, 0);
	begin();
	CHECK(pipe(ends) == 0);
	log_fd = open("log", O_WRONLY | O_CREAT, 0600);
	data = open("data", O_RDWR | O_CREAT, 0600);
	CHECK(log_fd >= 0 && data >= 0 && write(data, bytes, SIZE) == SIZE);
	handle(during_read, SA_RESTART, RESTARTED);
	CHECK(read(ends[0], bytes, 1) == 1 && alarms == RESTARTED);
	handle(until_stopped, 0, 0);
	for (int i = 0; i < INTERRUPTED; i++)
		CHECK(read(ends[0], bytes, 1) == -1 && errno == EINTR);
	stops = 1;
	handle(beside, SA_RESTART, BESIDE);
	for (int i = 0; i < READS; i++)
		CHECK(pread(data, bytes, SIZE, 0) == SIZE && is_filled(bytes, SIZE, 0));
	while (alarms < BESIDE) {
		/* The handler comes while malloc holds its lock; it must not wait for it. */
		char *block = malloc(5000);

		CHECK(block != NULL);
		block[0] = 'x';
		free(block);
	}
	CHECK(close(log_fd) == 0 && close(data) == 0);
	end();
	say("alarms: %d, %d, %d\n", RESTARTED, INTERRUPTED, BESIDE);
	return 0;
}
