/*
 * The record file on file systems and kernels that this machine does not have: the sources are
 * included with system calls that fail as they would there.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "records.h"

static int faulty_fallocate(int fd, int mode, off_t offset, off_t bytes);
static int faulty_madvise(void *address, size_t bytes, int advice);

#define fallocate faulty_fallocate
#define madvise faulty_madvise
#define page_bytes fork_page_bytes
#include "../core/fork_page.c"
#undef page_bytes
#include "../core/mapped_file.c"
#undef fallocate
#undef madvise

#define MIB (1024u * 1024u)

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

static void silence_stderr(void)
{
	CHECK_EQ(dup2(open("/dev/null", O_WRONLY), STDERR_FILENO), STDERR_FILENO);
}

static struct scan check_file(struct gn_record_file *file, uint64_t done, int error)
{
	struct scan found;

	CHECK_EQ(gn_record_file_status(file), -error);
	CHECK_EQ(gn_record_file_close(file), 0);
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	CHECK_EQ(found.header.stop_error, error);
	CHECK_EQ(found.header.final_bytes, found.file_bytes);
	CHECK_EQ(found.records, done);
	CHECK_EQ(found.unused, 0);
	CHECK_EQ(found.end, found.file_bytes);
	return found;
}

static int opened(void)
{
	const struct gn_record_plan plan = {"test", record_kinds, KINDS, -1, 0};
	struct gn_record_file *file;

	return gn_record_file_open(&file, record_path, &plan);
}

static void test_disk_full(void)
{
	struct gn_record_file *file;
	uint64_t done;

	fallocate_error = ENOSPC;
	errors_from = 3 * MIB;
	file = open_records(0);
	silence_stderr();
	done = write_by_threads(file, UINT32_MAX);
	CHECK(done > 10000);
	check_file(file, done, ENOSPC);
}

static void test_quota_used_up_at_open(void)
{
	fallocate_error = EDQUOT;
	CHECK_EQ(opened(), -EDQUOT);
	CHECK_EQ(access(record_path, F_OK), -1);
}

/* Others find room where one thread found none: the end of the file must be exact all the same. */
static void test_disk_full_for_a_moment(void)
{
	for (unsigned int i = 0; i < check_work(60); i++) {
		struct gn_record_file *file;
		uint64_t done;
		int error;

		memset(next_number, 0, sizeof(next_number));
		fallocate_error = ENOSPC;
		errors_from = MIB;
		failures_left = 2 + (int)i % 5;
		file = open_records(4 * MIB);
		silence_stderr();
		done = write_by_threads(file, UINT32_MAX);
		error = -gn_record_file_status(file);
		CHECK(error == ENOSPC || error == ENOBUFS);
		check_file(file, done, error);
		unlink(record_path);
	}
}

static void test_file_system_without_fallocate(void)
{
	struct gn_record_file *file;
	const uint32_t most = check_work(40000);
	uint64_t done;

	fallocate_error = EOPNOTSUPP;
	file = open_records(0);
	done = write_by_threads(file, most);
	CHECK_EQ(done, most * THREADS);
	check_file(file, done, 0);
}

static void test_one_thread_without_fallocate(void)
{
	struct writing writing = {.count = check_work(100000)};
	struct scan found;

	fallocate_error = ENOSYS;
	writing.file = open_records(0);
	write_records(&writing);
	CHECK_EQ(writing.done, writing.count);
	found = check_file(writing.file, writing.done, 0);
	CHECK_EQ(found.header.lost, 0);
}

static void test_page_that_cannot_be_written(void)
{
	faulty_advice = MADV_POPULATE_WRITE;
	madvise_error = EFAULT;
	CHECK_EQ(opened(), -ENOSPC);
	CHECK_EQ(access(record_path, F_OK), -1);
}

static void write_some_and_fork(void)
{
	struct writing writing = {.file = open_records(0), .count = 20000};
	int status;
	pid_t child;

	write_records(&writing);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK_EQ(gn_record_file_status(writing.file), -ECHILD);
		CHECK_EQ(record(&writing.stream, writing.file, 0, 20000), -ECHILD);
		gn_record_file_free(writing.file);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	check_file(writing.file, 20000, 0);
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

	snprintf(record_path, sizeof(record_path), "%s/gnomon-%s-%d", base ? base : "/tmp", name,
		 (int)getpid());
	check_run(name, test);
	unlink(record_path);
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
