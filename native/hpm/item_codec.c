/* Items to bytes and back. The layout stands in item_codec.h. */
#include "item_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The least that each takes: strings are lengths only. */
#define HEAD_BYTES 100
#define EVENT_BYTES 60
#define ITEM_BYTES 148
#define BIN_BYTES 8
#define CHECKSUM_BYTES 4

static uint32_t crc32_of(const unsigned char *bytes, size_t size)
{
	uint32_t table[256], crc = ~0u;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;

		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
		table[i] = value;
	}
	for (size_t i = 0; i < size; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255];
	return ~crc;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct writer {
	unsigned char *bytes;
	size_t used;
	size_t room;
	int failed;
};

static void put(struct writer *writer, const void *from, size_t size)
{
	if (writer->failed)
		return;
	if (size > writer->room - writer->used) {
		const size_t room = 2 * writer->room + size + 4096;
		unsigned char *larger =
			room > 2 * HPM_ITEMS_BYTES_MAX ? NULL : realloc(writer->bytes, room);

		if (!larger) {
			writer->failed = room > 2 * HPM_ITEMS_BYTES_MAX ? EOVERFLOW : ENOMEM;
			return;
		}
		writer->bytes = larger;
		writer->room = room;
	}
	if (size)
		memcpy(writer->bytes + writer->used, from, size);
	writer->used += size;
}

