/* Numbers for tests that try whatever comes: the same at every run. */
#ifndef GNOMON_TESTS_RANDOM_H
#define GNOMON_TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Source: Marsaglia, "Xorshift RNGs", 2003. */
static uint32_t random_state = 2463534242u;

static inline uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % limit;
}

/* One of the words of a text, which are separated by blanks; its length in *length. */
static inline const char *random_word(const char *words, size_t *length)
{
	uint32_t n = 1;

	for (const char *at = words; *at; at++)
		n += *at == ' ';
	for (n = random_below(n); n; n--)
		words = strchr(words, ' ') + 1;
	*length = strcspn(words, " ");
	return words;
}

/* Up to `most` words, put together to a text[size]; now and then a byte of any kind is among them.
 */
static inline void random_text(char *text, size_t size, const char *words, uint32_t most)
{
	size_t at = 0;

	for (uint32_t n = random_below(most + 1); n; n--) {
		size_t length;
		const char *word = random_word(words, &length);
		char any;

		if (!random_below(20)) {
			any = (char)(1 + random_below(255));
			word = &any;
			length = 1;
		}
		if (at + length >= size)
			break;
		memcpy(text + at, word, length);
		at += length;
	}
	text[at] = '\0';
}

#endif
