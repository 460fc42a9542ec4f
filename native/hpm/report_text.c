/* The text of NAME.hpm: blocks of tables, one for each section and group of events. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number_text.h"
#include "report_sections.h"
#include "report_table.h"
#include "text_escape.h"
#include "writers.h"

/* Source: HPM Toolkit User's Guide 3.2.2, section 3.8. */
#define WORRYING_OVERHEAD 0.2

#define WIDTH 80

/* Why events could not be counted: each reason is printed once, at the end. */
struct reason {
	const char *text;
	const char **event; /* names, each once */
	int n;
	int room;
};

struct reasons {
	struct reason *reason;
	int n;
	int room;
};

/* Events that no section has a count of: they have no rows, only the reason at the end. */
struct absent {
	const char **name;
	int n;
	int room;
};

static char *modes_of(int modes)
{
	if (!modes || modes == HPM_MODE_ALL || modes == (HPM_MODE_USER | HPM_MODE_KERNEL))
		return strdup("");
	return hpm_formatted("%s mode only", hpm_modes_name(modes));
}

/* Room for one more in an array: the array, or NULL for want of memory. */
static void *grown(void *array, size_t size, int n, int *room)
{
	int more = *room ? 2 * *room : 8;

	if (n < *room)
		return array;
	array = realloc(array, (size_t)more * size);
	if (array)
		*room = more;
	return array;
}

/* The number of an event's reason, from 1; 0: no memory. */
static int reason_number(struct reasons *reasons, const hpm_event_info *event)
{
	const char *text = hpm_text(event->reason), *name = hpm_text(event->name);
	struct reason *reason;
	void *array;
	int number = 0;

	while (number < reasons->n && strcmp(reasons->reason[number].text, text) != 0)
		number++;
	if (number == reasons->n) {
		array = grown(reasons->reason, sizeof(*reason), reasons->n, &reasons->room);
		if (!array)
			return 0;
		reasons->reason = array;
		memset(&reasons->reason[reasons->n++], 0, sizeof(*reason));
		reasons->reason[number].text = text;
	}
	reason = &reasons->reason[number];
	for (int i = 0; i < reason->n; i++)
		if (!strcmp(reason->event[i], name))
			return number + 1;
	array = grown(reason->event, sizeof(*reason->event), reason->n, &reason->room);
	if (!array)
		return 0;
	reason->event = array;
	reason->event[reason->n++] = name;
	return number + 1;
}

/* A text in lines of at most WIDTH columns behind `indent` blanks, after `used` of the first. */
static void put_filled(struct gn_atomic_file *output, const char *text, size_t indent, size_t used)
{
	char *printable = hpm_printable(text), *rest = printable, *word;

	if (!printable && !output->error)
		output->error = ENOMEM;
	while ((word = strsep(&rest, " "))) {
		size_t width = hpm_width(word);

		if (used + 1 + width > WIDTH && used > indent) {
			gn_print(output, "\n%*s", (int)indent, "");
			used = indent;
		} else if (word > printable) {
			gn_puts(output, " ");
			used++;
		}
		gn_puts(output, word);
		used += width;
	}
	gn_puts(output, "\n");
	free(printable);
}

static void put_names(struct gn_atomic_file *output, const struct reason *reason)
{
	char *list = strdup("");

	for (int at = 0; list && at < reason->n; at++) {
		char *longer = hpm_formatted(at ? "%s, %s" : "%s%s", list, reason->event[at]);

		free(list);
		list = longer;
	}
	if (!list && !output->error)
		output->error = ENOMEM;
	put_filled(output, list ? list : "", 7, 7);
	free(list);
}

static void put_reasons(struct gn_atomic_file *output, struct reasons *reasons)
{
	if (reasons->n)
		gn_puts(output, "not counted\n");
	for (int i = 0; i < reasons->n; i++) {
		struct reason *reason = &reasons->reason[i];

		gn_print(output, "%5d  ", i + 1);
		put_names(output, reason);
		gn_puts(output, "       ");
		put_filled(output, reason->text, 7, 7);
		free(reason->event);
	}
	free(reasons->reason);
}

/* Each line of a text, with the same words before it. */
static void put_lines(struct gn_atomic_file *output, const char *before, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);

		gn_puts(output, before);
		hpm_put_printable(output, line ? line : "");
		gn_puts(output, "\n");
		free(line);
		text += length + (text[length] == '\n');
	}
}

