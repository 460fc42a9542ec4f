/* The record file as it lies on the disk, after all the ways in which a process can end. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "gnomon/clock.h"
#include "records.h"

#define KIB 1024u
#define MIB (1024u * 1024u)

static char directory[128];

static void ignore_record(uint32_t kind, const char *bytes, size_t size)
{
	(void)kind;
	(void)bytes;
	(void)size;
}

static void check_closed(const struct scan *found)
{
	CHECK(found->header.flags & GN_RECORD_CLOSED);
	CHECK_EQ(found->header.final_bytes, found->file_bytes);
	CHECK_EQ(found->end, found->file_bytes);
	CHECK_EQ(found->unused, 0);
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
	CHECK(strstr(text, record_path) != NULL);
	CHECK(strstr(text, reason) != NULL);
	CHECK(strchr(text, '\n') == text + bytes - 1);
}

static void test_checksum(void)
{
	unsigned char bytes[1000];

	/* RFC 3720, B.4 */
	memset(bytes, 0, 32);
	CHECK_EQ(gn_crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	CHECK_EQ(gn_crc32c(0, bytes, 32), 0x62a8ab43);
	CHECK_EQ(gn_crc32c(0, "123456789", 9), 0xe3069283);
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * i + 7 * i);
	for (unsigned int i = 0; i < sizeof(bytes); i += 7) {
		CHECK_EQ(gn_crc32c(0, bytes, i), gn_crc32c_by_table(0, bytes, i));
		CHECK_EQ(gn_crc32c(gn_crc32c(0, bytes, i), bytes + i, sizeof(bytes) - i),
			 gn_crc32c(0, bytes, sizeof(bytes)));
	}
}

static void test_header(void)
{
	struct gn_record_file *file = open_records(0);
	struct timespec now;
	struct scan found;
	char host[256];

	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.file_bytes, 8192);
	CHECK_EQ(found.header.flags, GN_RECORD_CLOSED);
	CHECK_EQ(found.header.features, 0);
	CHECK_EQ(found.header.capacity_bytes, 1u << 30);
	CHECK_EQ(found.header.pid, getpid());
	CHECK_EQ(found.header.rank, -1);
	CHECK_EQ(found.header.n_kinds, 2);
	CHECK_EQ(found.header.n_fields, 3);
	CHECK(!strcmp(found.header.writer, "test"));
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

static int opened_with(const char *to, const struct gn_record_kind *kinds, uint32_t n_kinds,
		       uint64_t capacity)
{
	const struct gn_record_plan plan = {"test", kinds, n_kinds, -1, capacity};
	struct gn_record_file *file;

	return gn_record_file_open(&file, to, &plan);
}

static void test_refused_opens(void)
{
	static const struct gn_record_field beyond[] = {{"a", 8, GN_RECORD_U64, 1}};
	static const struct gn_record_field long_name[] = {
		{"a name that has too many characters", 0, GN_RECORD_U64, 1}};
	static const struct gn_record_kind bad[] = {
		{"beyond", 8, 1, beyond},  {"named", 8, 1, long_name},
		{"", 8, 1, record_fields}, {"large", 16384, 1, record_fields},
		{"empty", 8, 0, NULL},
	};
	struct gn_record_file *file = open_records(0);

	CHECK_EQ(opened_with(record_path, record_kinds, KINDS, 0), -EEXIST);
	CHECK_EQ(opened_with("/nowhere/file", record_kinds, KINDS, 0), -ENOENT);
	CHECK_EQ(opened_with(record_path, record_kinds, KINDS, 8192), -EINVAL);
	CHECK_EQ(opened_with(record_path, record_kinds, KINDS, ~(uint64_t)0), -EINVAL);
	CHECK_EQ(opened_with(record_path, record_kinds, 0, 0), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_EQ(opened_with("/nowhere/file", &bad[i], 1, 0), -EINVAL);
	gn_record_file_free(file);
	gn_record_file_free(NULL);
}

static void test_one_thread(void)
{
	struct gn_record_file *file = open_records(0);
	struct gn_record_stream records = {0}, names = {0};
	struct scan found;
	uint32_t count = check_work(100000);

	errno = EDOM;
	for (uint32_t i = 0; i < count; i++) {
		CHECK_EQ(record(&records, file, 0, i), 0);
		CHECK_EQ(name(&names, file, i), 0);
	}
	CHECK_EQ(errno, EDOM);
	CHECK_EQ(gn_record_file_close(file), 0);
	CHECK_EQ(gn_record_file_close(file), 0);
	CHECK_EQ(gn_record_file_status(file), -EBADF);
	CHECK_EQ(record(&records, file, 0, count), -EBADF);
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.records, count);
	CHECK_EQ(found.texts, count);
	CHECK_EQ(found.header.lost, 1);
}

