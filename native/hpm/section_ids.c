/* The numbers of sections: those that programs choose, and those of hpmNewID, with their places. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "section_engine.h"

/* By number, what hpmNewID and hpmPlace were told; children that are forked go on with it. */
static struct hpm_place *_Atomic *place;
static _Atomic int numbers_given;

int hpm_ids_prepare(int id_end)
{
	if (!place)
		place = calloc((size_t)id_end, sizeof(*place));
	return place ? 0 : -ENOMEM;
}

/* Where it has one already, that holds. */
static void keep_place(int id, const char *file, int line)
{
	const size_t size = file ? strlen(file) + 1 : 0;
	struct hpm_place *kept = file && !place[id] ? malloc(sizeof(*kept) + size) : NULL;
	struct hpm_place *none = NULL;

	if (!kept)
		return;
	kept->line = line;
	memcpy(kept->file, file, size);
	if (!atomic_compare_exchange_strong(&place[id], &none, kept))
		free(kept);
}

int hpm_new_id(const struct hpm_engine *engine, const char *caller, const char *file, int line)
{
	const int before = errno;
	int n;

	if (!engine || engine->state != HPM_RUNNING) {
		hpm_error(NULL, engine ? HPM_TERMINATED : HPM_NOT_INITIALISED,
			  engine ? "%s: it comes after hpmTerminate; call that last"
				 : "%s: it comes before hpmInit; call that first",
			  caller);
		return 0;
	}
	n = atomic_fetch_add(&numbers_given, 1);
	if (n >= engine->id_end - engine->id_limit) {
		atomic_fetch_sub(&numbers_given, 1);
		hpm_error(
			NULL, HPM_BAD_ID,
			"%s: all %d numbers of sections with labels alone are taken, one for each "
			"label and thread; use fewer, or set HPM_NUM_INST_PTS to more",
			caller, engine->id_end - engine->id_limit);
		return 0;
	}
	keep_place(engine->id_limit + n, file, line);
	errno = before;
	return engine->id_limit + n;
}

int hpm_is_number(const struct hpm_engine *engine, int id)
{
	return id >= 1 && id < engine->id_end && id - engine->id_limit < numbers_given;
}

int hpm_tell_place(const struct hpm_engine *engine, int id, const char *file, int line)
{
	const int before = errno;

	if (!engine || engine->state != HPM_RUNNING || !hpm_is_number(engine, id))
		return 0;
	keep_place(id, file, line);
	errno = before;
	return 1;
}

const struct hpm_place *hpm_place_of(int id)
{
	return place[id];
}
