/* The record file of a process whose threads are cancelled, and of one with little address space.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#include "gnomon/recorder.h"

#define HANGS_S 60

struct call {
	uint64_t number;
};

static const struct gn_record_field fields[] = {
	GN_RECORD_FIELD(struct call, number, GN_RECORD_U64),
};
static const struct gn_record_kind kinds[] = {GN_RECORD_KIND("call", struct call, fields)};
static const struct gn_recorder_plan plan = {"calls", kinds, 1, 0, NULL};

static int record(void)
{
	struct gn_record_stream stream = {0};
	const struct call call = {1};

	return gn_recorder_append(&stream, 0, &call);
}

static void run_in_child(int (*body)(void))
{
	const pid_t child = fork();
	int status;

	if (!child)
		_exit(body());
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* The file is opened while the thread is about to end, where it meets a cancellation point. */
static void *record_when_cancelled(void *result)
{
	pthread_cancel(pthread_self());
	*(int *)result = record();
	pthread_testcancel();
	return NULL;
}

static int record_in_child(void)
{
	pthread_t thread;
	void *end;
	int result = -1;

	alarm(HANGS_S);
	if (pthread_create(&thread, NULL, record_when_cancelled, &result) ||
	    pthread_join(thread, &end))
		return 1;
	if (end != PTHREAD_CANCELED || result)
		return 2;
	return record() ? 3 : 0;
}

static void test_a_thread_is_cancelled_before_it_records_first(void)
{
	run_in_child(record_in_child);
}

#ifndef __SANITIZE_ADDRESS__ /* which takes all there is */
/* The program's own gigabyte fits beside the file, as it does without it. */
static int map_within_limit(void)
{
	const size_t wanted = (size_t)1 << 30;
	const struct rlimit limit = {3 * wanted / 2, 3 * wanted / 2};

	if (setrlimit(RLIMIT_AS, &limit) || gn_recorder_start(&plan) || record())
		return 1;
	return mmap(NULL, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static void test_a_limit_of_address_space_is_mostly_the_programs(void)
{
	run_in_child(map_within_limit);
}
#endif

int main(void)
{
	char folder[] = "/tmp/test_recorder_XXXXXX", command[64];

	CHECK(mkdtemp(folder));
	setenv("GNOMON_RUN_DIR", folder, 1);
#ifndef __SANITIZE_ADDRESS__
	RUN(test_a_limit_of_address_space_is_mostly_the_programs);
#endif
	CHECK_EQ(gn_recorder_start(&plan), 0);
	RUN(test_a_thread_is_cancelled_before_it_records_first);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	return check_result;
}
