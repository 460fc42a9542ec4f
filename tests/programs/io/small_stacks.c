/*
 * Calls from the smallest stacks that programs have: a handler's of 8 KB, as what tells of an
 * overflow of the stack has, and a thread's of PTHREAD_STACK_MIN. Each has a page behind its end
 * that nothing may be written to.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "corpus.h"

#define PAGE 4096
#define SIGNAL_STACK 8192
#define BYTES 100

static const struct expected rows[] = {
	{"handler", "open", "posix", 1, 0, 0},	{"handler", "pwrite", "posix", 1, BYTES, BYTES},
	{"handler", "lseek", "posix", 1, 0, 0}, {"handler", "read", "posix", 1, BYTES, BYTES},
	{"handler", "close", "posix", 1, 0, 0}, {"handler", "stat", "posix", 1, 0, 0},
	{"thread", "open", "posix", 1, 0, 0},	{"thread", "pwrite", "posix", 1, BYTES, BYTES},
	{"thread", "lseek", "posix", 1, 0, 0},	{"thread", "read", "posix", 1, BYTES, BYTES},
	{"thread", "close", "posix", 1, 0, 0},	{"thread", "stat", "posix", 1, 0, 0},
};

/* Not with CHECK(), which has a large frame of its own. */
static int use(const char *name)
{
	char bytes[BYTES], again[BYTES];
	struct stat status;
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600), bad;

	fill(bytes, BYTES, 0);
	bad = fd < 0 || pwrite(fd, bytes, BYTES, 0) != BYTES || lseek(fd, 0, SEEK_SET) ||
	      read(fd, again, BYTES) != BYTES || !is_filled(again, BYTES, 0);
	return close(fd) || bad || stat(name, &status) || status.st_size != BYTES;
}

static volatile sig_atomic_t failed_in_handler;

static void on_signal(int number)
{
	(void)number;
	failed_in_handler = use("handler");
}

static void *in_thread(void *name)
{
	return use(name) ? name : NULL;
}

static char *take_stack(size_t bytes)
{
	char *memory = mmap(NULL, PAGE + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	CHECK(memory != MAP_FAILED && !mprotect(memory, PAGE, PROT_NONE));
	return memory + PAGE;
}

int main(int argc, char **argv)
{
	const stack_t stack = {.ss_sp = take_stack(SIGNAL_STACK), .ss_size = SIGNAL_STACK};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	const size_t least = (size_t)PTHREAD_STACK_MIN;
	pthread_attr_t attributes;
	void *failed_in_thread;
	pthread_t thread;

	TELL(argc, argv, rows);
	begin();
	CHECK(!sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL));
	CHECK(!raise(SIGUSR1) && !failed_in_handler);
	CHECK(!pthread_attr_init(&attributes));
	CHECK(!pthread_attr_setstack(&attributes, take_stack(least), least));
	CHECK(!pthread_create(&thread, &attributes, in_thread, (void *)"thread"));
	CHECK(!pthread_join(thread, &failed_in_thread) && !failed_in_thread);
	end();
	say("small_stacks: handler and thread\n");
	return 0;
}
