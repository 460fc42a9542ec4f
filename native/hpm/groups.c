/* Groups of events by number or name: gnomon.metrics.groups.find_group in C. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* The first that is for the CPU; one for all is the last resort. */
static const struct hpm_group_row *first(int (*answers)(const struct hpm_group_row *, const char *),
					 const char *word, struct hpm_constants *constants)
{
	const struct hpm_group_row *for_all = NULL;

	for (int i = 0; i < hpm_group_count; i++) {
		const struct hpm_group_row *row = &hpm_group_rows[i];

		if (!answers(row, word))
			continue;
		if (!row->n_cpus) {
			for_all = for_all ? for_all : row;
			continue;
		}
		hpm_machine_name(constants);
		if (is_here(row, constants))
			return row;
	}
	return for_all;
}

static void refuse(const char *word, char *why, size_t size)
{
	int length = snprintf(why, size, "no group '%s'; there are", word);

	for (int i = 0; i < hpm_group_count && length > 0 && (size_t)length < size; i++)
		length += snprintf(why + length, size - (size_t)length, "%s %d %s", i ? "," : "",
				   hpm_group_rows[i].number, text(hpm_group_rows[i].name));
}

static int find(const char *word, struct hpm_constants *constants, struct hpm_group *group,
		char *why, size_t size)
{
	const struct hpm_group_row *row = first(is_numbered, word, constants);
	const char *event;

	if (!row)
		row = first(is_named, word, constants);
	if (!row) {
		refuse(word, why, size);
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
		if (n == max) {
			snprintf(why, size, "more than %d groups; ask for fewer", max);
			return -1;
		}
		if (find(copy, constants, &out[n], why, size))
			return -1;
		n++;
		if (!*set)
			return n;
	}
}
