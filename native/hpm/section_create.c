/* A section at its first start: its label and place, its counters, its slot of the raw file. */
#include <errno.h>
#include <string.h>

#include "section_engine.h"

struct hpm_section *hpm_bad_id(const struct hpm_engine *engine, enum hpm_function function, int id)
{
	hpm_error(NULL, HPM_BAD_ID,
		  "%s(%d): sections are numbered from 1 to %d; take such a number, or set "
		  "HPM_NUM_INST_PTS to more than the largest",
		  hpm_function_name[function], id, engine->id_limit - 1);
	return NULL;
}

/* At most HPM_LABEL_MAX - 1 bytes, no character cut in two; Fortran's blanks at the end go. */
static void set_label(char *to, const char *label, size_t length)
{
	if (!label)
		label = "";
	if (length == HPM_TO_ZERO)
		length = strlen(label);
	while (length && label[length - 1] == ' ')
		length--;
	if (length >= HPM_LABEL_MAX) {
		length = HPM_LABEL_MAX - 1;
		while (length && ((unsigned char)label[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(to, label, length);
	to[length] = '\0';
}

/* Of a path that is too long the end. */
static void set_place(struct hpm_raw_slot *slot, const struct hpm_place *place)
{
	const char *file = place ? place->file : "";
	const size_t length = strlen(file);

	if (length >= sizeof(slot->file))
		file += length - sizeof(slot->file) + 1;
	while (((unsigned char)*file & 0xc0) == 0x80)
		file++;
	strcpy(slot->file, file);
	slot->line = place ? place->line : 0;
}

struct hpm_section *hpm_section_create(struct hpm_engine *engine, struct hpm_thread *thread,
				       enum hpm_kind kind, int id, const char *label, size_t length,
				       const void *from)
{
	const size_t words = (size_t)engine->layout.n_words * sizeof(uint64_t);
	const int before = errno;
	struct hpm_section *section;
	uint64_t *snapshots;
	int held;

	held = hpm_mutex_hold(&engine->mutex);
	section = engine->section[id];
	if (section)
		goto out;
	section = hpm_arena_alloc(engine, sizeof(*section));
	snapshots = hpm_arena_alloc(engine, 3 * words + 1);
	if (section && snapshots)
		section->slot = hpm_raw_add(&engine->file, id);
	if (!section || !snapshots || !section->slot) {
		hpm_error(NULL, HPM_NO_MEMORY,
			  "section %d: there is not enough memory or disk space for it; free some",
			  id);
		section = NULL;
		goto out;
	}
	section->first_slot = section->slot;
	section->id = id;
	section->kind = kind;
	section->begin = snapshots;
	section->cover = snapshots + engine->layout.n_words;
	section->covered = section->cover + engine->layout.n_words;
	section->context = kind == HPM_THREAD ? &thread->context : &engine->process;
	section->slot->kind = kind;
	section->slot->thread = kind == HPM_THREAD ? thread->tid : 0;
	section->slot->is_exclusive = (uint32_t)engine->is_exclusive;
	set_label(section->slot->label, label, length);
	set_place(section->slot, hpm_place_of(id));
	if (!section->slot->file[0])
		hpm_start_find(engine, section->slot, from);
	if (engine->is_run && section->slot->module[0])
		hpm_staging_place(&engine->file, section->slot);
	if (!section->context->is_open)
		hpm_context_open(engine, section->context);
	atomic_store_explicit(&engine->section[id], section, memory_order_release);
out:
	hpm_mutex_release(&engine->mutex, held);
	errno = before;
	return section;
}
