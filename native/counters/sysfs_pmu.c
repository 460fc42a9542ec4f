/*
 * PMUs in sysfs, and the encoding of their events.
 *
 * Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{format,events}.
 */
#include "sysfs_pmu.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"

#define DEVICES "%s/bus/event_source/devices"
#define CONFIGS 4
#define PMUS_MAX 4096u
#define BITS_MAX 64

static int is_pmu_type(const char *text, uint32_t *type)
{
	uint64_t number = 0;

	if (!*text || strlen(text) > 10 || text[strspn(text, "0123456789")])
		return 0;
	for (; *text; text++)
		number = 10 * number + (uint64_t)(*text - '0');
	*type = (uint32_t)number;
	return number <= UINT32_MAX;
}

int gn_pmu_find(const char *sysfs, const char *name, struct gn_pmu *pmu)
{
	char type[GN_FILE_MAX];

	if (!*name || *name == '.' || strlen(name) >= sizeof(pmu->name) || strchr(name, '/') ||
	    gn_file_text(type, sizeof(type), DEVICES "/%s/type", sysfs, name) < 0 ||
	    !is_pmu_type(type, &pmu->type))
		return 0;
	snprintf(pmu->name, sizeof(pmu->name), "%s", name);
	pmu->is_core = !strcmp(name, "cpu") || gn_file_exists(DEVICES "/%s/cpus", sysfs, name);
	return 1;
}

int gn_pmus(const char *sysfs, struct gn_pmu **list)
{
	struct gn_names names;
	int n = 0;

	*list = NULL;
	if (gn_names_in(&names, DEVICES, sysfs) == -ENOMEM)
		return -ENOMEM;
	if (!names.n)
		return 0;
	if (names.n <= PMUS_MAX)
		*list = calloc(names.n, sizeof(**list));
	for (size_t i = 0; *list && i < names.n; i++)
		n += gn_pmu_find(sysfs, names.name[i], &(*list)[n]);
	gn_names_free(&names);
	return *list ? n : -ENOMEM;
}

static int find_core_pmus(const char *sysfs, struct gn_pmu **list)
{
	const int n = gn_pmus(sysfs, list);
	int cores = 0;

	for (int i = 0; i < n; i++)
		if ((*list)[i].is_core)
			(*list)[cores++] = (*list)[i];
	return n < 0 ? n : cores;
}

/* This machine keeps its cores: the kernel is asked once, not for each event. */
static struct gn_pmu *own_list;
static int own_count;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void find_own(void)
{
	own_count = find_core_pmus(GN_SYSFS, &own_list);
}

int gn_core_pmus(const char *sysfs, struct gn_pmu **list)
{
	if (strcmp(sysfs, GN_SYSFS))
		return find_core_pmus(sysfs, list);
	pthread_once(&own_once, find_own);
	*list = own_count > 0 ? malloc((size_t)own_count * sizeof(**list)) : NULL;
	if (*list)
		memcpy(*list, own_list, (size_t)own_count * sizeof(**list));
	return own_count > 0 && !*list ? -ENOMEM : own_count;
}

static int is_about_unit(const char *name)
{
	static const char *const ends[] = {".unit", ".scale", ".snapshot"};
	const size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t end = strlen(ends[i]);

		if (length >= end && !strcmp(name + length - end, ends[i]))
			return 1;
	}
	return 0;
}

int gn_pmu_events(const char *sysfs, const char *pmu, struct gn_names *events)
{
	const int failed = gn_names_in(events, DEVICES "/%s/events", sysfs, pmu);
	size_t kept = 0;

	for (size_t i = 0; i < events->n; i++) {
		if (is_about_unit(events->name[i]))
			free(events->name[i]);
		else
			events->name[kept++] = events->name[i];
	}
	events->n = kept;
	return failed;
}

