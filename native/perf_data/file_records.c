#include "file_records.h"

#include <errno.h>
#include <unistd.h>

#include "kernel_records.h"

#define PENDING_ROOM ((uint64_t)1 << 18)

static int take_records(struct gn_perf_file *file)
{
	uint64_t at = 0;
	int failed = 0;

	while (!failed && file->n_pending - at >= GN_RECORD_HEADER_BYTES) {
		const uint8_t *record = file->pending + at;
		const struct gn_perf_header header = gn_perf_header_of(record, file->swaps);

		if (header.size < GN_RECORD_HEADER_BYTES)
			return gn_perf_refuse(file, file->at, "a compressed record of %u bytes",
					      header.size);
		if (header.size > file->n_pending - at)
			break;
		if (header.type < GN_RECORD_USER)
			failed = gn_kernel_record_take(file, record, &header,
						       GN_UNPACKED | file->n_unpacked);
		at += header.size;
		file->n_unpacked += header.size;
	}
	memmove(file->pending, file->pending + at, file->n_pending - at);
	file->n_pending -= at;
	return failed;
}

static int write_all(int descriptor, const uint8_t *bytes, size_t n)
{
	while (n) {
		const ssize_t written = write(descriptor, bytes, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		bytes += written;
		n -= (size_t)written;
	}
	return 0;
}

static int take_unpacked(void *to, const uint8_t *bytes, size_t n)
{
	struct gn_perf_file *file = to;
	int failed = write_all(file->unpacked.descriptor, bytes, n);

	if (failed)
		return failed;
	file->unpacked.size += n;
	memcpy(file->pending + file->n_pending, bytes, n);
	file->n_pending += n;
	return take_records(file);
}

static int unpack(struct gn_perf_file *file, const uint8_t *packed, uint64_t n)
{
	int failed;

	if (!file->pending)
		file->pending = malloc(PENDING_ROOM);
	if (!file->pending)
		return -ENOMEM;
	failed = gn_zstd_unpack(&file->zstd, packed, n, take_unpacked, file);
	if (failed == -ELIBACC)
		return gn_perf_refuse(file, file->at,
				      "its records are compressed by zstd, and libzstd.so.1 is not "
				      "installed");
	if (failed == -EFBIG)
		return gn_perf_refuse(file, file->at, "its records unpack to far too much");
	if (failed == -EBADMSG && !file->problem.text[0])
		return gn_perf_refuse(file, file->at, "its compression is damaged");
	return failed;
}

static int take_compressed(struct gn_perf_file *file, const uint8_t *record,
			   const struct gn_perf_header *header)
{
	const bool has_size = header->type == GN_RECORD_COMPRESSED2;
	const uint64_t begin = GN_RECORD_HEADER_BYTES + (has_size ? 8 : 0);
	uint64_t n;
	uint8_t *copy;
	int failed;

	if (header->size < begin)
		return gn_perf_refuse(file, file->at, "a compressed record of %u bytes",
				      header->size);
	n = has_size ? gn_perf_word(file, record, header, 0) : header->size - begin;
	if (n > header->size - begin)
		return gn_perf_refuse(file, file->at, "a compressed record shorter than it says");
	copy = malloc(n ? n : 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, record + begin, n);
	failed = unpack(file, copy, n);
	free(copy);
	return failed;
}

static int take_attr(struct gn_perf_file *file, const uint8_t *record,
		     const struct gn_perf_header *header)
{
	const uint64_t n = header->size - GN_RECORD_HEADER_BYTES;
	const uint8_t *attr = record + GN_RECORD_HEADER_BYTES;
	uint64_t size = n >= 8 ? gn_field_32(attr + 4, file->swaps) : 0;
	int failed;

	size = size ? size : 64;
	failed = gn_perf_event_add(file, attr, size < n ? size : n, file->at);
	for (uint64_t at = size; !failed && at + 8 <= n; at += 8)
		failed = gn_event_id_add(&file->attrs, gn_field_64(attr + at, file->swaps));
	return failed;
}

/* What follows a record in the file and belongs to it. */
static uint64_t payload_of(const struct gn_perf_file *file, const uint8_t *record,
			   const struct gn_perf_header *header)
{
	if (header->type == GN_RECORD_AUXTRACE)
		return gn_perf_word(file, record, header, 0);
	if (header->type == GN_RECORD_TRACING_DATA && header->size >= 12)
		return ((uint64_t)gn_field_32(record + 8, file->swaps) + 7) & ~(uint64_t)7;
	return 0;
}

static int take_user_record(struct gn_perf_file *file, const uint8_t *record,
			    const struct gn_perf_header *header)
{
	if (header->type < GN_RECORD_TYPES)
		file->records[header->type]++;
	else
		file->odd_records++;
	switch (header->type) {
	case GN_RECORD_HEADER_ATTR:
		return file->is_pipe ? take_attr(file, record, header) : 0;
	case GN_RECORD_FINISHED_ROUND:
		file->flushed = file->next_flush;
		file->next_flush = file->newest;
		return 0;
	case GN_RECORD_COMPRESSED:
	case GN_RECORD_COMPRESSED2:
		return take_compressed(file, record, header);
	case GN_RECORD_HEADER_FEATURE:
		if (header->size < 16 || gn_perf_word(file, record, header, 0) >= GN_FEATURES)
			return 0;
		return gn_perf_note_add(file, (uint32_t)gn_perf_word(file, record, header, 0),
					file->at + 16, header->size - 16);
	case GN_RECORD_BUILD_ID:
	case GN_RECORD_EVENT_UPDATE:
	case GN_RECORD_TIME_CONV:
		return gn_perf_note_add(file, GN_NOTE_RECORD + header->type, file->at,
					header->size);
	default:
		return 0;
	}
}

/* Bytes of zero: what a file system leaves of a file that was not written to its end. */
static bool is_nothing(const struct gn_perf_header *header)
{
	return !header->size;
}

int gn_file_records_read(struct gn_perf_file *file, uint64_t begin, uint64_t end)
{
	uint64_t next;
	int failed = 0;

	for (file->at = begin; !failed && file->at < end; file->at = next) {
		struct gn_perf_header header;
		const uint8_t *record = gn_bytes_at(&file->file, file->at, GN_RECORD_HEADER_BYTES);
		uint64_t left = end - file->at;

		if (!record || left < GN_RECORD_HEADER_BYTES) {
			file->is_cut = true;
			return 0;
		}
		header = gn_perf_header_of(record, file->swaps);
		if (is_nothing(&header) && (file->is_unfinished || file->is_cut)) {
			file->is_cut = true;
			return 0;
		}
		if (header.size < GN_RECORD_HEADER_BYTES)
			return gn_perf_refuse(file, file->at, "a record of %u bytes", header.size);
		record =
			header.size > left ? NULL : gn_bytes_at(&file->file, file->at, header.size);
		if (!record) {
			file->is_cut = true;
			return 0;
		}
		left -= header.size;
		next = file->at + header.size;
		if (header.type < GN_RECORD_USER) {
			failed = gn_kernel_record_take(file, record, &header, file->at);
			continue;
		}
		const uint64_t payload = payload_of(file, record, &header);

		file->is_cut |= payload > left;
		next += payload < left ? payload : left;
		failed = take_user_record(file, record, &header);
	}
	return failed;
}
