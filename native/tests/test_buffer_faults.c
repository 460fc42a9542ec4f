/*
 * The raw file on file systems and kernels that this machine does not have: the buffer's source is
 * included with system calls that fail as they would there.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "scan.h"

static int faulty_fallocate(int fd, int mode, off_t offset, off_t bytes);
static int faulty_madvise(void *address, size_t bytes, int advice);

#define fallocate faulty_fallocate
#define madvise faulty_madvise
#include "../core/buffer.c"
#undef fallocate
#undef madvise

#define THREADS 8
#define MIB (1024u * 1024u)

static char path[256];
static int fallocate_error, madvise_error, faulty_advice;

/* Errors of fallocate() begin here, and end after some calls if failures_left is not negative. */
static off_t errors_from;
static _Atomic int failures_left = -1;

static int faulty_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	if (fallocate_error && offset + bytes > errors_from && failures_left) {
		if (failures_left > 0)
			failures_left--;
		errno = fallocate_error;
		return -1;
	}
	return fallocate(fd, mode, offset, bytes);
}

static int faulty_madvise(void *at, size_t bytes, int advice)
{
	if (madvise_error && advice == faulty_advice) {
		errno = madvise_error;
		return -1;
	}
	return madvise(at, bytes, advice);
}

struct job {
	struct gn_buffer *buffer;
	uint16_t thread;
	uint64_t done;
};

static uint64_t seen[THREADS];

static void check_number(uint16_t type, const char *payload, size_t bytes)
{
	uint64_t number;

	CHECK(type < THREADS);
	CHECK(bytes >= sizeof(number));
	memcpy(&number, payload, sizeof(number));
	CHECK_EQ(number, seen[type]);
	seen[type]++;
}

/* Until recording ends, or for so many records. */
static uint64_t most = UINT64_MAX;

static void *write_numbers(void *arg)
{
	struct job *job = arg;
	char payload[200] = "";

	for (uint64_t attempts = 0; attempts < most && !gn_buffer_status(job->buffer); attempts++) {
		memcpy(payload, &job->done, sizeof(job->done));
		if (!gn_buffer_append(job->buffer, job->thread, payload, 8 + attempts % 190))
			job->done++;
	}
	return NULL;
}

static struct gn_buffer *open_buffer(uint64_t capacity)
{
	struct gn_buffer *buffer;

	CHECK_EQ(gn_buffer_open(&buffer, path, capacity), 0);
	return buffer;
}

static void silence_stderr(void)
{
	CHECK_EQ(dup2(open("/dev/null", O_WRONLY), STDERR_FILENO), STDERR_FILENO);
}