double gn_pmu_unit(const char *sysfs, const char *pmu, const char *event, char *unit, size_t size)
{
	char text[GN_FILE_MAX];
	double scale;

	gn_file_text(text, sizeof(text), DEVICES "/%s/events/%s.unit", sysfs, pmu, event);
	snprintf(unit, size, "%s", text);
	if (gn_file_text(text, sizeof(text), DEVICES "/%s/events/%s.scale", sysfs, pmu, event) <= 0)
		return 1;
	return gn_real_number(text, &scale) || scale <= 0 ? 1 : scale;
}

/* Where a parameter's bits go, as its format file says: "config1:0-7,32-35". */
struct layout {
	int config;
	int n;
	unsigned char bit[BITS_MAX];
};

/* A decimal number below 64 at *at, which moves behind it; -1 if there is none. */
static int bit_number(const char **text)
{
	int number = 0;

	if (**text < '0' || **text > '9')
		return -1;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		number = 10 * number + (**text - '0');
		if (number >= BITS_MAX)
			return -1;
	}
	return number;
}

static int is_layout(const char *text, struct layout *layout)
{
	memset(layout, 0, sizeof(*layout));
	if (strncmp(text, "config", 6))
		return 0;
	text += 6;
	if (*text >= '1' && *text < '0' + CONFIGS)
		layout->config = *text++ - '0';
	if (*text != ':')
		return 0;
	do {
		int low, high;

		text++;
		low = high = bit_number(&text);
		if (*text == '-') {
			text++;
			high = bit_number(&text);
		}
		if (low < 0 || high < low || layout->n + high - low >= BITS_MAX)
			return 0;
		for (int bit = low; bit <= high; bit++)
			layout->bit[layout->n++] = (unsigned char)bit;
	} while (*text == ',');
	return !*text;
}

struct encoder {
	const char *sysfs;
	const struct gn_pmu *pmu;
	const char *name;
	struct gn_error_text *why;
	uint64_t config[CONFIGS];
};

static int no_such_term(const struct encoder *encoder, const char *key)
{
	struct gn_nearest nearest;
	struct gn_names names;

	gn_nearest_begin(&nearest, key);
	gn_pmu_events(encoder->sysfs, encoder->pmu->name, &names);
	for (size_t i = 0; i < names.n; i++)
		gn_nearest_try(&nearest, names.name[i]);
	gn_names_free(&names);
	gn_names_in(&names, DEVICES "/%s/format", encoder->sysfs, encoder->pmu->name);
	for (size_t i = 0; i < names.n; i++)
		gn_nearest_try(&nearest, names.name[i]);
	gn_names_free(&names);
	gn_error_event(encoder->why, GN_ENOEVNT, encoder->name,
		       "PMU '%s' has no event or parameter '%s'", encoder->pmu->name, key);
	return gn_nearest_suggest(&nearest, encoder->why, "`gnomon events` lists those it has");
}

static int no_layout(const struct encoder *encoder, const char *key, const char *text)
{
	gn_error_event(encoder->why, GN_ENOEVNT, encoder->name,
		       DEVICES "/%s/format/%s: '%.40s' does not name bits of a config",
		       encoder->sysfs, encoder->pmu->name, key, text);
	return gn_error_remedy(encoder->why, "give the number as config=... instead");
}

static int number_of(const struct encoder *encoder, const char *key, const char *value,
		     uint64_t *number)
{
	const int failed = value ? gn_number(value, number) : -1;

	if (failed == -2) {
		gn_error_event(encoder->why, GN_ENOEVNT, encoder->name,
			       "%s=%s does not fit 64 bits", key, value);
		return gn_error_remedy(encoder->why, "give a smaller one");
	}
	if (failed) {
		gn_error_event(encoder->why, GN_ENOEVNT, encoder->name, "%s=%s is not a number",
			       key, value ? value : "");
		return gn_error_remedy(encoder->why, "give it as 10 or 0xa");
	}
	return GN_OK;
}

