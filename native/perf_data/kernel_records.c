#include "kernel_records.h"

#include <errno.h>
#include <stdio.h>

#define KSYM_NAME_MAX 512u

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

int gn_kernel_record_take(struct gn_perf_file *file, const uint8_t *record,
			  const struct gn_perf_header *header, uint64_t position)
{
	uint32_t event;
	int failed = 0;

	if (header->type <= GN_RECORD_CALLCHAIN_DEFERRED)
		file->records[header->type]++;
	else
		file->odd_records++;
	if (header->type == GN_RECORD_LOST)
		file->lost += gn_perf_word(file, record, header, 1);
	if (header->type == GN_RECORD_LOST_SAMPLES)
		file->lost_samples += gn_perf_word(file, record, header, 0);
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

int gn_kernel_records_sort(struct gn_perf_file *file)
{
	if (file->deferred.n)
		qsort(file->deferred.row, file->deferred.n, sizeof(struct gn_deferred_chain),
		      by_cookie);
	return sort_entries(file->entry.row, file->entry.n);
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
