/* `pf` and `wb` where something is different than hoped: errors, short requests, forks, threads,
 * changes by others. */
#include "cache_process.h"
#include "check.h"
#include "mio_layer_for_tests.h"
#include "pf.h"
#include "random.h"
#include "wb.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>

#define FILE_BYTES (8 << 20)

static char path[] = "mio_cache_XXXXXX";
static char data[FILE_BYTES];

static char byte_at(int64_t offset)
{
	return (char)(offset * 31 + (offset >> 12));
}

static void create_file(int64_t bytes)
{
	int fd;

	strcpy(path, "mio_cache_XXXXXX");
	fd = mkstemp(path);
	for (int64_t i = 0; i < bytes; i++)
		data[i] = byte_at(i);
	CHECK(fd >= 0 && write(fd, data, (size_t)bytes) == bytes);
	close(fd);
}

static void open_pf(struct mio_stack *stack, const char *const *words)
{
	int index;

	memset(stack, 0, sizeof(*stack));
	index = stack_add(stack, &gn_mio_pf);
	for (; words && *words; words++)
		stack_set(stack, index, *words);
	CHECK_EQ(stack_open(stack, path, O_RDWR), 0);
}

static void open_wb(struct mio_stack *stack, int flags)
{
	memset(stack, 0, sizeof(*stack));
	stack_add(stack, &gn_mio_wb);
	CHECK_EQ(stack_open(stack, path, flags), 0);
}

static void check_read(struct mio_stack *stack, size_t bytes, int64_t offset)
{
	static _Thread_local char actual[1 << 16];

	memset(actual, 0, bytes);
	CHECK_EQ(stack_read(stack, actual, bytes, offset), bytes);
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(actual[i], byte_at(offset + (int64_t)i));
}

