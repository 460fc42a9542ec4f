/* Of many sections in NAME.hpm: the table of them all, and what of them need not be said twice. */
#include "report_sections.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_table.h"
#include "text_escape.h"

/* Longer labels are cut, so that the table fits 80 columns. */
#define NAME_WIDTH 34

struct row {
	const hpm_data_item *item;
	double exclusive_s;
	double hot_s; /* what it is sorted by */
};

/* --- the same twice --------------------------------------------------------------------------- */

static int is_same_number(double one, double other)
{
	return one == other || (isnan(one) && isnan(other));
}

static int is_same_spread(const hpm_spread *first, const hpm_spread *second)
{
	if (!first || !second)
		return first == second;
	return first->n == second->n && is_same_number(first->minimum, second->minimum) &&
	       is_same_number(first->maximum, second->maximum);
}

static int is_same_event(const hpm_event_info *first, const hpm_event_info *second)
{
	return !strcmp(hpm_text(first->name), hpm_text(second->name)) &&
	       first->how == second->how && is_same_number(hpm_value(first), hpm_value(second)) &&
	       is_same_spread(first->spread, second->spread);
}

static int is_same(const hpm_data_item *first, const hpm_data_item *second)
{
	static const int times[] = {HPM_TIME_WALLCLOCK, HPM_TIME_USER, HPM_TIME_SYSTEM};

	if (strcmp(hpm_text(first->group), hpm_text(second->group)) != 0 ||
	    strcmp(hpm_text(first->description), hpm_text(second->description)) != 0 ||
	    first->count != second->count || first->num_data != second->num_data)
		return 0;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (!is_same_number(first->times[times[i]], second->times[times[i]]))
			return 0;
	for (int i = 0; i < first->num_data; i++)
		if (!is_same_event(&first->data[i], &second->data[i]))
			return 0;
	return 1;
}

int hpm_find_twins(const struct hpm_report *report, unsigned char *twin)
{
	int n = 0;

	memset(twin, 0, (size_t)report->n);
	for (int i = 0; i < report->n; i++) {
		const hpm_data_item *item = &report->items[i];

		if (item->is_rusage || item->is_exclusive)
			continue;
		for (int other = i + 1; other < report->n; other++) {
			if (!hpm_is_same_section(item, &report->items[other]))
				break;
			if (!report->items[other].is_exclusive || twin[other] ||
			    !is_same(item, &report->items[other]))
				continue;
			twin[i] = HPM_STANDS_FOR_BOTH;
			twin[other] = HPM_IS_SAID;
			n++;
			break;
		}
	}
	return n;
}

