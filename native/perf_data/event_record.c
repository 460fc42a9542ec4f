#include "event_record.h"

#include <errno.h>

#define BRANCH_WORDS 3u

static unsigned int count(uint64_t bits)
{
	return (unsigned int)__builtin_popcountll(bits);
}

/* Words of a sample before its id, and of other records behind it. */
static unsigned int words_before_id(uint64_t type)
{
	if (type & GN_HAS_IDENTIFIER)
		return 0;
	return count(type & (GN_HAS_IP | GN_HAS_TID | GN_HAS_TIME | GN_HAS_ADDR));
}

static unsigned int words_behind_id(uint64_t type)
{
	if (type & GN_HAS_IDENTIFIER)
		return 0;
	return count(type & (GN_HAS_STREAM_ID | GN_HAS_CPU));
}

/* The word at a place behind the header; from the end for records that are no samples. */
static int word_of(const uint8_t *record, const struct gn_perf_header *header, bool swaps,
		   uint64_t before, uint64_t behind, uint64_t *word)
{
	const bool is_sample = header->type == GN_RECORD_SAMPLE;
	const uint64_t needed = GN_RECORD_HEADER_BYTES + 8 * ((is_sample ? before : behind) + 1);

	if (header->size < needed)
		return -EBADMSG;
	*word = gn_field_64(
		is_sample ? record + needed - 8 : record + header->size - 8 * (behind + 1), swaps);
	return 0;
}

int gn_record_event(const struct gn_event_attrs *attrs, const uint8_t *record,
		    const struct gn_perf_header *header, uint32_t *event)
{
	const struct gn_event_attr *first = gn_event_attr(attrs, 0);
	const struct gn_event_id *found;
	uint64_t id;
	int failed;

	*event = 0;
	if (attrs->attr.n == 1 ||
	    (header->type != GN_RECORD_SAMPLE && !(first->flags & GN_ATTR_SAMPLE_ID_ALL)) ||
	    !(first->sample_type & (GN_HAS_ID | GN_HAS_IDENTIFIER)))
		return 0;
	failed = word_of(record, header, attrs->swaps, words_before_id(first->sample_type),
			 words_behind_id(first->sample_type), &id);
	if (failed)
		return failed;
	/* What perf writes down for the kernel has none. */
	if (!id)
		return 0;
	found = gn_event_id(attrs, id);
	*event = found ? found->attr : GN_NO_NUMBER;
	return 0;
}

int gn_record_time(const struct gn_event_attr *attr, const uint8_t *record,
		   const struct gn_perf_header *header, bool swaps, uint64_t *time)
{
	const uint64_t type = attr->sample_type;

	*time = 0;
	if (!(type & GN_HAS_TIME) ||
	    (header->type != GN_RECORD_SAMPLE && !(attr->flags & GN_ATTR_SAMPLE_ID_ALL)))
		return 0;
	return word_of(
		record, header, swaps, count(type & (GN_HAS_IDENTIFIER | GN_HAS_IP | GN_HAS_TID)),
		count(type & (GN_HAS_ID | GN_HAS_STREAM_ID | GN_HAS_CPU | GN_HAS_IDENTIFIER)),
		time);
}

static void read_identity(struct gn_file_sample *sample, uint64_t type, struct gn_fields *fields)
{
	if (type & GN_HAS_IDENTIFIER)
		sample->id = gn_fields_64(fields);
	if (type & GN_HAS_IP)
		sample->ip = gn_fields_64(fields);
	if (type & GN_HAS_TID) {
		sample->pid = (int32_t)gn_fields_32(fields);
		sample->tid = (int32_t)gn_fields_32(fields);
	}
	if (type & GN_HAS_TIME)
		sample->time = gn_fields_64(fields);
	if (type & GN_HAS_ADDR)
		sample->address = gn_fields_64(fields);
	if (type & GN_HAS_ID)
		sample->id = gn_fields_64(fields);
	if (type & GN_HAS_STREAM_ID)
		gn_fields_64(fields);
	if (type & GN_HAS_CPU) {
		sample->cpu = gn_fields_32(fields);
		gn_fields_32(fields);
	}
	sample->has_period = type & GN_HAS_PERIOD;
	if (sample->has_period)
		sample->period = gn_fields_64(fields);
}

