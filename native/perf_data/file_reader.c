#include "file_reader.h"

#include <errno.h>

#include "file_records.h"
#include "kernel_records.h"

#define HEADER_BYTES 104u
#define PIPE_HEADER_BYTES 16u
#define IDS_BYTES 16u
#define FEATURES_AT 72u

/* "PERFILE2", or what a machine of the other byte order writes for it; perf of before 2.6.36 wrote
 * "PERFFILE". */
static int read_order(struct gn_perf_file *file)
{
	const uint16_t one = 1;
	const bool is_little = *(const uint8_t *)&one;
	const uint8_t *magic = gn_bytes_at(&file->file, 0, PIPE_HEADER_BYTES);

	if (!magic)
		return gn_perf_refuse(file, file->file.size, "its header is cut off");
	if (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "PERFFILE", 8))
		file->swaps = !is_little;
	else if (!memcmp(magic, "2ELIFREP", 8))
		file->swaps = is_little;
	else
		return gn_perf_refuse(file, 0, "it does not begin with PERFILE2");
	file->attrs.swaps = file->swaps;
	file->is_pipe = gn_field_64(magic + 8, file->swaps) == PIPE_HEADER_BYTES;
	return 0;
}

static int read_ids(struct gn_perf_file *file, uint64_t offset, uint64_t bytes)
{
	int failed = 0;

	if (offset > file->file.size || bytes > file->file.size - offset)
		return gn_perf_refuse(file, offset,
				      "the ids of an event lie beyond the file's end");
	/* Events may name one section for all of their ids, which would be read as often. */
	if (8 * file->attrs.id.n > file->file.size - bytes)
		return gn_perf_refuse(file, offset, "there are more ids of events than bytes");
	for (uint64_t at = 0; !failed && at + 8 <= bytes; at += 8) {
		const uint8_t *id = gn_bytes_at(&file->file, offset + at, 8);

		failed = id ? gn_event_id_add(&file->attrs, gn_field_64(id, file->swaps))
			    : gn_perf_refuse(file, offset, "the ids of an event cannot be read");
	}
	return failed;
}

static int read_attrs(struct gn_perf_file *file, uint64_t offset, uint64_t bytes, uint64_t each)
{
	int failed = 0;

	if (each < 64 + IDS_BYTES || each > 4096)
		return gn_perf_refuse(file, 16, "descriptions of events of %llu bytes",
				      (unsigned long long)each);
	if (offset > file->file.size || bytes > file->file.size - offset || bytes < each)
		return gn_perf_refuse(file, offset, "there are no descriptions of events");
	for (uint64_t at = 0; !failed && at + each <= bytes; at += each) {
		const uint8_t *attr = gn_bytes_at(&file->file, offset + at, each);
		uint64_t ids_at, ids_bytes;

		if (!attr)
			return gn_perf_refuse(file, offset + at, "an event cannot be read");
		ids_at = gn_field_64(attr + each - IDS_BYTES, file->swaps);
		ids_bytes = gn_field_64(attr + each - 8, file->swaps);
		failed = gn_perf_event_add(file, attr, each - IDS_BYTES, offset + at);
		if (!failed)
			failed = read_ids(file, ids_at, ids_bytes);
	}
	return failed;
}

/* Sections of features lie behind the records, in the order of the bits that say which there are.
 */
static int read_features(struct gn_perf_file *file, const uint64_t bits[GN_FEATURES / 64],
			 uint64_t offset)
{
	int failed = 0;

	for (uint32_t number = 0; !failed && number < GN_FEATURES; number++) {
		const uint8_t *section;

		if (!(bits[number / 64] >> (number % 64) & 1))
			continue;
		section = gn_bytes_at(&file->file, offset, 16);
		if (!section)
			return gn_perf_refuse(file, offset, "its features cannot be read");
		failed = gn_perf_note_add(file, number, gn_field_64(section, file->swaps),
					  gn_field_64(section + 8, file->swaps));
		offset += 16;
	}
	return failed;
}

static int read_file(struct gn_perf_file *file)
{
	const uint8_t *header = gn_bytes_at(&file->file, 0, HEADER_BYTES);
	uint64_t bits[GN_FEATURES / 64], data_at, data_bytes, end;
	int failed;

	if (!header)
		return gn_perf_refuse(file, file->file.size, "its header is cut off");
	data_at = gn_field_64(header + 40, file->swaps);
	data_bytes = gn_field_64(header + 48, file->swaps);
	for (uint32_t i = 0; i < GN_FEATURES / 64; i++)
		bits[i] = gn_field_64(header + FEATURES_AT + 8 * i, file->swaps);
	failed = read_attrs(file, gn_field_64(header + 24, file->swaps),
			    gn_field_64(header + 32, file->swaps),
			    gn_field_64(header + 16, file->swaps));
	if (failed)
		return failed;
	if (data_at > file->file.size)
		return gn_perf_refuse(file, 40, "its records lie beyond its end");
	file->is_unfinished = !data_bytes;
	file->is_cut = data_bytes > file->file.size - data_at;
	end = file->is_unfinished || file->is_cut ? file->file.size : data_at + data_bytes;
	failed = gn_file_records_read(file, data_at, end);
	if (failed || file->is_unfinished || file->is_cut)
		return failed;
	return read_features(file, bits, end);
}

int gn_perf_file_open(struct gn_perf_file *file, int descriptor, int unpacked)
{
	int failed;

	memset(file, 0, sizeof(*file));
	failed = gn_byte_source_open(&file->file, descriptor);
	if (failed)
		return gn_perf_refuse(file, 0, "it cannot be read: %s", strerror(-failed));
	file->unpacked.descriptor = unpacked;
	failed = gn_mapped_files_begin(&file->mapped);
	if (!failed)
		failed = read_order(file);
	if (failed)
		return failed;
	failed = file->is_pipe ? gn_file_records_read(file, PIPE_HEADER_BYTES, file->file.size)
			       : read_file(file);
	if (failed && failed != -ENOMEM && !file->problem.text[0])
		return gn_perf_refuse(file, file->at, "what it unpacks to cannot be kept: %s",
				      strerror(-failed));
	if (failed)
		return failed;
	if (!file->attrs.attr.n)
		return gn_perf_refuse(file, 0, "it has no events");
	return gn_kernel_records_sort(file);
}
