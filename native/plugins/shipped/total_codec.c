/* A total as bytes, and back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "group_stats.h"

/* "HPMR" and the version of what follows. */
#define MAGIC 0x524d5048u
#define VERSION 1u

#define TEXT_MAX (1u << 24)
#define COUNT_MAX (1u << 24)

void ranks_number_set(struct ranks_number *number, double value, int task)
{
	if (isfinite(value))
		*number = (struct ranks_number){1, value, 0, value, value, task, task};
	else
		*number = (struct ranks_number){0, 0, 0, 0, 0, -1, -1};
}

void ranks_number_add(struct ranks_number *number, const struct ranks_number *other)
{
	double apart;

	if (!(other->n > 0))
		return;
	if (!(number->n > 0)) {
		*number = *other;
		return;
	}
	/* Chan, Golub, LeVeque (1979): nothing is lost where the mean is large. */
	apart = other->sum / other->n - number->sum / number->n;
	number->squares +=
		other->squares + apart * apart * (number->n * other->n / (number->n + other->n));
	number->sum += other->sum;
	number->n += other->n;
	if (other->minimum < number->minimum ||
	    (other->minimum == number->minimum && other->min_task < number->min_task)) {
		number->minimum = other->minimum;
		number->min_task = other->min_task;
	}
	if (other->maximum > number->maximum ||
	    (other->maximum == number->maximum && other->max_task < number->max_task)) {
		number->maximum = other->maximum;
		number->max_task = other->max_task;
	}
}

