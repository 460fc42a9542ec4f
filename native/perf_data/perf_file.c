#include "perf_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define HEADER_BYTES 104u
#define PIPE_HEADER_BYTES 16u
#define IDS_BYTES 16u
#define FEATURES_AT 72u
#define FEATURES 256u
#define RECORD_MAX ((uint64_t)1 << 16)
#define PENDING_ROOM ((uint64_t)1 << 18)
#define KSYM_NAME_MAX 512u

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

/* --- the kernel's records --------------------------------------------------------------------- */

static int add_entry(struct gn_perf_file *file, const struct gn_event_attr *attr,
		     const uint8_t *record, const struct gn_perf_header *header, uint64_t position)
{
	struct gn_record_entry *entry;
	uint64_t time;

	if (gn_record_time(attr, record, header, file->swaps, &time))
		return gn_perf_refuse(file, file->at, "a record of type %u with %u bytes",
				      header->type, header->size);
	entry = gn_rows_add(&file->entry, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	/* What has no time comes before all that perf would not have taken yet. */
	if (time == UINT64_MAX)
		time = 0;
	entry->time = time ? time : file->flushed;
	entry->position = position;
	if (time > file->newest)
		file->newest = time;
	return 0;
}

/* The first mapping of the kernel says where it was: "[kernel.kallsyms]_text", by its offset. */
static void note_kernel(struct gn_perf_file *file, const struct gn_file_mapping *mapping)
{
	struct gn_mapped_module *kernel = gn_module(&file->mapped, GN_FIXED_KERNEL);
	const char *end = strchr(mapping->path, ']');

	if (file->kernel_start || strncmp(mapping->path, "[kernel.", 8) != 0 || !end || !end[1])
		return;
	file->kernel_start = mapping->file_offset;
	snprintf(file->kernel_symbol, sizeof(file->kernel_symbol), "%s", end + 1);
	kernel->build_id_bytes = mapping->build_id_bytes;
	if (mapping->build_id_bytes)
		memcpy(kernel->build_id, mapping->build_id, mapping->build_id_bytes);
}

static int take_mapping(struct gn_perf_file *file, const uint8_t *record,
			const struct gn_perf_header *header)
{
	struct gn_file_mapping mapping;

	if (gn_file_mapping_read(&mapping, record, header, file->swaps))
		return gn_perf_refuse(file, file->at, "a mapping whose path does not end");
	if (!mapping.is_code)
		return 0;
	if (mapping.is_kernel && !mapping.is_guest)
		note_kernel(file, &mapping);
	return gn_module_of(&file->mapped, &mapping) == GN_NO_NUMBER ? -ENOMEM : 0;
}

static int take_kernel_symbol(struct gn_perf_file *file, const uint8_t *record,
			      const struct gn_perf_header *header)
{
	struct gn_fields fields = {record + GN_RECORD_HEADER_BYTES,
				   header->size - GN_RECORD_HEADER_BYTES, file->swaps, false};
	const uint64_t address = gn_fields_64(&fields);
	const uint32_t bytes = gn_fields_32(&fields);
	struct gn_kernel_symbol *symbol;
	size_t n;

	gn_fields_take(&fields, 4);
	if (fields.is_short)
		return gn_perf_refuse(file, file->at, "a kernel symbol of %u bytes", header->size);
	n = strnlen((const char *)fields.next, fields.n);
	symbol = gn_rows_add(&file->symbol, sizeof(*symbol));
	if (!symbol)
		return -ENOMEM;
	symbol->address = address;
	symbol->bytes = bytes;
	symbol->name = strndup((const char *)fields.next, n < KSYM_NAME_MAX ? n : KSYM_NAME_MAX);
	return symbol->name ? 0 : -ENOMEM;
}

static int take_deferred(struct gn_perf_file *file, const uint8_t *record,
			 const struct gn_perf_header *header, uint64_t position)
{
	struct gn_deferred_chain *chain;

	if (header->size < GN_RECORD_HEADER_BYTES + 16)
		return gn_perf_refuse(file, file->at, "a call chain of %u bytes", header->size);
	chain = gn_rows_add(&file->deferred, sizeof(*chain));
	if (!chain)
		return -ENOMEM;
	chain->cookie = gn_field_64(record + GN_RECORD_HEADER_BYTES, file->swaps);
	chain->position = position;
	return 0;
}

static uint64_t word(const struct gn_perf_file *file, const uint8_t *record,
		     const struct gn_perf_header *header, unsigned int number)
{
	const uint64_t at = GN_RECORD_HEADER_BYTES + 8 * number;

	return header->size >= at + 8 ? gn_field_64(record + at, file->swaps) : 0;
}

static int take_kernel_record(struct gn_perf_file *file, const uint8_t *record,
			      const struct gn_perf_header *header, uint64_t position)
{
	uint32_t event;
	int failed = 0;

	if (header->type <= GN_RECORD_CALLCHAIN_DEFERRED)
		file->records[header->type]++;
	else
		file->odd_records++;
	if (header->type == GN_RECORD_LOST)
		file->lost += word(file, record, header, 1);
	if (header->type == GN_RECORD_LOST_SAMPLES)
		file->lost_samples += word(file, record, header, 0);
	if (header->type == GN_RECORD_KSYMBOL)
		return take_kernel_symbol(file, record, header);
	if (header->type == GN_RECORD_CALLCHAIN_DEFERRED)
		return take_deferred(file, record, header, position);
	if (header->type == GN_RECORD_MMAP || header->type == GN_RECORD_MMAP2)
		failed = take_mapping(file, record, header);
	else if (header->type != GN_RECORD_COMM && header->type != GN_RECORD_FORK &&
		 header->type != GN_RECORD_SAMPLE)
		return 0;
	if (failed)
		return failed;
	if (!file->attrs.attr.n)
		return gn_perf_refuse(file, file->at, "a record before any event is described");
	if (gn_record_event(&file->attrs, record, header, &event))
		return gn_perf_refuse(file, file->at, "a record of type %u with %u bytes",
				      header->type, header->size);
	if (event == GN_NO_NUMBER) {
		if (header->type == GN_RECORD_SAMPLE) {
			file->unknown_ids++;
			return 0;
		}
		event = 0;
	}
	return add_entry(file, gn_event_attr(&file->attrs, event), record, header, position);
}

/* --- those of perf ---------------------------------------------------------------------------- */

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
			failed = take_kernel_record(file, record, &header,
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
	n = has_size ? word(file, record, header, 0) : header->size - begin;
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

static int add_note(struct gn_perf_file *file, uint32_t kind, uint64_t offset, uint64_t bytes)
{
	struct gn_perf_note *note = gn_rows_add(&file->note, sizeof(*note));

	if (!note)
		return -ENOMEM;
	note->kind = kind;
	note->offset = offset;
	note->bytes = bytes;
	return 0;
}

static int check_attr(struct gn_perf_file *file, int failed, uint64_t offset)
{
	if (failed == -EBADMSG)
		return gn_perf_refuse(file, offset, "the description of an event is malformed");
	if (failed == -ENOTSUP)
		return gn_perf_refuse(file, offset,
				      "samples have fields that are newer than this Gnomon");
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
	failed = check_attr(file, gn_event_attr_add(&file->attrs, attr, size < n ? size : n),
			    file->at);
	for (uint64_t at = size; !failed && at + 8 <= n; at += 8)
		failed = gn_event_id_add(&file->attrs, gn_field_64(attr + at, file->swaps));
	return failed;
}

/* What follows a record in the file and belongs to it. */
static uint64_t payload_of(const struct gn_perf_file *file, const uint8_t *record,
			   const struct gn_perf_header *header)
{
	if (header->type == GN_RECORD_AUXTRACE)
		return word(file, record, header, 0);
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
		if (header->size < 16 || word(file, record, header, 0) >= FEATURES)
			return 0;
		return add_note(file, (uint32_t)word(file, record, header, 0), file->at + 16,
				header->size - 16);
	case GN_RECORD_BUILD_ID:
	case GN_RECORD_EVENT_UPDATE:
	case GN_RECORD_TIME_CONV:
		return add_note(file, GN_NOTE_RECORD + header->type, file->at, header->size);
	default:
		return 0;
	}
}

/* --- the file --------------------------------------------------------------------------------- */

/* Bytes of zero: what a file system leaves of a file that was not written to its end. */
static bool is_nothing(const struct gn_perf_header *header)
{
	return !header->size;
}

static int walk(struct gn_perf_file *file, uint64_t begin, uint64_t end)
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
			failed = take_kernel_record(file, record, &header, file->at);
			continue;
		}
		const uint64_t payload = payload_of(file, record, &header);

		file->is_cut |= payload > left;
		next += payload < left ? payload : left;
		failed = take_user_record(file, record, &header);
	}
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
		failed = check_attr(file, gn_event_attr_add(&file->attrs, attr, each - IDS_BYTES),
				    offset + at);
		if (!failed)
			failed = read_ids(file, ids_at, ids_bytes);
	}
	return failed;
}

