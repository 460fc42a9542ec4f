/* A record of the kernel as words of 8 bytes, read one after the other. */
#ifndef GNOMON_SAMPLING_RECORD_WORDS_H
#define GNOMON_SAMPLING_RECORD_WORDS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* `n` of them are left; `is_short` once more were asked for. */
struct gn_words {
	const uint64_t *next;
	size_t n;
	int is_short;
};

/* Those behind a record's header. */
static inline struct gn_words gn_words_of(const struct perf_event_header *header)
{
	return (struct gn_words){(const uint64_t *)(header + 1),
				 (header->size - sizeof(*header)) / sizeof(uint64_t), 0};
}

static inline const uint64_t *gn_words_take(struct gn_words *words, uint64_t n)
{
	const uint64_t *taken = words->next;

	if (words->is_short || n > words->n) {
		words->is_short = 1;
		return NULL;
	}
	words->next += n;
	words->n -= n;
	return taken;
}

static inline uint64_t gn_words_take_one(struct gn_words *words)
{
	const uint64_t *taken = gn_words_take(words, 1);

	return taken ? *taken : 0;
}

/* The two halves of a word, in the order in which they lie. */
static inline void gn_words_take_two(struct gn_words *words, uint32_t half[2])
{
	const uint64_t word = gn_words_take_one(words);

	memcpy(half, &word, sizeof(word));
}

#endif