static void put_header(struct gn_atomic_file *output, const struct hpm_header *header)
{
	char started[HPM_TIMESTAMP_SIZE], stopped[HPM_TIMESTAMP_SIZE], wall[HPM_QUANTITY_SIZE];

	gn_puts(output, "libhpm: ");
	hpm_put_printable(output, header->program);
	if (header->task >= 0)
		gn_print(output, "  [MPI task %ld, process %ld]\n", header->task, header->process);
	else
		gn_print(output, "  [process %ld]\n", header->process);
	hpm_timestamp_text(header->started, 0, started);
	hpm_timestamp_text(header->stopped, 0, stopped);
	hpm_quantity(header->wall_s, "s", wall);
	gn_puts(output, "  ");
	hpm_put_printable(output, header->host);
	gn_print(output, ": from %s to %s, %s\n", started, stopped, wall);
	if (header->command[0]) {
		gn_puts(output, "  program: ");
		hpm_put_printable(output, header->command);
		gn_puts(output, "\n");
	}
	if (header->events[0]) {
		gn_puts(output, "  counted: ");
		hpm_put_printable(output, header->events);
		gn_puts(output, "\n");
	}
	put_lines(output, "  note: ", header->notes);
	gn_puts(output, "\n");
}

/* Each line of a description, which may have several. */
static void put_description(struct gn_atomic_file *output, const hpm_data_item *item)
{
	const char *description = hpm_text(item->description);

	if (strcmp(description, hpm_text(item->label)))
		put_lines(output, "  ", description);
}

/* Joins of how many tasks a value is, if not of all. */
static char *of_tasks(char *said, const hpm_data_item *item, int n)
{
	if (n <= 0 || n >= item->n_tasks)
		return said;
	return hpm_joined(said, hpm_formatted("of %d of %d tasks", n, item->n_tasks));
}

/* The same of a spread; without tasks it is over something else, such as earlier runs. */
static char *of_spread(char *said, const hpm_data_item *item, const hpm_spread *spread)
{
	return of_tasks(said, item, spread && spread->min_task >= 0 ? spread->n : 0);
}

static void put_usage(struct gn_atomic_file *output, const hpm_data_item *item)
{
	struct hpm_table table = {0};

	for (int i = 0; i < item->num_data; i++) {
		const hpm_event_info *field = &item->data[i];
		const char *name = hpm_text(field->name), *unit = hpm_text(field->unit);
		const char *description = hpm_text(field->description);
		int is_kib = !strcmp(unit, "KiB");
		char *reason = hpm_printable(hpm_text(field->reason));

		hpm_table_add_spread(
			&table, hpm_printable(description[0] ? description : name),
			hpm_table_quantity(hpm_value(field) * (is_kib ? 1024 : 1),
					   is_kib ? "bytes" : unit),
			field->spread, is_kib ? 1024 : 1, is_kib ? "bytes" : unit,
			of_spread(hpm_joined(hpm_printable(description[0] ? name : ""), reason),
				  item, field->spread));
	}
	put_description(output, item);
	hpm_table_print(output, &table, "resource usage (getrusage)");
	gn_puts(output, "\n");
}

static char *share(double part, double whole)
{
	if (!isfinite(part) || !(whole > 0))
		return strdup("");
	return hpm_formatted("%.1f %% of the wall time", 100 * part / whole);
}

static void add_time(struct hpm_table *table, const hpm_data_item *item, int time, const char *name,
		     int has_share)
{
	const hpm_spread *spread = item->times_spread ? &item->times_spread[time] : NULL;
	const double value = item->times[time];
	char *said = of_spread(strdup(""), item, spread);

	/* The mean over some tasks has no share in the mean over others. */
	if (has_share && (!spread || spread->n == item->times_spread[HPM_TIME_WALLCLOCK].n))
		said = hpm_joined(said, share(value, item->times[HPM_TIME_WALLCLOCK]));
	hpm_table_add_spread(table, strdup(name), hpm_table_quantity(value, "s"), spread, 1, "s",
			     said);
}