static int is_ignored(const char *key)
{
	return !strcmp(key, "name") || !strcmp(key, "period") || !strcmp(key, "percore");
}

/* config, config1 ...: its number, or -1. */
static int config_of(const char *key)
{
	if (strncmp(key, "config", 6))
		return -1;
	if (!key[6])
		return 0;
	return key[6] >= '1' && key[6] < '0' + CONFIGS && !key[7] ? key[6] - '0' : -1;
}

static int encode_term(struct encoder *encoder, const char *key, const char *value)
{
	const int config = config_of(key);
	char text[GN_FILE_MAX];
	struct layout layout;
	uint64_t number = 1;
	int failed;

	if (is_ignored(key))
		return GN_OK;
	if (config >= 0) {
		failed = number_of(encoder, key, value, &number);
		if (!failed)
			encoder->config[config] |= number;
		return failed;
	}
	if (!*key || strchr(key, '/') ||
	    gn_file_text(text, sizeof(text), DEVICES "/%s/format/%s", encoder->sysfs,
			 encoder->pmu->name, key) <= 0)
		return no_such_term(encoder, key);
	if (!is_layout(text, &layout))
		return no_layout(encoder, key, text);
	if (value) {
		failed = number_of(encoder, key, value, &number);
		if (failed)
			return failed;
	}
	if (layout.n < 64 && number >> layout.n) {
		gn_error_event(encoder->why, GN_ENOEVNT, encoder->name,
			       "%s=%s does not fit its %d bits on '%s'", key, value ? value : "1",
			       layout.n, encoder->pmu->name);
		return gn_error_remedy(encoder->why, "give a smaller number");
	}
	/* A parameter that is given replaces the one that an event's name brought along. */
	for (int i = 0; i < layout.n; i++) {
		encoder->config[layout.config] &= ~((uint64_t)1 << layout.bit[i]);
		encoder->config[layout.config] |= (number >> i & 1) << layout.bit[i];
	}
	return GN_OK;
}

/* The terms that an event's file holds. */
static int encode_event(struct encoder *encoder, const char *event, char *text)
{
	char *next;

	for (char *term = text; term; term = next) {
		char *value;
		int failed;

		next = strchr(term, ',');
		if (next)
			*next++ = '\0';
		value = strchr(term, '=');
		if (value)
			*value++ = '\0';
		term = gn_strip(term);
		value = value ? gn_strip(value) : NULL;
		if (value && !strcmp(value, "?")) {
			gn_error_event(encoder->why, GN_ENOEVNT, encoder->name,
				       "event '%s' of PMU '%s' needs %s=...", event,
				       encoder->pmu->name, term);
			return gn_error_remedy(encoder->why, "add it between the slashes");
		}
		failed = encode_term(encoder, term, value);
		if (failed)
			return failed;
	}
	return GN_OK;
}

int gn_pmu_encode(const char *sysfs, const struct gn_pmu *pmu, const char *name,
		  const struct gn_terms *terms, struct gn_event_spec *spec,
		  struct gn_error_text *why)
{
	struct encoder encoder = {.sysfs = sysfs, .pmu = pmu, .name = name, .why = why};
	char text[GN_FILE_MAX];

	for (int i = 0; i < terms->n; i++) {
		const char *key = terms->term[i].key, *value = terms->term[i].value;
		int failed;

		if (!value && gn_file_text(text, sizeof(text), DEVICES "/%s/events/%s", sysfs,
					   pmu->name, key) > 0)
			failed = encode_event(&encoder, key, text);
		else
			failed = encode_term(&encoder, key, value);
		if (failed)
			return failed;
	}
	memset(spec, 0, sizeof(*spec));
	spec->type = pmu->type;
	spec->config = encoder.config[0];
	spec->config1 = encoder.config[1];
	spec->config2 = encoder.config[2];
	spec->config3 = encoder.config[3];
	return GN_OK;
}
