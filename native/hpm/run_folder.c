/*
 * What `gnomon run` gets of sections: GNOMON_RUN_DIR is its folder. A link leads to the raw file as
 * long as the program runs and after a kill; hpmTerminate leaves the items there. What the program
 * writes itself is as it is without, and a folder that cannot be written is no fault of it.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"
#include "items_file.h"
#include "output.h"

/* One program after the other in a process, each with hpmInit: the moment tells them apart. */
static int name_of(const struct hpm_raw_header *header, const char *ending, char *path, size_t size)
{
	/* A set-user-ID program writes nothing that its user names. */
	const char *folder = secure_getenv("GNOMON_RUN_DIR");
	int length;

	if (!folder || folder[0] != '/')
		return -1;
	length = snprintf(path, size, "%s/%.255s.%u.%llu.%s", folder, header->host, header->pid,
			  (unsigned long long)header->realtime_ns, ending);
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

struct hpm_items hpm_items_of_run(const struct hpm_raw_header *from, int n, hpm_event_vector item,
				  double stopped, double wall_s, const char *notes)
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
		.n = n,
		.item = item,
	};
}

void hpm_run_leave(const struct hpm_raw *raw, int n, hpm_event_vector item, double stopped,
		   double wall_s, const char *notes)
{
	const struct hpm_raw_header *from = raw->header;
	const struct hpm_items items = hpm_items_of_run(from, n, item, stopped, wall_s, notes);
	struct hpm_signals signals;
	unsigned char *bytes = NULL;
	char path[PATH_MAX];
	size_t size;

	if (name_of(from, "hpmitems", path, sizeof(path)) || hpm_items_write(&items, &bytes, &size))
		return;
	hpm_signals_hold(&signals);
	/* Whoever reads the folder sees that there are no items, and says so. */
	(void)write_beside(path, bytes, size);
	hpm_signals_release(&signals);
	free(bytes);
}
