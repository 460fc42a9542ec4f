#include "perf_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf_records.h"

#define HEADER_BYTES 104u
#define PIPE_HEADER_BYTES 16u
#define IDS_BYTES 16u
#define FEATURES_AT 72u

int gn_perf_refuse(struct gn_perf_file *file, uint64_t offset, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(file->problem.text, sizeof(file->problem.text), format, arguments);
	va_end(arguments);
	file->problem.offset = offset;
	return -EBADMSG;
}

const uint8_t *gn_perf_record(struct gn_perf_file *file, uint64_t position,
			      struct gn_perf_header *header)
{
	struct gn_byte_source *source = position & GN_UNPACKED ? &file->unpacked : &file->file;
	const uint64_t offset = position & ~GN_UNPACKED;
	const uint8_t *start = gn_bytes_at(source, offset, GN_RECORD_HEADER_BYTES);

	if (!start)
		return NULL;
	*header = gn_perf_header_of(start, file->swaps);
	return header->size < GN_RECORD_HEADER_BYTES ? NULL
						     : gn_bytes_at(source, offset, header->size);
}

int gn_perf_add_note(struct gn_perf_file *file, uint32_t kind, uint64_t offset, uint64_t bytes)
{
	struct gn_perf_note *note = gn_rows_add(&file->note, sizeof(*note));

	if (!note)
		return -ENOMEM;
	note->kind = kind;
	note->offset = offset;
	note->bytes = bytes;
	return 0;
}

int gn_perf_check_attr(struct gn_perf_file *file, int failed, uint64_t offset)
{
	if (failed == -EBADMSG)
		return gn_perf_refuse(file, offset, "the description of an event is malformed");
	if (failed == -ENOTSUP)
		return gn_perf_refuse(file, offset,
				      "samples have fields that are newer than this Gnomon");
	return failed;
}

static int read_ids(struct gn_perf_file *file, uint64_t offset, uint64_t bytes)
{
	int failed = 0;

	if (offset > file->file.size || bytes > file->file.size - offset)
		return gn_perf_refuse(file, offset,
				      "the ids of an event lie beyond the file's end");
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
		failed = gn_perf_check_attr(
			file, gn_event_attr_add(&file->attrs, attr, each - IDS_BYTES), offset + at);
		if (!failed)
			failed = read_ids(file, ids_at, ids_bytes);
	}
	return failed;
}

/* Sections of features lie behind the records, in the order of the bits that say which there are.
 */
static int read_features(struct gn_perf_file *file, const uint64_t bits[GN_PERF_FEATURES / 64],
			 uint64_t offset)
{
	int failed = 0;

	for (uint32_t number = 0; !failed && number < GN_PERF_FEATURES; number++) {
		const uint8_t *section;

		if (!(bits[number / 64] >> (number % 64) & 1))
			continue;
		section = gn_bytes_at(&file->file, offset, 16);
		if (!section)
			return gn_perf_refuse(file, offset, "its features cannot be read");
		failed = gn_perf_add_note(file, number, gn_field_64(section, file->swaps),
					  gn_field_64(section + 8, file->swaps));
		offset += 16;
	}
	return failed;
}

static int read_file(struct gn_perf_file *file)
{
	const uint8_t *header = gn_bytes_at(&file->file, 0, HEADER_BYTES);
	uint64_t bits[GN_PERF_FEATURES / 64], data_at, data_bytes, end;
	int failed;

	if (!header)
		return gn_perf_refuse(file, file->file.size, "its header is cut off");
	data_at = gn_field_64(header + 40, file->swaps);
	data_bytes = gn_field_64(header + 48, file->swaps);
	for (uint32_t i = 0; i < GN_PERF_FEATURES / 64; i++)
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
	failed = gn_perf_walk(file, data_at, end);
	if (failed || file->is_unfinished || file->is_cut)
		return failed;
	return read_features(file, bits, end);
}

/* By time; of equal times as they stand. Most lie in order already, a ring's after another's. */
static int sort_entries(struct gn_record_entry *entry, size_t n)
{
	struct gn_record_entry *other = malloc((n ? n : 1) * sizeof(*other));
	struct gn_record_entry *from = entry, *to = other;
	bool is_sorted = false;

	if (!other)
		return -ENOMEM;
	while (!is_sorted) {
		size_t at = 0, out = 0;

		is_sorted = true;
		while (at < n) {
			size_t left = at, middle = at + 1, right, end;

			while (middle < n && from[middle].time >= from[middle - 1].time)
				middle++;
			right = end = middle;
			if (middle < n) {
				for (end = middle + 1;
				     end < n && from[end].time >= from[end - 1].time;)
					end++;
			}
			is_sorted = is_sorted && end == n && middle == n && at == 0;
			while (left < middle || right < end)
				to[out++] = right == end || (left < middle &&
							     from[left].time <= from[right].time)
						    ? from[left++]
						    : from[right++];
			at = end;
		}
		struct gn_record_entry *sorted = to;

		to = from;
		from = sorted;
	}
	if (n && from != entry)
		memcpy(entry, from, n * sizeof(*entry));
	free(other);
	return 0;
}

static int by_cookie(const void *left, const void *right)
{
	const struct gn_deferred_chain *a = left, *b = right;

	if (a->cookie != b->cookie)
		return a->cookie < b->cookie ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

int gn_perf_deferred(const struct gn_perf_file *file, uint64_t cookie, uint64_t *position)
{
	const struct gn_deferred_chain *chain = file->deferred.row;
	size_t low = 0, high = file->deferred.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (chain[middle].cookie < cookie)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == file->deferred.n || chain[low].cookie != cookie)
		return -ENOENT;
	*position = chain[low].position;
	return 0;
}

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
	failed = file->is_pipe ? gn_perf_walk(file, PIPE_HEADER_BYTES, file->file.size)
			       : read_file(file);
	if (failed && failed != -ENOMEM && !file->problem.text[0])
		return gn_perf_refuse(file, file->at, "what it unpacks to cannot be kept: %s",
				      strerror(-failed));
	if (failed)
		return failed;
	if (!file->attrs.attr.n)
		return gn_perf_refuse(file, 0, "it has no events");
	if (file->deferred.n)
		qsort(file->deferred.row, file->deferred.n, sizeof(struct gn_deferred_chain),
		      by_cookie);
	return sort_entries(file->entry.row, file->entry.n);
}

void gn_perf_file_close(struct gn_perf_file *file)
{
	for (size_t i = 0; i < file->symbol.n; i++)
		free(((struct gn_kernel_symbol *)file->symbol.row)[i].name);
	gn_byte_source_close(&file->file);
	gn_byte_source_close(&file->unpacked);
	gn_event_attrs_free(&file->attrs);
	gn_mapped_files_free(&file->mapped);
	gn_rows_free(&file->entry);
	gn_rows_free(&file->note);
	gn_rows_free(&file->symbol);
	gn_rows_free(&file->deferred);
	gn_zstd_end(&file->zstd);
	free(file->pending);
	memset(file, 0, sizeof(*file));
}
