/*
 * What `gnomon run` gets of sections. A link leads from its folder to the raw file as long as the
 * program runs and after a kill; hpmTerminate leaves the items there.
 *
 * Beside them, a line for each section whose place in the source nobody has told, written at its
 * first start: its number, the address of the call in its module as the module's file has it, and
 * the module. Debug information says afterwards which line that is. And the call stacks that
 * sections are started from, where values are kept by them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_stack.h"
#include "item_codec.h"
#include "section_engine.h"
#include "staging.h"

/* As `gnomon run` calls it. */
#define CAPABILITY "sections"

#define PLACES_BEGIN "gnomon places 1\n"

/*
 * Then of each place:
 *	place NUMBER
 *	frame OFFSET BUILD_ID MODULE	the outermost first; a build id or a module that is not
 *					known is -
 *	python LINE FUNCTION\tFILE	where hpmCalledFrom() told functions of Python
 *	end
 */
#define STACKS_BEGIN "gnomon section stacks 1\n"

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

void hpm_staging_stack(struct hpm_engine *engine, unsigned int place, const char *told,
		       const struct gn_stack *stack)
{
	const struct gn_staging_origin origin = origin_of(engine->file.raw.header);
	/* With the engine's mutex: one at a time. */
	static char text[1 << 16];
	size_t used = (size_t)snprintf(text, sizeof(text), "place %u\n", place);

	for (uint32_t i = told ? 0 : stack->n; i-- > 0;) {
		uint64_t offset = stack->address[i] - 1;
		const struct hpm_module *module = hpm_module_of(engine, offset, &offset);
		const char *path = module && module->path[0] ? module->path : "-";

		/* The outermost ones, in parts: nobody else appends to this file. */
		if (sizeof(text) - used < HPM_MODULE_MAX + HPM_BUILD_ID_MAX + 64) {
			gn_staging_append(&origin, "hpmstacks", STACKS_BEGIN, text);
			used = 0;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, "frame %llx %s %s\n",
					 (unsigned long long)offset,
					 module && module->build_id[0] ? module->build_id : "-",
					 strchr(path, '\n') ? "-" : path);
	}
	if (told) {
		gn_staging_append(&origin, "hpmstacks", STACKS_BEGIN, text);
		gn_staging_append(&origin, "hpmstacks", STACKS_BEGIN, told);
		used = 0;
	}
	snprintf(text + used, sizeof(text) - used, "end\n");
	/* Without it the section's values have no path, which is said. */
	gn_staging_append(&origin, "hpmstacks", STACKS_BEGIN, text);
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
