#include "gmon_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HISTOGRAM,
	ARC,
	BLOCKS,
	HEADER_BYTES = 20,
	HEADER_REST_BYTES = 12,
	USUAL_RATE = 100, /* samples per second of BSD's old form, which does not say it */
};

static const char MAGIC[4] = "gmon";
static const char WITHIN_RECORD[] = "it ends within a record";

struct reader {
	const uint8_t *content;
	size_t size, offset;
	struct gn_gmon *gmon;
	struct gn_gmon_problem *problem;
};

static uint64_t number_at(const uint8_t *from, size_t size, bool is_big)
{
	uint64_t wide;
	uint32_t narrow;
	uint16_t bin;

	if (size == sizeof(wide)) {
		memcpy(&wide, from, sizeof(wide));
		return is_big ? be64toh(wide) : le64toh(wide);
	}
	if (size == sizeof(narrow)) {
		memcpy(&narrow, from, sizeof(narrow));
		return is_big ? be32toh(narrow) : le32toh(narrow);
	}
	memcpy(&bin, from, sizeof(bin));
	return is_big ? be16toh(bin) : le16toh(bin);
}

static int __attribute__((format(printf, 3, 4))) fail(struct reader *reader, size_t offset,
						      const char *what, ...)
{
	va_list arguments;

	va_start(arguments, what);
	vsnprintf(reader->problem->text, sizeof(reader->problem->text), what, arguments);
	va_end(arguments);
	reader->problem->offset = offset;
	return -EBADMSG;
}

static size_t left(const struct reader *reader)
{
	return reader->size - reader->offset;
}

static int read_number(struct reader *reader, size_t size, uint64_t *number)
{
	*number = 0;
	if (left(reader) < size)
		return fail(reader, reader->size, WITHIN_RECORD);
	*number = number_at(reader->content + reader->offset, size, reader->gmon->layout.is_big);
	reader->offset += size;
	return 0;
}

/* `to` has room for a zero more. */
static int read_text(struct reader *reader, size_t size, char *to)
{
	if (left(reader) < size)
		return fail(reader, reader->size, WITHIN_RECORD);
	if (to) {
		memcpy(to, reader->content + reader->offset, size);
		to[size] = '\0';
	}
	reader->offset += size;
	return 0;
}

static size_t address_bytes(const struct reader *reader)
{
	return reader->gmon->layout.is_wide ? 8 : 4;
}

