/*
 * What native/hpm makes of names, numbers, variables and measured items, for tests that compare it
 * with Python. print_hpm MODE; lines of fields, separated by tabs, come from stdin. Texts of items
 * are in hexadecimal, "-" is the empty one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metric_constants.h"
#include "metric_table.h"
#include "number_text.h"
#include "output_names.h"
#include "report.h"
#include "text_escape.h"

#define FIELDS 24
#define ITEMS 4096
#define EVENTS 256
#define BINS 64

static char *field[FIELDS];
static int fields;

/* Splits the next line: 1, or 0 at the end. */
static int next_line(void)
{
	static char *line;
	static size_t size;
	ssize_t length = getline(&line, &size, stdin);

	if (length < 0) {
		free(line);
		line = NULL;
		return 0;
	}
	if (length && line[length - 1] == '\n')
		line[length - 1] = 0;
	fields = 0;
	for (char *at = line; at && fields < FIELDS;)
		field[fields++] = strsep(&at, "\t");
	for (int i = fields; i < FIELDS; i++)
		field[i] = "";
	return 1;
}

static char *from_hex(const char *hex)
{
	size_t length = strcmp(hex, "-") ? strlen(hex) / 2 : 0;
	char *text = malloc(length + 1);

	if (!text)
		abort();
	for (size_t i = 0; i < length; i++) {
		const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};

		text[i] = (char)strtol(digits, NULL, 16);
	}
	text[length] = 0;
	return text;
}

static void names(void)
{
	while (next_line()) {
		struct hpm_instance instance = {.host = field[1], .task = atol(field[2])};
		char out[PATH_MAX];

		instance.moment.tm_year = atoi(field[3]) - 1900;
		instance.moment.tm_mon = atoi(field[4]) - 1;
		instance.moment.tm_mday = atoi(field[5]);
		instance.moment.tm_hour = atoi(field[6]);
		instance.moment.tm_min = atoi(field[7]);
		instance.moment.tm_sec = atoi(field[8]);
		puts(hpm_unique_name(field[0], &instance, out, sizeof(out)) ? "too long" : out);
	}
}

static void numbers(void)
{
	while (next_line()) {
		char text[HPM_QUANTITY_SIZE], exact[HPM_EXACT_SIZE];
		double value = strtod(field[0], NULL), again;
		int is_read = !hpm_real(field[2], &again);

		hpm_quantity(value, field[1], text);
		hpm_exact(value, exact);
		printf("%s\t%s\t%s%a\n", text, exact, is_read ? "" : "no ", is_read ? again : 0);
	}
}

static void texts(void)
{
	while (next_line()) {
		char *text = from_hex(field[0]), *printable = hpm_printable(text);

		puts(printable);
		free(printable);
		free(text);
	}
}

static void show_constants(const struct hpm_constants *constants)
{
	for (int i = 0; i < constants->n; i++)
		printf("%s\t%a\t%d\n", constants->constant[i].name, constants->constant[i].value,
		       constants->constant[i].how);
}

static void settings(const char *program)
{
	struct hpm_settings found;

	hpm_settings_read(&found, program);
	printf("name\t%s\nasc\t%d\nviz\t%d\ncsv\t%d\nstdout\t%d\nformulas\t%d\nunique\t%d\n"
	       "task\t%ld\n",
	       found.name, found.asc, found.viz, found.csv, found.to_stdout, found.formulas,
	       found.unique, hpm_mpi_task());
	show_constants(&found.constants);
}

static void machine(const char *root)
{
	struct hpm_constants constants = {0};

	hpm_machine_read(&constants, root);
	if (!root[0])
		hpm_constants_name_cpu(&constants);
	show_constants(&constants);
	for (int i = 0; i < constants.n_cpus; i++)
		printf("cpu\t%s\n", constants.cpu[i]);
}

