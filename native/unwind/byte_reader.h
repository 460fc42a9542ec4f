/* Numbers out of bytes that may be anything: a reader that fails once gives zeros from then on. */
#ifndef GN_BYTE_READER_H
#define GN_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gn_reader {
	const uint8_t *bytes;
	uint64_t at;
	uint64_t end;
	bool failed;
};

static inline struct gn_reader gn_reader_of(const void *bytes, uint64_t at, uint64_t end)
{
	return (struct gn_reader){(const uint8_t *)bytes, at, end, at > end};
}

static inline void gn_read_bytes(struct gn_reader *reader, void *to, uint64_t n)
{
	if (reader->failed || n > reader->end - reader->at) {
		reader->failed = true;
		memset(to, 0, n);
		return;
	}
	memcpy(to, reader->bytes + reader->at, n);
	reader->at += n;
}

static inline void gn_skip(struct gn_reader *reader, uint64_t n)
{
	if (reader->failed || n > reader->end - reader->at)
		reader->failed = true;
	else
		reader->at += n;
}

#define GN_DEFINE_READ(type, name)                                                                 \
	static inline type name(struct gn_reader *reader)                                          \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		gn_read_bytes(reader, &value, sizeof(value));                                      \
		return value;                                                                      \
	}

GN_DEFINE_READ(uint8_t, gn_read_u8)
GN_DEFINE_READ(uint16_t, gn_read_u16)
GN_DEFINE_READ(uint32_t, gn_read_u32)
GN_DEFINE_READ(uint64_t, gn_read_u64)

/* LEB128; bits beyond 64 are dropped. */
static inline uint64_t gn_read_leb(struct gn_reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = gn_read_u8(reader);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~(uint64_t)0 << shift;
	return value;
}

static inline uint64_t gn_read_uleb(struct gn_reader *reader)
{
	return gn_read_leb(reader, false);
}

static inline int64_t gn_read_sleb(struct gn_reader *reader)
{
	return (int64_t)gn_read_leb(reader, true);
}

#endif
