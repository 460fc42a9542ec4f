#include "python_text.h"

/* PyASCIIObject: the same in all versions. */
#define TEXT_LENGTH_AT 16
#define TEXT_STATE_AT 32

static size_t utf8(char *to, uint32_t character)
{
	if (character < 0x80) {
		to[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		to[0] = (char)(0xc0 | character >> 6);
		to[1] = (char)(0x80 | (character & 63));
		return 2;
	}
	if (character < 0x10000) {
		to[0] = (char)(0xe0 | character >> 12);
		to[1] = (char)(0x80 | (character >> 6 & 63));
		to[2] = (char)(0x80 | (character & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (character >> 18 & 7));
	to[1] = (char)(0x80 | (character >> 12 & 63));
	to[2] = (char)(0x80 | (character >> 6 & 63));
	to[3] = (char)(0x80 | (character & 63));
	return 4;
}

size_t gn_python_text(const struct gn_python_layout *layout, struct gn_probe *probe, uintptr_t text,
		      char *to, size_t size)
{
	size_t length, used = 0;
	uint32_t state, width;
	uintptr_t at;

	if (!gn_probe(probe, text, layout->other_text))
		return 0;
	length = gn_word_at(text + TEXT_LENGTH_AT);
	state = (uint32_t)gn_int_at(text + TEXT_STATE_AT);
	/* interned 2 bits, kind 3, compact 1, ascii 1 */
	width = state >> 2 & 7;
	if (!(state >> 5 & 1) || (width != 1 && width != 2 && width != 4))
		return 0;
	at = text + (state >> 6 & 1 ? layout->ascii_text : layout->other_text);
	for (size_t i = 0; i < length && used + 4 <= size; i++, at += width) {
		uint32_t character = 0;

		if (!gn_probe(probe, at, width))
			return 0;
		memcpy(&character, (const void *)at, width); /* little-endian, as all we run on */
		used += utf8(to + used, character);
	}
	return used;
}
