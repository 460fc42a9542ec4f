/*
 * Random operations on a file through `pf` and `wb`, and the same on another without them: what the
 * calls return and what is read is the same, and so are the files.
 *
 *	test_mio_differential [OPERATIONS]	of each stack of modules (100,000)
 */
#include "check.h"
#include "mio_layer_for_tests.h"
#include "pf.h"
#include "random.h"
#include "wb.h"

#define SMALL_FILE (96 << 10)
#define LARGE_FILE (12 << 20)
#define MOST_REQUEST (48 << 10)

/* Of each of eleven stacks; the long test has more. */
static unsigned int operations = 10000;

struct subject {
	const char *modules; /* p: pf, w: wb */
	const char *option[6];
	int64_t file_bytes;
	int handles; /* that the file is opened by at once */
};

struct pair {
	const struct subject *subject;
	char path[2][64];
	struct mio_stack stack[2];
	int plain;
	int64_t position, step; /* of a run of reads */
	size_t run_bytes;
	unsigned int run;
};

static char expected[MOST_REQUEST], actual[MOST_REQUEST];

static void open_stack(struct pair *pair, int i)
{
	const struct subject *subject = pair->subject;

	for (const char *letter = subject->modules; *letter; letter++) {
		int index = stack_add(&pair->stack[i], *letter == 'p' ? &gn_mio_pf : &gn_mio_wb);

		for (int k = 0; *letter == 'p' && k < 6 && subject->option[k]; k++)
			stack_set(&pair->stack[i], index, subject->option[k]);
		if (*letter == 'w')
			stack_set(&pair->stack[i], index, "size=4096");
	}
	CHECK_EQ(stack_open(&pair->stack[i], pair->path[0], O_RDWR | O_CREAT), 0);
}

static void read_both(struct pair *pair, int i, size_t bytes, int64_t offset)
{
	const ssize_t n = pread(pair->plain, expected, bytes, offset);

	CHECK_EQ(stack_read(&pair->stack[i], actual, bytes, offset), n);
	CHECK(!memcmp(actual, expected, (size_t)n));
}

static void write_both(struct pair *pair, int i, size_t bytes, int64_t offset)
{
	const uint32_t seed = random_below(256);

	for (size_t k = 0; k < bytes; k++)
		expected[k] = (char)(seed + k * 7);
	CHECK_EQ(stack_write(&pair->stack[i], expected, bytes, offset),
		 pwrite(pair->plain, expected, bytes, offset));
}

static size_t random_bytes(void)
{
	return random_below(8) ? random_below(600) : random_below(MOST_REQUEST);
}

static int64_t random_offset(const struct pair *pair)
{
	return random_below((uint32_t)pair->subject->file_bytes + 20000);
}

/* Another that has the file open: what it wrote is seen after drop(), as after a lock. */
static void write_as_another(struct pair *pair, size_t bytes, int64_t offset)
{
	int fd;

	for (int i = 0; i < pair->subject->handles; i++)
		(void)stack_flush(&pair->stack[i]);
	fd = open(pair->path[0], O_WRONLY);
	memset(expected, (int)random_below(256), bytes);
	CHECK_EQ(pwrite(fd, expected, bytes, offset), bytes);
	CHECK_EQ(pwrite(pair->plain, expected, bytes, offset), bytes);
	close(fd);
	for (int i = 0; i < pair->subject->handles; i++)
		stack_drop(&pair->stack[i]);
}

static void begin_run(struct pair *pair)
{
	static const size_t length[] = {16, 512, 4096, 16384};

	pair->run_bytes = length[random_below(4)];
	pair->position = random_offset(pair);
	pair->step = (int64_t)pair->run_bytes;
	switch (random_below(3)) {
	case 0:
		pair->step = -pair->step;
		break;
	case 1:
		pair->step *= 1 + random_below(8);
		break;
	default:
		break;
	}
	pair->run = random_below(600);
}

