/*
 * Values of a section by the places that it is started from, for `gnomon run` where HPM_CALL_PATHS
 * asks for them: each section and call stack has a slot of the raw file. A stack is unwound, and
 * told `gnomon run`, when it is new; then it is found by one look into a table of its thread.
 */
#include <string.h>

#include "call_stack.h"
#include "section_engine.h"

#define BUCKETS 256u /* a power of two */

/* A section and a stack: what has a slot of its own, whichever thread comes from there. */
struct hpm_known_stack {
	struct hpm_known_stack *next;
	const struct hpm_section *section;
	struct hpm_raw_slot *slot;
	const char *told; /* by hpmCalledFrom(); NULL: these addresses */
	uint32_t n;
	uintptr_t address[];
};

/* The same as a thread sees it again. */
struct hpm_stack_place {
	struct hpm_stack_place *next;
	const struct hpm_section *section;
	uintptr_t from; /* what its call returns to, or what was told */
	uintptr_t frame;
	struct gn_stack_callers callers;
	struct hpm_raw_slot *slot;
};

struct hpm_places {
	struct gn_stack_bounds bounds;
	struct hpm_stack_place *spare;
	struct hpm_stack_place *bucket[BUCKETS];
};

struct hpm_known_stacks {
	int is_full;
	struct hpm_known_stack *bucket[BUCKETS];
};

static uint32_t bucket_of(uint64_t hash)
{
	return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32) & (BUCKETS - 1);
}

static struct hpm_stack_place **bucket_for(struct hpm_places *places,
					   const struct hpm_section *section, uintptr_t from,
					   uintptr_t frame)
{
	const uint64_t own = (uint64_t)(uintptr_t)section >> 4;

	return &places->bucket[bucket_of(from ^ (uint64_t)frame << 7 ^ own << 13)];
}

/* --- stacks of the process, with its mutex -----------------------------------------------------
 */

static uint64_t hash_of(const struct hpm_section *section, const char *told,
			const struct gn_stack *stack)
{
	uint64_t hash = (uint64_t)(uintptr_t)section;

	for (; told && *told; told++)
		hash = (hash ^ (unsigned char)*told) * 0x100000001b3u;
	for (uint32_t i = 0; !told && i < stack->n; i++)
		hash = (hash ^ stack->address[i]) * 0x100000001b3u;
	return hash;
}

static int is_same(const struct hpm_known_stack *known, const struct hpm_section *section,
		   const char *told, const struct gn_stack *stack)
{
	if (known->section != section || !known->told != !told)
		return 0;
	if (told)
		return !strcmp(known->told, told);
	return known->n == stack->n &&
	       !memcmp(known->address, stack->address, stack->n * sizeof(uintptr_t));
}

/* Its slot has the section's own texts. NULL: there is no room, which is said once. */
static struct hpm_raw_slot *new_slot(struct hpm_engine *engine, const struct hpm_section *section)
{
	const struct hpm_raw_slot *first = section->first_slot;
	struct hpm_raw_slot *slot = NULL;

	if (engine->n_places < HPM_PLACES_MAX)
		slot = hpm_raw_add(&engine->file, section->id);
	if (!slot) {
		if (!engine->stacks->is_full)
			hpm_warn("sections are started from more than %u places, or there is no "
				 "space for them: of further ones the values are kept together; "
				 "unset HPM_CALL_PATHS, or make space in %s",
				 engine->n_places, engine->file.path);
		engine->stacks->is_full = 1;
		return NULL;
	}
	slot->kind = first->kind;
	slot->thread = first->thread;
	slot->is_exclusive = first->is_exclusive;
	slot->line = first->line;
	strcpy(slot->label, first->label);
	strcpy(slot->file, first->file);
	slot->place = ++engine->n_places;
	return slot;
}

