/*
 * Reading a file that nobody vouches for: every read is checked against the end, and the first that
 * goes beyond it makes all later ones 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of a file or of what was decompressed from it. */
struct gn_span {
	const uint8_t *data;
	size_t size;
};

struct gn_cursor {
	const uint8_t *next, *end;
	bool is_swapped; /* the file's byte order is not this machine's */
	bool is_bad;	 /* something was read beyond the end */
};

static inline struct gn_cursor gn_cursor_new(struct gn_span span, uint64_t offset, bool is_swapped)
{
	const bool is_inside = offset <= span.size;

	return (struct gn_cursor){.next = span.data + (is_inside ? offset : span.size),
				  .end = span.data + span.size,
				  .is_swapped = is_swapped,
				  .is_bad = !is_inside};
}

static inline size_t gn_left(const struct gn_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->next);
}

static inline void gn_fail(struct gn_cursor *cursor)
{
	cursor->next = cursor->end;
	cursor->is_bad = true;
}

static inline void gn_skip(struct gn_cursor *cursor, uint64_t size)
{
	if (size > gn_left(cursor))
		gn_fail(cursor);
	else
		cursor->next += size;
}

/* An unsigned number of 1, 2, 3, 4 or 8 bytes. */
static inline uint64_t gn_read(struct gn_cursor *cursor, unsigned int size)
{
	uint64_t value = 0;

	if (size > gn_left(cursor)) {
		gn_fail(cursor);
		return 0;
	}
	for (unsigned int i = 0; i < size; i++) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		const unsigned int place = cursor->is_swapped ? size - 1 - i : i;
#else
		const unsigned int place = cursor->is_swapped ? i : size - 1 - i;
#endif
		value |= (uint64_t)cursor->next[i] << (8 * place);
	}
	cursor->next += size;
	return value;
}

static inline uint8_t gn_u8(struct gn_cursor *cursor)
{
	if (cursor->next == cursor->end) {
		cursor->is_bad = true;
		return 0;
	}
	return *cursor->next++;
}

static inline uint16_t gn_u16(struct gn_cursor *cursor)
{
	uint16_t value;

	if (gn_left(cursor) < sizeof(value)) {
		gn_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->next, sizeof(value));
	cursor->next += sizeof(value);
	return cursor->is_swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t gn_u32(struct gn_cursor *cursor)
{
	uint32_t value;

	if (gn_left(cursor) < sizeof(value)) {
		gn_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->next, sizeof(value));
	cursor->next += sizeof(value);
	return cursor->is_swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t gn_u64(struct gn_cursor *cursor)
{
	uint64_t value;

	if (gn_left(cursor) < sizeof(value)) {
		gn_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->next, sizeof(value));
	cursor->next += sizeof(value);
	return cursor->is_swapped ? __builtin_bswap64(value) : value;
}

static inline uint64_t gn_uleb(struct gn_cursor *cursor)
{
	uint64_t value = 0;
	uint8_t byte;

	if (cursor->next < cursor->end && *cursor->next < 0x80)
		return *cursor->next++;
	for (unsigned int shift = 0; cursor->next < cursor->end; shift += 7) {
		byte = *cursor->next++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	cursor->is_bad = true;
	return 0;
}

static inline int64_t gn_sleb(struct gn_cursor *cursor)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; cursor->next < cursor->end;) {
		byte = *cursor->next++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80) {
			if (shift < 64 && byte & 0x40)
				value |= ~(uint64_t)0 << shift;
			return (int64_t)value;
		}
	}
	cursor->is_bad = true;
	return 0;
}

/* A text with its end, or NULL. */
static inline const char *gn_text(struct gn_cursor *cursor)
{
	const uint8_t *begin = cursor->next;
	const uint8_t *zero = gn_left(cursor) ? memchr(begin, 0, gn_left(cursor)) : NULL;

	if (!zero) {
		gn_fail(cursor);
		return NULL;
	}
	cursor->next = zero + 1;
	return (const char *)begin;
}

/* The text at an offset of a table of texts, or NULL. */
static inline const char *gn_text_at(struct gn_span texts, uint64_t offset)
{
	struct gn_cursor cursor = gn_cursor_new(texts, offset, false);

	return gn_text(&cursor);
}
