/* The raw file as it lies on the disk, after all the ways in which a process can end. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "gnomon/clock.h"
#include "scan.h"

#define THREADS 8
#define KIB 1024u
#define MIB (1024u * 1024u)

/* A record that can tell whether it is whole: all its bytes follow from the first eight. */
struct record {
	uint32_t thread;
	uint32_t number;
	unsigned char rest[];
};

static char directory[128];
static char path[256];

static size_t rest_bytes(uint32_t thread, uint32_t number)
{
	return (thread * 31u + number * 7u) % 57u;
}

static unsigned char rest_byte(uint32_t thread, uint32_t number, size_t index)
{
	return (unsigned char)(thread + number * 3u + index);
}

static bool record(struct gn_buffer *buffer, uint32_t thread, uint32_t number)
{
	size_t rest = rest_bytes(thread, number);
	struct record *record =
		gn_buffer_reserve(buffer, (uint16_t)(thread + 1), sizeof(*record) + rest);

	if (!record)
		return false;
	CHECK_EQ((uintptr_t)record % 8, 0);
	record->thread = thread;
	record->number = number;
	for (size_t i = 0; i < rest; i++)
		record->rest[i] = rest_byte(thread, number, i);
	gn_buffer_commit(record);
	return true;
}

static uint32_t next_number[THREADS];
static bool gaps_allowed;

static void check_record(uint16_t type, const char *payload, size_t bytes)
{
	const struct record *record = (const struct record *)payload;

	CHECK(bytes >= sizeof(*record));
	CHECK(record->thread < THREADS);
	CHECK_EQ(type, record->thread + 1);
	CHECK_EQ(bytes, sizeof(*record) + rest_bytes(record->thread, record->number));
	for (size_t i = 0; i < bytes - sizeof(*record); i++)
		CHECK_EQ(record->rest[i], rest_byte(record->thread, record->number, i));
	if (gaps_allowed)
		CHECK(record->number >= next_number[record->thread]);
	else
		CHECK_EQ(record->number, next_number[record->thread]);
	next_number[record->thread] = record->number + 1;
}

static void check_nothing(uint16_t type, const char *payload, size_t bytes)
{
	(void)type;
	(void)payload;
	(void)bytes;
}

static struct gn_buffer *open_buffer(uint64_t capacity)
{
	struct gn_buffer *buffer;

	CHECK_EQ(gn_buffer_open(&buffer, path, capacity), 0);
	CHECK_EQ(gn_buffer_status(buffer), 0);
	return buffer;
}

static void check_closed(const struct scan *found)
{
	CHECK(found->header.flags & GN_BUFFER_CLOSED);
	CHECK_EQ(found->header.final_bytes, found->file_bytes);
	CHECK_EQ(found->end, found->file_bytes);
	CHECK_EQ(found->hole_bytes, 0);
}

static int stderr_before;

static int capture_stderr(void)
{
	int file = memfd_create("stderr", 0);

	CHECK(file >= 0);
	stderr_before = dup(STDERR_FILENO);
	CHECK_EQ(dup2(file, STDERR_FILENO), STDERR_FILENO);
	return file;
}

/* Ends the capture. */
static void check_one_line(int file, const char *reason)
{
	char text[1024];
	ssize_t bytes = pread(file, text, sizeof(text) - 1, 0);

	CHECK_EQ(dup2(stderr_before, STDERR_FILENO), STDERR_FILENO);
	CHECK(bytes > 0);
	text[bytes] = '\0';
	CHECK(!strncmp(text, "gnomon: ", 8));
	CHECK(strstr(text, path) != NULL);
	CHECK(strstr(text, reason) != NULL);
	CHECK(strchr(text, '\n') == text + bytes - 1);
}

