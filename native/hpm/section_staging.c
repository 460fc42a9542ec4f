/*
 * What `gnomon run` gets of sections. A link leads from its folder to the raw file as long as the
 * program runs and after a kill; hpmTerminate leaves the items there.
 *
 * Beside them, a line for each section whose place in the source nobody has told, written at its
 * first start: its number, the address of the call in its module as the module's file has it, and
 * the module. Debug information says afterwards which line that is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "item_codec.h"
#include "section_engine.h"
#include "staging.h"

/* As `gnomon run` calls it. */
#define CAPABILITY "sections"

#define PLACES_BEGIN "gnomon places 1\n"

static struct gn_staging_origin origin_of(const struct hpm_raw_header *header)
{
	return (struct gn_staging_origin){CAPABILITY, header->host, header->pid,
					  header->realtime_ns};
}

int hpm_is_run(void)
{
	return gn_staging_folder(CAPABILITY) != NULL;
}

void hpm_staging_link(const struct hpm_raw_file *file)
{
	const struct gn_staging_origin origin = origin_of(file->raw.header);

	/* Without the link a killed program's file is still where it is without us. */
	if (file->fd >= 0 && file->path[0] == '/')
		gn_staging_link(&origin, "hpmraw", file->path);
}

void hpm_staging_place(const struct hpm_raw_file *file, const struct hpm_raw_slot *slot)
{
	const struct gn_staging_origin origin = origin_of(file->raw.header);
	char line[HPM_MODULE_MAX + 128];

	if (strchr(slot->module, '\n'))
		return;
	snprintf(line, sizeof(line), "%d %llx %s\n", slot->id, (unsigned long long)slot->offset,
		 slot->module);
	/* Without it the section has no line, which is said. */
	gn_staging_append(&origin, "hpmplaces", PLACES_BEGIN, line);
}

struct hpm_items hpm_items_of_run(const struct hpm_raw_header *from, double stopped, double wall_s,
				  const char *notes)
{
	return (struct hpm_items){
		.task = from->task,
		.process = (int64_t)from->pid,
		.started = (double)from->realtime_ns / 1e9,
		.stopped = stopped,
		.wall_s = wall_s,
		.program = (char *)from->program,
		.command = (char *)from->command,
		.host = (char *)from->host,
		.events = (char *)from->asked,
		.notes = (char *)(notes ? notes : ""),
	};
}

void hpm_staging_write(const struct hpm_raw *raw, const double *rusage, double stopped,
		       double wall_s, const char *notes)
{
	const struct gn_staging_origin origin = origin_of(raw->header);
	struct hpm_items items = hpm_items_of_run(raw->header, stopped, wall_s, notes);
	unsigned char *bytes = NULL;
	size_t size;

	if (!hpm_is_run() || hpm_items_of(raw, rusage, 1, &items.n, &items.item))
		return;
	/* Whoever reads the folder sees that there are no items, and says so. */
	if (!hpm_items_write(&items, &bytes, &size))
		gn_staging_write(&origin, "hpmitems", bytes, size);
	free(bytes);
	hpm_items_free(items.n, items.item);
}
