/* What formulas may use of an item, by identifier: gnomon.metrics.derived.formula_inputs in C. */
#include "metric_inputs.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "writers.h"

#define MODIFIERS "ukhGHI"

/* An event's plain name and what was cut off; parts with the same of both are joined. */
struct variant {
	const hpm_event_info *event;
	char *name;	    /* the identifier of its plain name */
	char modifiers[16]; /* sorted, each once */
	int is_plain;	    /* it was typed so */
};

int hpm_worse(int how, int other)
{
	return how > other ? how : other;
}

int hpm_spread_tasks(const hpm_spread *spread)
{
	return !spread ? 0 : spread->min_task < 0 ? -spread->n : spread->n;
}

int hpm_levels(int modes)
{
	return modes == (HPM_MODE_USER | HPM_MODE_KERNEL) ? HPM_MODE_ALL : modes;
}

char *hpm_identifier(const char *event)
{
	char *name = malloc(strlen(event) + 2), *end = name;

	if (!name)
		return NULL;
	if (*event >= '0' && *event <= '9')
		*end++ = '_';
	for (; *event; event++) {
		/* A character of several bytes becomes one underscore. */
		if ((*event & 0xc0) == 0x80)
			continue;
		*end++ = (*event & 0x80) || !isalnum((unsigned char)*event) ? '_' : *event;
	}
	*end = 0;
	return name;
}