static void test_header(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	struct timespec now;
	struct scan found;
	char host[256];

	gn_buffer_free(buffer);
	found = scan_file(path, check_nothing);
	check_closed(&found);
	CHECK_EQ(found.file_bytes, 4096);
	CHECK_EQ(found.header.flags, GN_BUFFER_CLOSED);
	CHECK_EQ(found.header.features, 0);
	CHECK_EQ(found.header.capacity_bytes, 1u << 30);
	CHECK_EQ(found.header.pid, getpid());
	CHECK_EQ(found.header.clock_source, gn_clock_source());
	CHECK(found.header.ticks_hz > 0.99 * gn_clock_hz());
	CHECK(found.header.ticks_hz < 1.01 * gn_clock_hz());
	CHECK_EQ(gethostname(host, sizeof(host)), 0);
	CHECK(!strcmp(found.header.host, host));
	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC_RAW, &now), 0);
	CHECK(now.tv_sec - (int64_t)(found.header.raw_ns / 1000000000) < 60);
	CHECK_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
	CHECK(now.tv_sec - (int64_t)(found.header.realtime_ns / 1000000000) < 60);
}

static void test_refused_opens(void)
{
	struct gn_buffer *buffer = open_buffer(0);

	CHECK_EQ(gn_buffer_open(&buffer, path, 0), -EEXIST);
	CHECK_EQ(gn_buffer_open(&buffer, "/nowhere/file", 0), -ENOENT);
	CHECK_EQ(gn_buffer_open(&buffer, path, 4096), -EINVAL);
	CHECK_EQ(gn_buffer_open(&buffer, path, ~(uint64_t)0), -EINVAL);
	gn_buffer_free(buffer);
	gn_buffer_free(NULL);
	CHECK(gn_buffer_reserve(NULL, 1, 8) == NULL);
}

static void test_one_thread(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	struct scan found;
	uint32_t count = check_work(100000);

	errno = EDOM;
	for (uint32_t i = 0; i < count; i++)
		CHECK(record(buffer, 0, i));
	CHECK_EQ(errno, EDOM);
	CHECK_EQ(gn_buffer_close(buffer), 0);
	CHECK_EQ(gn_buffer_close(buffer), 0);
	CHECK_EQ(gn_buffer_status(buffer), -EBADF);
	CHECK(!record(buffer, 0, count));
	gn_buffer_free(buffer);
	found = scan_file(path, check_record);
	check_closed(&found);
	CHECK_EQ(found.committed, count);
	CHECK_EQ(found.reserved, 0);
}

static void test_append(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	struct record record = {.thread = 3, .number = 0};
	char *largest = calloc(1, GN_RECORD_PAYLOAD_MAX + 1);
	struct scan found;

	CHECK_EQ(rest_bytes(3, 0), 36);
	CHECK_EQ(gn_buffer_append(buffer, 9, &record, sizeof(record)), 0);
	CHECK_EQ(gn_buffer_append(buffer, 9, NULL, 0), 0);
	CHECK_EQ(gn_buffer_append(buffer, 9, largest, GN_RECORD_PAYLOAD_MAX), 0);
	CHECK_EQ(gn_buffer_append(buffer, 9, largest, GN_RECORD_PAYLOAD_MAX + 1), -ENOSPC);
	CHECK_EQ(gn_buffer_status(buffer), 0);
	gn_buffer_free(buffer);
	free(largest);
	found = scan_file(path, check_nothing);
	check_closed(&found);
	CHECK_EQ(found.committed, 3);
	CHECK_EQ(found.file_bytes, 4096 + 16 + 8 + 8 + GN_RECORD_PAYLOAD_MAX);
}

static void test_uncommitted(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	struct scan found;

	CHECK(record(buffer, 0, 0));
	CHECK(gn_buffer_reserve(buffer, 1, 100) != NULL);
	CHECK(record(buffer, 0, 1));
	gn_buffer_free(buffer);
	found = scan_file(path, check_record);
	check_closed(&found);
	CHECK_EQ(found.committed, 2);
	CHECK_EQ(found.reserved, 1);
}

struct job {
	struct gn_buffer *buffer;
	uint32_t thread;
	uint32_t count;
	_Atomic uint32_t done;
};

static void *write_records(void *arg)
{
	struct job *job = arg;

	while (job->done < job->count && record(job->buffer, job->thread, job->done))
		job->done++;
	return NULL;
}