/* A stream goes on with the file that there is. */
static void test_one_stream_and_two_files(void)
{
	struct gn_record_stream records = {0};
	struct gn_record_file *file = open_records(0);
	struct scan found;

	CHECK_EQ(record(&records, file, 0, 0), 0);
	gn_record_file_free(file);
	unlink(record_path);
	file = open_records(0);
	CHECK_EQ(record(&records, file, 0, 0), 0);
	CHECK_EQ(record(&records, file, 0, 1), 0);
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	CHECK_EQ(found.records, 2);
}

static void test_what_is_refused(void)
{
	struct gn_record_file *file = open_records(0);
	struct gn_record_stream records = {0}, names = {0};
	char *largest = calloc(1, GN_RECORD_TEXT_MAX + 1);
	struct scan found;

	CHECK_EQ(gn_record_append_text(&names, file, NAME, 0, largest, 0), 0);
	memset(largest, 'x', GN_RECORD_TEXT_MAX + 1);
	CHECK_EQ(gn_record_append_text(&names, file, NAME, 92, largest, GN_RECORD_TEXT_MAX), 0);
	CHECK_EQ(gn_record_append_text(&names, file, NAME, 1, largest, GN_RECORD_TEXT_MAX + 1),
		 -EMSGSIZE);
	CHECK_EQ(gn_record_append(&records, file, NAME, largest), -EINVAL);
	CHECK_EQ(gn_record_append(&records, file, KINDS, largest), -EINVAL);
	CHECK_EQ(gn_record_append_text(&names, file, RECORD, 1, largest, 1), -EINVAL);
	CHECK_EQ(record(&records, NULL, 0, 0), -EBADF);
	CHECK_EQ(gn_record_append_text(&names, NULL, NAME, 0, "", 0), -EBADF);
	/* As a signal finds it in the middle of a call. */
	CHECK_EQ(record(&records, file, 0, 0), 0);
	records.is_busy = 1;
	CHECK_EQ(record(&records, file, 0, 1), -EBUSY);
	records.is_busy = 0;
	CHECK_EQ(record(&records, file, 0, 1), 0);
	CHECK_EQ(gn_record_file_status(file), 0);
	gn_record_file_free(file);
	free(largest);
	gaps_allowed = 1;
	found = scan_file(record_path, ignore_record);
	check_closed(&found);
	CHECK_EQ(found.texts, 2);
	CHECK_EQ(found.records, 2);
	CHECK_EQ(found.header.lost, 5);
}

/* Threads that live one after the other share a block. */
static void *write_one(void *argument)
{
	struct writing *writing = argument;
	struct gn_record_stream stream = {0};

	CHECK_EQ(record(&stream, writing->file, 0, writing->done++), 0);
	gn_record_stream_end(&stream, writing->file, RECORD);
	return NULL;
}

static void test_short_threads(void)
{
	struct gn_record_file *file = open_records(0);
	struct writing writing = {.file = file};
	uint32_t count = check_work(2000);
	struct scan found;

	for (uint32_t i = 0; i < count; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, write_one, &writing), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.records, count);
	CHECK_EQ(found.blocks, (count + 510) / 511);
}