static uint64_t write_by_threads(struct gn_buffer *buffer)
{
	pthread_t threads[THREADS];
	struct job jobs[THREADS];
	uint64_t done = 0;

	for (uint16_t i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){.buffer = buffer, .thread = i};
		CHECK_EQ(pthread_create(&threads[i], NULL, write_numbers, &jobs[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		done += jobs[i].done;
	}
	return done;
}

static struct scan check_file(struct gn_buffer *buffer, uint64_t done, int error)
{
	struct scan found;

	CHECK_EQ(gn_buffer_status(buffer), -error);
	CHECK_EQ(gn_buffer_close(buffer), 0);
	gn_buffer_free(buffer);
	found = scan_file(path, check_number);
	CHECK_EQ(found.header.stop_error, error);
	CHECK_EQ(found.header.final_bytes, found.file_bytes);
	CHECK_EQ(found.committed, done);
	CHECK_EQ(found.reserved, 0);
	return found;
}

static void test_disk_full(void)
{
	struct gn_buffer *buffer;
	struct scan found;
	uint64_t done;

	fallocate_error = ENOSPC;
	errors_from = 3 * MIB;
	buffer = open_buffer(0);
	silence_stderr();
	done = write_by_threads(buffer);
	CHECK(done > 10000);
	found = check_file(buffer, done, ENOSPC);
	CHECK_EQ(found.hole_bytes, 0);
	CHECK_EQ(found.end, found.file_bytes);
}

static void test_quota_used_up_at_open(void)
{
	struct gn_buffer *buffer;

	fallocate_error = EDQUOT;
	CHECK_EQ(gn_buffer_open(&buffer, path, 0), -EDQUOT);
	CHECK_EQ(access(path, F_OK), -1);
}

/* Others find room where one thread found none: the end of the file must be exact all the same. */
static void test_disk_full_for_a_moment(void)
{
	for (unsigned int i = 0; i < check_work(60); i++) {
		struct gn_buffer *buffer;
		struct scan found;
		uint64_t done;
		int error;

		memset(seen, 0, sizeof(seen));
		fallocate_error = ENOSPC;
		errors_from = MIB;
		failures_left = 2 + (int)i % 5;
		buffer = open_buffer(4 * MIB);
		silence_stderr();
		done = write_by_threads(buffer);
		error = -gn_buffer_status(buffer);
		CHECK(error == ENOSPC || error == ENOBUFS);
		found = check_file(buffer, done, error);
		CHECK_EQ(found.hole_bytes, 0);
		CHECK_EQ(found.end, found.file_bytes);
		unlink(path);
	}
}

static void test_file_system_without_fallocate(void)
{
	struct gn_buffer *buffer;
	struct scan found;
	uint64_t done;

	fallocate_error = EOPNOTSUPP;
	most = check_work(40000);
	buffer = open_buffer(0);
	done = write_by_threads(buffer);
	found = check_file(buffer, done, 0);
	CHECK_EQ(done, most * THREADS);
	CHECK_EQ(found.hole_bytes, 0);
}

static void test_one_thread_without_fallocate(void)
{
	struct gn_buffer *buffer;
	struct scan found;
	struct job job = {.thread = 1};

	fallocate_error = ENOSYS;
	most = check_work(100000);
	job.buffer = buffer = open_buffer(0);
	write_numbers(&job);
	CHECK_EQ(job.done, most);
	found = check_file(buffer, job.done, 0);
	CHECK_EQ(found.header.lost, 0);
	CHECK_EQ(found.end, found.file_bytes);
}

static void test_page_that_cannot_be_written(void)
{
	struct gn_buffer *buffer;

	faulty_advice = MADV_POPULATE_WRITE;
	madvise_error = EFAULT;
	CHECK_EQ(gn_buffer_open(&buffer, path, 0), -ENOSPC);
	CHECK_EQ(access(path, F_OK), -1);
}

static void write_some_and_fork(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	struct job job = {.buffer = buffer, .thread = 1};
	int status;
	pid_t child;

	most = 20000;
	write_numbers(&job);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK_EQ(gn_buffer_status(buffer), -ECHILD);
		CHECK(gn_buffer_reserve(buffer, 1, 8) == NULL);
		gn_buffer_free(buffer);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	check_file(buffer, 20000, 0);
}

static void test_kernel_without_populate(void)
{
	faulty_advice = MADV_POPULATE_WRITE;
	madvise_error = EINVAL;
	write_some_and_fork();
}

static void test_kernel_without_wipe_on_fork(void)
{
	faulty_advice = MADV_WIPEONFORK;
	madvise_error = EINVAL;
	write_some_and_fork();
}

static void run(const char *name, void (*test)(void))
{
	const char *base = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/gnomon-%s-%d", base ? base : "/tmp", name, (int)getpid());
	check_run(name, test);
	unlink(path);
}

#undef RUN
#define RUN(test) run(#test, test)

int main(void)
{
	RUN(test_disk_full);
	RUN(test_quota_used_up_at_open);
	RUN(test_disk_full_for_a_moment);
	RUN(test_file_system_without_fallocate);
	RUN(test_one_thread_without_fallocate);
	RUN(test_page_that_cannot_be_written);
	RUN(test_kernel_without_populate);
	RUN(test_kernel_without_wipe_on_fork);
	return check_result;
}
