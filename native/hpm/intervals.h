/*
 * The sets of time of sections, and what was counted in them.
 *
 * Exclusive values are those of the section's set of time less the union of its children's (HPM
 * Toolkit users guide 3.2.2, 3.6.3). They are kept as one goes: a section is *covered* while it and
 * at least one child are active, and what is counted while it is covered is subtracted at its stop.
 *
 * A section of all threads may have children of single threads. Its wall time is covered by these
 * just so: several at once count once. Of its counts it loses what those threads counted in them,
 * and no more: what others did meanwhile is its own.
 */
#ifndef GNOMON_HPM_INTERVALS_H
#define GNOMON_HPM_INTERVALS_H

#include <string.h>

#include "section_engine.h"

/* --- covering --------------------------------------------------------------------------------- */

/* Its wall time is that of children from now on, or its own again. */
static inline void cover_wall(struct hpm_section *section, uint64_t ticks, int is_covered)
{
	if (is_covered == section->is_wall_covered)
		return;
	section->is_wall_covered = is_covered;
	/* A stop that waited for the lock has an older time. */
	if (is_covered)
		section->cover_ticks = ticks;
	else if (ticks > section->cover_ticks)
		section->covered_ticks += ticks - section->cover_ticks;
}

static inline void begin_cover(struct hpm_section *section, int n_words, const uint64_t *words,
			       uint64_t ticks)
{
	memcpy(section->cover, words, (size_t)n_words * sizeof(*words));
	section->is_covered = 1;
	cover_wall(section, ticks, 1);
}

static inline void end_cover(struct hpm_section *section, int n_words, const uint64_t *words,
			     uint64_t ticks)
{
	for (int w = 0; w < n_words; w++)
		section->covered[w] += words[w] - section->cover[w];
	section->is_covered = 0;
	cover_wall(section, ticks, section->thread_children > 0);
}

static inline void child_begins(struct hpm_section *parent, int n_words, const uint64_t *words,
				uint64_t ticks)
{
	parent->children++;
	if (parent->depth && parent->is_tracked && !parent->is_covered)
		begin_cover(parent, n_words, words, ticks);
}

static inline void child_ends(struct hpm_section *parent, int n_words, const uint64_t *words,
			      uint64_t ticks)
{
	parent->children--;
	if (!parent->children && parent->is_covered)
		end_cover(parent, n_words, words, ticks);
}

/* The same of a section of all threads, of a child that counts one of them. */
static inline void thread_child_begins(struct hpm_section *parent, struct hpm_section *child,
				       uint64_t ticks)
{
	parent->thread_children++;
	child->is_told = 1;
	child->parent_activations = parent->activations;
	if (parent->depth && parent->is_tracked)
		cover_wall(parent, ticks, 1);
}

static inline void thread_child_ends(struct hpm_section *parent, struct hpm_section *child,
				     int n_words, const uint64_t *words, uint64_t ticks,
				     int is_lost)
{
	parent->thread_children--;
	child->is_told = 0;
	if (!parent->depth || !parent->is_tracked)
		return;
	parent->is_partly |= is_lost || child->parent_activations != parent->activations;
	for (int w = 0; w < n_words; w++)
		parent->covered[w] += words[w] - child->begin[w];
	cover_wall(parent, ticks, parent->is_covered || parent->thread_children);
}

/* --- adding up -------------------------------------------------------------------------------- */

/* to = from + end - begin */
static inline void add_difference(uint64_t *restrict to, const uint64_t *restrict from,
				  const uint64_t *restrict end, const uint64_t *restrict begin,
				  int n)
{
	for (int w = 0; w < n; w++)
		to[w] = from[w] + end[w] - begin[w];
}

__attribute__((noinline)) static void add_exclusive(const struct hpm_section *section,
						    struct hpm_raw_copy *to,
						    const struct hpm_raw_copy *from,
						    const uint64_t *words, uint64_t wall, int n,
						    int is_lost)
{
	to->exclusive_count = from->exclusive_count;
	to->exclusive_ticks = from->exclusive_ticks;
	memcpy(to->word + n, from->word + n, (size_t)n * sizeof(*words));
	/* The count says that it is less than all. */
	if (section->is_partly)
		return;
	to->exclusive_count++;
	if (wall > section->covered_ticks)
		to->exclusive_ticks += wall - section->covered_ticks;
	for (int w = 0; !is_lost && w < n; w++)
		to->word[n + w] += words[w] - section->begin[w] - section->covered[w];
}

/* Into the copy that does not hold; then it does. */
static inline void add_up(const struct hpm_engine *engine, struct hpm_section *section,
			  const uint64_t *words, uint64_t ticks, int failed)
{
	const int n = engine->layout.n_words;
	struct hpm_raw_slot *slot = section->slot;
	const uint32_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
	const struct hpm_raw_copy *old = hpm_raw_copy_of(slot, (uint32_t)n, sequence);
	struct hpm_raw_copy *new = hpm_raw_copy_of(slot, (uint32_t)n, sequence + 1);
	const uint64_t begin = section->begin_ticks;
	const uint64_t wall = ticks > begin ? ticks - begin : 0;
	const int is_lost = failed || section->was_lost;

	new->count = old->count + 1;
	new->wall_ticks = old->wall_ticks + wall;
	new->first_ticks = old->count ? old->first_ticks : begin;
	new->last_ticks = ticks;
	new->lost = old->lost + (uint64_t)is_lost;
	if (!is_lost)
		add_difference(new->word, old->word, words, section->begin, n);
	else
		memcpy(new->word, old->word, (size_t)n * sizeof(*words));
	if (section->is_tracked)
		add_exclusive(section, new, old, words, wall, n, is_lost);
	atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_release);
}

/* Exclusive values are to be those from now on. */
static inline void forget_exclusive(struct hpm_section *section, int n_words)
{
	struct hpm_raw_slot *slot = section->slot;
	const uint32_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
	const uint32_t n = (uint32_t)n_words;
	struct hpm_raw_copy *new = hpm_raw_copy_of(slot, n, sequence + 1);

	memcpy(new, hpm_raw_copy_of(slot, n, sequence), hpm_raw_copy_bytes(n));
	new->exclusive_count = 0;
	new->exclusive_ticks = 0;
	memset(new->word + n, 0, (size_t)n * sizeof(*new->word));
	atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_release);
}

static inline void forget_cover(struct hpm_section *section, int n_words)
{
	memset(section->covered, 0, (size_t)n_words * sizeof(*section->covered));
	section->covered_ticks = 0;
}

#endif