double ranks_mean(const struct ranks_number *number)
{
	return number->n > 0 ? number->sum / number->n : NAN;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Goes one way or the other, so that what is written and what is read cannot differ. */
struct stream {
	struct ranks_arena *arena; /* to read into; NULL: writing */
	char *at;		   /* what is left to be read */
	size_t left;
	hpm_blob out;
	size_t room;
	int error;
};

static void put(struct stream *stream, const void *bytes, size_t n)
{
	hpm_blob *out = &stream->out;

	if (stream->error || !n)
		return;
	if (n > stream->room - out->size) {
		const size_t room = 2 * (out->size + n) + 256;
		void *larger = realloc(out->data, room);

		if (!larger) {
			stream->error = ENOMEM;
			return;
		}
		out->data = larger;
		stream->room = room;
	}
	memcpy((char *)out->data + out->size, bytes, n);
	out->size += n;
}

static void get(struct stream *stream, void *bytes, size_t n)
{
	if (n > stream->left)
		stream->error = EBADMSG;
	if (!n)
		return;
	if (stream->error)
		memset(bytes, 0, n);
	else
		memcpy(bytes, stream->at, n);
	stream->at += stream->error ? 0 : n;
	stream->left -= stream->error ? 0 : n;
}

static void plain(struct stream *stream, void *bytes, size_t n)
{
	if (stream->arena)
		get(stream, bytes, n);
	else
		put(stream, bytes, n);
}

#define PLAIN(stream, thing) plain(stream, &(thing), sizeof(thing))

/* A number of things, each of which takes so many bytes at least. */
static void number_of(struct stream *stream, int *n, size_t bytes)
{
	uint32_t count = (uint32_t)*n;

	PLAIN(stream, count);
	if (count > COUNT_MAX || (stream->arena && count > stream->left / (bytes ? bytes : 1))) {
		stream->error = EBADMSG;
		count = 0;
	}
	*n = (int)count;
}

static void text(struct stream *stream, char **text)
{
	uint32_t length = *text && !stream->arena ? (uint32_t)strlen(*text) : 0;

	PLAIN(stream, length);
	if (!stream->arena) {
		put(stream, *text ? *text : "", length);
		return;
	}
	if (length > TEXT_MAX || length > stream->left)
		stream->error = EBADMSG;
	*text = ranks_take(stream->arena, stream->error ? 1 : length + 1, 1);
	if (!*text) {
		stream->error = ENOMEM;
		*text = (char *)"";
	} else if (!stream->error) {
		get(stream, *text, length);
	}
}

/* The array of so many; 0: there is no memory for it. */
static int array(struct stream *stream, void **array, int *n, size_t bytes, size_t least)
{
	number_of(stream, n, least);
	if (!stream->arena || stream->error)
		return !stream->error;
	*array = ranks_take(stream->arena, (size_t)*n, bytes);
	if (!*array)
		stream->error = ENOMEM;
	return !stream->error;
}

static void bins(struct stream *stream, int64_t **numbers, int n_bins)
{
	void *room = *numbers;
	int n = *numbers || stream->arena ? n_bins : 0;

	if (!array(stream, &room, &n, sizeof(**numbers), sizeof(**numbers)))
		return;
	*numbers = n ? room : NULL;
	if (n && n != n_bins)
		stream->error = EBADMSG;
	else
		plain(stream, *numbers, (size_t)n * sizeof(**numbers));
}

static void tasks(struct stream *stream, struct ranks_tasks *tasks)
{
	number_of(stream, &tasks->n, 2 * sizeof(tasks->first[0]));
	if (tasks->n > RANKS_RANGES) {
		stream->error = EBADMSG;
		tasks->n = 0;
	}
	plain(stream, tasks->first, (size_t)tasks->n * sizeof(tasks->first[0]));
	plain(stream, tasks->last, (size_t)tasks->n * sizeof(tasks->last[0]));
	PLAIN(stream, tasks->more);
	for (int i = 0; i < tasks->n; i++)
		if (tasks->first[i] > tasks->last[i] || tasks->first[i] < 0 ||
		    (i && tasks->first[i] <= tasks->last[i - 1]))
			stream->error = EBADMSG;
}

static void event(struct stream *stream, struct ranks_event *event, int n_bins)
{
	text(stream, &event->name);
	text(stream, &event->component);
	text(stream, &event->unit);
	text(stream, &event->description);
	text(stream, &event->reason);
	PLAIN(stream, event->reason_task);
	PLAIN(stream, event->how);
	PLAIN(stream, event->modes);
	PLAIN(stream, event->flags);
	PLAIN(stream, event->has_modes);
	PLAIN(stream, event->enabled_s);
	PLAIN(stream, event->running_s);
	PLAIN(stream, event->value);
	bins(stream, &event->bins, n_bins);
}

static void item(struct stream *stream, struct ranks_item *item, int n_bins)
{
	void *events = item->event;

	text(stream, &item->key);
	text(stream, &item->label);
	text(stream, &item->group);
	text(stream, &item->file);
	text(stream, &item->parent_label);
	PLAIN(stream, item->lowest);
	PLAIN(stream, item->place);
	PLAIN(stream, item->is_rusage);
	PLAIN(stream, item->is_mplex_cont);
	PLAIN(stream, item->instr_id);
	PLAIN(stream, item->is_exclusive);
	PLAIN(stream, item->line);
	PLAIN(stream, item->parent_id);
	tasks(stream, &item->tasks);
	PLAIN(stream, item->count);
	PLAIN(stream, item->times);
	bins(stream, &item->bins, HPM_NTIM * n_bins);
	if (!array(stream, &events, &item->n_events, sizeof(*item->event), 64))
		return;
	item->event = events;
	for (int i = 0; i < item->n_events && !stream->error; i++)
		event(stream, &item->event[i], n_bins);
}

static void group(struct stream *stream, struct ranks_group *group, int n_bins)
{
	void *items = group->item;

	text(stream, &group->scenario);
	text(stream, &group->path);
	if (strlen(group->path) > RANKS_ROUNDS)
		stream->error = EBADMSG;
	PLAIN(stream, group->state);
	PLAIN(stream, group->runs);
	tasks(stream, &group->tasks);
	if (!array(stream, &items, &group->n_items, sizeof(*group->item), 256))
		return;
	group->item = items;
	for (int i = 0; i < group->n_items && !stream->error; i++)
		item(stream, &group->item[i], n_bins);
}

static void total_of(struct stream *stream, struct ranks_total *total)
{
	uint32_t magic = MAGIC, version = VERSION;
	void *groups = total->group;

	PLAIN(stream, magic);
	PLAIN(stream, version);
	if (magic != MAGIC || version != VERSION)
		stream->error = EBADMSG;
	PLAIN(stream, total->is_binning);
	PLAIN(stream, total->n_bins);
	if (total->n_bins < 0 || total->n_bins > (int)(COUNT_MAX / HPM_NTIM))
		stream->error = EBADMSG;
	text(stream, &total->note);
	tasks(stream, &total->changed);
	tasks(stream, &total->uneven);
	tasks(stream, &total->crowded);
	if (!array(stream, &groups, &total->n_groups, sizeof(*total->group), 32))
		return;
	total->group = groups;
	for (int i = 0; i < total->n_groups && !stream->error; i++)
		group(stream, &total->group[i], total->n_bins);
}

int ranks_pack(const struct ranks_total *total, hpm_blob *blob)
{
	struct stream stream = {0};
	struct ranks_total copy = *total;

	total_of(&stream, &copy);
	if (stream.error) {
		free(stream.out.data);
		return stream.error;
	}
	*blob = stream.out;
	return 0;
}

int ranks_unpack(struct ranks_arena *arena, const hpm_blob *blob, struct ranks_total *total)
{
	struct stream stream = {.arena = arena};

	memset(total, 0, sizeof(*total));
	total->note = (char *)"";
	if (!blob || !blob->size)
		return 0;
	stream.at = blob->data;
	stream.left = blob->size;
	total_of(&stream, total);
	if (!stream.error && stream.left)
		stream.error = EBADMSG;
	return stream.error;
}