static void test_many_threads(void)
{
	struct gn_record_file *file = open_records(0);
	uint32_t count = check_work(100000);
	struct scan found;

	CHECK_EQ(write_by_threads(file, count), (uint64_t)count * THREADS);
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.records, (uint64_t)count * THREADS);
	CHECK_EQ(found.header.lost, 0);
}

static void test_closed_under_threads(void)
{
	struct gn_record_file *file = open_records(0);
	static struct writing writing[THREADS];
	pthread_t threads[THREADS];
	struct timespec pause = {0, 20000000};
	struct scan found;
	uint64_t done = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		writing[i] = (struct writing){.file = file, .thread = i, .count = UINT32_MAX};
		CHECK_EQ(pthread_create(&threads[i], NULL, write_records, &writing[i]), 0);
	}
	nanosleep(&pause, NULL);
	CHECK_EQ(gn_record_file_close(file), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		done += writing[i].done;
	}
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	CHECK(found.header.flags & GN_RECORD_CLOSED);
	CHECK_EQ(found.file_bytes, found.header.final_bytes);
	CHECK(found.records > 0 && found.records <= done);
	CHECK(found.unused <= THREADS);
}

/* Every record whose call had come back before the kill is there. */
static void test_kill(void)
{
	static struct writing *writing;
	struct scan found;
	uint64_t enough = check_work(200000), sum;
	uint32_t before[THREADS];
	pid_t child;

	writing = mmap(NULL, THREADS * sizeof(*writing), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(writing != MAP_FAILED);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct gn_record_file *file = open_records(0);
		pthread_t thread;

		for (uint32_t i = 0; i < THREADS; i++) {
			writing[i] =
				(struct writing){.file = file, .thread = i, .count = UINT32_MAX};
			CHECK_EQ(pthread_create(&thread, NULL, write_records, &writing[i]), 0);
		}
		for (;;)
			pause();
	}
	do {
		sched_yield();
		sum = 0;
		for (int i = 0; i < THREADS; i++)
			sum += before[i] = atomic_load(&writing[i].done);
	} while (sum < enough);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);

	found = scan_file(record_path, check_record);
	CHECK_EQ(found.header.flags, 0);
	CHECK_EQ(found.header.final_bytes, 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(next_number[i] >= before[i]);
	CHECK(found.unused <= THREADS);
}

static void test_fork(void)
{
	struct gn_record_file *file = open_records(0), *own;
	struct gn_record_stream records = {0};
	struct scan found;
	int status;
	pid_t child;

	CHECK_EQ(record(&records, file, 0, 0), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK_EQ(record(&records, file, 0, 1), -ECHILD);
		CHECK_EQ(gn_record_file_status(file), -ECHILD);
		strcat(record_path, ".child");
		own = open_records(0);
		CHECK_EQ(record(&records, own, 1, 0), 0);
		gn_record_file_free(file);
		gn_record_file_free(own);
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(record(&records, file, 0, 1), 0);
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.records, 2);
	CHECK_EQ(found.header.lost, 0);

	strcat(record_path, ".child");
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.records, 1);
	CHECK_EQ(found.header.pid, child);
	unlink(record_path);
}

/* Whoever asks whether the file is still written is told by the kernel. */
static void test_lock(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct gn_record_file *file = open_records(0);
	int ends[2], fd;
	char byte;
	pid_t child;

	CHECK_EQ(pipe(ends), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		fd = open(record_path, O_RDONLY);
		CHECK_EQ(fcntl(fd, F_GETLK, &lock), 0);
		CHECK_EQ(lock.l_type, F_WRLCK);
		CHECK_EQ(lock.l_pid, getppid());
		CHECK_EQ(read(ends[0], &byte, 1), 1);
		lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
		CHECK_EQ(fcntl(fd, F_GETLK, &lock), 0);
		CHECK_EQ(lock.l_type, F_UNLCK);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, NULL, WNOHANG), 0);
	nanosleep(&(struct timespec){0, 50000000}, NULL);
	gn_record_file_free(file);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(waitpid(child, &fd, 0), child);
	CHECK_EQ(fd, 0);
}