/* Gives how many records the threads have written. */
static uint64_t write_by_threads(struct gn_buffer *buffer, uint32_t count, struct job *jobs)
{
	pthread_t threads[THREADS];
	uint64_t done = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){.buffer = buffer, .thread = i, .count = count};
		CHECK_EQ(pthread_create(&threads[i], NULL, write_records, &jobs[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		done += jobs[i].done;
	}
	return done;
}

static void test_many_threads(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	uint32_t count = check_work(100000);
	struct job jobs[THREADS];
	struct scan found;

	CHECK_EQ(write_by_threads(buffer, count, jobs), (uint64_t)count * THREADS);
	gn_buffer_free(buffer);
	found = scan_file(path, check_record);
	check_closed(&found);
	CHECK_EQ(found.committed, (uint64_t)count * THREADS);
	CHECK_EQ(found.header.lost, 0);
}

static void test_closed_under_threads(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	struct job jobs[THREADS];
	pthread_t threads[THREADS];
	struct timespec pause = {0, 20000000};
	struct scan found;
	uint64_t done = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){.buffer = buffer, .thread = i, .count = UINT32_MAX};
		CHECK_EQ(pthread_create(&threads[i], NULL, write_records, &jobs[i]), 0);
	}
	nanosleep(&pause, NULL);
	CHECK_EQ(gn_buffer_close(buffer), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		done += jobs[i].done;
	}
	gn_buffer_free(buffer);
	gaps_allowed = true;
	found = scan_file(path, check_record);
	CHECK(found.header.flags & GN_BUFFER_CLOSED);
	CHECK(found.file_bytes >= found.header.final_bytes);
	CHECK(found.committed > 0 && found.committed <= done);
	CHECK(done - found.committed <= 3 * THREADS);
}

static void test_kill(void)
{
	_Atomic uint64_t *done;
	struct scan found;
	uint64_t enough = check_work(200000), before;
	pid_t child;

	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(done != MAP_FAILED);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct gn_buffer *buffer = open_buffer(0);
		pthread_t threads[THREADS];
		struct job jobs[THREADS];

		for (uint32_t i = 0; i < THREADS; i++) {
			jobs[i] = (struct job){.buffer = buffer, .thread = i, .count = UINT32_MAX};
			CHECK_EQ(pthread_create(&threads[i], NULL, write_records, &jobs[i]), 0);
		}
		for (;;) {
			uint64_t sum = 0;

			for (uint32_t i = 0; i < THREADS; i++)
				sum += atomic_load(&jobs[i].done);
			atomic_store(done, sum);
		}
	}
	while (atomic_load(done) < enough)
		sched_yield();
	before = atomic_load(done);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);

	found = scan_file(path, check_record);
	CHECK_EQ(found.header.flags, 0);
	CHECK_EQ(found.header.final_bytes, 0);
	CHECK(found.committed >= before);
	CHECK(found.reserved <= THREADS);
	CHECK(found.hole_bytes <= THREADS * 80);
}

static void test_fork(void)
{
	struct gn_buffer *buffer = open_buffer(0), *own;
	char parents_path[sizeof(path)];
	struct scan found;
	int status;
	pid_t child;

	CHECK(record(buffer, 0, 0));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(!record(buffer, 0, 1));
		CHECK_EQ(gn_buffer_append(buffer, 1, "x", 1), -ENOSPC);
		CHECK_EQ(gn_buffer_status(buffer), -ECHILD);
		strcpy(parents_path, path);
		strcat(path, ".child");
		own = open_buffer(0);
		CHECK(record(own, 1, 0));
		gn_buffer_free(buffer);
		gn_buffer_free(own);
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(record(buffer, 0, 1));
	gn_buffer_free(buffer);
	found = scan_file(path, check_record);
	check_closed(&found);
	CHECK_EQ(found.committed, 2);
	CHECK_EQ(found.header.lost, 0);

	strcat(path, ".child");
	found = scan_file(path, check_record);
	check_closed(&found);
	CHECK_EQ(found.committed, 1);
	CHECK_EQ(found.header.pid, child);
	unlink(path);
}

