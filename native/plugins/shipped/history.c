/*
 * The mean over tasks, and then over this run and earlier ones of the same program that counted the
 * same on as many tasks.
 *
 * HPM_HISTORY_FILE (hpm_history.hpmhist) keeps sums, so that it stays as small after the
 * thousandth run as after the first. It is locked while it is read and written, and replaced as a
 * whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "group_stats.h"

#define MAGIC "HPMHISTO"
#define BYTES_MAX ((size_t)1 << 28)
#define RECORDS_MAX 1000
#define LOCK_S 10

struct file {
	char path[PATH_MAX];
	int fd;
};

static uint64_t sum_of(const hpm_blob *blob)
{
	const unsigned char *bytes = blob->data;
	uint64_t sum = 14695981039346656037u;

	for (size_t i = 0; i < blob->size; i++)
		sum = (sum ^ bytes[i]) * 1099511628211u;
	return sum;
}

/* --- the file --------------------------------------------------------------------------------- */

/* 0 or an errno. */
static int lock(int fd)
{
	const struct timespec pause = {0, 10000000};

	for (int waited = 0; waited < LOCK_S * 100; waited++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return errno;
		nanosleep(&pause, NULL);
	}
	return EWOULDBLOCK;
}

/* Opens and locks it, and not one that somebody has replaced in between. 0 or an errno. */
static int open_file(struct file *file)
{
	const char *asked = getenv("HPM_HISTORY_FILE");
	struct stat opened, named;

	file->fd = -1;
	if (snprintf(file->path, sizeof(file->path) - 32, "%s",
		     asked && *asked ? asked : "hpm_history.hpmhist") >= PATH_MAX - 32)
		return ENAMETOOLONG;
	for (;;) {
		int error;

		file->fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
				0666);
		if (file->fd < 0)
			return errno;
		error = fstat(file->fd, &opened)  ? errno
			: S_ISREG(opened.st_mode) ? lock(file->fd)
						  : EINVAL;
		if (error) {
			close(file->fd);
			return error;
		}
		if (!stat(file->path, &named) && named.st_ino == opened.st_ino &&
		    named.st_dev == opened.st_dev)
			return 0;
		close(file->fd);
	}
}

