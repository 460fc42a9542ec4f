/* Records that can tell whether they are whole, for the tests of record files. */
#ifndef GNOMON_TESTS_RECORDS_H
#define GNOMON_TESTS_RECORDS_H

#include <pthread.h>
#include <stdatomic.h>

#include "scan.h"

#define THREADS 8

/* All of it follows from the first two. */
struct record {
	uint32_t thread;
	uint32_t number;
	unsigned char rest[24];
};

static const struct gn_record_field record_fields[] = {
	GN_RECORD_FIELD(struct record, thread, GN_RECORD_U32),
	GN_RECORD_FIELD(struct record, number, GN_RECORD_U32),
	GN_RECORD_FIELD(struct record, rest, GN_RECORD_U8),
};

enum { RECORD, NAME, KINDS };

static const struct gn_record_kind record_kinds[KINDS] = {
	GN_RECORD_KIND("record", struct record, record_fields),
	GN_RECORD_TEXTS("name"),
};

static char record_path[256];
static uint32_t next_number[THREADS];
static int gaps_allowed;

static inline struct gn_record_file *open_records(uint64_t capacity)
{
	const struct gn_record_plan plan = {"test", record_kinds, KINDS, -1, capacity};
	struct gn_record_file *file;

	CHECK_EQ(gn_record_file_open(&file, record_path, &plan), 0);
	CHECK_EQ(gn_record_file_status(file), 0);
	return file;
}

static inline int record(struct gn_record_stream *stream, struct gn_record_file *file,
			 uint32_t thread, uint32_t number)
{
	struct record one = {thread, number, {0}};

	for (uint32_t i = 0; i < sizeof(one.rest); i++)
		one.rest[i] = (unsigned char)(thread + number * 3u + i);
	return gn_record_append(stream, file, RECORD, &one);
}

/* The text is as many digits as its number has in its last two places. */
static inline int name(struct gn_record_stream *stream, struct gn_record_file *file,
		       uint32_t number)
{
	char text[128];
	const int length = (int)(number % 100);

	snprintf(text, sizeof(text), "%0*u", length, number);
	return gn_record_append_text(stream, file, NAME, number, text, (size_t)length);
}

static inline void check_record(uint32_t kind, const char *bytes, size_t size)
{
	const struct record *one = (const struct record *)bytes;

	if (kind == NAME) {
		CHECK_EQ(((const uint32_t *)bytes)[1], one->thread % 100);
		return;
	}
	CHECK_EQ(kind, RECORD);
	CHECK_EQ(size, sizeof(*one));
	CHECK(one->thread < THREADS);
	for (uint32_t i = 0; i < sizeof(one->rest); i++)
		CHECK_EQ(one->rest[i], (unsigned char)(one->thread + one->number * 3u + i));
	if (gaps_allowed)
		CHECK(one->number >= next_number[one->thread]);
	else
		CHECK_EQ(one->number, next_number[one->thread]);
	next_number[one->thread] = one->number + 1;
}

struct writing {
	struct gn_record_file *file;
	uint32_t thread;
	uint32_t count;
	_Atomic uint32_t done;
	struct gn_record_stream stream;
};

static inline void *write_records(void *argument)
{
	struct writing *writing = argument;

	while (writing->done < writing->count &&
	       !record(&writing->stream, writing->file, writing->thread, writing->done))
		writing->done++;
	return NULL;
}

/* Gives how many records the threads have written. */
static inline uint64_t write_by_threads(struct gn_record_file *file, uint32_t count)
{
	static struct writing writing[THREADS];
	pthread_t threads[THREADS];
	uint64_t done = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		writing[i] = (struct writing){.file = file, .thread = i, .count = count};
		CHECK_EQ(pthread_create(&threads[i], NULL, write_records, &writing[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		done += writing[i].done;
	}
	return done;
}

#endif
