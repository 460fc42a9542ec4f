/*
 * Counts without what measuring itself counted, as calibrate.c has found it: taken away once for
 * each start and stop when the output is written, and never more than there is.
 */
#include <string.h>

#include "section_engine.h"

/* How many starts and stops of a kind were in the time of a section, beside its own. */
static double calls_in(const struct hpm_raw *raw, const uint64_t *words, int kind,
		       const struct hpm_raw_slot *slot, uint64_t count)
{
	const uint64_t calls = words[hpm_raw_calls_word(raw->header->n_words, kind)];
	const uint64_t own = (int)slot->kind == kind ? count : 0;

	return calls > own && !(calls >> 63) ? (double)(calls - own) : 0;
}

static double cost_of(const struct hpm_raw *raw, const struct hpm_raw_slot *slot,
		      const uint64_t *words, uint64_t count, int is_exclusive, uint32_t w)
{
	double cost = (double)count * (double)hpm_raw_cost(raw, (int)slot->kind, 0)[w];

	for (int kind = 0; kind < HPM_KINDS; kind++) {
		const double own = (double)hpm_raw_cost(raw, kind, 0)[w];
		const double pair = (double)hpm_raw_cost(raw, kind, 1)[w];
		const double calls = calls_in(raw, words, kind, slot, count);

		/* Of a part, what is between its own two reads is no part of exclusive values. */
		cost += calls * (is_exclusive ? (pair > own ? pair - own : 0) : pair / 2);
	}
	return cost;
}

void hpm_net_words(const struct hpm_raw *raw, const struct hpm_raw_slot *slot,
		   const struct hpm_raw_copy *copy, int is_exclusive, uint64_t *net,
		   unsigned char *is_net)
{
	const uint32_t n = raw->header->n_words;
	const uint64_t *words = copy->word + (is_exclusive ? n : 0);
	const uint64_t count = is_exclusive ? copy->exclusive_count : copy->count;

	memcpy(net, words, n * sizeof(*words));
	memset(is_net, 0, n);
	for (uint32_t p = 0; p < raw->header->n_packs; p++) {
		const struct hpm_raw_pack *pack = &raw->pack[p];
		const double enabled = (double)words[pack->word + 1];
		const double running = (double)words[pack->word + 2];

		/* Whether it had its turn when the cost was found is not known. */
		if (pack->is_turning)
			continue;
		for (uint32_t w = pack->word + 3; w < pack->word + 3 + pack->n; w++) {
			double cost = cost_of(raw, slot, words, count, is_exclusive, w);

			if (running < enabled)
				cost *= running / enabled;
			is_net[w] = cost >= 1 && !(words[w] >> 63);
			if (is_net[w])
				net[w] = cost < (double)words[w] ? words[w] - (uint64_t)cost : 0;
		}
	}
}
