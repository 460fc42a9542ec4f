/*
 * What modules of Modular I/O make of reads and small writes, on a file's real device.
 *
 *	bench_io_modules read FILE WAY PATTERN REQUEST_BYTES CACHE	MB/s that reads deliver
 *	bench_io_modules write FILE WAY COUNT			nanoseconds of a write of 16 bytes
 *	bench_io_modules random FILE WAY COUNT			nanoseconds of a read of 100 bytes
 *	bench_io_modules hit FILE pf COUNT			nanoseconds of a cached read of 16
 * bytes
 *
 * WAY: plain, sequential (posix_fadvise), pf or wb. PATTERN: sequential, backward, or the distance
 * from a request to the next. CACHE: hot, or cold: then the file's pages leave the kernel's cache
 * before.
 */
#include "mio_layer_for_tests.h"
#include "now.h"
#include "pf.h"
#include "random.h"
#include "wb.h"

static char buffer[4 << 20];

static int64_t file_bytes(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? -1 : status.st_size;
}

static void open_way(struct mio_stack *stack, const char *path, const char *way, int flags)
{
	const char *words = getenv("GNOMON_BENCH_PF");

	if (!strcmp(way, "pf")) {
		int index = stack_add(stack, &gn_mio_pf);

		if (words)
			stack_set(stack, index, words);
	} else if (!strcmp(way, "wb")) {
		stack_add(stack, &gn_mio_wb);
	}
	if (stack_open(stack, path, flags)) {
		perror(path);
		exit(1);
	}
	if (!strcmp(way, "sequential"))
		posix_fadvise(stack->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

static double read_file(const char *path, const char *way, const char *pattern, int64_t bytes,
			const char *kept)
{
	struct mio_stack stack = {0};
	int64_t size, step, offset = 0, delivered = 0;
	double begin;

	open_way(&stack, path, way, O_RDONLY);
	if (strcmp(kept, "hot"))
		posix_fadvise(stack.fd, 0, 0, POSIX_FADV_DONTNEED);
	size = file_bytes(stack.fd);
	step = strtoll(pattern, NULL, 10);
	if (!strcmp(pattern, "sequential"))
		step = bytes;
	if (!strcmp(pattern, "backward")) {
		step = -bytes;
		offset = size - bytes;
	}
	begin = now_ns();
	for (; offset >= 0 && offset + bytes <= size; offset += step) {
		ssize_t n = stack_read(&stack, buffer, (size_t)bytes, offset);

		if (n != bytes)
			exit(1);
		delivered += n;
	}
	begin = now_ns() - begin;
	if (getenv("GNOMON_BENCH_TELL") && stack.layer[0].module->tell)
		stack.layer[0].module->tell(&stack.layer[0], (void *)stderr, 1);
	stack_close(&stack);
	return 1e3 * (double)delivered / begin;
}

static double read_at_random(const char *path, const char *way, long count)
{
	struct mio_stack stack = {0};
	int64_t size;
	double begin;

	open_way(&stack, path, way, O_RDONLY);
	size = file_bytes(stack.fd);
	begin = now_ns();
	for (long i = 0; i < count; i++) {
		const int64_t offset = (int64_t)random_below((uint32_t)(size - 100));

		if (stack_read(&stack, buffer, 100, offset) != 100)
			exit(1);
	}
	begin = now_ns() - begin;
	stack_close(&stack);
	return begin / (double)count;
}

static double write_file(const char *path, const char *way, long count)
{
	struct mio_stack stack = {0};
	double begin;

	open_way(&stack, path, way, O_WRONLY | O_CREAT | O_TRUNC);
	begin = now_ns();
	for (long i = 0; i < count; i++) {
		if (stack_write(&stack, buffer, 16, 16 * i) != 16)
			exit(1);
	}
	stack_close(&stack);
	begin = now_ns() - begin;
	unlink(path);
	return begin / (double)count;
}

static double read_cached(const char *path, long count)
{
	struct mio_stack stack = {0};
	double begin;

	open_way(&stack, path, "pf", O_RDONLY);
	begin = now_ns();
	for (long i = 0; i < count; i++) {
		if (stack_read(&stack, buffer, 16, 16 * (i % 250)) != 16)
			exit(1);
	}
	begin = now_ns() - begin;
	stack_close(&stack);
	return begin / (double)count;
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "read"))
		printf("%.1f\n", read_file(argv[2], argv[3], argv[4], atol(argv[5]), argv[6]));
	else if (argc == 5 && !strcmp(argv[1], "write"))
		printf("%.1f\n", write_file(argv[2], argv[3], atol(argv[4])));
	else if (argc == 5 && !strcmp(argv[1], "random"))
		printf("%.1f\n", read_at_random(argv[2], argv[3], atol(argv[4])));
	else if (argc == 5 && !strcmp(argv[1], "hit"))
		printf("%.1f\n", read_cached(argv[2], atol(argv[4])));
	else
		return 2;
	return 0;
}
