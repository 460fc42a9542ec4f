/* Eight threads with a thousand calls each: on a file of their own, and on one that all share. */
#include "corpus.h"
#include <fcntl.h>
#include <pthread.h>

enum { THREADS = 8, WRITES = 400, OPENS = 50, SIZE = 16 };

static const struct expected EXPECTED[] = {
	{"all", "open", "posix", 1 + THREADS * OPENS, 0, 0},
	{"all", "pwrite", "posix", THREADS * WRITES, THREADS * WRITES * SIZE,
	 THREADS * WRITES * SIZE},
	{"all", "pread", "posix", THREADS * WRITES, THREADS * WRITES * SIZE,
	 THREADS * WRITES * SIZE},
	{"all", "lseek", "posix", THREADS * OPENS, 0, 0},
	{"all", "close", "posix", 1 + THREADS * OPENS, 0, 0},
};

static int shared;

/* All see the same numbers of descriptors come and go. */
static void *work(void *number)
{
	const off_t from = (off_t)(*(const int *)number) * WRITES * SIZE;
	char bytes[SIZE];

	for (int i = 0; i < WRITES; i++) {
		const off_t offset = from + (off_t)i * SIZE;

		fill(bytes, SIZE, (size_t)offset);
		CHECK(pwrite(shared, bytes, SIZE, offset) == SIZE);
		CHECK(pread(shared, bytes, SIZE, offset) == SIZE);
		CHECK(is_filled(bytes, SIZE, (size_t)offset));
		if (i % (WRITES / OPENS) == 0) {
			const int fd = open("all", O_RDONLY);

			CHECK(fd >= 0 && lseek(fd, offset, SEEK_SET) == offset && close(fd) == 0);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	TELL(argc, argv, EXPECTED);
	begin();
	shared = open("all", O_RDWR | O_CREAT, 0600);
	CHECK(shared >= 0);
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(close(shared) == 0);
	end();
	say("thread_storm: %d threads\n", THREADS);
	return 0;
}