/* Sections of features lie behind the records, in the order of the bits that say which there are.
 */
static int read_features(struct gn_perf_file *file, const uint64_t bits[FEATURES / 64],
			 uint64_t offset)
{
	int failed = 0;

	for (uint32_t number = 0; !failed && number < FEATURES; number++) {
		const uint8_t *section;

		if (!(bits[number / 64] >> (number % 64) & 1))
			continue;
		section = gn_bytes_at(&file->file, offset, 16);
		if (!section)
			return gn_perf_refuse(file, offset, "its features cannot be read");
		failed = add_note(file, number, gn_field_64(section, file->swaps),
				  gn_field_64(section + 8, file->swaps));
		offset += 16;
	}
	return failed;
}

static int read_file(struct gn_perf_file *file)
{
	const uint8_t *header = gn_bytes_at(&file->file, 0, HEADER_BYTES);
	uint64_t bits[FEATURES / 64], data_at, data_bytes, end;
	int failed;

	if (!header)
		return gn_perf_refuse(file, file->file.size, "its header is cut off");
	data_at = gn_field_64(header + 40, file->swaps);
	data_bytes = gn_field_64(header + 48, file->swaps);
	for (uint32_t i = 0; i < FEATURES / 64; i++)
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
	failed = walk(file, data_at, end);
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
	failed = file->is_pipe ? walk(file, PIPE_HEADER_BYTES, file->file.size) : read_file(file);
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