static void put_times(struct gn_atomic_file *output, const hpm_data_item *item)
{
	const double *times = item->times;
	double wall = times[HPM_TIME_WALLCLOCK], overhead = times[HPM_TIME_OVERHEAD];
	struct hpm_table table = {0};

	hpm_table_add(&table, strdup("calls"), hpm_table_quantity(item->count, ""), strdup(""));
	add_time(&table, item, HPM_TIME_WALLCLOCK, "wall time", 0);
	if (isfinite(times[HPM_TIME_USER]))
		add_time(&table, item, HPM_TIME_USER, "user time", 1);
	if (isfinite(times[HPM_TIME_SYSTEM]))
		add_time(&table, item, HPM_TIME_SYSTEM, "system time", 1);
	add_time(&table, item, HPM_TIME_OVERHEAD, "overhead", 1);
	hpm_table_print(output, &table, NULL);
	if (isfinite(overhead) && overhead > 0 && !(overhead < WORRYING_OVERHEAD * wall))
		gn_print(output,
			 "  WARNING: the overhead of measuring is not small beside the wall time;\n"
			 "           let the section do more per call\n");
}

static int place_in(const struct absent *absent, const hpm_event_info *event)
{
	int place = 0;

	while (place < absent->n && strcmp(absent->name[place], hpm_text(event->name)) != 0)
		place++;
	return place;
}

/* Without memory an event keeps its rows. */
static void put_absent(struct absent *absent, const hpm_event_info *event)
{
	void *array;

	if (!hpm_text(event->reason)[0] || place_in(absent, event) < absent->n)
		return;
	array = grown(absent->name, sizeof(*absent->name), absent->n, &absent->room);
	if (!array)
		return;
	absent->name = array;
	absent->name[absent->n++] = hpm_text(event->name);
}

static void take_present(struct absent *absent, const hpm_event_info *event)
{
	int place = place_in(absent, event);

	if (place < absent->n)
		absent->name[place] = absent->name[--absent->n];
}

static void find_absent(struct absent *absent, const struct hpm_report *report)
{
	for (int has_value = 0; has_value <= 1; has_value++) {
		for (int i = 0; i < report->n; i++) {
			const hpm_data_item *item = &report->items[i];

			for (int at = 0; at < item->num_data && !item->is_rusage; at++) {
				const hpm_event_info *event = &item->data[at];

				if (has_value && !isnan(hpm_value(event)))
					take_present(absent, event);
				else if (!has_value && isnan(hpm_value(event)))
					put_absent(absent, event);
			}
		}
	}
}

static char *remark(const hpm_data_item *item, const hpm_event_info *event, struct reasons *reasons)
{
	char *said;

	if (isnan(hpm_value(event))) {
		int number = hpm_text(event->reason)[0] ? reason_number(reasons, event) : -1;

		return number < 0 ? strdup("")
		       : number	  ? hpm_formatted("not counted: %d", number)
				  : NULL;
	}
	said = hpm_joined(strdup(hpm_how_name(event->how)), modes_of(event->modes));
	if (event->flags & HPM_IS_NET)
		said = hpm_joined(said, strdup("less measuring"));
	if (event->flags & HPM_IS_NODE_WIDE)
		said = hpm_joined(said, strdup("whole machine, not only the program"));
	said = of_spread(said, item, event->spread);
	if (event->how == HPM_SCALED && event->enabled_s > 0)
		said = hpm_joined(said, hpm_formatted("counted %.1f %% of the time",
						      100 * event->running_s / event->enabled_s));
	if (event->value < 0)
		said = hpm_joined(said,
				  strdup("negative: less was counted of what is added than of "
					 "what is taken away"));
	return said;
}

static void put_counters(struct gn_atomic_file *output, const hpm_data_item *item,
			 const struct absent *absent, struct reasons *reasons)
{
	struct hpm_table table = {0};

	for (int i = 0; i < item->num_data; i++) {
		const hpm_event_info *event = &item->data[i];

		if (place_in(absent, event) < absent->n) {
			if (!reason_number(reasons, event))
				table.error = ENOMEM;
			continue;
		}
		hpm_table_add_spread(&table, hpm_printable(hpm_text(event->name)),
				     hpm_table_quantity(hpm_value(event), hpm_text(event->unit)),
				     event->spread, 1, hpm_text(event->unit),
				     remark(item, event, reasons));
	}
	if (!table.n && item->num_data && !table.error)
		gn_puts(output, "counters\n  none of its events could be counted: see the end\n");
	hpm_table_print(output, &table, "counters");
}