static void put_i32(struct writer *writer, int32_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_i64(struct writer *writer, int64_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_f64(struct writer *writer, double value)
{
	put(writer, &value, sizeof(value));
}

static void put_string(struct writer *writer, const char *text)
{
	const size_t length = text ? strlen(text) : 0;

	if (length > HPM_ITEMS_STRING_MAX && !writer->failed)
		writer->failed = EOVERFLOW;
	put_i32(writer, text ? (int32_t)length : -1);
	put(writer, text, length);
}

static void put_spread(struct writer *writer, const hpm_spread *spread)
{
	put_i32(writer, spread != NULL);
	if (!spread)
		return;
	put_i32(writer, spread->n);
	put_f64(writer, spread->minimum);
	put_f64(writer, spread->maximum);
	put_f64(writer, spread->deviation);
	put_i32(writer, spread->min_task);
	put_i32(writer, spread->max_task);
	put_i32(writer, spread->n_bins);
	if (spread->n_bins < 0 || spread->n_bins > HPM_ITEMS_BINS_MAX)
		writer->failed = writer->failed ? writer->failed : EOVERFLOW;
	for (int i = 0; !writer->failed && i < spread->n_bins; i++)
		put_i64(writer, spread->bins[i]);
}

static void put_event(struct writer *writer, const hpm_event_info *event)
{
	put_string(writer, event->name);
	put_string(writer, event->component);
	put_string(writer, event->unit);
	put_string(writer, event->description);
	put_string(writer, event->reason);
	put_f64(writer, event->value);
	put_f64(writer, event->enabled_s);
	put_f64(writer, event->running_s);
	put_i32(writer, event->how);
	put_i32(writer, event->modes);
	put_i32(writer, event->flags);
	put_spread(writer, event->spread);
}

static void put_item(struct writer *writer, const hpm_data_item *item)
{
	put_i32(writer, item->num_data);
	if (item->num_data < 0 || item->num_data > HPM_ITEMS_DATA_MAX)
		writer->failed = writer->failed ? writer->failed : EOVERFLOW;
	for (int i = 0; !writer->failed && i < item->num_data; i++)
		put_event(writer, &item->data[i]);
	for (int i = 0; i < HPM_NTIM; i++)
		put_f64(writer, item->times[i]);
	put_i32(writer, item->is_mplex_cont != 0);
	put_i32(writer, item->is_rusage != 0);
	put_i32(writer, item->mpi_task_id);
	put_i32(writer, item->instr_id);
	put_i32(writer, item->count);
	put_i32(writer, item->is_exclusive != 0);
	put_i32(writer, item->xml_element_id);
	put_string(writer, item->description);
	put_string(writer, item->xml_descr);
	put_string(writer, item->label);
	put_string(writer, item->group);
	put_string(writer, item->file);
	put_string(writer, item->parent_label);
	put_i32(writer, item->line);
	put_i32(writer, item->parent_id);
	put_i32(writer, item->thread_id);
	put_i32(writer, item->process_id);
	put_i32(writer, item->n_tasks);
	put_string(writer, item->tasks);
	put_i32(writer, item->times_spread != NULL);
	for (int i = 0; item->times_spread && i < HPM_NTIM; i++)
		put_spread(writer, &item->times_spread[i]);
}

int hpm_items_write(const struct hpm_items *items, unsigned char **bytes, size_t *size)
{
	const uint32_t head[] = {HPM_ITEMS_BYTE_ORDER, HPM_ITEMS_VERSION};
	struct writer writer = {0};
	uint64_t whole;
	uint32_t crc;

	put(&writer, HPM_ITEMS_MAGIC, 8);
	put(&writer, head, sizeof(head));
	put_i64(&writer, 0);
	put_i32(&writer, items->task);
	put_i32(&writer, items->tasks);
	put_i64(&writer, items->process);
	put_i32(&writer, items->exit_status);
	put_i32(&writer, items->signal);
	put_f64(&writer, items->started);
	put_f64(&writer, items->stopped);
	put_f64(&writer, items->wall_s);
	put_string(&writer, items->program);
	put_string(&writer, items->command);
	put_string(&writer, items->host);
	put_string(&writer, items->events);
	put_string(&writer, items->notes);
	put_i32(&writer, items->n);
	if (items->n < 0 || items->n > HPM_ITEMS_MAX)
		writer.failed = writer.failed ? writer.failed : EOVERFLOW;
	for (int i = 0; !writer.failed && i < items->n; i++)
		put_item(&writer, &items->item[i]);
	whole = writer.used + CHECKSUM_BYTES;
	if (!writer.failed && whole > HPM_ITEMS_BYTES_MAX)
		writer.failed = EOVERFLOW;
	if (!writer.failed) {
		memcpy(writer.bytes + 16, &whole, sizeof(whole));
		crc = crc32_of(writer.bytes, writer.used);
		put(&writer, &crc, sizeof(crc));
	}
	if (writer.failed) {
		free(writer.bytes);
		return writer.failed;
	}
	*bytes = writer.bytes;
	*size = writer.used;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
	const unsigned char *bytes;
	size_t at;
	size_t end; /* of what is not the checksum */
	int is_swapped;
	int failed;
	char *why;
};

__attribute__((format(printf, 3, 4))) static void refuse(struct reader *reader, int error,
							 const char *format, ...)
{
	char text[200];
	va_list arguments;

	if (reader->failed)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(reader->why, 256, "byte %zu: %s", reader->at, text);
	reader->failed = error;
}

static void get(struct reader *reader, void *to, size_t size, const char *what)
{
	unsigned char *bytes = to;

	if (!reader->failed && size > reader->end - reader->at)
		refuse(reader, EBADMSG, "ends in %s", what);
	if (reader->failed) {
		memset(to, 0, size);
		return;
	}
	for (size_t i = 0; i < size; i++)
		bytes[i] = reader->bytes[reader->at + (reader->is_swapped ? size - 1 - i : i)];
	reader->at += size;
}

static int32_t get_i32(struct reader *reader, const char *what)
{
	int32_t value;

	get(reader, &value, sizeof(value), what);
	return value;
}

static int64_t get_i64(struct reader *reader, const char *what)
{
	int64_t value;

	get(reader, &value, sizeof(value), what);
	return value;
}

static double get_f64(struct reader *reader, const char *what)
{
	double value;

	get(reader, &value, sizeof(value), what);
	return value;
}

/* A number that must be from `least` to `most`. */
static int32_t get_in(struct reader *reader, int32_t least, int32_t most, const char *what)
{
	const int32_t value = get_i32(reader, what);

	if (!reader->failed && (value < least || value > most)) {
		reader->at -= sizeof(value);
		refuse(reader, EBADMSG, "%s is %d, which is impossible", what, (int)value);
		return least > 0 ? least : 0;
	}
	return value;
}

/* How many of something there are that take at least so many bytes each. */
static int32_t get_count(struct reader *reader, int32_t most, size_t bytes, const char *what)
{
	const int32_t n = get_in(reader, 0, most, what);

	if (!reader->failed && (size_t)n > (reader->end - reader->at) / bytes)
		refuse(reader, EBADMSG, "%s is %d, for which there is no room", what, (int)n);
	return reader->failed ? 0 : n;
}

static char *get_string(struct reader *reader, const char *what)
{
	const int32_t length = get_in(reader, -1, HPM_ITEMS_STRING_MAX, what);
	char *text;

	if (reader->failed || length < 0)
		return NULL;
	if ((size_t)length > reader->end - reader->at) {
		refuse(reader, EBADMSG, "ends in %s", what);
		return NULL;
	}
	if (memchr(reader->bytes + reader->at, 0, (size_t)length)) {
		refuse(reader, EBADMSG, "a zero byte in %s", what);
		return NULL;
	}
	text = strndup((const char *)reader->bytes + reader->at, (size_t)length);
	if (!text)
		refuse(reader, ENOMEM, "no memory for %s", what);
	reader->at += (size_t)length;
	return text;
}

static void get_spread(struct reader *reader, hpm_spread *spread)
{
	long long *bins;

	spread->n = get_in(reader, 0, INT32_MAX, "a spread's number of tasks");
	spread->minimum = get_f64(reader, "a minimum");
	spread->maximum = get_f64(reader, "a maximum");
	spread->deviation = get_f64(reader, "a deviation");
	spread->min_task = get_in(reader, -1, INT32_MAX, "the task of a minimum");
	spread->max_task = get_in(reader, -1, INT32_MAX, "the task of a maximum");
	spread->n_bins = get_count(reader, HPM_ITEMS_BINS_MAX, BIN_BYTES, "the number of bins");
	if (!spread->n_bins)
		return;
	bins = calloc((size_t)spread->n_bins, sizeof(*bins));
	if (!bins) {
		spread->n_bins = 0;
		refuse(reader, ENOMEM, "no memory for bins");
		return;
	}
	spread->bins = bins;
	for (int i = 0; i < spread->n_bins; i++)
		bins[i] = get_i64(reader, "bins");
}

/* One, or n of them, or NULL where there is none. */
static hpm_spread *get_spreads(struct reader *reader, int n)
{
	const int is_there = get_in(reader, 0, 1, "whether there is a spread");
	hpm_spread *spreads;

	if (reader->failed || !is_there)
		return NULL;
	spreads = calloc((size_t)n, sizeof(*spreads));
	if (!spreads)
		refuse(reader, ENOMEM, "no memory for spreads");
	return spreads;
}

static void get_event(struct reader *reader, hpm_event_info *event)
{
	event->name = get_string(reader, "an event's name");
	event->component = get_string(reader, "an event's component");
	event->unit = get_string(reader, "an event's unit");
	event->description = get_string(reader, "an event's description");
	event->reason = get_string(reader, "an event's reason");
	event->value = get_f64(reader, "a value");
	event->enabled_s = get_f64(reader, "an enabled time");
	event->running_s = get_f64(reader, "a running time");
	event->how = get_in(reader, HPM_UNAVAILABLE, HPM_ESTIMATED, "how a value was obtained");
	event->modes = get_in(reader, 0, HPM_MODE_ALL, "an event's modes");
	event->flags = get_in(reader, 0, INT32_MAX, "an event's flags");
	event->spread = get_spreads(reader, 1);
	if (event->spread)
		get_spread(reader, event->spread);
}

static void get_item(struct reader *reader, hpm_data_item *item)
{
	const int n = get_count(reader, HPM_ITEMS_DATA_MAX, EVENT_BYTES, "the number of events");

	item->data = calloc((size_t)n + 1, sizeof(*item->data));
	if (!item->data) {
		refuse(reader, ENOMEM, "no memory for events");
		return;
	}
	item->num_data = n;
	for (int i = 0; !reader->failed && i < n; i++)
		get_event(reader, &item->data[i]);
	for (int i = 0; i < HPM_NTIM; i++)
		item->times[i] = get_f64(reader, "an item's times");
	item->is_mplex_cont = get_in(reader, 0, 1, "is_mplex_cont");
	item->is_rusage = get_in(reader, 0, 1, "is_rusage");
	item->mpi_task_id = get_in(reader, -1, INT32_MAX, "an item's task");
	item->instr_id = get_i32(reader, "instr_id");
	item->count = get_in(reader, 0, INT32_MAX, "a count of calls");
	item->is_exclusive = get_in(reader, 0, 1, "is_exclusive");
	item->xml_element_id = get_i32(reader, "xml_element_id");
	item->description = get_string(reader, "an item's description");
	item->xml_descr = get_string(reader, "an item's description for XML");
	item->label = get_string(reader, "a label");
	item->group = get_string(reader, "a group's name");
	item->file = get_string(reader, "a source file's name");
	item->parent_label = get_string(reader, "a parent's label");
	item->line = get_i32(reader, "a line's number");
	item->parent_id = get_i32(reader, "a parent's number");
	item->thread_id = get_i32(reader, "a thread's number");
	item->process_id = get_i32(reader, "a process's number");
	item->n_tasks = get_in(reader, 0, INT32_MAX, "an item's number of tasks");
	item->tasks = get_string(reader, "a list of tasks");
	item->times_spread = get_spreads(reader, HPM_NTIM);
	for (int i = 0; item->times_spread && !reader->failed && i < HPM_NTIM; i++)
		if (get_in(reader, 1, 1, "whether there is a spread of a time"))
			get_spread(reader, &item->times_spread[i]);
}

static void get_head(struct reader *reader, struct hpm_items *items)
{
	items->task = get_in(reader, -1, INT32_MAX - 1, "the task");
	items->tasks = get_in(reader, 0, INT32_MAX, "the number of tasks");
	if (items->tasks && items->task >= items->tasks)
		refuse(reader, EBADMSG, "task %d of %d", items->task, items->tasks);
	items->process = get_i64(reader, "the process");
	items->exit_status = get_i32(reader, "the exit status");
	items->signal = get_in(reader, 0, 127, "the signal");
	items->started = get_f64(reader, "the start");
	items->stopped = get_f64(reader, "the end");
	items->wall_s = get_f64(reader, "the wall time");
	items->program = get_string(reader, "the program's name");
	items->command = get_string(reader, "the command");
	items->host = get_string(reader, "the host's name");
	items->events = get_string(reader, "the list of events");
	items->notes = get_string(reader, "notes");
}

static void get_items(struct reader *reader, struct hpm_items *items)
{
	const int n = get_count(reader, HPM_ITEMS_MAX, ITEM_BYTES, "the number of items");

	items->item = calloc((size_t)n + 1, sizeof(*items->item));
	if (!items->item)
		refuse(reader, ENOMEM, "no memory for items");
	else
		items->n = n;
	for (int i = 0; !reader->failed && i < items->n; i++)
		get_item(reader, &items->item[i]);
	if (!reader->failed && reader->at != reader->end)
		refuse(reader, EBADMSG, "more after the last item");
}

/* What must hold before lengths can be trusted. Returns the bytes of the whole, or 0. */
static uint64_t get_frame(struct reader *reader)
{
	uint32_t order, version, crc;
	uint64_t whole;

	if (reader->end < 8 || memcmp(reader->bytes, HPM_ITEMS_MAGIC, 8)) {
		refuse(reader, EBADMSG, "these are no HPM items");
		return 0;
	}
	reader->at = 8;
	get(reader, &order, sizeof(order), "the byte order");
	reader->is_swapped = order == __builtin_bswap32(HPM_ITEMS_BYTE_ORDER);
	if (!reader->failed && !reader->is_swapped && order != HPM_ITEMS_BYTE_ORDER)
		refuse(reader, EBADMSG, "no byte order is 0x%08x", order);
	version = (uint32_t)get_i32(reader, "the version");
	if (!reader->failed && version != HPM_ITEMS_VERSION)
		refuse(reader, EBADMSG, "version %u; this Gnomon reads version %u", version,
		       HPM_ITEMS_VERSION);
	whole = (uint64_t)get_i64(reader, "the size");
	if (reader->failed)
		return 0;
	if (whole > HPM_ITEMS_BYTES_MAX || whole < HEAD_BYTES) {
		refuse(reader, EBADMSG, "a size of %llu bytes", (unsigned long long)whole);
		return 0;
	}
	if (whole > reader->end) {
		refuse(reader, EBADMSG, "truncated: %zu of %llu bytes", reader->end,
		       (unsigned long long)whole);
		return 0;
	}
	reader->end = whole;
	reader->at = whole - CHECKSUM_BYTES;
	crc = (uint32_t)get_i32(reader, "the checksum");
	reader->at = 24;
	reader->end = whole - CHECKSUM_BYTES;
	if (crc != crc32_of(reader->bytes, reader->end))
		refuse(reader, EBADMSG, "the checksum is another one: the items were damaged");
	return reader->failed ? 0 : whole;
}

static int read_items(const unsigned char *bytes, size_t size, struct hpm_items *items,
		      int is_head_only, size_t *used, char why[256])
{
	struct reader reader = {.bytes = bytes, .end = size, .why = why};
	uint64_t whole;

	memset(items, 0, sizeof(*items));
	*why = 0;
	whole = get_frame(&reader);
	if (whole)
		get_head(&reader, items);
	if (whole && !is_head_only)
		get_items(&reader, items);
	if (used)
		*used = reader.failed ? reader.at : whole;
	return reader.failed;
}

int hpm_items_read(const unsigned char *bytes, size_t size, struct hpm_items *items, size_t *used,
		   char why[256])
{
	return read_items(bytes, size, items, 0, used, why);
}

int hpm_items_read_head(const unsigned char *bytes, size_t size, struct hpm_items *items,
			size_t *used, char why[256])
{
	return read_items(bytes, size, items, 1, used, why);
}

int hpm_items_load(const char *path, struct hpm_items *items, char why[256])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char *bytes = NULL;
	struct stat is;
	size_t used = 0, whole;
	int failed = 0;

	memset(items, 0, sizeof(*items));
	if (fd < 0 || fstat(fd, &is)) {
		failed = errno;
		snprintf(why, 256, "%s", strerror(failed));
	} else if (!S_ISREG(is.st_mode) || (uint64_t)is.st_size > HPM_ITEMS_BYTES_MAX) {
		failed = EBADMSG;
		snprintf(why, 256, "%s",
			 S_ISREG(is.st_mode) ? "larger than any file of a rank" : "no plain file");
	} else if (!(bytes = malloc((size_t)is.st_size + 1))) {
		failed = ENOMEM;
		snprintf(why, 256, "no memory for it");
	}
	while (!failed && used < (size_t)is.st_size) {
		const ssize_t got = read(fd, bytes + used, (size_t)is.st_size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			failed = errno;
			snprintf(why, 256, "byte %zu: %s", used, strerror(failed));
		}
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	if (!failed)
		failed = hpm_items_read(bytes, used, items, &whole, why);
	if (!failed && whole != used) {
		failed = EBADMSG;
		snprintf(why, 256, "byte %zu: more after the items", whole);
	}
	free(bytes);
	return failed;
}

/* --- release ---------------------------------------------------------------------------------- */

static void release_spreads(hpm_spread *spreads, int n)
{
	for (int i = 0; spreads && i < n; i++)
		free((void *)spreads[i].bins);
	free(spreads);
}

static void release_item(hpm_data_item *item)
{
	for (int i = 0; item->data && i < item->num_data; i++) {
		hpm_event_info *event = &item->data[i];

		free(event->name);
		free(event->component);
		free(event->unit);
		free(event->description);
		free(event->reason);
		release_spreads(event->spread, 1);
	}
	free(item->data);
	free(item->description);
	free(item->xml_descr);
	free(item->label);
	free(item->group);
	free(item->file);
	free(item->parent_label);
	free(item->tasks);
	release_spreads(item->times_spread, HPM_NTIM);
}

void hpm_items_release(struct hpm_items *items)
{
	for (int i = 0; items->item && i < items->n; i++)
		release_item(&items->item[i]);
	free(items->item);
	free(items->program);
	free(items->command);
	free(items->host);
	free(items->events);
	free(items->notes);
	memset(items, 0, sizeof(*items));
}
