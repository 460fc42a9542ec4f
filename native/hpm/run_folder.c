/*
 * What `gnomon run` gets of sections: GNOMON_RUN_DIR is its folder. A link leads to the raw file as
 * long as the program runs and after a kill; hpmTerminate leaves the items there. What the program
 * writes itself is as it is without, and a folder that cannot be written is no fault of it.
 *
 * Beside them, a line for each section whose place in the source nobody has told, written at its
 * first start: its number, the address of the call in its module as the module's file has it, and
 * the module. Debug information says afterwards which line that is.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "items_file.h"
#include "output.h"

#define PLACES_BEGIN "gnomon places 1\n"

int hpm_is_run(void)
{
	/* A set-user-ID program writes nothing that its user names. */
	const char *folder = secure_getenv("GNOMON_RUN_DIR");

	return folder && folder[0] == '/';
}

/* One program after the other in a process, each with hpmInit: the moment tells them apart. */
static int name_of(const struct hpm_raw_header *header, const char *ending, char *path, size_t size)
{
	int length;

	if (!hpm_is_run())
		return -1;
	length =
		snprintf(path, size, "%s/%.255s.%u.%llu.%s", getenv("GNOMON_RUN_DIR"), header->host,
			 header->pid, (unsigned long long)header->realtime_ns, ending);
	return length > 0 && (size_t)length < size ? 0 : -1;
}

void hpm_run_link(const struct hpm_raw_file *file)
{
	char path[PATH_MAX];

	if (file->fd < 0 || file->path[0] != '/' ||
	    name_of(file->raw.header, "hpmraw", path, sizeof(path)))
		return;
	/* Without the link a killed program's file is still where it is without us. */
	if (symlink(file->path, path))
		return;
}

void hpm_run_place(const struct hpm_raw_file *file, const struct hpm_raw_slot *slot)
{
	char path[PATH_MAX], line[HPM_MODULE_MAX + 128];
	int fd, length;

	if (strchr(slot->module, '\n') ||
	    name_of(file->raw.header, "hpmplaces", path, sizeof(path)))
		return;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	length = snprintf(line, sizeof(line), "%s%d %llx %s\n",
			  lseek(fd, 0, SEEK_END) ? "" : PLACES_BEGIN, slot->id,
			  (unsigned long long)slot->offset, slot->module);
	/* Without it the section has no line, which is said. */
	(void)hpm_write(fd, line, (size_t)length);
	close(fd);
}

static int write_beside(const char *path, const unsigned char *bytes, size_t size)
{
	char temporary[PATH_MAX + 8];
	int fd, failed;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	failed = hpm_write(fd, (const char *)bytes, size);
	if (close(fd) || failed || rename(temporary, path)) {
		unlink(temporary);
		return -1;
	}
	return 0;
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

void hpm_run_leave(const struct hpm_raw *raw, const double *rusage, double stopped, double wall_s,
		   const char *notes)
{
	const struct hpm_raw_header *from = raw->header;
	struct hpm_items items = hpm_items_of_run(from, stopped, wall_s, notes);
	struct hpm_signals signals;
	unsigned char *bytes = NULL;
	char path[PATH_MAX];
	size_t size;

	if (name_of(from, "hpmitems", path, sizeof(path)) ||
	    hpm_items_of(raw, rusage, 1, &items.n, &items.item))
		return;
	if (hpm_items_write(&items, &bytes, &size)) {
		hpm_items_free(items.n, items.item);
		return;
	}
	hpm_signals_hold(&signals);
	/* Whoever reads the folder sees that there are no items, and says so. */
	(void)write_beside(path, bytes, size);
	hpm_signals_release(&signals);
	free(bytes);
	hpm_items_free(items.n, items.item);
}