static int is_word(char c)
{
	return (c & 0x80) || isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

static void sort(const char *modifiers, size_t length, char out[16])
{
	size_t n = 0;

	for (size_t i = 0; i < length && n < 15; i++) {
		size_t place = n++;

		for (; place && out[place - 1] > modifiers[i]; place--)
			out[place] = out[place - 1];
		out[place] = modifiers[i];
	}
	out[n] = 0;
}

/* PMU/EVENT/MODIFIERS: 1, with the event in name[length]. */
static int on_pmu(const char **name, size_t *length, const char **modifiers)
{
	const char *end = *name, *event;

	while (is_word(*end))
		end++;
	if (end == *name || *end != '/')
		return 0;
	for (event = ++end; is_word(*end); end++)
		;
	if (end == event || *end != '/' || end + 1 + strspn(end + 1, MODIFIERS) != *name + *length)
		return 0;
	*modifiers = end + 1;
	*name = event;
	*length = (size_t)(end - event);
	return 1;
}

static void take_modifiers(const char *name, size_t *length, const char **modifiers)
{
	size_t end = *length;

	while (end && memchr(MODIFIERS, name[end - 1], sizeof(MODIFIERS) - 1))
		end--;
	if (end > 1 && end < *length && name[end - 1] == ':') {
		*modifiers = name + end;
		*length = end - 1;
	}
}

/* How long libpfm4's name of a PMU with its two colons is at the front of a name, 0 without. */
static size_t of_libpfm(const char *name)
{
	size_t n = 0;

	while (isalnum((unsigned char)name[n]) || name[n] == '_')
		n++;
	return n && name[n] == ':' && name[n + 1] == ':' && name[n + 2] != ':' ? n + 2 : 0;
}

static int plain_name(struct variant *variant)
{
	const char *name = hpm_text(variant->event->name), *modifiers;
	int is_cpu = !strcmp(hpm_text(variant->event->component), "cpu");
	size_t length = is_cpu ? strcspn(name, "@") : strlen(name);
	const char *end = name + length;
	char *plain;

	if (is_cpu) {
		size_t pmu = of_libpfm(name);

		name += pmu;
		length -= pmu;
	}
	modifiers = end;
	if (!is_cpu || !memchr(name, '/', length) || !on_pmu(&name, &length, &modifiers))
		take_modifiers(name, &length, &modifiers);
	sort(modifiers, (size_t)(end - modifiers), variant->modifiers);
	plain = strndup(name, length);
	if (!plain)
		return -ENOMEM;
	/* Presets may be typed in any case; POWER's events the kernel has in small letters. */
	if (!strncasecmp(plain, "PAPI_", 5) || (is_cpu && !strncasecmp(plain, "PM_", 3)))
		for (char *at = plain; *at; at++)
			*at = (char)toupper((unsigned char)*at);
	variant->is_plain = !strcmp(plain, hpm_text(variant->event->name));
	variant->name = hpm_identifier(plain);
	free(plain);
	return variant->name ? 0 : -ENOMEM;
}

static struct hpm_metric_input *find(const struct hpm_metric_inputs *counts, const char *name)
{
	for (int i = 0; i < counts->n; i++)
		if (!strcmp(counts->input[i].name, name))
			return &counts->input[i];
	return NULL;
}

/* Adds a count under a name that is not taken, which becomes its own; frees one that is. */
static int add(struct hpm_metric_inputs *counts, char *name, struct hpm_metric_input count)
{
	if (!name)
		return -ENOMEM;
	if (find(counts, name)) {
		free(name);
		return 0;
	}
	if (counts->n == counts->room) {
		int room = counts->room ? 2 * counts->room : 64;
		struct hpm_metric_input *longer =
			realloc(counts->input, (size_t)room * sizeof(*longer));

		if (!longer) {
			free(name);
			return -ENOMEM;
		}
		counts->input = longer;
		counts->room = room;
	}
	count.name = name;
	counts->input[counts->n++] = count;
	return 0;
}

static int is_time(const char *unit)
{
	return !strcmp(unit, "ns") || !strcmp(unit, "s");
}

static struct hpm_metric_input single(const hpm_event_info *event)
{
	return (struct hpm_metric_input){
		.value = hpm_value(event),
		.has_value = !isnan(hpm_value(event)),
		.how = event->how < 0 ? HPM_COUNTED : event->how,
		.modes = is_time(hpm_text(event->unit)) ? 0 : event->modes,
		.flags = event->flags & HPM_IS_NODE_WIDE,
		.tasks = hpm_spread_tasks(event->spread),
	};
}

static double nanoseconds(double seconds)
{
	return rint(seconds * 1e9);
}

/* What the counter read, which is a whole number unless it has a unit. */
static double unscaled(const hpm_event_info *event)
{
	double enabled = nanoseconds(event->enabled_s), running = nanoseconds(event->running_s);
	double value;

	if (enabled == running)
		return hpm_value(event);
	if (!(running > 0))
		return 0;
	value = hpm_value(event) * running / enabled;
	return hpm_text(event->unit)[0] ? value : rint(value);
}

/*
 * What the counts of one event on several kinds of core come to. A thread runs on one core at a
 * time, so the parts' running times add up to the enabled time unless the counters were
 * multiplexed; the sum is scaled by what is missing, as for one counter.
 */
static struct hpm_metric_input joined(const struct variant *variants, int n,
				      const struct variant *like)
{
	struct hpm_metric_input count = single(like->event);
	double enabled = 0, running = 0, total = 0;
	int parts = 0, is_broken = 0, how = HPM_COUNTED;

	for (int i = 0; i < n; i++) {
		const hpm_event_info *part = variants[i].event;

		if (variants[i].is_plain || strcmp(variants[i].name, like->name) != 0)
			continue;
		parts++;
		is_broken |= part->modes != like->event->modes;
		is_broken |= part->flags & HPM_IS_DERIVED;
		is_broken |=
			hpm_spread_tasks(part->spread) != hpm_spread_tasks(like->event->spread);
		enabled = fmax(enabled, nanoseconds(part->enabled_s));
		running += nanoseconds(part->running_s);
		total += unscaled(part);
		how = hpm_worse(how, part->how);
	}
	if (parts == 1)
		return count;
	count.has_value = !is_broken && running > 0;
	if (running != enabled) {
		how = hpm_worse(how, HPM_SCALED);
		total *= enabled / running;
	} else if (how == HPM_SCALED) {
		how = HPM_COUNTED;
	}
	count.value = total;
	count.how = how;
	return count;
}

/* Whether all of one plain name were typed with the same modifiers. */
static int is_clear(const struct variant *variants, int n, const struct variant *like)
{
	for (int i = 0; i < n; i++)
		if (!variants[i].is_plain && !strcmp(variants[i].name, like->name) &&
		    strcmp(variants[i].modifiers, like->modifiers) != 0)
			return 0;
	return 1;
}

static int is_refused(const hpm_event_info *event)
{
	return event->how == HPM_UNAVAILABLE && !(event->enabled_s > 0);
}

static int fill(const hpm_data_item *item, struct hpm_metric_inputs *counts,
		struct variant *variants)
{
	int n = 0, error = 0;

	for (int i = 0; i < item->num_data && !error; i++) {
		struct variant *variant = &variants[n];
		struct hpm_metric_input count = single(&item->data[i]);

		if (is_refused(&item->data[i]))
			continue;
		variant->event = &item->data[i];
		error = plain_name(variant);
		if (error)
			break;
		n++;
		count.is_event = variant->is_plain;
		error = add(counts, hpm_identifier(hpm_text(item->data[i].name)), count);
	}
	for (int i = 0; i < n && !error; i++) {
		struct hpm_metric_input count = {.how = HPM_COUNTED};

		if (variants[i].is_plain)
			continue;
		if (is_clear(variants, n, &variants[i]))
			count = joined(variants, n, &variants[i]);
		count.is_event = 1;
		error = add(counts, strdup(variants[i].name), count);
	}
	/* What a pattern matches must have been counted whole. */
	for (int i = 0; i < item->num_data && !error; i++) {
		const struct hpm_metric_input none = {.is_event = 1};

		if (is_refused(&item->data[i]))
			error = add(counts, hpm_identifier(hpm_text(item->data[i].name)), none);
	}
	for (int i = 0; i < n; i++)
		free(variants[i].name);
	return error;
}

int hpm_metric_inputs_of(const hpm_data_item *item, struct hpm_metric_inputs *counts)
{
	size_t room = item->num_data > 0 ? (size_t)item->num_data : 1;
	struct variant *variants = calloc(room, sizeof(*variants));
	int error;

	memset(counts, 0, sizeof(*counts));
	if (!variants)
		return -ENOMEM;
	error = fill(item, counts, variants);
	free(variants);
	if (error)
		hpm_metric_inputs_free(counts);
	return error;
}

void hpm_metric_inputs_free(struct hpm_metric_inputs *counts)
{
	for (int i = 0; i < counts->n; i++)
		free(counts->input[i].name);
	free(counts->input);
	memset(counts, 0, sizeof(*counts));
}