static struct hpm_raw_slot *slot_of(struct hpm_engine *engine, const struct hpm_section *section,
				    const char *told, const struct gn_stack *stack)
{
	const size_t bytes = told ? 0 : stack->n * sizeof(uintptr_t);
	struct hpm_known_stack **bucket, *known;

	if (!engine->stacks)
		engine->stacks = hpm_arena_alloc(engine, sizeof(*engine->stacks));
	if (!engine->stacks)
		return NULL;
	bucket = &engine->stacks->bucket[bucket_of(hash_of(section, told, stack))];
	for (known = *bucket; known; known = known->next)
		if (is_same(known, section, told, stack))
			return known->slot;
	known = hpm_arena_alloc(engine, sizeof(*known) + bytes);
	if (!known)
		return NULL;
	known->section = section;
	known->told = told;
	known->slot = new_slot(engine, section);
	if (!known->slot)
		return NULL;
	if (!told) {
		known->n = stack->n;
		memcpy(known->address, stack->address, bytes);
	}
	known->next = *bucket;
	*bucket = known;
	hpm_staging_stack(engine, known->slot->place, told, stack);
	return known->slot;
}

/* --- places of a thread ------------------------------------------------------------------------
 */

/* Where another thread's stack was, other things may be. */
void hpm_places_forget(struct hpm_thread *thread)
{
	struct hpm_places *places = thread->places;

	for (uint32_t i = 0; places && i < BUCKETS; i++)
		while (places->bucket[i]) {
			struct hpm_stack_place *place = places->bucket[i];

			places->bucket[i] = place->next;
			place->next = places->spare;
			places->spare = place;
		}
	if (places)
		places->bounds = gn_stack_bounds();
}

static int has_places(struct hpm_engine *engine, struct hpm_thread *thread)
{
	if (!thread->places) {
		thread->places = hpm_arena_alloc(engine, sizeof(*thread->places));
		if (thread->places)
			thread->places->bounds = gn_stack_bounds();
	}
	return thread->places != NULL;
}

__attribute__((cold, noinline)) static struct hpm_raw_slot *
add_place(struct hpm_engine *engine, struct hpm_thread *thread, const struct hpm_section *section,
	  const char *told, uintptr_t from, uintptr_t frame)
{
	struct hpm_stack_place *place = NULL, **bucket;
	struct hpm_raw_slot *slot = NULL;
	struct gn_stack stack;
	int held;

	held = hpm_mutex_hold(&engine->mutex);
	if (has_places(engine, thread)) {
		place = thread->places->spare;
		if (place)
			thread->places->spare = place->next;
		else if (!engine->stacks || !engine->stacks->is_full)
			place = hpm_arena_alloc(engine, sizeof(*place));
	}
	if (place) {
		place->callers.n = 0;
		if (!told)
			gn_stack_unwind(&stack, &place->callers, from, frame,
					thread->places->bounds);
		slot = slot_of(engine, section, told, &stack);
		place->section = section;
		place->from = from;
		place->frame = frame;
		place->slot = slot ? slot : section->first_slot;
		bucket = bucket_for(thread->places, section, from, frame);
		place->next = *bucket;
		*bucket = place;
	}
	hpm_mutex_release(&engine->mutex, held);
	return place ? place->slot : section->first_slot;
}

/* Never inlined, so that its frame is as far from that of the program's call each time. */
__attribute__((noinline)) struct hpm_raw_slot *hpm_place_slot(struct hpm_engine *engine,
							      struct hpm_thread *thread,
							      const struct hpm_section *section,
							      const void *from)
{
	const char *told = hpm_told;
	const uintptr_t key = (uintptr_t)(told ? told : from);
	const uintptr_t frame = told ? 0 : (uintptr_t)__builtin_frame_address(0);
	struct hpm_stack_place *place;

	/* One that calibrate.c starts within the program's. */
	if (section->id < 0)
		return section->slot;
	hpm_told = NULL;
	place = thread->places ? *bucket_for(thread->places, section, key, frame) : NULL;
	for (; place; place = place->next)
		if (place->from == key && place->frame == frame && place->section == section &&
		    gn_stack_has(&place->callers))
			return place->slot;
	return add_place(engine, thread, section, told, key, frame);
}