static void check_stopped(struct gn_buffer *buffer, int error, uint64_t written)
{
	struct scan found;
	uint64_t lost;

	CHECK_EQ(gn_buffer_status(buffer), -error);
	CHECK(!record(buffer, 0, 0));
	gn_buffer_free(buffer);
	found = scan_file(path, check_record);
	lost = found.header.lost;
	check_closed(&found);
	CHECK_EQ(found.header.flags, GN_BUFFER_CLOSED | GN_BUFFER_STOPPED);
	CHECK_EQ(found.header.stop_error, error);
	CHECK_EQ(found.committed, written);
	CHECK(lost >= 2 && lost <= THREADS + 1);
}

static void test_capacity(void)
{
	struct gn_buffer *buffer = open_buffer(2 * MIB);
	int errors = capture_stderr();
	uint32_t count = 0;

	while (record(buffer, 0, count))
		count++;
	check_one_line(errors, "capacity");
	check_stopped(buffer, ENOBUFS, count);
}

static void test_capacity_is_used_up(void)
{
	struct gn_buffer *buffer = open_buffer(MIB);
	int errors = capture_stderr();
	struct scan found;
	uint32_t count = 0;

	while (!gn_buffer_append(buffer, 1, "sixteen bytes..", 16))
		count++;
	gn_buffer_free(buffer);
	check_one_line(errors, "capacity");
	CHECK_EQ(count, (MIB - 4096) / 24);
	found = scan_file(path, check_nothing);
	check_closed(&found);
}

static void test_capacity_of_many_threads(void)
{
	struct gn_buffer *buffer = open_buffer(3 * MIB);
	int errors = capture_stderr();
	struct job jobs[THREADS];
	uint64_t done = write_by_threads(buffer, UINT32_MAX, jobs);

	check_one_line(errors, "capacity");
	check_stopped(buffer, ENOBUFS, done);
}

static void limit_file_size(uint64_t bytes)
{
	struct rlimit limit = {bytes, bytes};

	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_file_size_limit(void)
{
	struct gn_buffer *buffer;
	struct job jobs[THREADS];
	uint64_t done;
	int errors;

	limit_file_size(5 * MIB / 2 + 100);
	buffer = open_buffer(0);
	errors = capture_stderr();
	done = write_by_threads(buffer, UINT32_MAX, jobs);
	check_one_line(errors, "ulimit -f");
	CHECK(done > 20000);
	check_stopped(buffer, EFBIG, done);
}

static void test_file_size_limit_lowered(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	int errors = capture_stderr();
	uint32_t count = 0;

	while (count < 1000)
		CHECK(record(buffer, 0, count++));
	limit_file_size(100 * KIB);
	while (record(buffer, 0, count))
		count++;
	check_one_line(errors, "ulimit -f");
	CHECK(count > 4000);
	check_stopped(buffer, EFBIG, count);
}

static void test_file_size_limit_at_open(void)
{
	struct gn_buffer *buffer;

	limit_file_size(100);
	CHECK_EQ(gn_buffer_open(&buffer, path, 0), -EFBIG);
	CHECK_EQ(access(path, F_OK), -1);
}

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	if (fd >= 0) {
		CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
		close(fd);
	}
}

/* Mounts a file system of one mebibyte in a namespace of our own; needs root or user namespaces. */
static bool enter_small_disk(void)
{
	char map[64];
	uid_t user = getuid();

	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return false;
		snprintf(map, sizeof(map), "0 %u 1", user);
		write_file("/proc/self/uid_map", map);
	}
	return !mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", directory, "tmpfs", 0, "size=1m");
}

static void test_full_disk(void)
{
	struct gn_buffer *buffer;
	struct job jobs[THREADS];
	uint64_t done;
	int errors;

	if (!enter_small_disk()) {
		printf("  no small disk without privileges: test_buffer_faults has a simulated "
		       "one\n");
		return;
	}
	buffer = open_buffer(0);
	errors = capture_stderr();
	done = write_by_threads(buffer, UINT32_MAX, jobs);
	check_one_line(errors, "the disk is full");
	CHECK(done > 2000);
	check_stopped(buffer, ENOSPC, done);
}