/* Of the wall time and of every event, where an aggregator made any. */
static void put_histograms(struct gn_atomic_file *output, const hpm_data_item *item)
{
	if (item->times_spread)
		hpm_histogram_print(output, "wall time", &item->times_spread[HPM_TIME_WALLCLOCK],
				    "s");
	for (int i = 0; i < item->num_data; i++)
		hpm_histogram_print(output, hpm_text(item->data[i].name), item->data[i].spread,
				    hpm_text(item->data[i].unit));
}

static void put_metrics(struct gn_atomic_file *output, const struct hpm_settings *settings,
			const hpm_data_item *item, const struct hpm_metric *metric, int n)
{
	struct hpm_table table = {0};

	for (int i = 0; i < n; i++) {
		char *said;

		if (item->instr_id > 0 && hpm_is_repeated(metric, n, i))
			continue;
		said = strdup(metric[i].how == HPM_COUNTED ? "" : hpm_how_name(metric[i].how));

		said = hpm_joined(said, modes_of(metric[i].modes));
		said = of_tasks(said, item, metric[i].tasks);
		if (settings->formulas)
			said = hpm_joined(said, hpm_formatted("= %s", metric[i].formula));
		hpm_table_add(&table, strdup(metric[i].name),
			      hpm_table_quantity(metric[i].value, metric[i].unit), said);
	}
	hpm_table_print(output, &table, "metrics");
}

static void put_heading(struct gn_atomic_file *output, const hpm_data_item *item, int is_both)
{
	if (item->instr_id)
		gn_print(output, "section %d", item->instr_id);
	else
		gn_puts(output, "program");
	if (hpm_text(item->label)[0]) {
		gn_puts(output, "  ");
		hpm_put_printable(output, item->label);
	}
	gn_print(output, "  [%s values]\n",
		 is_both	      ? "inclusive and exclusive"
		 : item->is_exclusive ? "exclusive"
				      : "inclusive");
	put_description(output, item);
	if (hpm_text(item->group)[0]) {
		gn_puts(output, "  group: ");
		hpm_put_printable(output, item->group);
		gn_puts(output,
			item->is_mplex_cont ? "  (counted along with the one before)\n" : "\n");
	}
	if (item->parent_id > 0) {
		gn_print(output, "  parent: section %d", item->parent_id);
		if (hpm_text(item->parent_label)[0]) {
			gn_puts(output, "  ");
			hpm_put_printable(output, item->parent_label);
		}
		gn_puts(output, "\n");
	}
	if (hpm_text(item->file)[0]) {
		gn_puts(output, "  place: ");
		hpm_put_printable(output, item->file);
		gn_print(output, item->line > 0 ? ":%d\n" : "\n", item->line);
	}
	if (item->mpi_task_id >= 0 && !item->n_tasks)
		gn_print(output, "  MPI task: %d\n", item->mpi_task_id);
	if (item->thread_id > 0)
		gn_print(output, "  thread: %d\n", item->thread_id);
}

void hpm_text_write(struct gn_atomic_file *output, const struct hpm_report *report)
{
	struct reasons reasons = {0};
	struct absent absent = {0};
	unsigned char *twin;

	twin = calloc((size_t)report->n + 1, 1);
	if (twin)
		hpm_find_twins(report, twin);
	find_absent(&absent, report);
	put_header(output, report->header);
	hpm_sections_print(output, report);
	for (int i = 0; i < report->n; i++) {
		const hpm_data_item *item = &report->items[i];
		struct hpm_metric *metrics;
		int n;

		if (item->is_rusage) {
			put_usage(output, item);
			continue;
		}
		if (twin && twin[i] == HPM_IS_SAID)
			continue;
		n = hpm_report_metrics(output, report, item, &metrics);
		put_heading(output, item, twin && twin[i] == HPM_STANDS_FOR_BOTH);
		put_times(output, item);
		put_counters(output, item, &absent, &reasons);
		put_histograms(output, item);
		put_metrics(output, report->settings, item, metrics, n);
		gn_puts(output, "\n");
		hpm_metrics_free(metrics, n);
		free(metrics);
	}
	put_reasons(output, &reasons);
	free(absent.name);
	free(twin);
}