static void operate(struct pair *pair)
{
	const int i = (int)random_below((uint32_t)pair->subject->handles);
	const uint32_t choice = random_below(1000);
	struct stat status[2];

	/* With more than one handle of a write-behind file the library has it flushed. */
	if (pair->subject->handles > 1)
		(void)stack_flush(&pair->stack[!i]);
	if (pair->run && choice < 850) {
		pair->run--;
		if (pair->position >= 0)
			read_both(pair, i, pair->run_bytes, pair->position);
		pair->position += pair->step;
	} else if (pair->run && choice < 930) {
		/* Where the run goes, and may have been read already. */
		const int64_t offset = pair->position + random_below(100) * pair->step;

		write_both(pair, i, random_bytes(), offset < 0 ? 0 : offset);
	} else if (choice < 400) {
		read_both(pair, i, random_bytes(), random_offset(pair));
	} else if (choice < 600) {
		write_both(pair, i, random_bytes(), random_offset(pair));
	} else if (choice < 940) {
		/* One after the other. */
		if (pair->position < 0 || pair->position > pair->subject->file_bytes)
			pair->position = random_offset(pair);
		pair->run_bytes = random_below(200);
		write_both(pair, i, pair->run_bytes, pair->position);
		pair->position += (int64_t)pair->run_bytes;
	} else if (choice < 960) {
		begin_run(pair);
	} else if (choice < 970) {
		const int64_t bytes = random_offset(pair);

		CHECK_EQ(stack_truncate(&pair->stack[i], bytes), ftruncate(pair->plain, bytes));
	} else if (choice < 980) {
		CHECK_EQ(stack_status(&pair->stack[i], &status[0]), 0);
		CHECK_EQ(fstat(pair->plain, &status[1]), 0);
		CHECK_EQ(status[0].st_size, status[1].st_size);
	} else if (choice < 985) {
		CHECK_EQ(stack_sync(&pair->stack[i]), 0);
	} else if (choice < 990) {
		stack_drop(&pair->stack[i]);
	} else if (choice < 995) {
		write_as_another(pair, random_bytes(), random_offset(pair));
	} else {
		CHECK_EQ(stack_close(&pair->stack[i]), 0);
		open_stack(pair, i);
	}
}

static void compare_files(const struct pair *pair)
{
	const int fd = open(pair->path[0], O_RDONLY);
	ssize_t n;
	int64_t offset = 0;

	do {
		n = pread(pair->plain, expected, sizeof(expected), offset);
		CHECK_EQ(pread(fd, actual, sizeof(actual), offset), n);
		CHECK(!memcmp(actual, expected, (size_t)n));
		offset += n;
	} while (n > 0);
	close(fd);
}

static void try_subject(const struct subject *subject, unsigned int n)
{
	struct pair pair = {.subject = subject};

	for (int i = 0; i < 2; i++) {
		int fd;

		snprintf(pair.path[i], sizeof(pair.path[i]), "mio_differential_%d_XXXXXX", i);
		fd = mkstemp(pair.path[i]);
		CHECK(fd >= 0 && !ftruncate(fd, subject->file_bytes));
		if (i)
			pair.plain = fd;
		else
			close(fd);
	}
	for (int i = 0; i < subject->handles; i++)
		open_stack(&pair, i);
	for (unsigned int k = 0; k < n; k++)
		operate(&pair);
	for (int i = 0; i < subject->handles; i++)
		CHECK_EQ(stack_close(&pair.stack[i]), 0);
	compare_files(&pair);
	close(pair.plain);
	unlink(pair.path[0]);
	unlink(pair.path[1]);
}

#define TEST(name, ...)                                                                            \
	static void name(void)                                                                     \
	{                                                                                          \
		static const struct subject subject = {__VA_ARGS__};                               \
		try_subject(&subject, check_work(operations));                                     \
	}

TEST(pf_of_few_pages, "p", {"cache_size=16384", "private"}, SMALL_FILE, 1)
TEST(pf_of_pages_ahead, "p",
     {"cache_size=65536", "prefetch=3", "stride=2", "synchronous", "retain", "norelease"},
     SMALL_FILE, 1)
TEST(pf_twice_in_a_cache, "p", {"cache_size=65536", "page_size=8192"}, SMALL_FILE, 2)
TEST(pf_twice_in_two_caches, "p", {"private", "cache_size=32768", "prefetch=2"}, SMALL_FILE, 2)
TEST(pf_with_threads, "p", {"stream", "window=3145728", "direct"}, LARGE_FILE, 1)
TEST(pf_with_threads_twice, "p", {"stream", "listio"}, LARGE_FILE, 2)
TEST(pf_with_advice, "p", {"advise", "nodirect"}, LARGE_FILE, 1)
TEST(wb_alone, "w", {0}, SMALL_FILE, 1)
TEST(wb_twice, "w", {0}, SMALL_FILE, 2)
TEST(wb_over_pf, "wp", {"cache_size=32768"}, SMALL_FILE, 1)
TEST(pf_over_wb, "pw", {"cache_size=32768"}, SMALL_FILE, 1)

int main(int argc, char **argv)
{
	if (argc > 1)
		operations = (unsigned int)strtoul(argv[1], NULL, 10);
	RUN(pf_of_few_pages);
	RUN(pf_of_pages_ahead);
	RUN(pf_twice_in_a_cache);
	RUN(pf_twice_in_two_caches);
	RUN(pf_with_threads);
	RUN(pf_with_threads_twice);
	RUN(pf_with_advice);
	RUN(wb_alone);
	RUN(wb_twice);
	RUN(wb_over_pf);
	RUN(pf_over_wb);
	return check_result;
}