/* Closes all descriptors, as programs do that go into the background. */
static void test_descriptors_closed(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	uint32_t count = check_work(100000);
	struct scan found;
	int other, last;

	for (int fd = 3; fd < 2048; fd++)
		close(fd);
	strcat(path, ".other");
	other = open(path, O_CREAT | O_RDWR, 0600);
	CHECK_EQ(other, 3);
	for (int fd = 4; fd < 1024; fd++)
		CHECK_EQ(last = dup(other), fd);
	for (uint32_t i = 0; i < count; i++)
		CHECK(record(buffer, 0, i));
	gn_buffer_free(buffer);
	CHECK_EQ(lseek(last, 0, SEEK_END), 0);
	CHECK_EQ(unlink(path), 0);
	path[strlen(path) - strlen(".other")] = '\0';
	found = scan_file(path, check_record);
	check_closed(&found);
	CHECK_EQ(found.committed, count);
}

static void test_low_descriptors_stay_free(void)
{
	struct gn_buffer *buffer;
	int before = dup(1), after;

	close(before);
	buffer = open_buffer(0);
	after = dup(1);
	CHECK_EQ(after, before);
	gn_buffer_free(buffer);
}

static struct gn_buffer *shared;
static _Atomic uint32_t handled;

static void record_in_handler(int number)
{
	(void)number;
	if (record(shared, 1, handled))
		handled++;
}

static void test_signal_handlers(void)
{
	struct sigaction action = {.sa_handler = record_in_handler};
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	uint32_t count = check_work(400000);
	struct scan found;

	shared = open_buffer(0);
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (uint32_t i = 0; i < count; i++)
		CHECK(record(shared, 0, i));
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	gn_buffer_free(shared);
	found = scan_file(path, check_record);
	check_closed(&found);
	CHECK_EQ(found.committed, count + handled);
}

static void test_broken_stderr(void)
{
	struct gn_buffer *buffer = open_buffer(MIB);
	uint32_t count = 0;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	close(ends[0]);
	CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	while (record(buffer, 0, count))
		count++;
	check_stopped(buffer, ENOBUFS, count);
}

static void test_full_stderr(void)
{
	struct gn_buffer *buffer = open_buffer(MIB);
	char chunk[4 * KIB] = "";
	uint32_t count = 0;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], chunk, sizeof(chunk)) > 0)
		;
	CHECK_EQ(fcntl(ends[1], F_SETFL, 0), 0);
	CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	while (record(buffer, 0, count))
		count++;
	check_stopped(buffer, ENOBUFS, count);
}

static uint64_t resident_pages(void)
{
	unsigned long size, resident;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%lu %lu", &size, &resident), 2);
	fclose(file);
	return resident;
}

static void test_stays_out_of_resident_memory(void)
{
	struct gn_buffer *buffer = open_buffer(0);
	uint64_t before = resident_pages();
	char payload[1016] = "";

	for (int i = 0; i < 20 * 1024; i++)
		CHECK_EQ(gn_buffer_append(buffer, 1, payload, sizeof(payload)), 0);
	CHECK((int64_t)(resident_pages() - before) * sysconf(_SC_PAGESIZE) < 8 * MIB);
	gn_buffer_free(buffer);
}

/* Every test has a file of its own. */
static void run(const char *name, void (*test)(void))
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	check_run(name, test);
	unlink(path);
}

#undef RUN
#define RUN(test) run(#test, test)

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(directory, sizeof(directory), "%s/gnomon-test-XXXXXX", base ? base : "/tmp");
	CHECK(mkdtemp(directory) != NULL);
	RUN(test_header);
	RUN(test_refused_opens);
	RUN(test_one_thread);
	RUN(test_append);
	RUN(test_uncommitted);
	RUN(test_many_threads);
	RUN(test_closed_under_threads);
	RUN(test_kill);
	RUN(test_fork);
	RUN(test_capacity);
	RUN(test_capacity_is_used_up);
	RUN(test_capacity_of_many_threads);
	RUN(test_file_size_limit);
	RUN(test_file_size_limit_lowered);
	RUN(test_file_size_limit_at_open);
	RUN(test_full_disk);
	RUN(test_descriptors_closed);
	RUN(test_low_descriptors_stay_free);
	RUN(test_signal_handlers);
	RUN(test_broken_stderr);
	RUN(test_full_stderr);
	RUN(test_stays_out_of_resident_memory);
	CHECK_EQ(rmdir(directory), 0);
	return check_result;
}
