#include "event_attr.h"

#include <errno.h>

#include "fields.h"

/* PERF_ATTR_SIZE_VER0, 64, is the least; later ones have more behind it. */
#define LEAST_BYTES 64u
#define BRANCH_TYPE_AT 72u
#define USER_REGISTERS_AT 80u
#define INTERRUPT_REGISTERS_AT 96u
#define ATTRS_MAX 0xffffu

/* Bit fields begin with the lowest bit on one kind of machines, with the highest one on others. */
static uint64_t flags_of(uint64_t flags, bool swaps)
{
	uint64_t turned = 0;
	const uint16_t one = 1;
	const bool is_little = *(const uint8_t *)&one;

	/* A file of the other byte order was written on a machine of the other kind. */
	if (!swaps || !is_little)
		return flags;
	for (unsigned int i = 0; i < 64; i++)
		turned |= (flags >> i & 1) << (63 - i);
	return turned;
}

static uint64_t later(const uint8_t *bytes, uint64_t n, uint64_t at, bool swaps)
{
	return n >= at + 8 ? gn_field_64(bytes + at, swaps) : 0;
}

int gn_event_attr_add(struct gn_event_attrs *attrs, const uint8_t *bytes, uint64_t n)
{
	const bool swaps = attrs->swaps;
	struct gn_event_attr *attr;
	uint64_t size;

	if (n < LEAST_BYTES || attrs->attr.n == ATTRS_MAX)
		return -EBADMSG;
	/* The first kernels left it 0. */
	size = gn_field_32(bytes + 4, swaps);
	if (size && size < n)
		n = size < LEAST_BYTES ? LEAST_BYTES : size;
	attr = gn_rows_add(&attrs->attr, sizeof(*attr));
	if (!attr)
		return -ENOMEM;
	attr->type = gn_field_32(bytes, swaps);
	attr->config = gn_field_64(bytes + 8, swaps);
	attr->sample_period = gn_field_64(bytes + 16, swaps);
	attr->sample_type = gn_field_64(bytes + 24, swaps);
	attr->read_format = gn_field_64(bytes + 32, swaps);
	attr->flags = flags_of(gn_field_64(bytes + 40, swaps), swaps);
	attr->branch_type = later(bytes, n, BRANCH_TYPE_AT, swaps);
	attr->user_registers = later(bytes, n, USER_REGISTERS_AT, swaps);
	attr->interrupt_registers = later(bytes, n, INTERRUPT_REGISTERS_AT, swaps);
	return attr->sample_type & ~(uint64_t)GN_HAS_KNOWN ? -ENOTSUP : 0;
}

int gn_event_id_add(struct gn_event_attrs *attrs, uint64_t id)
{
	struct gn_event_id *row;
	struct gn_event_attr *attr;

	if (!attrs->attr.n)
		return 0;
	attr = gn_event_attr(attrs, (uint32_t)attrs->attr.n - 1);
	if (!attr->n_ids++)
		attr->first_id = id;
	row = gn_rows_add(&attrs->id, sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->id = id;
	row->attr = (uint32_t)attrs->attr.n - 1;
	return gn_number_put(&attrs->ids, id, (uint32_t)attrs->id.n - 1);
}

void gn_event_attrs_free(struct gn_event_attrs *attrs)
{
	gn_rows_free(&attrs->attr);
	gn_rows_free(&attrs->id);
	gn_number_map_free(&attrs->ids);
}

struct gn_event_id *gn_event_id(const struct gn_event_attrs *attrs, uint64_t id)
{
	const uint32_t number = gn_number_of(&attrs->ids, id);

	return number == GN_NO_NUMBER ? NULL : (struct gn_event_id *)attrs->id.row + number;
}
