/*
 * What measuring itself counts. A start reads the counters and returns, a stop is called and reads
 * them: what both do between the two reads is in the section's counts, and all that they do is in
 * those of a section around it. Of empty sections nothing else is counted; the least of a few is
 * what every start and stop takes, on a warm cache, without an interrupt: it is taken away once for
 * each when the output is written, and never more than there is.
 */
#include <stdio.h>
#include <string.h>

#include "gnomon/libhpm.h"
#include "section_engine.h"

#define ROUNDS 12

struct cost {
	uint64_t *own;
	uint64_t *pair;
	int n_words;
};

static void take_least(uint64_t *least, const uint64_t *end, const uint64_t *begin, int n_words,
		       int is_first)
{
	for (int w = 0; w < n_words; w++) {
		const uint64_t difference = end[w] - begin[w];

		if (is_first || difference < least[w])
			least[w] = difference;
	}
}

/* What the sections' last stop added, and what one of them added to what is around it. */
static void look(const struct cost *cost, struct hpm_section *const section[HPM_EMPTY],
		 int is_first)
{
	const uint32_t n = (uint32_t)cost->n_words;

	for (int i = 0; i < HPM_EMPTY; i++) {
		struct hpm_raw_slot *slot = section[i]->slot;
		const uint32_t now = atomic_load(&slot->sequence);

		take_least(cost->own, hpm_raw_copy_of(slot, n, now)->word,
			   hpm_raw_copy_of(slot, n, now - 1)->word, cost->n_words, is_first && !i);
	}
	take_least(cost->pair, section[1]->begin, section[0]->begin, cost->n_words, is_first);
}

static struct hpm_section *make_empty(struct hpm_engine *engine, struct hpm_thread *thread,
				      enum hpm_kind kind, int id)
{
	const size_t words = (size_t)engine->layout.n_words;
	struct hpm_section *section = hpm_arena_alloc(engine, sizeof(*section));
	uint64_t *snapshots = hpm_arena_alloc(engine, 3 * words * sizeof(*snapshots));

	if (section)
		section->slot = hpm_arena_alloc(engine, engine->file.raw.header->slot_bytes);
	if (!section || !snapshots || !section->slot)
		return NULL;
	section->id = id;
	section->kind = kind;
	section->begin = snapshots;
	section->cover = snapshots + words;
	section->covered = section->cover + words;
	section->context = kind == HPM_THREAD ? &thread->context : &engine->process;
	/* CPU times are not asked for at every start, as they are of a program's first ones. */
	section->activations = 1000;
	return section;
}

static void run_rounds(struct hpm_engine *engine, struct hpm_thread *thread, enum hpm_kind kind,
		       hpm_start_call *start_it, hpm_stop_call *stop_it,
		       struct hpm_section *const section[HPM_EMPTY])
{
	const enum hpm_function start = kind == HPM_THREAD ? HPM_CALL_TSTART : HPM_CALL_START;
	const enum hpm_function stop = kind == HPM_THREAD ? HPM_CALL_TSTOP : HPM_CALL_STOP;
	const struct cost cost = {hpm_raw_cost(&engine->file.raw, kind, 0),
				  hpm_raw_cost(&engine->file.raw, kind, 1), engine->layout.n_words};

	hpm_leave(thread);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < HPM_EMPTY; i++) {
			start_it(start, section[i]->id, HPM_AUTO_PARENT, "", HPM_TO_ZERO, NULL);
			stop_it(stop, section[i]->id);
		}
		look(&cost, section, !round);
	}
	thread->is_busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
}

/* Events of which something will be taken away say so wherever they are described. */
static void describe(const struct hpm_raw *raw, enum hpm_kind kind)
{
	static const char words[] = "less what starts and stops of sections count";

	for (uint32_t e = 0; e < raw->header->n_events; e++) {
		struct hpm_raw_event *event = &raw->event[e];
		const size_t length = strlen(event->description);
		uint64_t cost = 0;

		for (uint32_t i = 0; i < event->n_natives; i++)
			if (!raw->pack[event->native[i].pack].is_turning)
				cost |= hpm_raw_cost(raw, kind, 0)[event->native[i].word];
		if (cost && !strstr(event->description, words))
			snprintf(event->description + length, sizeof(event->description) - length,
				 length ? "; %s" : "%s", words);
	}
}

void hpm_calibrate(struct hpm_engine *engine, struct hpm_thread *thread, enum hpm_kind kind,
		   hpm_start_call *start_it, hpm_stop_call *stop_it)
{
	struct hpm_section *section[HPM_EMPTY];
	int is_made = 1, held;

	if (atomic_exchange(&engine->is_calibrated[kind], 1))
		return;
	held = hpm_mutex_hold(&engine->mutex);
	for (int i = 0; i < HPM_EMPTY; i++) {
		section[i] = make_empty(engine, thread, kind, HPM_EMPTY_ID + kind * HPM_EMPTY + i);
		is_made &= section[i] && section[i]->context->is_open;
		engine->empty[kind][i] = section[i];
	}
	hpm_mutex_release(&engine->mutex, held);
	if (is_made)
		run_rounds(engine, thread, kind, start_it, stop_it, section);
	for (int i = 0; i < HPM_EMPTY; i++)
		engine->empty[kind][i] = NULL;
	held = hpm_mutex_hold(&engine->mutex);
	describe(&engine->file.raw, kind);
	hpm_mutex_release(&engine->mutex, held);
}
