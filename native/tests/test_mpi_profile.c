/* What is added up of calls, told apart by where they come from, and what a process leaves of it.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "check.h"
#include "cost.h"
#include "profile.h"
#include "requests.h"

enum { SEND, RECEIVE, WAIT, SEND_INIT, START, N_ROUTINES };
static const char *const names[] = {"MPI_Send", "MPI_Irecv", "MPI_Wait", "MPI_Send_init",
				    "MPI_Start"};

#define NOINLINE __attribute__((noinline))

/* --- calls ------------------------------------------------------------------------------------ */

/* As a wrapper does. 0: it was a part of another one. */
static NOINLINE int send(int64_t bytes, int32_t peer)
{
	struct gn_mpi_call call;

	if (!gn_mpi_begin(&call, SEND, __builtin_return_address(0), __builtin_frame_address(0)))
		return 0;
	gn_mpi_stop(&call);
	call.sent = bytes;
	call.peer = peer;
	call.communicator = 0;
	gn_mpi_end(&call);
	return 1;
}

static NOINLINE void receive(uint64_t handle)
{
	struct gn_mpi_call call;

	CHECK(gn_mpi_begin(&call, RECEIVE, __builtin_return_address(0),
			   __builtin_frame_address(0)));
	gn_mpi_stop(&call);
	call.is_pending = 1;
	gn_mpi_end(&call);
	gn_mpi_request_keep(&call, handle, GN_MPI_RECEIVES);
}

static NOINLINE void complete(uint64_t handle, int64_t bytes)
{
	struct gn_mpi_call call;
	struct gn_mpi_request request;

	CHECK(gn_mpi_begin(&call, WAIT, __builtin_return_address(0), __builtin_frame_address(0)));
	gn_mpi_stop(&call);
	if (gn_mpi_request_take(handle, &request, 0))
		gn_mpi_complete(&call, &request, 7, bytes);
	gn_mpi_end(&call);
}

static NOINLINE void make_persistent(uint64_t handle, int64_t bytes, int32_t peer)
{
	struct gn_mpi_call call;

	CHECK(gn_mpi_begin(&call, SEND_INIT, __builtin_return_address(0),
			   __builtin_frame_address(0)));
	gn_mpi_stop(&call);
	call.is_pending = 1;
	gn_mpi_end(&call);
	/* What each start of it does, not the call itself. */
	call.sent = bytes;
	call.peer = peer;
	gn_mpi_request_keep(&call, handle, GN_MPI_PERSISTS);
}

static NOINLINE void start(uint64_t handle)
{
	struct gn_mpi_call call;

	CHECK(gn_mpi_begin(&call, START, __builtin_return_address(0), __builtin_frame_address(0)));
	gn_mpi_stop(&call);
	gn_mpi_request_start(&call, handle);
	gn_mpi_end(&call);
}

/* --- what was left ---------------------------------------------------------------------------- */

static char folder[] = "/tmp/gnomon-mpi-XXXXXX";

static const union gn_totals_record *record;
static uint64_t n_records;
static const struct gn_totals_header *header;

static void map_file(pid_t pid)
{
	char command[PATH_MAX + 64], path[PATH_MAX];
	struct stat status;
	FILE *list;
	int fd;

	snprintf(command, sizeof(command), "ls %s/*.%d.*.mpi.totals", folder, (int)pid);
	list = popen(command, "r");
	CHECK(list && fgets(path, sizeof(path), list));
	pclose(list);
	path[strcspn(path, "\n")] = '\0';
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &status));
	header = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(header != MAP_FAILED);
	close(fd);
	CHECK(!memcmp(header->magic, GN_TOTALS_MAGIC, 8));
	CHECK(header->tail <= (uint64_t)status.st_size);
	record = (const void *)((const char *)header + header->records);
	n_records = (header->tail - header->records) / GN_TOTALS_RECORD_BYTES;
}

static uint32_t count(enum gn_totals_kind kind)
{
	uint32_t n = 0;

	for (uint64_t i = 0; i < n_records; i++)
		n += record[i].kind == kind;
	return n;
}

