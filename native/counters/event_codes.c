/*
 * Codes of events. A standard preset's is PAPI's: bit 31 and its number there. Other names get a
 * number when they are first resolved, and keep it:
 *
 *	0x80000000 + n  the standard preset n
 *	0xa0000000 + n  a preset with modifiers, of one PMU only, or a user's
 *	0x40000000 + n  any other event
 */
#include "event_codes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks.h"
#include "preset_files.h"

#define STANDARD GN_PRESET_MASK
#define OTHER_PRESET 0xa0000000u
#define NATIVE 0x40000000u
#define NUMBER_MASK 0x1fffffffu

/* Names by number, and the numbers in a hash table with open addressing. */
struct names {
	uint32_t n;
	uint32_t room;
	char **name;
	uint32_t slots; /* a power of two, twice the room at least */
	uint32_t *slot; /* number + 1; 0: free */
};

static struct names presets, natives;

/* FNV-1a. Source: Fowler, Noll, Vo; offset basis and prime of 32 bits. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

/* Where the name is, or where it would go. */
static uint32_t *slot_of(const struct names *names, const char *name)
{
	uint32_t slot = hash_of(name) & (names->slots - 1);

	while (names->slot[slot] && strcmp(names->name[names->slot[slot] - 1], name))
		slot = (slot + 1) & (names->slots - 1);
	return &names->slot[slot];
}

static int grow(struct names *names)
{
	const uint32_t room = names->room ? 2 * names->room : 64;
	uint32_t *slot = calloc(2 * (size_t)room, sizeof(*slot));
	char **name = slot ? realloc(names->name, room * sizeof(*name)) : NULL;

	if (!name) {
		free(slot);
		return -1;
	}
	free(names->slot);
	names->name = name;
	names->room = room;
	names->slot = slot;
	names->slots = 2 * room;
	for (uint32_t i = 0; i < names->n; i++)
		*slot_of(names, names->name[i]) = i + 1;
	return 0;
}

/* The number of a name, from 0; -1: out of memory. */
static int64_t number_of(struct names *names, const char *name)
{
	uint32_t *slot;

	if (names->n == names->room && (names->n == NUMBER_MASK || grow(names)))
		return -1;
	slot = slot_of(names, name);
	if (*slot)
		return *slot - 1;
	names->name[names->n] = strdup(name);
	if (!names->name[names->n])
		return -1;
	*slot = ++names->n;
	return names->n - 1;
}

uint32_t gn_code_of(const char *name, unsigned int flags)
{
	const int is_preset = flags & GN_EVENT_PRESET;
	const int standard = is_preset ? gn_preset_number(name) : -1;
	int64_t number;

	if (standard >= 0)
		return STANDARD + (uint32_t)standard;
	gn_lock(GN_LOCK_CODES);
	number = number_of(is_preset ? &presets : &natives, name);
	gn_unlock(GN_LOCK_CODES);
	if (number < 0)
		return 0;
	return (is_preset ? OTHER_PRESET : NATIVE) + (uint32_t)number;
}

int gn_codes_of(const struct gn_query *query)
{
	for (int i = 0; i < query->n; i++) {
		struct gn_event *event = query->out[i];

		event->code = gn_code_of(event->name, event->flags);
		if (!event->code)
			return gn_error_memory(query->why, query->name);
	}
	return GN_OK;
}

int gn_code_name(uint32_t code, char name[GN_NAME_MAX])
{
	const uint32_t kind = code & ~NUMBER_MASK, number = code & NUMBER_MASK;
	const struct names *names = kind == OTHER_PRESET ? &presets : &natives;
	int is_known;

	if (kind == STANDARD) {
		if (number >= (uint32_t)gn_preset_meaning_count)
			return 0;
		snprintf(name, GN_NAME_MAX, "%s",
			 gn_preset_texts + gn_preset_meanings[number].name);
		return 1;
	}
	if (kind != OTHER_PRESET && kind != NATIVE)
		return 0;
	gn_lock(GN_LOCK_CODES);
	is_known = number < names->n;
	if (is_known)
		snprintf(name, GN_NAME_MAX, "%s", names->name[number]);
	gn_unlock(GN_LOCK_CODES);
	return is_known;
}