/* cpu: libpfm4's name of the only core PMU, or "". */
static void groups(const char *cpu)
{
	struct hpm_constants constants = {.is_named = 1, .n_cpus = cpu[0] != 0};

	snprintf(constants.cpu[0], sizeof(constants.cpu[0]), "%s", cpu);

	while (next_line()) {
		struct hpm_group found[16];
		char why[4096];
		int n = hpm_groups_find(field[0], &constants, found, 16, why, sizeof(why));

		if (n < 0)
			printf("refused: %s", why);
		for (int i = 0; i < n; i++) {
			printf("%s%d %s:", i ? ";" : "", found[i].number, found[i].name);
			for (int at = 0; at < found[i].n; at++)
				printf("%s%s", at ? "," : "", found[i].events[at]);
		}
		puts("");
	}
}

/* Everything that lines of items made. */
static struct hpm_settings asked;
static struct hpm_header header;
static hpm_data_item items[ITEMS];
static int n_items;

static void read_item(void)
{
	hpm_data_item *item = &items[n_items++];

	if (n_items > ITEMS)
		abort();
	memset(item, 0, sizeof(*item));
	item->data = calloc(EVENTS, sizeof(*item->data));
	item->instr_id = atoi(field[1]);
	item->count = atoi(field[2]);
	item->is_exclusive = atoi(field[3]);
	item->is_mplex_cont = atoi(field[4]);
	item->is_rusage = atoi(field[5]);
	item->mpi_task_id = atoi(field[6]);
	item->label = from_hex(field[7]);
	item->group = from_hex(field[8]);
	item->description = from_hex(field[9]);
	item->xml_descr = from_hex(field[10]);
	item->file = from_hex(field[11]);
	item->line = atoi(field[12]);
	item->parent_id = atoi(field[13]);
	item->parent_label = from_hex(field[14]);
	item->thread_id = atoi(field[15]);
	item->process_id = atoi(field[16]);
}

static void read_event(void)
{
	hpm_data_item *item = &items[n_items - 1];
	hpm_event_info *event = &item->data[item->num_data++];

	if (item->num_data > EVENTS)
		abort();
	event->name = from_hex(field[1]);
	event->component = from_hex(field[2]);
	event->unit = from_hex(field[3]);
	event->description = from_hex(field[4]);
	event->reason = from_hex(field[5]);
	event->value = strtod(field[6], NULL);
	event->enabled_s = strtod(field[7], NULL);
	event->running_s = strtod(field[8], NULL);
	event->how = atoi(field[9]);
	event->modes = atoi(field[10]);
	event->flags = atoi(field[11]);
}

/* Where, then n, the extremes, the deviation, tasks and bins. */
static void read_spread(void)
{
	hpm_data_item *item = &items[n_items - 1];
	const int is_time = strcmp(field[1], "event") != 0;
	hpm_spread *spread;
	long long *bins = calloc(BINS, sizeof(*bins));
	char *at = field[8];

	if (is_time && !item->times_spread)
		item->times_spread = calloc(HPM_NTIM, sizeof(*item->times_spread));
	if (!is_time)
		item->data[item->num_data - 1].spread = calloc(1, sizeof(*spread));
	spread = is_time ? &item->times_spread[atoi(field[1])]
			 : item->data[item->num_data - 1].spread;
	spread->n = atoi(field[2]);
	spread->minimum = strtod(field[3], NULL);
	spread->maximum = strtod(field[4], NULL);
	spread->deviation = strtod(field[5], NULL);
	spread->min_task = atoi(field[6]);
	spread->max_task = atoi(field[7]);
	spread->bins = bins;
	while (*at && spread->n_bins < BINS)
		bins[spread->n_bins++] = strtoll(at, &at, 10);
}

/* How many, and which. */
static void read_tasks(void)
{
	items[n_items - 1].n_tasks = atoi(field[1]);
	items[n_items - 1].tasks = from_hex(field[2]);
}

static void read_header(void)
{
	header.program = from_hex(field[1]);
	header.command = from_hex(field[2]);
	header.host = from_hex(field[3]);
	header.events = from_hex(field[4]);
	header.notes = from_hex(field[5]);
	header.process = atol(field[6]);
	header.task = atol(field[7]);
	header.started = strtod(field[8], NULL);
	header.stopped = strtod(field[9], NULL);
	header.wall_s = strtod(field[10], NULL);
}