/* What it holds, nothing if it is new. 0 or an errno: EBADMSG if it is no history. */
static int read_file(const struct file *file, struct ranks_arena *arena, struct ranks_total *total)
{
	const size_t head = sizeof(MAGIC) - 1 + sizeof(uint64_t);
	struct stat status;
	hpm_blob blob;
	uint64_t sum;
	size_t size, got = 0;
	char *bytes;

	if (fstat(file->fd, &status))
		return errno;
	size = (size_t)status.st_size;
	if (!size)
		return ranks_unpack(arena, NULL, total);
	if (size < head || size > BYTES_MAX)
		return EBADMSG;
	bytes = ranks_take(arena, size, 1);
	if (!bytes)
		return ENOMEM;
	while (got < size) {
		const ssize_t n = pread(file->fd, bytes + got, size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EBADMSG;
		got += (size_t)n;
	}
	blob = (hpm_blob){bytes + head, size - head};
	memcpy(&sum, bytes + sizeof(MAGIC) - 1, sizeof(sum));
	if (memcmp(bytes, MAGIC, sizeof(MAGIC) - 1) != 0 || sum != sum_of(&blob))
		return EBADMSG;
	return ranks_unpack(arena, &blob, total);
}

static int write_all(int fd, const void *bytes, size_t size)
{
	const char *next = bytes;

	while (size) {
		const ssize_t n = write(fd, next, size);

		if (n < 0 && errno != EINTR)
			return errno;
		next += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Beside it first: it is there as a whole or as it was. */
static int write_file(const struct file *file, const struct ranks_total *total)
{
	char path[PATH_MAX + 32];
	hpm_blob blob;
	uint64_t sum;
	int fd, error = ranks_pack(total, &blob);

	if (error)
		return error;
	sum = sum_of(&blob);
	snprintf(path, sizeof(path), "%s.%ld.part", file->path, (long)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0) {
		error = errno;
		free(blob.data);
		return error;
	}
	error = write_all(fd, MAGIC, sizeof(MAGIC) - 1);
	if (!error)
		error = write_all(fd, &sum, sizeof(sum));
	if (!error)
		error = write_all(fd, blob.data, blob.size);
	if (!error && fsync(fd))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error && rename(path, file->path))
		error = errno;
	if (error)
		unlink(path);
	free(blob.data);
	return error;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* The mean of the tasks is the one value of this run. */
static void settle(struct ranks_number *number)
{
	const double mean = ranks_mean(number);

	ranks_number_set(number, mean, -1);
}

static void make_run(struct ranks_group *group)
{
	for (int i = 0; i < group->n_items; i++) {
		struct ranks_item *item = &group->item[i];

		settle(&item->count);
		for (int t = 0; t < HPM_NTIM; t++)
			settle(&item->times[t]);
		for (int e = 0; e < item->n_events; e++) {
			struct ranks_event *event = &item->event[e];

			if (event->value.n > 0) {
				event->enabled_s /= event->value.n;
				event->running_s /= event->value.n;
			}
			settle(&event->value);
		}
	}
	group->runs = 1;
}

/* hpmcount's plug-ins run in another process, which says whose items these are. */
static void find_program(char *program, size_t size)
{
	const char *said = getenv("HPM_AGGREGATE_PROGRAM");
	ssize_t length;

	snprintf(program, size, "%s", said ? said : "");
	if (said && *said)
		return;
	length = readlink("/proc/self/exe", program, size - 1);
	program[length > 0 ? length : 0] = '\0';
}

/* Takes the record that is called so out of the history; 0: there is none. */
static int take_record(struct ranks_total *history, const char *name, struct ranks_group *record)
{
	for (int i = 0; i < history->n_groups; i++) {
		if (strcmp(history->group[i].scenario, name) != 0)
			continue;
		*record = history->group[i];
		history->n_groups--;
		memmove(&history->group[i], &history->group[i + 1],
			(size_t)(history->n_groups - i) * sizeof(*record));
		return 1;
	}
	return 0;
}

/* The last one is the newest. */
static int put_record(struct ranks_arena *arena, struct ranks_total *history,
		      const struct ranks_group *record)
{
	const int first =
		history->n_groups >= RECORDS_MAX ? history->n_groups - RECORDS_MAX + 1 : 0;
	const int n = history->n_groups - first;
	struct ranks_group *records = ranks_take(arena, (size_t)n + 1, sizeof(*records));

	if (!records)
		return ENOMEM;
	if (n)
		memcpy(records, history->group + first, (size_t)n * sizeof(*records));
	records[n] = *record;
	history->group = records;
	history->n_groups = n + 1;
	return 0;
}

/* Earlier runs may have had the group on other tasks: it is this one's that are named. */
static void be_over(const struct ranks_group *run, struct ranks_group *record)
{
	for (int i = 0; i < run->n_items; i++) {
		struct ranks_item *item = ranks_item_of(record, run->item[i].key, i);

		if (item)
			item->tasks = run->item[i].tasks;
	}
}

static int add_run(struct ranks_arena *arena, struct ranks_total *history, const char *program,
		   struct ranks_group *group)
{
	char *scenario = group->scenario;
	char *name = ranks_text(arena, "%s\x1c%lld\x1c%s", program,
				(long long)ranks_count(&group->tasks), scenario);
	const struct ranks_tasks tasks = group->tasks;
	struct ranks_group record;
	int error;

	if (!name)
		return ENOMEM;
	make_run(group);
	if (take_record(history, name, &record)) {
		error = ranks_merge_group(arena, &record, group, 0);
		if (error)
			return error;
		be_over(group, &record);
		record.runs++;
	} else {
		record = *group;
		record.scenario = name;
	}
	error = put_record(arena, history, &record);
	*group = record;
	group->scenario = scenario;
	group->tasks = tasks;
	return error;
}

static int add_runs(struct ranks_arena *arena, const struct file *file, struct ranks_total *total)
{
	struct ranks_total history;
	char program[PATH_MAX];
	int error = read_file(file, arena, &history);

	find_program(program, sizeof(program));
	for (int i = 0; !error && i < total->n_groups; i++)
		error = add_run(arena, &history, program, &total->group[i]);
	return error ? error : write_file(file, &history);
}

/* A history that cannot be kept costs this run nothing. */
static int complete(struct ranks_arena *arena, struct ranks_total *total)
{
	hpm_blob before;
	struct file file;
	int error = ranks_pack(total, &before);

	if (error)
		return error;
	error = open_file(&file);
	if (!error) {
		error = add_runs(arena, &file, total);
		close(file.fd);
	}
	if (error) {
		const char *why = error == EBADMSG ? "it is no history, or a damaged one; name "
						     "another file, or take it away"
						   : strerror(error);

		if (ranks_unpack(arena, &before, total)) {
			free(before.data);
			return ENOMEM;
		}
		total->note = ranks_text(arena, "this run alone: HPM_HISTORY_FILE %s: %s",
					 file.path, why);
		if (!total->note)
			total->note = (char *)"";
	}
	free(before.data);
	return 0;
}

static const struct ranks_plan plan = {
	.word = "average", .value = RANKS_MEAN, .has_deviation = 1, .complete = complete};

RANKS_PLUGIN(plan)
