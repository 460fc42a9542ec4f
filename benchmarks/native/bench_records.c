/*
 * Nanoseconds of CPU time for a record: `bench_records [--leave] RECORDS FILE`. Prints, for records
 * of 32 and 64 bytes, memcpy(3) into memory that is there, fwrite(3) (a lock and a buffer of its
 * own), and a record file by one thread; then two threads at once, each into its own stream.
 * --leave: only leaves the file of the small ones there, to be read.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gnomon/record_file.h>

#define RING_BYTES (256u << 10)
#define CAPACITY ((uint64_t)8 << 30)

struct small {
	uint64_t word[4];
};

struct large {
	uint64_t word[8];
};

static const struct gn_record_field small_fields[] = {
	GN_RECORD_FIELD(struct small, word, GN_RECORD_U64)};
static const struct gn_record_field large_fields[] = {
	GN_RECORD_FIELD(struct large, word, GN_RECORD_U64)};
static const struct gn_record_kind kinds[] = {
	GN_RECORD_KIND("small", struct small, small_fields),
	GN_RECORD_KIND("large", struct large, large_fields),
};

static const char *path;
static long records;
static struct gn_record_file *file;

/* Of the calling thread, in the kernel too: what others do on the machine is not in it. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

static double copies(uint32_t kind)
{
	const uint32_t bytes = kinds[kind].record_bytes;
	static char ring[RING_BYTES];
	struct large record = {{1}};
	const double begin = cpu_ns();

	for (long i = 0; i < records; i++) {
		record.word[0] = (uint64_t)i;
		memcpy(ring + (uint64_t)i * bytes % RING_BYTES, &record, bytes);
		__asm__ volatile("" ::: "memory");
	}
	return (cpu_ns() - begin) / (double)records;
}

static double stdio(uint32_t kind)
{
	FILE *stream = fopen(path, "w");
	struct large record = {{1}};
	double begin;

	if (!stream)
		fail(path, 2);
	begin = cpu_ns();
	for (long i = 0; i < records; i++) {
		record.word[0] = (uint64_t)i;
		fwrite(&record, kinds[kind].record_bytes, 1, stream);
	}
	begin = cpu_ns() - begin;
	fclose(stream);
	unlink(path);
	return begin / (double)records;
}

static void *append(void *argument)
{
	struct gn_record_stream stream = {0};
	const uint32_t kind = *(uint32_t *)argument;
	struct large record = {{1}};

	for (long i = 0; i < records; i++) {
		record.word[0] = (uint64_t)i;
		gn_record_append(&stream, file, kind, &record);
	}
	return NULL;
}

static double appends(uint32_t kind, int n_threads, int leaves)
{
	const struct gn_record_plan plan = {"bench", kinds, 2, -1, CAPACITY};
	const int error = gn_record_file_open(&file, path, &plan);
	pthread_t threads[2];
	double begin;

	if (error)
		fail(path, -error);
	begin = cpu_ns();
	for (int i = 1; i < n_threads; i++)
		pthread_create(&threads[i], NULL, append, &kind);
	append(&kind);
	begin = cpu_ns() - begin;
	for (int i = 1; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	if (gn_record_file_status(file))
		fail(path, -gn_record_file_status(file));
	gn_record_file_free(file);
	if (!leaves)
		unlink(path);
	return begin / (double)records;
}

int main(int n_arguments, char **argument)
{
	const int leaves = n_arguments == 4 && !strcmp(argument[1], "--leave");

	if (n_arguments != 3 + leaves)
		return 2;
	records = strtol(argument[1 + leaves], NULL, 10);
	path = argument[2 + leaves];
	if (leaves) {
		appends(0, 1, 1);
		return 0;
	}
	for (uint32_t kind = 0; kind < 2; kind++)
		printf("%.3f %.3f %.3f %.3f ", copies(kind), stdio(kind), appends(kind, 1, 0),
		       appends(kind, 2, 0));
	puts("");
	return 0;
}