static void free_spread(hpm_spread *spread, int n)
{
	for (int i = 0; spread && i < n; i++)
		free((void *)spread[i].bins);
	free(spread);
}

static void free_items(void)
{
	for (int i = 0; i < n_items; i++) {
		hpm_data_item *item = &items[i];

		for (int at = 0; at < item->num_data; at++) {
			free(item->data[at].name);
			free(item->data[at].component);
			free(item->data[at].unit);
			free(item->data[at].description);
			free(item->data[at].reason);
			free_spread(item->data[at].spread, 1);
		}
		free(item->data);
		free(item->label);
		free(item->group);
		free(item->description);
		free(item->xml_descr);
		free(item->file);
		free(item->parent_label);
		free(item->tasks);
		free_spread(item->times_spread, HPM_NTIM);
	}
	n_items = 0;
}

static void show_metrics(void)
{
	static struct hpm_metric found[HPM_METRICS_MAX];

	for (int i = 0; i < n_items; i++) {
		int n = hpm_metrics_of(&items[i], &asked.constants, found, HPM_METRICS_MAX);

		for (int at = 0; at < n; at++)
			printf("%s\t%s\t%a\t%d\t%d\t%d\t%s\t%s\t%s\n", found[at].name,
			       found[at].unit, found[at].value, found[at].how, found[at].modes,
			       found[at].flags, found[at].formula, found[at].title,
			       found[at].description);
		puts(".");
		hpm_metrics_free(found, n);
	}
	free_items();
	memset(&asked.constants, 0, sizeof(asked.constants));
	asked.constants.is_named = 1;
}

/* Items from stdin; "metrics" shows what follows from them, "report" writes the files. */
static int read_items(const char *program)
{
	int failed = 0;

	hpm_settings_read(&asked, program);
	/* The run that it tells of began whenever a test said. */
	asked.is_repair = 1;
	memset(&asked.constants, 0, sizeof(asked.constants));
	asked.constants.is_named = 1;
	while (next_line()) {
		if (!strcmp(field[0], "item"))
			read_item();
		else if (!strcmp(field[0], "event"))
			read_event();
		else if (!strcmp(field[0], "spread"))
			read_spread();
		else if (!strcmp(field[0], "tasks"))
			read_tasks();
		else if (!strcmp(field[0], "header"))
			read_header();
		else if (!strcmp(field[0], "constant"))
			hpm_constant_set(&asked.constants, field[1], strtod(field[2], NULL),
					 atoi(field[3]));
		else if (!strcmp(field[0], "cpu"))
			snprintf(asked.constants.cpu[asked.constants.n_cpus++],
				 sizeof(asked.constants.cpu[0]), "%s", field[1]);
		else if (!strcmp(field[0], "metrics"))
			show_metrics();
		else if (!strcmp(field[0], "report"))
			failed |= hpm_report_write(&asked, &header, n_items, items);
		else if (!strcmp(field[0], "times"))
			for (int i = 0; i < HPM_NTIM; i++)
				items[n_items - 1].times[i] = strtod(field[1 + i], NULL);
		else
			abort();
	}
	free_items();
	free((char *)header.program);
	free((char *)header.command);
	free((char *)header.host);
	free((char *)header.events);
	free((char *)header.notes);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const char *argument = argc > 2 ? argv[2] : "";

	if (!strcmp(mode, "names"))
		names();
	else if (!strcmp(mode, "numbers"))
		numbers();
	else if (!strcmp(mode, "texts"))
		texts();
	else if (!strcmp(mode, "settings"))
		settings(argument);
	else if (!strcmp(mode, "machine"))
		machine(argument);
	else if (!strcmp(mode, "groups"))
		groups(argument);
	else if (!strcmp(mode, "items"))
		return read_items(argument);
	else
		return 2;
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
