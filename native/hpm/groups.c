/* Groups of events by number or name: gnomon.metrics.groups.find_group in C. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "event_grammar.h"
#include "metric_table.h"
#include "report.h"

#define WORD_SIZE 80

static const char *text(uint32_t offset)
{
	return hpm_texts + offset;
}

static int is_named(const struct hpm_group_row *row, const char *word)
{
	return !strcasecmp(text(row->name), word);
}

static int is_numbered(const struct hpm_group_row *row, const char *word)
{
	char number[16];

	if (!word[0] || word[strspn(word, "0123456789")])
		return 0;
	snprintf(number, sizeof(number), "%d", row->number);
	word += strspn(word, "0");
	return !strcmp(word[0] ? word : "0", number);
}

static int is_here(const struct hpm_group_row *row, const struct hpm_constants *constants)
{
	const char *cpu = text(row->cpus);

	for (int i = 0; i < row->n_cpus; i++, cpu += strlen(cpu) + 1)
		for (int at = 0; at < constants->n_cpus; at++)
			if (!strcmp(cpu, constants->cpu[at]))
				return 1;
	return 0;
}

typedef int answers(const struct hpm_group_row *row, const char *word);

/* Whether any group answers to the word. */
static int is_any(answers *answers_to, const char *word)
{
	for (int i = 0; i < hpm_group_count; i++)
		if (answers_to(&hpm_group_rows[i], word))
			return 1;
	return 0;
}

/* The first that is for the machine's CPU or for all. */
static const struct hpm_group_row *first(answers *answers_to, const char *word,
					 struct hpm_constants *constants)
{
	for (int i = 0; i < hpm_group_count; i++) {
		const struct hpm_group_row *row = &hpm_group_rows[i];

		if (!answers_to(row, word))
			continue;
		if (!row->n_cpus)
			return row;
		hpm_constants_name_cpu(constants);
		if (is_here(row, constants))
			return row;
	}
	return NULL;
}

static int is_repeated(int row)
{
	for (int i = 0; i < row; i++)
		if (hpm_group_rows[i].name == hpm_group_rows[row].name)
			return 1;
	return 0;
}

/* There is no such group: those that are nearest, or those that there are. */
static void refuse_unknown(const char *word, char *why, size_t size)
{
	struct gn_nearest nearest;
	char hint[512];
	int length;

	gn_nearest_begin(&nearest, word);
	for (int i = 0; i < hpm_group_count; i++)
		if (!is_repeated(i))
			gn_nearest_try(&nearest, text(hpm_group_rows[i].name));
	gn_nearest_text(&nearest, hint, sizeof(hint));
	length = snprintf(why, size, "no group '%s'%s", word, hint[0] ? hint : "; there are");
	for (int i = 0, n = 0; i < hpm_group_count && !hint[0] && length >= 0; i++)
		if ((size_t)length < size && hpm_group_rows[i].number >= 0 && !is_repeated(i))
			length += snprintf(why + length, size - (size_t)length, "%s %d %s",
					   n++ ? "," : "", hpm_group_rows[i].number,
					   text(hpm_group_rows[i].name));
	if (length >= 0 && (size_t)length < size)
		snprintf(why + length, size - (size_t)length, "; gnomon groups lists them");
}

/* There is one, but for other CPUs. */
static void refuse_elsewhere(answers *answers_to, const char *word,
			     const struct hpm_constants *constants, char *why, size_t size)
{
	int length =
		snprintf(why, size, "group '%s' is for core PMUs that have its events (", word);
	int n = 0;

	for (int i = 0; i < hpm_group_count; i++) {
		const struct hpm_group_row *row = &hpm_group_rows[i];
		const char *cpu = text(row->cpus);

		for (int at = 0; answers_to(row, word) && at < row->n_cpus; at++) {
			if (length >= 0 && (size_t)length < size)
				length += snprintf(why + length, size - (size_t)length, "%s%s",
						   n++ ? ", " : "", cpu);
			cpu += strlen(cpu) + 1;
		}
	}
	if (length >= 0 && (size_t)length < size)
		length += snprintf(why + length, size - (size_t)length, "); this machine's is %s",
				   constants->n_cpus ? "" : "none that the kernel shows");
	for (int i = 0; i < constants->n_cpus && length >= 0 && (size_t)length < size; i++)
		length += snprintf(why + length, size - (size_t)length, "%s%s", i ? ", " : "",
				   constants->cpu[i]);
	if (length >= 0 && (size_t)length < size)
		snprintf(why + length, size - (size_t)length, "; gnomon groups lists the others");
}

static int find(const char *word, struct hpm_constants *constants, struct hpm_group *group,
		char *why, size_t size)
{
	answers *answers_to = is_any(is_numbered, word) ? is_numbered : is_named;
	const struct hpm_group_row *row = first(answers_to, word, constants);
	const char *event;

	if (!row) {
		if (is_any(answers_to, word))
			refuse_elsewhere(answers_to, word, constants, why, size);
		else
			refuse_unknown(word, why, size);
		return -1;
	}
	group->number = row->number;
	group->name = text(row->name);
	group->description = text(row->description);
	group->n = row->n < HPM_GROUP_EVENTS_MAX ? row->n : HPM_GROUP_EVENTS_MAX;
	event = text(row->events);
	for (int i = 0; i < group->n; i++, event += strlen(event) + 1)
		group->events[i] = event;
	return 0;
}

/* A group that is asked for twice, by its number and its name perhaps, is counted once. */
static int is_among(const struct hpm_group *groups, int n, const struct hpm_group *group)
{
	for (int i = 0; i < n; i++)
		if (groups[i].number == group->number && !strcmp(groups[i].name, group->name))
			return 1;
	return 0;
}

int hpm_groups_find(const char *set, struct hpm_constants *constants, struct hpm_group *out,
		    int max, char *why, size_t size)
{
	int n = 0;

	if (!set || !set[strspn(set, " \t")])
		set = "0";
	for (;; set++) {
		size_t length = strcspn(set, ",");
		const char *word = set;
		char copy[WORD_SIZE];

		set += length;
		while (length && isspace((unsigned char)*word)) {
			word++;
			length--;
		}
		while (length && isspace((unsigned char)word[length - 1]))
			length--;
		snprintf(copy, sizeof(copy), "%.*s", (int)(length < WORD_SIZE ? length : WORD_SIZE),
			 word);
		for (char *at = copy; *at; at++)
			if (iscntrl((unsigned char)*at))
				*at = '?';
		if (n == max) {
			snprintf(why, size, "more than %d groups; ask for fewer", max);
			return -1;
		}
		if (find(copy, constants, &out[n], why, size))
			return -1;
		n += !is_among(out, n, &out[n]);
		if (!*set)
			return n;
	}
}
