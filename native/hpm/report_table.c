/* Tables of a text. */
#include "report_table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number_text.h"
#include "text_escape.h"

#define BAR 40

__attribute__((format(printf, 1, 2))) char *hpm_formatted(const char *format, ...)
{
	va_list arguments;
	char *result = NULL;
	int length;

	va_start(arguments, format);
	length = vasprintf(&result, format, arguments);
	va_end(arguments);
	return length < 0 ? NULL : result;
}

char *hpm_table_quantity(double value, const char *unit)
{
	char shown[HPM_QUANTITY_SIZE];

	hpm_quantity(value, unit, shown);
	return hpm_printable(shown);
}

char *hpm_joined(char *first, char *second)
{
	char *both;

	if (!first || !second || !first[0] || !second[0]) {
		int is_first = first && second && first[0];

		both = first && second ? strdup(is_first ? first : second) : NULL;
	} else {
		both = hpm_formatted("%s; %s", first, second);
	}
	free(first);
	free(second);
	return both;
}

void hpm_table_add_cells(struct hpm_table *table, char *cell[HPM_CELLS])
{
	int is_short = 0;

	if (table->n == table->room) {
		int room = table->room ? 2 * table->room : 32;
		char *(*row)[HPM_CELLS] = realloc(table->row, (size_t)room * sizeof(*row));

		if (row) {
			table->row = row;
			table->room = room;
		}
	}
	for (int column = 0; column < HPM_CELLS; column++)
		is_short |= !cell[column];
	if (is_short || table->n == table->room) {
		table->error = ENOMEM;
		for (int column = 0; column < HPM_CELLS; column++)
			free(cell[column]);
		return;
	}
	memcpy(table->row[table->n++], cell, sizeof(*table->row));
}

void hpm_table_add(struct hpm_table *table, char *name, char *value, char *remark)
{
	hpm_table_add_spread(table, name, value, NULL, 1, "", remark);
}

/* "1,234 (7)": the value and the task that has it. */
static char *extreme(double value, int task, const char *unit)
{
	char *shown;
	char *both;

	if (!isfinite(value))
		return strdup("");
	shown = hpm_table_quantity(value, unit);
	if (!shown || task < 0)
		return shown;
	both = hpm_formatted("%s (%d)", shown, task);
	free(shown);
	return both;
}

void hpm_table_add_spread(struct hpm_table *table, char *name, char *value,
			  const hpm_spread *spread, double factor, const char *unit, char *remark)
{
	const int has_any = spread && spread->n > 0;
	char *cell[HPM_CELLS] = {
		name,
		value,
		has_any ? extreme(spread->minimum * factor, spread->min_task, unit) : strdup(""),
		has_any ? extreme(spread->maximum * factor, spread->max_task, unit) : strdup(""),
		has_any ? extreme(spread->deviation * factor, -1, unit) : strdup(""),
		remark,
	};

	table->has_spread |= has_any;
	table->has_tasks |= has_any && (spread->min_task >= 0 || spread->max_task >= 0);
	hpm_table_add_cells(table, cell);
}

static void pad(struct gn_atomic_file *output, const char *text, size_t width)
{
	for (size_t i = hpm_width(text); i < width; i++)
		gn_puts(output, " ");
}

static void measure(const struct hpm_table *table, size_t width[HPM_CELLS],
		    const char *const *title)
{
	for (int column = 0; column < HPM_CELLS; column++)
		width[column] = 0;
	for (int i = 0; i < table->n; i++)
		for (int column = 0; column < HPM_CELL_REMARK; column++)
			if (hpm_width(table->row[i][column]) > width[column])
				width[column] = hpm_width(table->row[i][column]);
	for (int column = HPM_CELL_VALUE;
	     (table->has_spread || table->titles) && column < HPM_CELL_REMARK; column++)
		if (width[column] && hpm_width(title[column]) > width[column])
			width[column] = hpm_width(title[column]);
}