static void check_stopped(struct gn_record_file *file, int error, uint64_t written)
{
	struct gn_record_stream records = {0};
	struct scan found;
	uint64_t lost;

	CHECK_EQ(gn_record_file_status(file), -error);
	CHECK_EQ(record(&records, file, 0, 0), -error);
	gn_record_file_free(file);
	found = scan_file(record_path, check_record);
	lost = found.header.lost;
	check_closed(&found);
	CHECK_EQ(found.header.flags, GN_RECORD_CLOSED | GN_RECORD_STOPPED);
	CHECK_EQ(found.header.stop_error, error);
	CHECK_EQ(found.records, written);
	CHECK(lost >= 2 && lost <= THREADS + 1);
}

static void test_capacity(void)
{
	struct gn_record_file *file = open_records(2 * MIB);
	struct gn_record_stream records = {0};
	int errors = capture_stderr();
	uint32_t count = 0;

	while (!record(&records, file, 0, count))
		count++;
	check_one_line(errors, "capacity");
	check_stopped(file, ENOBUFS, count);
}

static void test_capacity_of_many_threads(void)
{
	struct gn_record_file *file = open_records(3 * MIB);
	int errors = capture_stderr();
	uint64_t done = write_by_threads(file, UINT32_MAX);

	check_one_line(errors, "capacity");
	check_stopped(file, ENOBUFS, done);
}

static void limit_file_size(uint64_t bytes)
{
	struct rlimit limit = {bytes, bytes};

	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_file_size_limit(void)
{
	struct gn_record_file *file;
	uint64_t done;
	int errors;

	limit_file_size(5 * MIB / 2 + 100);
	file = open_records(0);
	errors = capture_stderr();
	done = write_by_threads(file, UINT32_MAX);
	check_one_line(errors, "ulimit -f");
	CHECK(done > 20000);
	check_stopped(file, EFBIG, done);
}

static void test_file_size_limit_lowered(void)
{
	struct gn_record_file *file = open_records(0);
	struct gn_record_stream records = {0};
	int errors = capture_stderr();
	uint32_t count = 0;

	/* More than the limit to come: what there is room for then is written still. */
	while (count < 3000)
		CHECK_EQ(record(&records, file, 0, count++), 0);
	limit_file_size(100 * KIB);
	while (!record(&records, file, 0, count))
		count++;
	check_one_line(errors, "ulimit -f");
	CHECK(count > 4000);
	check_stopped(file, EFBIG, count);
}

static void test_file_size_limit_at_open(void)
{
	limit_file_size(100);
	CHECK_EQ(opened_with(record_path, record_kinds, KINDS, 0), -EFBIG);
	CHECK_EQ(access(record_path, F_OK), -1);
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
static int enter_small_disk(void)
{
	char map[64];
	uid_t user = getuid();

	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return 0;
		snprintf(map, sizeof(map), "0 %u 1", user);
		write_file("/proc/self/uid_map", map);
	}
	return !mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", directory, "tmpfs", 0, "size=1m");
}

static void test_full_disk(void)
{
	struct gn_record_file *file;
	uint64_t done;
	int errors;

	if (!enter_small_disk()) {
		printf("  no small disk without privileges: test_record_file_faults has a "
		       "simulated "
		       "one\n");
		return;
	}
	file = open_records(0);
	errors = capture_stderr();
	done = write_by_threads(file, UINT32_MAX);
	check_one_line(errors, "the disk is full");
	CHECK(done > 2000);
	check_stopped(file, ENOSPC, done);
}

/* Closes all descriptors, as programs do that go into the background. */
static void test_descriptors_closed(void)
{
	struct gn_record_file *file = open_records(0);
	struct gn_record_stream records = {0};
	uint32_t count = check_work(100000);
	struct scan found;
	int other, last;

	for (int fd = 3; fd < 2048; fd++)
		close(fd);
	strcat(record_path, ".other");
	other = open(record_path, O_CREAT | O_RDWR, 0600);
	CHECK_EQ(other, 3);
	for (int fd = 4; fd < 1024; fd++)
		CHECK_EQ(last = dup(other), fd);
	for (uint32_t i = 0; i < count; i++)
		CHECK_EQ(record(&records, file, 0, i), 0);
	gn_record_file_free(file);
	CHECK_EQ(lseek(last, 0, SEEK_END), 0);
	CHECK_EQ(unlink(record_path), 0);
	record_path[strlen(record_path) - strlen(".other")] = '\0';
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.records, count);
}