int hpm_is_repeated(const struct hpm_metric *metrics, int n, int index)
{
	/* What the second says follows from the first and the times of the section. */
	static const char *const repeated[][2] = {
		{"cpus_utilised", "machine_utilisation"},
		{"user_share", "system_share"},
		{"context_switch_rate", "context_switches_per_cpu_second"},
		{"migration_rate", "migrations_per_cpu_second"},
		{"page_fault_rate", "page_faults_per_cpu_second"},
		{"system_call_rate", "system_calls_per_cpu_second"},
	};

	for (size_t i = 0; i < sizeof(repeated) / sizeof(*repeated); i++) {
		if (strcmp(metrics[index].name, repeated[i][1]) != 0)
			continue;
		for (int other = 0; other < n; other++)
			if (!strcmp(metrics[other].name, repeated[i][0]))
				return 1;
	}
	return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static double exclusive_of(const struct hpm_report *report, int i)
{
	for (int other = i + 1; other < report->n; other++) {
		const hpm_data_item *item = &report->items[other];

		if (!hpm_is_same_section(&report->items[i], item))
			break;
		if (item->is_exclusive && !item->is_mplex_cont)
			return item->times[HPM_TIME_WALLCLOCK];
	}
	return NAN;
}

/* Hottest first; of two that are as hot, as they came. */
static int by_heat(const void *one, const void *other)
{
	const struct row *a = one, *b = other;

	if (a->hot_s != b->hot_s)
		return a->hot_s < b->hot_s ? 1 : -1;
	return (a->item > b->item) - (a->item < b->item);
}

/* Every section once. */
static int find_rows(const struct hpm_report *report, struct row *rows)
{
	int n = 0;

	for (int i = 0; i < report->n; i++) {
		const hpm_data_item *item = &report->items[i];
		struct row *row = &rows[n];

		if (item->is_rusage || item->is_exclusive || item->is_mplex_cont ||
		    item->instr_id <= 0)
			continue;
		row->item = item;
		row->exclusive_s = exclusive_of(report, i);
		row->hot_s = isfinite(row->exclusive_s) ? row->exclusive_s
							: item->times[HPM_TIME_WALLCLOCK];
		/* What is not known is never hottest. */
		row->hot_s = isfinite(row->hot_s) ? row->hot_s : -1;
		n++;
	}
	qsort(rows, (size_t)n, sizeof(*rows), by_heat);
	return n;
}

/* Cuts a text to so many characters. */
static void cut(char *text, size_t width)
{
	size_t length = strlen(text);

	if (hpm_width(text) <= width)
		return;
	while (length && hpm_width(text) > width - 3) {
		do
			length--;
		while (length && ((unsigned char)text[length] & 0xc0) == 0x80);
		text[length] = '\0';
	}
	/* At least three characters went. */
	strcpy(text + length, "...");
}

static char *name_of(const hpm_data_item *item, int digits, int has_tasks)
{
	char *label = hpm_printable(hpm_text(item->label)), *name;
	char task[32] = "";

	if (!label)
		return NULL;
	if (has_tasks && item->mpi_task_id >= 0)
		snprintf(task, sizeof(task), "  task %d", item->mpi_task_id);
	cut(label, NAME_WIDTH - 2 - (size_t)digits - strlen(task));
	name = hpm_formatted("%*d  %s%s", digits, item->instr_id, label, task);
	free(label);
	return name;
}

/*
 * The wall time of which each has its share: that of the run or, over tasks, of the section that
 * took longest, as the run's is one task's alone.
 */
static double whole_of(const struct hpm_report *report, const struct row *rows, int n)
{
	double most = report->is_over_tasks ? 0 : report->header->wall_s;

	for (int i = 0; report->is_over_tasks && i < n; i++)
		most = fmax(most, rows[i].item->times[HPM_TIME_WALLCLOCK]);
	return most;
}

static void add_row(struct hpm_table *table, const struct row *row, double whole, int digits,
		    int has_tasks)
{
	const int has_share = whole > 0 && row->hot_s >= 0;
	char *cell[HPM_CELLS] = {
		name_of(row->item, digits, has_tasks),
		hpm_table_quantity(row->item->count, ""),
		hpm_table_quantity(row->item->times[HPM_TIME_WALLCLOCK], "s"),
		isfinite(row->exclusive_s) ? hpm_table_quantity(row->exclusive_s, "s") : strdup(""),
		has_share ? hpm_formatted("%.1f %%", 100 * row->hot_s / whole) : strdup(""),
		strdup(""),
	};

	hpm_table_add_cells(table, cell);
}

void hpm_sections_print(struct gn_atomic_file *output, const struct hpm_report *report)
{
	static const char *const titles[HPM_CELLS] = {
		"", "calls", "wall time", "exclusive", "share", "",
	};
	struct hpm_table table = {.titles = titles};
	struct row *rows = calloc((size_t)report->n + 1, sizeof(*rows));
	int n = rows ? find_rows(report, rows) : 0, digits = 1, has_tasks = 0;
	const double whole = whole_of(report, rows, n);

	if (!rows && !output->error)
		output->error = ENOMEM;
	for (int i = 0; i < n; i++) {
		const int length = snprintf(NULL, 0, "%d", rows[i].item->instr_id);

		digits = length > digits ? length : digits;
		has_tasks |= rows[i].item->mpi_task_id != rows[0].item->mpi_task_id;
	}
	for (int i = 0; n > 1 && i < n; i++)
		add_row(&table, &rows[i], whole, digits, has_tasks);
	hpm_table_print(output, &table, "sections, hottest first");
	if (n > 1)
		gn_puts(output, "\n");
	free(rows);
}