/* Numbers are flush right; a column that has none is not there. */
static void put_numbers(struct gn_atomic_file *output, char *const cell[HPM_CELLS],
			const size_t width[HPM_CELLS])
{
	size_t behind = 0;

	for (int column = HPM_CELL_VALUE; column < HPM_CELL_REMARK; column++) {
		behind += width[column] + (width[column] && column > HPM_CELL_VALUE ? 2 : 0);
		if (!cell[column][0] || !width[column])
			continue;
		pad(output, cell[column], behind);
		gn_puts(output, cell[column]);
		behind = 0;
	}
	if (cell[HPM_CELL_REMARK][0]) {
		pad(output, "", behind + 2);
		gn_puts(output, cell[HPM_CELL_REMARK]);
	}
	gn_puts(output, "\n");
}

void hpm_table_print(struct gn_atomic_file *output, struct hpm_table *table, const char *heading)
{
	const char *const spread_titles[HPM_CELLS] = {
		"",
		"value",
		table->has_tasks ? "minimum (task)" : "minimum",
		table->has_tasks ? "maximum (task)" : "maximum",
		"deviation",
		"",
	};
	const char *const *title = table->titles ? table->titles : spread_titles;
	const int has_titles = table->has_spread || table->titles;
	size_t width[HPM_CELLS];

	measure(table, width, title);
	/* The heading stands two columns before the names, in the row of the titles. */
	if (has_titles && heading && hpm_width(heading) > width[0] + 2)
		width[0] = hpm_width(heading) - 2;
	if (table->n && (heading || has_titles)) {
		gn_puts(output, heading ? heading : "");
		if (has_titles) {
			pad(output, heading ? heading : "", width[0] + 4);
			put_numbers(output, (char *const *)title, width);
		} else {
			gn_puts(output, "\n");
		}
	}
	for (int i = 0; i < table->n; i++) {
		char **row = table->row[i];

		gn_print(output, "  ");
		gn_puts(output, row[HPM_CELL_NAME]);
		pad(output, row[HPM_CELL_NAME], width[0] + 2);
		put_numbers(output, row, width);
		for (int at = 0; at < HPM_CELLS; at++)
			free(row[at]);
	}
	if (table->error && !output->error)
		output->error = table->error;
	free(table->row);
	memset(table, 0, sizeof(*table));
}

static char *bar(long long count, long long most)
{
	const int length = most > 0 ? (int)ceil((double)count * BAR / (double)most) : 0;
	char *drawn = malloc(BAR + 1);

	if (!drawn)
		return NULL;
	memset(drawn, '#', BAR);
	drawn[length < 0 ? 0 : length > BAR ? BAR : length] = '\0';
	return drawn;
}

void hpm_histogram_print(struct gn_atomic_file *output, const char *name, const hpm_spread *spread,
			 const char *unit)
{
	struct hpm_table table = {0};
	long long most = 0;
	char *printable, *heading;

	if (!spread || spread->n_bins <= 0 || !spread->bins || !isfinite(spread->minimum) ||
	    !isfinite(spread->maximum))
		return;
	for (int i = 0; i < spread->n_bins; i++)
		most = spread->bins[i] > most ? spread->bins[i] : most;
	/* Of tasks that all have one value there is nothing more to be seen. */
	for (int i = 0; spread->maximum > spread->minimum && i < spread->n_bins; i++) {
		const double step = (spread->maximum - spread->minimum) / spread->n_bins;
		char *from = hpm_table_quantity(spread->minimum + i * step, unit);
		char *to = hpm_table_quantity(
			i + 1 < spread->n_bins ? spread->minimum + (i + 1) * step : spread->maximum,
			unit);

		hpm_table_add(&table, from && to ? hpm_formatted("%s to %s", from, to) : NULL,
			      hpm_table_quantity((double)spread->bins[i], ""),
			      bar(spread->bins[i], most));
		free(from);
		free(to);
	}
	printable = hpm_printable(name);
	heading = printable ? hpm_formatted("tasks by %s", printable) : NULL;
	hpm_table_print(output, &table, heading ? heading : "tasks");
	free(heading);
	free(printable);
}
