/*
 * What `gnomon repair` runs: writes what hpmTerminate would have written, from the raw file that a
 * killed program left.
 *
 *	hpm-repair FILE.hpmraw [NAME]
 *	hpm-repair --items FILE.hpmraw FILE.hpmitems	for an aggregator, instead of a report
 *	hpm-repair --run FILE.hpmraw FILE.hpmitems	for `gnomon run`, likewise
 *
 * The output goes beside the raw file, under the name that the program would have used, or is
 * NAME.hpm, NAME.viz, NAME.csv. Nothing in the file makes it write elsewhere or load a plug-in.
 * Exit status: 0; 1 for a file that cannot be read or an output that cannot be written.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "item_codec.h"
#include "section_engine.h"
#include "write_all.h"

static int fail(const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	return 1;
}

/* HPM_* as they were in the program; where they say where to write or what to load, as they are
 * here. */
static void set_environment(const struct hpm_raw *raw)
{
	static const char *const ours[] = {"HPM_OUTPUT_NAME=", "HPM_AGGREGATE="};
	const char *variable = raw->environment;
	const char *end = variable + raw->header->environment_bytes;

	for (; variable < end; variable += strlen(variable) + 1) {
		char name[256];
		const char *equals = strchr(variable, '=');
		int is_ours = strncmp(variable, "HPM_", 4) != 0 || !equals ||
			      (size_t)(equals - variable) >= sizeof(name);

		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			is_ours |= !strncmp(variable, ours[i], strlen(ours[i]));
		if (is_ours)
			continue;
		memcpy(name, variable, (size_t)(equals - variable));
		name[equals - variable] = '\0';
		setenv(name, equals + 1, 1);
	}
}

/* "folder/NAME" of "folder/NAME.hpmraw". */
static void set_name(struct hpm_settings *settings, const char *path, const char *name)
{
	static const char ending[] = ".hpmraw";
	const size_t room = sizeof(settings->name) - 320;
	size_t length = strlen(path);

	if (name) {
		snprintf(settings->name, room, "%s", name);
		return;
	}
	if (length > strlen(ending) && !strcmp(path + length - strlen(ending), ending))
		length -= strlen(ending);
	snprintf(settings->name, room, "%.*s", (int)length, path);
}

/* What is lost: sections that were not stopped. */
static void note_active(const struct hpm_raw *raw, char *notes, size_t size)
{
	size_t used =
		(size_t)snprintf(notes, size,
				 "the program ended without hpmTerminate; this is what had been "
				 "measured, put together by gnomon repair\n");

	for (uint32_t i = 0; i < atomic_load(&raw->header->n_slots); i++) {
		const struct hpm_raw_slot *slot = hpm_raw_slot_at(raw, i);

		if (!slot->is_active || used + 400 > size)
			continue;
		used += (size_t)snprintf(
			notes + used, size - used,
			"section %d %s was active at the end: what it measured since "
			"its last start is lost\n",
			slot->id, slot->label);
	}
}

/* The moment of the last stop of all. */
static double last_stop(const struct hpm_raw *raw, double *wall_s)
{
	const struct hpm_raw_header *header = raw->header;
	uint64_t last = header->ticks;

	for (uint32_t i = 0; i < atomic_load(&header->n_slots); i++) {
		struct hpm_raw_slot *slot = hpm_raw_slot_at(raw, i);
		const struct hpm_raw_copy *copy =
			hpm_raw_copy_of(slot, header->n_words, atomic_load(&slot->sequence));

		if (copy->count && copy->last_ticks > last)
			last = copy->last_ticks;
	}
	*wall_s = (double)(last - header->ticks) / header->ticks_hz;
	return (double)header->realtime_ns / 1e9 + *wall_s;
}

static int write_whole(const char *path, const unsigned char *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int failed;

	if (fd < 0)
		return -1;
	failed = gn_write_all(fd, bytes, size);
	return close(fd) || failed ? -1 : 0;
}

/* What hpmTerminate would have given to an aggregator, or left for `gnomon run`. */
static int write_items(const struct hpm_raw *raw, const char *path, int for_run, double stopped,
		       double wall_s, char *notes)
{
	struct hpm_items items = hpm_items_of_run(raw->header, stopped, wall_s, notes);
	unsigned char *bytes = NULL;
	size_t size;
	int failed = hpm_items_of(raw, NULL, for_run, &items.n, &items.item);

	if (failed)
		return fail(path, "no memory for the items; free some memory");
	failed = hpm_items_write(&items, &bytes, &size);
	if (failed)
		fail(path, strerror(failed));
	else if (write_whole(path, bytes, size))
		failed = fail(path, "cannot be written");
	free(bytes);
	hpm_items_free(items.n, items.item);
	return failed;
}

int main(int argc, char **argv)
{
	const int for_run = argc == 4 && !strcmp(argv[1], "--run");
	const int for_items = for_run || (argc == 4 && !strcmp(argv[1], "--items"));
	static struct hpm_settings settings;
	static char notes[65536];
	char why[1024] = "";
	struct hpm_raw raw;
	double wall_s, stopped;
	int failed;

	argv += for_items;
	if (argc < 2 || (argc > 3 && !for_items)) {
		fprintf(stderr, "usage: hpm-repair FILE.hpmraw [NAME]\n");
		return 2;
	}
	if (hpm_raw_read(argv[1], &raw, why, sizeof(why)))
		return fail(argv[1], why);
	set_environment(&raw);
	hpm_settings_read(&settings, raw.header->program);
	set_name(&settings, argv[1], argc > 2 ? argv[2] : NULL);
	stopped = last_stop(&raw, &wall_s);
	note_active(&raw, notes, sizeof(notes));
	if (for_items) {
		failed = write_items(&raw, argv[2], for_run, stopped, wall_s, notes);
		hpm_raw_free(&raw);
		return failed ? 1 : 0;
	}
	settings.unique = 0;
	settings.is_repair = 1;
	failed = hpm_finalize(&raw, &settings, NULL, stopped, wall_s, notes);
	if (!failed)
		printf("%s\n", settings.name);
	hpm_raw_free(&raw);
	return failed ? 1 : 0;
}