int gn_counts_reserve(struct gn_counts *counts, uint32_t n, bool has_callees)
{
	uint64_t *callers, *callees;
	uint64_t room = (uint64_t)counts->n + n;
	int64_t *numbers;

	if (room <= counts->room)
		return 0;
	if (room < counts->n + (uint64_t)counts->n / 2)
		room = counts->n + (uint64_t)counts->n / 2;
	if (room >= UINT32_MAX)
		return -ENOMEM;
	callers = realloc(counts->callers, room * sizeof(*callers));
	if (!callers)
		return -ENOMEM;
	counts->callers = callers;
	if (has_callees) {
		callees = realloc(counts->callees, room * sizeof(*callees));
		if (!callees)
			return -ENOMEM;
		counts->callees = callees;
	}
	numbers = realloc(counts->counts, room * sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	counts->counts = numbers;
	counts->room = (uint32_t)room;
	return 0;
}

static int read_bins(struct reader *reader, size_t begin, struct gn_histogram *histogram)
{
	const uint32_t n = histogram->n_bins;
	const uint8_t *from = reader->content + reader->offset;

	if (histogram->low > histogram->high || (n && histogram->low == histogram->high))
		return fail(reader, begin, "a histogram from address 0x%" PRIx64 " to 0x%" PRIx64,
			    histogram->low, histogram->high);
	if (!histogram->rate)
		return fail(reader, begin, "a histogram of 0 samples a second");
	if (2 * (uint64_t)n > left(reader))
		return fail(reader, begin,
			    "a histogram of %" PRIu32 " bins, which is longer than the file", n);
	histogram->bins = malloc((n ? n : 1) * sizeof(*histogram->bins));
	if (!histogram->bins)
		return -ENOMEM;
	if (reader->gmon->layout.is_big)
		for (uint32_t i = 0; i < n; i++)
			histogram->bins[i] = (uint32_t)number_at(from + 2 * (size_t)i, 2, true);
	else
		for (uint32_t i = 0; i < n; i++)
			histogram->bins[i] = (uint32_t)number_at(from + 2 * (size_t)i, 2, false);
	reader->offset += 2 * (size_t)n;
	return 0;
}

static struct gn_histogram *new_histogram(struct gn_gmon *gmon)
{
	struct gn_histogram *histograms = gn_with_room(gmon->histograms, gmon->n_histograms,
						       &gmon->histogram_room, sizeof(*histograms));

	if (!histograms)
		return NULL;
	gmon->histograms = histograms;
	histograms[gmon->n_histograms] = (struct gn_histogram){0};
	return &histograms[gmon->n_histograms++];
}

static int read_histogram(struct reader *reader)
{
	struct gn_histogram *histogram = new_histogram(reader->gmon);
	const size_t begin = reader->offset, size = address_bytes(reader);
	uint64_t n, rate;
	int failed;

	if (!histogram)
		return -ENOMEM;
	if ((failed = read_number(reader, size, &histogram->low)) ||
	    (failed = read_number(reader, size, &histogram->high)) ||
	    (failed = read_number(reader, 4, &n)) || (failed = read_number(reader, 4, &rate)) ||
	    (failed = read_text(reader, GN_GMON_UNIT_BYTES, histogram->unit)) ||
	    (failed = read_text(reader, 1, histogram->letter)))
		return failed;
	histogram->n_bins = (uint32_t)n;
	histogram->rate = (uint32_t)rate;
	return read_bins(reader, begin, histogram);
}

/* Read arcs that stand one behind the other, which nearly all do. */
static int read_arcs(struct reader *reader)
{
	struct gn_counts *arcs = &reader->gmon->arcs;
	const size_t size = address_bytes(reader), record = 2 * size + 5;
	const bool is_big = reader->gmon->layout.is_big;
	const uint8_t *from = reader->content + reader->offset;
	size_t n = 0;

	while ((n + 1) * record <= left(reader) && from[n * record] == ARC)
		n++;
	if (n >= UINT32_MAX || gn_counts_reserve(arcs, (uint32_t)n, true) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++, from += record) {
		arcs->callers[arcs->n] = number_at(from + 1, size, is_big);
		arcs->callees[arcs->n] = number_at(from + 1 + size, size, is_big);
		arcs->counts[arcs->n++] = (int64_t)number_at(from + 1 + 2 * size, 4, is_big);
	}
	reader->offset += n * record;
	if (left(reader) && *from == ARC)
		return fail(reader, reader->offset, "it ends within an arc");
	return 0;
}

static int read_blocks(struct reader *reader)
{
	struct gn_counts *blocks = &reader->gmon->blocks;
	const size_t begin = reader->offset, size = address_bytes(reader);
	uint64_t n, address, count;
	int failed = read_number(reader, 4, &n);

	if (failed)
		return failed;
	if (n * 2 * size > left(reader))
		return fail(reader, begin,
			    "counts of %" PRIu64 " basic blocks, which are longer than the file",
			    n);
	if (gn_counts_reserve(blocks, (uint32_t)n, false) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < n && !failed; i++) {
		failed = read_number(reader, size, &address);
		if (!failed)
			failed = read_number(reader, size, &count);
		if (failed)
			break;
		blocks->callers[blocks->n] = address;
		blocks->counts[blocks->n++] = (int64_t)count;
	}
	return failed;
}

static int skip_text(struct reader *reader)
{
	const uint8_t *from = reader->content + reader->offset;
	const uint8_t *end = left(reader) ? memchr(from, '\0', left(reader)) : NULL;

	if (!end)
		return fail(reader, reader->offset, "a name without an end");
	reader->offset += (size_t)(end - from) + 1;
	return 0;
}

/* Counts of version 0, which name the file, function and line of each, too. */
static int read_old_blocks(struct reader *reader)
{
	struct gn_counts *blocks = &reader->gmon->blocks;
	const size_t size = address_bytes(reader);
	uint64_t n, count, address, line;
	int failed;

	if ((failed = read_number(reader, 4, &n)) || (failed = skip_text(reader)))
		return failed;
	for (uint64_t i = 0; i < n; i++) {
		if ((failed = read_number(reader, size, &count)) ||
		    (failed = read_number(reader, size, &address)) ||
		    (failed = skip_text(reader)) || (failed = skip_text(reader)) ||
		    (failed = read_number(reader, 4, &line)))
			return failed;
		if (gn_counts_reserve(blocks, 1, false) < 0)
			return -ENOMEM;
		blocks->callers[blocks->n] = address;
		blocks->counts[blocks->n++] = (int64_t)(count & INT64_MAX);
	}
	return 0;
}

static int read_gnu(struct reader *reader)
{
	uint64_t version;
	int failed;

	reader->gmon->says_rate = true;
	reader->offset = sizeof(MAGIC);
	if ((failed = read_number(reader, 4, &version)) ||
	    (failed = read_text(reader, HEADER_REST_BYTES, NULL)))
		return failed;
	while (left(reader) && !failed) {
		const uint8_t kind = reader->content[reader->offset];

		if (kind == ARC) {
			failed = read_arcs(reader);
			continue;
		}
		if (kind > BLOCKS)
			return fail(reader, reader->offset,
				    "a record of kind %u, which there is not", kind);
		reader->offset++;
		if (kind == HISTOGRAM)
			failed = read_histogram(reader);
		else
			failed = version ? read_blocks(reader) : read_old_blocks(reader);
	}
	return failed;
}

static int read_bsd_arcs(struct reader *reader)
{
	struct gn_counts *arcs = &reader->gmon->arcs;
	const size_t size = address_bytes(reader), begin = reader->offset;
	const size_t rest = left(reader) % (3 * size), n = left(reader) / (3 * size);
	uint64_t caller, callee, count;

	if (rest)
		return fail(reader, reader->size - rest, "it ends within an arc");
	if (n >= UINT32_MAX || gn_counts_reserve(arcs, (uint32_t)n, true) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (read_number(reader, size, &caller) || read_number(reader, size, &callee) ||
		    read_number(reader, size, &count))
			return -EBADMSG;
		if (count >> 63)
			return fail(reader, begin, "a count of calls below 0");
		arcs->callers[arcs->n] = caller;
		arcs->callees[arcs->n] = callee;
		arcs->counts[arcs->n++] = (int64_t)count;
	}
	return 0;
}

static int read_bsd(struct reader *reader)
{
	struct gn_histogram *histogram = new_histogram(reader->gmon);
	const size_t size = address_bytes(reader);
	uint64_t n_bytes, version = 0, rate = USUAL_RATE;
	size_t begin;
	int failed;

	if (!histogram)
		return -ENOMEM;
	strcpy(histogram->unit, "seconds");
	strcpy(histogram->letter, "s");
	if ((failed = read_number(reader, size, &histogram->low)) ||
	    (failed = read_number(reader, size, &histogram->high)) ||
	    (failed = read_number(reader, 4, &n_bytes)))
		return failed;
	begin = reader->offset;
	if (left(reader) >= 8 + HEADER_REST_BYTES)
		failed = read_number(reader, 4, &version);
	if (!failed && version == GN_BSD44_VERSION) {
		reader->gmon->says_rate = true;
		if ((failed = read_number(reader, 4, &rate)) ||
		    (failed = read_text(reader, HEADER_REST_BYTES, NULL)))
			return failed;
	} else {
		reader->offset = begin;
	}
	if (n_bytes < reader->offset || n_bytes % 2)
		return fail(reader, begin - 4, "a header that tells of %" PRIu64 " bytes", n_bytes);
	histogram->n_bins = (uint32_t)((n_bytes - reader->offset) / 2);
	histogram->rate = (uint32_t)rate;
	failed = read_bins(reader, 0, histogram);
	return failed ? failed : read_bsd_arcs(reader);
}

static bool is_gnu(const void *content, size_t size)
{
	return size >= sizeof(MAGIC) && !memcmp(content, MAGIC, sizeof(MAGIC));
}

/* Whether the bytes at some place, as many as there are, make a version of GNU's form. */
static bool is_gnu_version(const uint8_t *content, size_t size, bool is_big)
{
	uint32_t version = 0;

	for (size_t i = 4; i < 8 && i < size; i++)
		version = is_big ? version << 8 | content[i]
				 : version | (uint32_t)content[i] << (8 * (i - 4));
	return version <= 1;
}

bool gn_is_gmon(const void *start, size_t size)
{
	const uint8_t *content = start;

	if (is_gnu(content, size))
		return is_gnu_version(content, size, false) || is_gnu_version(content, size, true);
	for (size_t offset = 12; offset <= 20; offset += 8)
		if (size >= offset + 4 &&
		    (number_at(content + offset, 4, false) == GN_BSD44_VERSION ||
		     number_at(content + offset, 4, true) == GN_BSD44_VERSION))
			return true;
	return false;
}

/* Read a file as one of a layout. */
static int read_so(struct gn_gmon *gmon, const uint8_t *content, size_t size,
		   struct gn_gmon_layout layout, struct gn_gmon_problem *problem)
{
	struct reader reader = {.content = content, .size = size, .gmon = gmon, .problem = problem};

	*gmon = (struct gn_gmon){.layout = layout};
	return is_gnu(content, size) ? read_gnu(&reader) : read_bsd(&reader);
}

static int refuse(struct gn_gmon_problem *problem, size_t offset, const char *what)
{
	problem->offset = offset;
	snprintf(problem->text, sizeof(problem->text), "%s", what);
	return -EBADMSG;
}

int gn_gmon_read(struct gn_gmon *gmon, const void *content, size_t size,
		 const struct gn_gmon_layout *layout, struct gn_gmon_problem *problem)
{
	static const struct gn_gmon_layout layouts[] = {
		{true, false}, {false, false}, {true, true}, {false, true}};
	struct gn_gmon_problem nonsense = {0};
	bool is_possible[] = {true, true};
	int failed = -EBADMSG;

	*gmon = (struct gn_gmon){0};
	*problem = (struct gn_gmon_problem){0};
	if (!size)
		return refuse(problem, 0, "the file is empty: the program wrote no profile");
	if (is_gnu(content, size)) {
		is_possible[false] = is_gnu_version(content, size, false);
		is_possible[true] = is_gnu_version(content, size, true);
		if (!is_possible[false] && !is_possible[true]) {
			if (size >= HEADER_BYTES)
				return refuse(problem, 4, "its version is neither 0 nor 1");
			is_possible[false] = is_possible[true] = true;
		}
		if (layout && !is_possible[layout->is_big])
			return refuse(problem, 4,
				      "its byte order is not the program's: name the program that "
				      "wrote it");
	}
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (!is_possible[layouts[i].is_big] ||
		    (layout && (layout->is_wide != layouts[i].is_wide ||
				layout->is_big != layouts[i].is_big)))
			continue;
		failed = read_so(gmon, content, size, layouts[i], &nonsense);
		if (!failed)
			return 0;
		gn_gmon_free(gmon);
		if (failed != -EBADMSG)
			return failed;
		/* The one that makes most sense of it says what is wrong. */
		if (!*problem->text || nonsense.offset > problem->offset)
			*problem = nonsense;
	}
	return failed;
}

uint64_t gn_samples_of(const struct gn_histogram *histogram)
{
	uint64_t samples = 0;

	for (uint32_t bin = 0; bin < histogram->n_bins; bin++)
		samples += histogram->bins[bin];
	return samples;
}

void gn_gmon_free(struct gn_gmon *gmon)
{
	struct gn_counts *counts[] = {&gmon->arcs, &gmon->blocks};

	for (uint32_t i = 0; i < gmon->n_histograms; i++)
		free(gmon->histograms[i].bins);
	free(gmon->histograms);
	for (size_t i = 0; i < 2; i++) {
		free(counts[i]->callers);
		free(counts[i]->callees);
		free(counts[i]->counts);
		gn_slots_free(&counts[i]->slots);
	}
	*gmon = (struct gn_gmon){0};
}