/* The number of sites of a routine, and their sums. */
static uint32_t sum_sites(uint32_t routine, struct gn_site_record *sum)
{
	uint32_t n = 0;

	memset(sum, 0, sizeof(*sum));
	for (uint64_t i = 0; i < n_records; i++) {
		const struct gn_site_record *site = &record[i].site;

		if (site->kind != GN_TOTALS_SITE || site->routine != routine)
			continue;
		n++;
		sum->calls += site->calls;
		sum->sent += site->sent;
		sum->received += site->received;
		sum->completion_ticks += site->completion_ticks;
	}
	return n;
}

/* What a child has left that did it. */
static void after(void (*work)(void), int signal)
{
	const pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		gn_mpi_profile_begin(names, N_ROUTINES);
		work();
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (signal)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal);
	else
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	map_file(child);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Both have frames of one size, and call by one function. */
static NOINLINE int layer(int64_t bytes)
{
	const int is_own = send(bytes, 1);

	__asm__ volatile("" ::: "memory");
	return is_own;
}

static NOINLINE void caller_a(void)
{
	for (int i = 0; i < 30; i++)
		CHECK(layer(8));
}

static NOINLINE void caller_b(void)
{
	for (int i = 0; i < 12; i++)
		CHECK(layer(8));
}

static void call_both(void)
{
	/* Volatile, so that no round is made apart from the others, with calls of its own. */
	for (volatile int i = 0; i < 10; i++) {
		if (i == 1)
			gn_mpi_measure_cost(gn_totals_header());
		caller_a();
		caller_b();
	}
}

static void callers_with_equal_frames_are_two_sites(void)
{
	struct gn_site_record sum;

	after(call_both, 0);
	CHECK_EQ(sum_sites(SEND, &sum), 2);
	CHECK_EQ(sum.calls, 420);
	CHECK_EQ(sum.sent, 420 * 8);
	CHECK_EQ(header->flags & GN_TOTALS_CLOSED, GN_TOTALS_CLOSED);
	/* What it costs was measured, and is no call. */
	CHECK(header->cost_ticks_call > 0);
	CHECK_EQ(count(GN_TOTALS_SITE), 2);
	CHECK_EQ(count(GN_TOTALS_SIZE), 1);
	CHECK_EQ(count(GN_TOTALS_MESSAGES), 2);
	for (uint64_t i = 0; i < n_records; i++)
		if (record[i].kind == GN_TOTALS_SITE)
			CHECK(record[i].site.calls == 300 || record[i].site.calls == 120);
}

static NOINLINE void call_with_frame(size_t bytes)
{
	volatile char *frame = __builtin_alloca(bytes);

	frame[0] = frame[bytes - 1] = 1;
	CHECK(send(1, 0));
}

static void call_with_many_frames(void)
{
	for (size_t bytes = 16; bytes < check_work(20000) * 16; bytes += 16)
		call_with_frame(bytes);
}

static void frames_of_any_size_are_one_site(void)
{
	struct gn_site_record sum;

	after(call_with_many_frames, 0);
	CHECK_EQ(sum_sites(SEND, &sum), 1);
	CHECK_EQ(sum.calls, check_work(20000) - 1);
}

static void send_sizes(void)
{
	const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 8, 9, INT64_C(1) << 31, INT64_C(1) << 40};

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		send(sizes[i], (int32_t)(i % 3));
}

static void sizes_and_peers_are_told_apart(void)
{
	uint64_t of_class[GN_MPI_CLASSES] = {0}, bytes = 0, messages = 0;
	struct gn_site_record sum;

	after(send_sizes, 0);
	for (uint64_t i = 0; i < n_records; i++) {
		if (record[i].kind == GN_TOTALS_SIZE)
			of_class[record[i].size.class] += record[i].size.calls;
		if (record[i].kind == GN_TOTALS_MESSAGES) {
			bytes += record[i].messages.bytes;
			messages += record[i].messages.messages;
			CHECK(record[record[i].messages.site].kind == GN_TOTALS_SITE);
		}
	}
	CHECK_EQ(of_class[0], 1);
	CHECK_EQ(of_class[1], 1);
	CHECK_EQ(of_class[2], 1);
	CHECK_EQ(of_class[3], 2);
	CHECK_EQ(of_class[4], 2);
	CHECK_EQ(of_class[5], 1);
	CHECK_EQ(of_class[32], 1);
	CHECK_EQ(of_class[41], 1);
	sum_sites(SEND, &sum);
	CHECK_EQ(messages, 10);
	CHECK_EQ(bytes, sum.sent);
	CHECK_EQ(bytes, 32 + (INT64_C(1) << 31) + (INT64_C(1) << 40));
}