static void read_values(struct gn_file_sample *sample, uint64_t format, struct gn_fields *fields)
{
	const unsigned int times = count(format & (GN_FORMAT_ENABLED | GN_FORMAT_RUNNING));
	const uint64_t more = count(format & (GN_FORMAT_ID | GN_FORMAT_LOST));

	sample->n_values = 1;
	sample->value_words = (uint32_t)(1 + more);
	if (format & GN_FORMAT_GROUP) {
		sample->n_values = gn_fields_64(fields);
		gn_fields_words(fields, times);
		if (sample->n_values > fields->n)
			fields->is_short = true;
		else
			sample->value =
				gn_fields_words(fields, sample->n_values * sample->value_words);
	} else {
		/* The times stand between the value and its id. */
		sample->value = fields->next;
		sample->value_words += times;
		gn_fields_words(fields, sample->value_words);
	}
	if (fields->is_short)
		sample->n_values = 0;
}

static void read_branches(struct gn_file_sample *sample, uint64_t branch_type,
			  struct gn_fields *fields)
{
	sample->n_branches = gn_fields_64(fields);
	if (branch_type & GN_BRANCH_HW_INDEX)
		gn_fields_64(fields);
	if (sample->n_branches > fields->n)
		fields->is_short = true;
	sample->branch = gn_fields_words(fields, BRANCH_WORDS * sample->n_branches);
	if (branch_type & GN_BRANCH_COUNTERS)
		gn_fields_words(fields, sample->n_branches);
}

static void read_raw(struct gn_fields *fields)
{
	const uint32_t bytes = gn_fields_32(fields);

	gn_fields_take(fields, bytes);
}

static void read_stack(struct gn_file_sample *sample, struct gn_fields *fields)
{
	const uint64_t bytes = gn_fields_64(fields);

	if (!bytes)
		return;
	sample->stack = gn_fields_take(fields, bytes);
	sample->stack_bytes = gn_fields_64(fields);
	if (sample->stack_bytes > bytes)
		fields->is_short = true;
}

static void read_access(struct gn_file_sample *sample, uint64_t type, struct gn_fields *fields)
{
	if (type & GN_HAS_WEIGHT)
		sample->latency = gn_fields_64(fields);
	else if (type & GN_HAS_WEIGHT_STRUCT)
		sample->latency = gn_fields_64(fields) & UINT32_MAX;
	if (type & GN_HAS_DATA_SRC)
		sample->data_source = gn_fields_64(fields);
}

int gn_file_sample_read(struct gn_file_sample *sample, const struct gn_event_attr *attr,
			const uint8_t *record, const struct gn_perf_header *header, bool swaps)
{
	const uint64_t type = attr->sample_type;
	struct gn_fields fields = {record + GN_RECORD_HEADER_BYTES,
				   header->size - GN_RECORD_HEADER_BYTES, swaps, false};

	memset(sample, 0, sizeof(*sample));
	sample->pid = sample->tid = -1;
	read_identity(sample, type, &fields);
	if (type & GN_HAS_READ)
		read_values(sample, attr->read_format, &fields);
	if (type & GN_HAS_CALLCHAIN) {
		sample->has_chain = true;
		sample->n_chain = gn_fields_64(&fields);
		sample->chain = gn_fields_words(&fields, sample->n_chain);
	}
	if (type & GN_HAS_RAW)
		read_raw(&fields);
	if (type & GN_HAS_BRANCH_STACK)
		read_branches(sample, attr->branch_type, &fields);
	if (type & GN_HAS_REGS_USER) {
		sample->registers_abi = gn_fields_64(&fields);
		if (sample->registers_abi)
			sample->registers = gn_fields_words(&fields, count(attr->user_registers));
	}
	if (type & GN_HAS_STACK_USER)
		read_stack(sample, &fields);
	read_access(sample, type, &fields);
	/* What comes behind that is not looked at: transactions, registers at the interrupt,
	 * physical addresses, cgroups, page sizes, AUX. */
	return fields.is_short ? -EBADMSG : 0;
}