static void test_low_descriptors_stay_free(void)
{
	struct gn_record_file *file;
	int before = dup(1), after;

	close(before);
	file = open_records(0);
	after = dup(1);
	CHECK_EQ(after, before);
	gn_record_file_free(file);
}

static struct gn_record_file *shared;
static struct gn_record_stream of_handler, of_both;
static _Atomic uint32_t handled, busy;
static uint32_t taken;

/* It has a stream of its own, and meets the other one in the middle of a call now and then. */
static void record_in_handler(int number)
{
	int error;

	(void)number;
	CHECK_EQ(record(&of_handler, shared, 1, handled), 0);
	handled++;
	error = record(&of_both, shared, 2, taken);
	CHECK(!error || error == -EBUSY);
	taken += !error;
	busy += error != 0;
}

static void test_signal_handlers(void)
{
	struct sigaction action = {.sa_handler = record_in_handler};
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	uint32_t count = check_work(400000);
	struct scan found;

	shared = open_records(0);
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (uint32_t i = 0; i < count; i++)
		CHECK_EQ(record(&of_both, shared, 0, i), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	/* One that is on its way under valgrind. */
	signal(SIGALRM, SIG_IGN);
	gn_record_file_free(shared);
	found = scan_file(record_path, check_record);
	check_closed(&found);
	CHECK_EQ(found.records, count + handled + taken);
	CHECK_EQ(found.header.lost, busy);
}

static void test_broken_stderr(void)
{
	struct gn_record_file *file = open_records(MIB);
	struct gn_record_stream records = {0};
	uint32_t count = 0;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	close(ends[0]);
	CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	while (!record(&records, file, 0, count))
		count++;
	check_stopped(file, ENOBUFS, count);
}

static void test_full_stderr(void)
{
	struct gn_record_file *file = open_records(MIB);
	struct gn_record_stream records = {0};
	char chunk[4 * KIB] = "";
	uint32_t count = 0;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], chunk, sizeof(chunk)) > 0)
		;
	CHECK_EQ(fcntl(ends[1], F_SETFL, 0), 0);
	CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	while (!record(&records, file, 0, count))
		count++;
	check_stopped(file, ENOBUFS, count);
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
	struct gn_record_file *file = open_records(0);
	struct gn_record_stream records = {0};
	uint64_t before = resident_pages();

	for (uint32_t i = 0; i < 20 * MIB / sizeof(struct record); i++)
		CHECK_EQ(record(&records, file, 0, i), 0);
	CHECK((int64_t)(resident_pages() - before) * sysconf(_SC_PAGESIZE) < 8 * MIB);
	gn_record_file_free(file);
}

/* Every test has a file of its own. */
static void run(const char *name, void (*test)(void))
{
	snprintf(record_path, sizeof(record_path), "%s/%s", directory, name);
	check_run(name, test);
	unlink(record_path);
}

#undef RUN
#define RUN(test) run(#test, test)

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(directory, sizeof(directory), "%s/gnomon-test-XXXXXX", base ? base : "/tmp");
	CHECK(mkdtemp(directory) != NULL);
	RUN(test_checksum);
	RUN(test_header);
	RUN(test_refused_opens);
	RUN(test_one_thread);
	RUN(test_one_stream_and_two_files);
	RUN(test_what_is_refused);
	RUN(test_short_threads);
	RUN(test_many_threads);
	RUN(test_closed_under_threads);
	RUN(test_kill);
	RUN(test_fork);
	RUN(test_lock);
	RUN(test_capacity);
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