static NOINLINE int call_in_call(void)
{
	struct gn_mpi_call call;
	int inner;

	CHECK(gn_mpi_begin(&call, RECEIVE, __builtin_return_address(0),
			   __builtin_frame_address(0)));
	inner = layer(100);
	gn_mpi_stop(&call);
	gn_mpi_end(&call);
	return inner;
}

static jmp_buf back;

static NOINLINE void jump_out_of_call(void)
{
	struct gn_mpi_call call;

	CHECK(gn_mpi_begin(&call, RECEIVE, __builtin_return_address(0),
			   __builtin_frame_address(0)));
	longjmp(back, 1);
}

static void nest_and_jump(void)
{
	CHECK(!call_in_call());
	CHECK(layer(1));
	if (!setjmp(back))
		jump_out_of_call();
	CHECK(send(1, 1));
	CHECK(layer(1));
}

static void calls_in_calls_are_a_part_of_them(void)
{
	struct gn_site_record sum;

	after(nest_and_jump, 0);
	CHECK_EQ(sum_sites(RECEIVE, &sum), 1);
	CHECK_EQ(sum.calls, 1);
	sum_sites(SEND, &sum);
	CHECK_EQ(sum.calls, 3);
	CHECK_EQ(sum.sent, 3);
}

#define THREADS 8

static pthread_barrier_t all_begin;

static void *send_often(void *argument)
{
	send(3, *(const int *)argument);
	pthread_barrier_wait(&all_begin);
	for (unsigned int i = 0; i < check_work(500000); i++)
		send(3, *(const int *)argument);
	return NULL;
}

static void *send_once(void *argument)
{
	send(3, *(const int *)argument);
	return NULL;
}