static void reads_are_served_from_pages(void)
{
	struct mio_stack stack;

	create_file(FILE_BYTES);
	open_pf(&stack, NULL);
	for (int i = 0; i < 256; i++)
		check_read(&stack, 16, 16 * i);
	CHECK_EQ(stack.reads, 1);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static void an_error_is_the_requests_own(void)
{
	struct mio_stack stack;

	create_file(FILE_BYTES);
	open_pf(&stack, NULL);
	stack.fail_reads = EIO;
	errno = 7;
	CHECK_EQ(stack_read(&stack, data, 16, 0), -EIO);
	CHECK_EQ(errno, 7);
	stack.fail_reads = 0;
	check_read(&stack, 16, 0);
	stack.fail_reads = EIO;
	check_read(&stack, 16, 100);
	/* What there is before an error is delivered, as by read(2). */
	CHECK_EQ(stack_read(&stack, data, 100, 4090), 6);
	CHECK_EQ(stack_read(&stack, data, 100, 4096), -EIO);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static void short_reads_are_no_end_of_file(void)
{
	struct mio_stack stack;

	create_file(FILE_BYTES);
	open_pf(&stack, NULL);
	stack.most_bytes = 100;
	for (int i = 0; i < 200; i++) {
		const ssize_t n = stack_read(&stack, data, 50, 50 * i);

		CHECK(n > 0 && data[0] == byte_at(50 * i) &&
		      data[n - 1] == byte_at(50 * i + n - 1));
	}
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static void the_end_of_a_file_moves(void)
{
	struct mio_stack stack;
	int fd;

	create_file(1000);
	open_pf(&stack, NULL);
	CHECK_EQ(stack_read(&stack, data, 2000, 0), 1000);
	CHECK_EQ(stack_read(&stack, data, 10, 1000), 0);
	CHECK_EQ(stack_read(&stack, data, 10, 5000), 0);
	CHECK_EQ(stack_read(&stack, data, 0, 10), 0);
	CHECK_EQ(stack_read(&stack, data, 10, -1), -EINVAL);
	fd = open(path, O_WRONLY | O_APPEND);
	for (int i = 1000; i < 1100; i++)
		data[i - 1000] = byte_at(i);
	CHECK_EQ(write(fd, data, 100), 100);
	close(fd);
	check_read(&stack, 100, 1000);
	check_read(&stack, 1100, 0);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

/* By size and times, with no word from above, after as many reads as the schedule has. */
static void what_others_write_is_seen(void)
{
	struct mio_stack stack;
	int fd, n = 0;
	char byte;

	create_file(4096);
	open_pf(&stack, NULL);
	check_read(&stack, 16, 0);
	usleep(20000); /* times of files may tick slowly */
	fd = open(path, O_WRONLY);
	CHECK_EQ(pwrite(fd, "!", 1, 0), 1);
	close(fd);
	do {
		CHECK_EQ(stack_read(&stack, &byte, 1, 0), 1);
		n++;
	} while (byte != '!' && n < 1000);
	CHECK(n <= GN_PF_READS_UNCHECKED + 1);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static void a_lock_is_where_others_are_looked_at(void)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	struct mio_stack stack;
	char byte;
	int fd;

	create_file(4096);
	open_pf(&stack, NULL);
	check_read(&stack, 16, 0);
	fd = open(path, O_WRONLY);
	CHECK_EQ(pwrite(fd, "!", 1, 0), 1);
	CHECK_EQ(gn_mio_pf.control(&stack.layer[0], F_SETLKW, &lock), 0);
	CHECK_EQ(stack_read(&stack, &byte, 1, 0), 1);
	CHECK_EQ(byte, '!');
	close(fd);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static void pages_are_retained_for_the_same_file(void)
{
	static const char *const words[] = {"retain", "global=3", NULL};
	struct mio_stack stack;
	int fd;

	create_file(FILE_BYTES);
	open_pf(&stack, words);
	check_read(&stack, 16, 0);
	CHECK_EQ(stack.reads, 1);
	CHECK_EQ(stack_close(&stack), 0);
	open_pf(&stack, words);
	check_read(&stack, 16, 0);
	CHECK_EQ(stack.reads, 0);
	CHECK_EQ(stack_close(&stack), 0);
	usleep(20000);
	fd = open(path, O_WRONLY);
	CHECK_EQ(pwrite(fd, "!", 1, 0), 1);
	close(fd);
	open_pf(&stack, words);
	CHECK_EQ(stack_read(&stack, data, 1, 0), 1);
	CHECK_EQ(data[0], '!');
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

/* A program's descriptors have the numbers that they would have, and its locks stay. */
static void threads_have_descriptors_of_their_own(void)
{
	static const char *const words[] = {"stream", NULL};
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	struct mio_stack stack;
	int fd, status;
	pid_t child;

	create_file(FILE_BYTES);
	open_pf(&stack, words);
	CHECK_EQ(fcntl(stack.fd, F_SETLK, &lock), 0);
	for (int i = 0; i < FILE_BYTES / 16384; i++)
		check_read(&stack, 16384, 16384 * i);
	CHECK(((struct gn_pf *)stack.layer[0].state)->prefetch.stream.begun > 0);
	fd = open("/dev/null", O_RDONLY);
	CHECK_EQ(fd, stack.fd + 1);
	close(fd);
	child = fork();
	if (!child) {
		CHECK_EQ(fcntl(stack.fd, F_GETLK, &lock), 0);
		_exit(lock.l_type == F_UNLCK);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static int threads_there(void)
{
	DIR *folder = opendir("/proc/self/task");
	int n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n - 2;
}

static void threads_block_signals_and_end(void)
{
	static const char *const words[] = {"stream", NULL};
	struct mio_stack stack;
	sigset_t mask, before;
	int least;

	create_file(FILE_BYTES);
	open_pf(&stack, words);
	least = threads_there();
	sigfillset(&mask);
	sigprocmask(SIG_SETMASK, &mask, &before);
	signal(SIGUSR1, count_signal);
	for (int i = 0; i < FILE_BYTES / 16384; i++)
		check_read(&stack, 16384, 16384 * i);
	kill(getpid(), SIGUSR1);
	/* Nobody else takes it: it waits for this thread. */
	for (int i = 0; i < 3000 && threads_there() > least; i++)
		usleep(10000);
	CHECK_EQ(threads_there(), least);
	CHECK_EQ(signals, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	CHECK_EQ(signals, 1);
	/* They begin again. */
	for (int i = 0; i < FILE_BYTES / 16384; i++)
		check_read(&stack, 16384, 16384 * i);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static void a_child_has_its_own(void)
{
	static const char *const words[] = {"stream", NULL};
	struct mio_stack stack;
	int status;
	pid_t child;

	create_file(FILE_BYTES);
	open_pf(&stack, words);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 200; i++)
			check_read(&stack, 16384, 16384 * i);
		check_read(&stack, 16, 5);
		child = fork();
		if (!child) {
			check_read(&stack, 16, 5);
			for (int i = FILE_BYTES / 16384 - 1; i >= 0; i--)
				check_read(&stack, 16384, 16384 * i);
			CHECK_EQ(stack_close(&stack), 0);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && !status);
	}
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

/* The program closed the number, and opened another file by it. */
static void another_file_by_the_number(void)
{
	static const char *const words[] = {"stream", NULL};
	struct mio_stack stack;
	char other[] = "mio_other_XXXXXX";
	int fd;

	create_file(FILE_BYTES);
	open_pf(&stack, words);
	fd = mkstemp(other);
	CHECK_EQ(ftruncate(fd, FILE_BYTES), 0);
	CHECK_EQ(dup2(fd, stack.fd), stack.fd);
	for (int i = 0; i < 400; i++) {
		CHECK_EQ(stack_read(&stack, data, 16384, 16384 * i), 16384);
		CHECK_EQ(data[77], 0);
	}
	CHECK_EQ(stack_close(&stack), 0);
	close(fd);
	unlink(path);
	unlink(other);
}

static void *read_at_random(void *seed)
{
	static const char *const words[] = {"cache_size=65536", NULL};
	uint32_t state = (uint32_t)(uintptr_t)seed;
	struct mio_stack stack;

	open_pf(&stack, words);
	for (unsigned int i = 0; i < check_work(20000); i++) {
		state = state * 1664525u + 1013904223u;
		check_read(&stack, 1 + (state >> 24), (state >> 8) % 200000);
	}
	CHECK_EQ(stack_close(&stack), 0);
	return NULL;
}

static void threads_share_a_cache(void)
{
	pthread_t thread[4];

	create_file(FILE_BYTES);
	for (uintptr_t i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, read_at_random, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	unlink(path);
}

static void a_delayed_error_is_told_once(void)
{
	struct mio_stack stack;
	struct stat status;

	create_file(0);
	open_wb(&stack, O_RDWR);
	stack.fail_writes = ENOSPC;
	CHECK_EQ(stack_write(&stack, "abc", 3, 0), 3);
	CHECK_EQ(stack_sync(&stack), -ENOSPC);
	CHECK_EQ(stack_sync(&stack), 0);
	CHECK_EQ(stack_write(&stack, "abc", 3, 0), 3);
	/* These have no such error: it waits. */
	CHECK_EQ(stack_status(&stack, &status), 0);
	CHECK_EQ(stack_read(&stack, data, 3, 0), 0);
	stack.fail_writes = 0;
	CHECK_EQ(stack_write(&stack, "def", 3, 0), -ENOSPC);
	CHECK_EQ(stack_write(&stack, "def", 3, 0), 3);
	stack.fail_writes = EIO;
	CHECK_EQ(stack_flush(&stack), -EIO);
	CHECK_EQ(stack_close(&stack), -EIO);
	unlink(path);
}

static void short_writes_go_on(void)
{
	struct mio_stack stack;
	char text[1000];

	create_file(0);
	open_wb(&stack, O_RDWR);
	stack.most_bytes = 7;
	for (int i = 0; i < 100; i++)
		CHECK_EQ(stack_write(&stack, "0123456789", 10, 10 * i), 10);
	CHECK_EQ(stack.writes, 0);
	CHECK_EQ(stack_flush(&stack), 0);
	CHECK_EQ(stack.writes, 143);
	stack.most_bytes = 0;
	CHECK_EQ(stack_read(&stack, text, 1000, 0), 1000);
	CHECK(!memcmp(text + 990, "0123456789", 10));
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

static void some_files_are_left_alone(void)
{
	static const int flags[] = {O_RDWR | O_APPEND, O_RDWR | O_SYNC, O_RDWR | O_DSYNC};
	struct mio_stack stack;

	for (int i = 0; i < 3; i++) {
		create_file(0);
		open_wb(&stack, flags[i]);
		CHECK_EQ(stack_write(&stack, "abc", 3, i ? 0 : GN_MIO_NO_OFFSET), 3);
		CHECK_EQ(stack.writes, 1);
		CHECK_EQ(stack_close(&stack), 0);
		unlink(path);
	}
	create_file(10);
	open_wb(&stack, O_RDONLY);
	CHECK_EQ(stack_write(&stack, "abc", 3, 0), -EBADF);
	CHECK_EQ(stack_close(&stack), 0);
	open_wb(&stack, O_RDWR);
	CHECK_EQ(stack_write(&stack, "abc", 3, 0), 3);
	CHECK_EQ(stack_write(&stack, "abc", 3, -5), -EINVAL);
	CHECK_EQ(stack.writes, 2);
	CHECK_EQ(gn_mio_wb.control(&stack.layer[0], F_SETFL, (void *)(intptr_t)O_APPEND), 0);
	CHECK_EQ(stack_write(&stack, "abc", 3, GN_MIO_NO_OFFSET), 3);
	CHECK_EQ(stack.writes, 3);
	CHECK_EQ(stack_close(&stack), 0);
	unlink(path);
}

/* All that a kill may take is the buffer, which is the size that was asked for. */
static void a_kill_takes_the_buffer_at_most(void)
{
	struct mio_stack stack;
	struct stat status;
	int ended;
	pid_t child;

	create_file(0);
	child = fork();
	if (!child) {
		memset(&stack, 0, sizeof(stack));
		stack_set(&stack, stack_add(&stack, &gn_mio_wb), "size=8192");
		CHECK_EQ(stack_open(&stack, path, O_RDWR), 0);
		for (int i = 0; i < 10000; i++)
			CHECK_EQ(stack_write(&stack, "0123456789abcdef", 16, 16 * i), 16);
		raise(SIGKILL);
	}
	CHECK(waitpid(child, &ended, 0) == child && WIFSIGNALED(ended));
	CHECK_EQ(stat(path, &status), 0);
	CHECK(status.st_size <= 160000 && status.st_size >= 160000 - 8192);
	unlink(path);
}

/* A call that a handler's came over may hold the cache's lock: it is not asked for. */
static void a_call_over_another_leaves_the_cache_alone(void)
{
	struct mio_stack first, second;
	char text[16] = "";

	create_file(FILE_BYTES);
	open_pf(&first, NULL);
	open_pf(&second, NULL);
	check_read(&first, 16, 4096);
	gn_calls_entered = 2;
	check_read(&second, 16, 4096);
	check_read(&second, 16, 4096 + 16);
	CHECK_EQ(second.reads, 2);
	CHECK_EQ(stack_write(&second, "by the handler", 14, 4096), 14);
	gn_calls_entered = 0;
	CHECK_EQ(stack_read(&first, text, 14, 4096), 14);
	CHECK(!strcmp(text, "by the handler"));
	CHECK_EQ(stack_read(&second, text, 14, 4096), 14);
	CHECK(!strcmp(text, "by the handler"));
	CHECK_EQ(stack_close(&first), 0);
	CHECK_EQ(stack_close(&second), 0);
	unlink(path);
}

int main(void)
{
	RUN(reads_are_served_from_pages);
	RUN(an_error_is_the_requests_own);
	RUN(short_reads_are_no_end_of_file);
	RUN(the_end_of_a_file_moves);
	RUN(what_others_write_is_seen);
	RUN(a_lock_is_where_others_are_looked_at);
	RUN(pages_are_retained_for_the_same_file);
	RUN(threads_have_descriptors_of_their_own);
	RUN(threads_block_signals_and_end);
	RUN(a_child_has_its_own);
	RUN(a_call_over_another_leaves_the_cache_alone);
	RUN(another_file_by_the_number);
	RUN(threads_share_a_cache);
	RUN(a_delayed_error_is_told_once);
	RUN(short_writes_go_on);
	RUN(some_files_are_left_alone);
	RUN(a_kill_takes_the_buffer_at_most);
	return check_result;
}
