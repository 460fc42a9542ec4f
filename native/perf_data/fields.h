/* A record of a file as fields in the file's byte order, read one after the other. */
#ifndef GNOMON_PERF_DATA_FIELDS_H
#define GNOMON_PERF_DATA_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* `n` bytes are left; `is_short` once more were asked for. `swaps`: the other byte order. */
struct gn_fields {
	const uint8_t *next;
	uint64_t n;
	bool swaps;
	bool is_short;
};

static inline uint64_t gn_field_64(const uint8_t *at, bool swaps)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return swaps ? __builtin_bswap64(value) : value;
}

static inline uint32_t gn_field_32(const uint8_t *at, bool swaps)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return swaps ? __builtin_bswap32(value) : value;
}

static inline uint16_t gn_field_16(const uint8_t *at, bool swaps)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return swaps ? __builtin_bswap16(value) : value;
}

/* NULL: there are not as many. */
static inline const uint8_t *gn_fields_take(struct gn_fields *fields, uint64_t n)
{
	const uint8_t *taken = fields->next;

	if (fields->is_short || n > fields->n) {
		fields->is_short = true;
		return NULL;
	}
	fields->next += n;
	fields->n -= n;
	return taken;
}

/* As many words of 8 bytes. */
static inline const uint8_t *gn_fields_words(struct gn_fields *fields, uint64_t n)
{
	/* What a record has no room for would overflow when it is multiplied. */
	if (n > fields->n / 8)
		fields->is_short = true;
	return fields->is_short ? NULL : gn_fields_take(fields, 8 * n);
}

static inline uint64_t gn_fields_64(struct gn_fields *fields)
{
	const uint8_t *taken = gn_fields_take(fields, 8);

	return taken ? gn_field_64(taken, fields->swaps) : 0;
}

static inline uint32_t gn_fields_32(struct gn_fields *fields)
{
	const uint8_t *taken = gn_fields_take(fields, 4);

	return taken ? gn_field_32(taken, fields->swaps) : 0;
}

#endif