static void send_in_threads(void)
{
	pthread_t thread[THREADS];
	int number[THREADS];

	CHECK(!pthread_barrier_init(&all_begin, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		CHECK(!pthread_create(&thread[i], NULL, send_often, &number[i]));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void send_in_turns(void)
{
	pthread_t thread;
	int number = 1;

	for (unsigned int i = 0; i < 200; i++) {
		CHECK(!pthread_create(&thread, NULL, send_once, &number));
		pthread_join(thread, NULL);
	}
}

static void threads_that_come_and_go_take_no_more_room(void)
{
	struct gn_site_record sum;

	after(send_in_turns, 0);
	CHECK_EQ(count(GN_TOTALS_THREAD), 1);
	CHECK_EQ(sum_sites(SEND, &sum), 1);
	CHECK_EQ(sum.calls, 200);
}

static void every_call_of_every_thread_counts(void)
{
	struct gn_site_record sum;

	after(send_in_threads, 0);
	CHECK_EQ(count(GN_TOTALS_THREAD), THREADS);
	CHECK_EQ(sum_sites(SEND, &sum), 2 * THREADS);
	CHECK_EQ(sum.calls, (uint64_t)THREADS * (check_work(500000) + 1));
}

static void *complete_there(void *argument)
{
	complete(*(const uint64_t *)argument, 40);
	return NULL;
}

static void start_and_complete(void)
{
	uint64_t elsewhere = 0x44000001;
	pthread_t thread;

	gn_mpi_requests_are_shared = 1;
	for (uint64_t i = 0; i < check_work(1000); i++)
		receive(0x1000 + 64 * i);
	/* Handles come again. */
	for (uint64_t i = check_work(1000); i-- > 0;) {
		complete(0x1000 + 64 * i, (int64_t)i);
		receive(0x1000 + 64 * i);
		complete(0x1000 + 64 * i, 1);
	}
	complete(12345, 99);
	receive(elsewhere);
	CHECK(!pthread_create(&thread, NULL, complete_there, &elsewhere));
	pthread_join(thread, NULL);
}

static void completions_are_told_of_where_they_were_started(void)
{
	const uint64_t n = check_work(1000);
	struct gn_site_record sum;
	uint64_t sized = 0;

	after(start_and_complete, 0);
	sum_sites(RECEIVE, &sum);
	CHECK_EQ(sum.calls, 2 * n + 1);
	CHECK_EQ(sum.received, n * (n - 1) / 2 + n + 40);
	CHECK_EQ(sum.completion_ticks, 7 * (2 * n + 1));
	sum_sites(WAIT, &sum);
	CHECK_EQ(sum.calls, 2 * n + 2);
	for (uint64_t i = 0; i < n_records; i++)
		if (record[i].kind == GN_TOTALS_SIZE && record[i].size.routine == RECEIVE)
			sized += record[i].size.calls;
	CHECK_EQ(sized, 2 * n + 1);
}

static void start_again(void)
{
	make_persistent(77, 10, 3);
	/* It is complete, as nobody has started it. */
	complete(77, 0);
	for (int i = 0; i < 5; i++) {
		start(77);
		complete(77, 0);
	}
	gn_mpi_request_forget(77);
	start(77);
	complete(77, 0);
}

static void what_persists_sends_with_each_start(void)
{
	struct gn_site_record sum;
	uint64_t messages = 0;

	after(start_again, 0);
	CHECK_EQ(sum_sites(SEND_INIT, &sum), 1);
	CHECK_EQ(sum.calls, 1);
	CHECK_EQ(sum.sent, 50);
	CHECK_EQ(sum.completion_ticks, 5 * 7);
	sum_sites(START, &sum);
	CHECK_EQ(sum.calls, 6);
	CHECK_EQ(sum.sent, 0);
	for (uint64_t i = 0; i < n_records; i++)
		if (record[i].kind == GN_TOTALS_MESSAGES && record[i].messages.peer == 3)
			messages += record[i].messages.messages;
	CHECK_EQ(messages, 5);
}

static void send_and_be_killed(void)
{
	for (int i = 0; i < 1000; i++)
		send(5, 2);
	kill(getpid(), SIGKILL);
}

static void what_a_killed_process_called_is_there(void)
{
	struct gn_site_record sum;

	after(send_and_be_killed, SIGKILL);
	CHECK_EQ(sum_sites(SEND, &sum), 1);
	CHECK_EQ(sum.calls, 1000);
	CHECK_EQ(header->flags & GN_TOTALS_CLOSED, 0);
}

static void fork_in_between(void)
{
	pid_t child;
	int status;

	layer(1);
	child = fork();
	if (!child) {
		CHECK(!layer(1000));
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	layer(1);
}

static void a_child_writes_nothing_into_the_file_of_its_parent(void)
{
	struct gn_site_record sum;

	after(fork_in_between, 0);
	sum_sites(SEND, &sum);
	CHECK_EQ(sum.calls, 2);
	CHECK_EQ(sum.sent, 2);
}

static void measure_nothing(void)
{
	unsetenv("GNOMON_RUN_DIR");
	CHECK(!send(1, 1));
	_exit(0);
}

static void without_a_run_nothing_is_recorded(void)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		gn_mpi_profile_begin(names, N_ROUTINES);
		measure_nothing();
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder) || setenv("GNOMON_RUN_DIR", folder, 1))
		return 1;
	RUN(callers_with_equal_frames_are_two_sites);
	RUN(frames_of_any_size_are_one_site);
	RUN(sizes_and_peers_are_told_apart);
	RUN(calls_in_calls_are_a_part_of_them);
	RUN(every_call_of_every_thread_counts);
	RUN(threads_that_come_and_go_take_no_more_room);
	RUN(completions_are_told_of_where_they_were_started);
	RUN(what_persists_sends_with_each_start);
	RUN(what_a_killed_process_called_is_there);
	RUN(a_child_writes_nothing_into_the_file_of_its_parent);
	RUN(without_a_run_nothing_is_recorded);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) || check_result;
}
