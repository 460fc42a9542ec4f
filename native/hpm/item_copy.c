/* Items that are the reader's own, of whatever an aggregator said that items are. */
#include "item_copy.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "item_codec.h"

#define CHUNK 65536

struct hpm_chunk {
	struct hpm_chunk *next;
	size_t used;
	size_t size;
	max_align_t begin[];
};

struct copying {
	struct hpm_copy *copy;
	size_t bytes;
	int error;
};

/* Zero; NULL: there is no memory, or what it is for is too much to be true. */
static void *take(struct copying *copying, size_t n, size_t bytes)
{
	struct hpm_chunk *chunk = copying->copy->chunk;
	const size_t total = (n * bytes + sizeof(max_align_t)) & ~(sizeof(max_align_t) - 1);
	void *taken;

	copying->bytes += total;
	if (copying->bytes > HPM_ITEMS_BYTES_MAX && !copying->error)
		copying->error = E2BIG;
	if (copying->error)
		return NULL;
	if (!chunk || chunk->size - chunk->used < total) {
		const size_t size = total > CHUNK ? total : CHUNK;

		chunk = calloc(1, sizeof(*chunk) + size);
		if (!chunk) {
			copying->error = ENOMEM;
			return NULL;
		}
		chunk->size = size;
		chunk->next = copying->copy->chunk;
		copying->copy->chunk = chunk;
	}
	taken = (char *)chunk->begin + chunk->used;
	chunk->used += total;
	return taken;
}

__attribute__((format(printf, 2, 3))) static void lie(struct copying *copying, const char *format,
						      ...)
{
	va_list arguments;

	if (copying->error)
		return;
	copying->error = EBADMSG;
	va_start(arguments, format);
	vsnprintf(copying->copy->lie, sizeof(copying->copy->lie), format, arguments);
	va_end(arguments);
}

static char *copy_text(struct copying *copying, const char *text)
{
	size_t length;
	char *copied;

	if (!text || copying->error)
		return NULL;
	length = strnlen(text, HPM_ITEMS_STRING_MAX);
	if (length == HPM_ITEMS_STRING_MAX) {
		lie(copying, "a text of it does not end");
		return NULL;
	}
	copied = take(copying, length + 1, 1);
	if (copied)
		memcpy(copied, text, length);
	return copied;
}

static hpm_spread *copy_spreads(struct copying *copying, const hpm_spread *spread, size_t n)
{
	hpm_spread *copied;

	if (!spread || copying->error)
		return NULL;
	copied = take(copying, n, sizeof(*copied));
	for (size_t i = 0; copied && i < n; i++) {
		long long *bins = NULL;

		copied[i] = spread[i];
		if (spread[i].n_bins < 0 || spread[i].n_bins > HPM_ITEMS_BINS_MAX ||
		    (spread[i].n_bins && !spread[i].bins))
			lie(copying, "a histogram of it has %d bins", spread[i].n_bins);
		else if (spread[i].n_bins)
			bins = take(copying, (size_t)spread[i].n_bins, sizeof(*bins));
		copied[i].bins = bins;
		if (bins)
			memcpy(bins, spread[i].bins, (size_t)spread[i].n_bins * sizeof(*bins));
		else
			copied[i].n_bins = 0;
	}
	return copied;
}

static void copy_event(struct copying *copying, const hpm_event_info *from, hpm_event_info *to)
{
	*to = *from;
	to->name = copy_text(copying, from->name);
	to->component = copy_text(copying, from->component);
	to->unit = copy_text(copying, from->unit);
	to->description = copy_text(copying, from->description);
	to->reason = copy_text(copying, from->reason);
	to->spread = copy_spreads(copying, from->spread, 1);
}

static void copy_item(struct copying *copying, int index, const hpm_data_item *from,
		      hpm_data_item *to)
{
	*to = *from;
	to->data = NULL;
	if (from->num_data < 0 || from->num_data > HPM_ITEMS_DATA_MAX ||
	    (from->num_data && !from->data)) {
		lie(copying, "item %d has num_data %d%s", index, from->num_data,
		    from->data ? "" : " and no data");
		to->num_data = 0;
	} else {
		to->data = take(copying, (size_t)from->num_data, sizeof(*to->data));
	}
	for (int i = 0; to->data && i < from->num_data; i++)
		copy_event(copying, &from->data[i], &to->data[i]);
	to->description = copy_text(copying, from->description);
	to->xml_descr = copy_text(copying, from->xml_descr);
	to->label = copy_text(copying, from->label);
	to->group = copy_text(copying, from->group);
	to->file = copy_text(copying, from->file);
	to->parent_label = copy_text(copying, from->parent_label);
	to->tasks = copy_text(copying, from->tasks);
	to->times_spread = copy_spreads(copying, from->times_spread, HPM_NTIM);
}

int hpm_items_copy(int n, const hpm_data_item *items, struct hpm_copy *copy)
{
	struct copying copying = {.copy = copy};

	memset(copy, 0, sizeof(*copy));
	if (n < 0 || n > HPM_ITEMS_MAX || (n && !items))
		lie(&copying, "num_out is %d%s", n, items || !n ? "" : " and out is NULL");
	else
		copy->items = take(&copying, (size_t)n, sizeof(*copy->items));
	for (int i = 0; !copying.error && i < n; i++)
		copy_item(&copying, i, &items[i], &copy->items[i]);
	if (copying.error == E2BIG)
		snprintf(copy->lie, sizeof(copy->lie), "its %d items are too large to be true", n);
	if (copying.error) {
		hpm_items_copy_free(copy);
		return copying.error == ENOMEM ? ENOMEM : EBADMSG;
	}
	copy->n = n;
	return 0;
}

void hpm_items_copy_free(struct hpm_copy *copy)
{
	while (copy->chunk) {
		struct hpm_chunk *next = copy->chunk->next;

		free(copy->chunk);
		copy->chunk = next;
	}
	copy->items = NULL;
	copy->n = 0;
}
