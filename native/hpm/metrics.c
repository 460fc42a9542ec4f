/* Derived metrics: gnomon.metrics.derived.computable in C, on the table that the build makes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metric_inputs.h"
#include "metric_table.h"
#include "report.h"

/* What is known under a name. */
struct input {
	double value;
	int is_known;
	int how;
	int modes;
	int flags;
	int tasks; /* hpm_metric_input's */
	const char *spelling;
};

struct inputs {
	struct input *name; /* [hpm_name_count] */
	struct hpm_metric_inputs counts;
	const struct hpm_constants *constants;
	char **kept; /* spellings that were made here */
	int n_kept;
	int room;
	double cpus; /* that the tasks had, 0 if not known */
};

/* How many times its limit a value may be: gnomon.metrics.derived.TOLERANCE. */
#define TOLERANCE 1.05

static const char *text(uint32_t offset)
{
	return hpm_texts + offset;
}

/* The number of a name, -1 if no formula has it. */
static int name_number(const char *name)
{
	int low = 0, high = hpm_name_count - 1;

	while (low <= high) {
		int middle = (low + high) / 2;
		int number = hpm_names_sorted[middle];
		int order = strcmp(name, text(hpm_names[number].text));

		if (!order)
			return number;
		if (order < 0)
			high = middle - 1;
		else
			low = middle + 1;
	}
	return -1;
}

static void know(struct inputs *inputs, int number, double value, int how)
{
	struct input *input;

	if (number < 0)
		return;
	input = &inputs->name[number];
	memset(input, 0, sizeof(*input));
	input->value = value;
	input->is_known = !isnan(value);
	input->how = how;
	input->spelling = text(hpm_names[number].text);
}

/* Keeps a made spelling until the end; NULL: no memory. */
static const char *keep(struct inputs *inputs, char *text)
{
	if (text && inputs->n_kept == inputs->room) {
		int room = inputs->room ? 2 * inputs->room : 64;
		char **kept = realloc(inputs->kept, (size_t)room * sizeof(*kept));

		if (!kept) {
			free(text);
			return NULL;
		}
		inputs->kept = kept;
		inputs->room = room;
	}
	if (text)
		inputs->kept[inputs->n_kept++] = text;
	return text;
}

static void know_counts(struct inputs *inputs, const hpm_data_item *item)
{
	for (int i = 0; i < inputs->counts.n; i++) {
		const struct hpm_metric_input *count = &inputs->counts.input[i];
		int number = name_number(count->name);

		if (number < 0)
			continue;
		know(inputs, number, count->has_value ? count->value : NAN, count->how);
		inputs->name[number].modes = count->modes;
		inputs->name[number].flags = count->flags;
		inputs->name[number].tasks = item->n_tasks > 1 ? count->tasks : 0;
	}
}

static void know_times(struct inputs *inputs, const hpm_data_item *item)
{
	static const struct {
		const char *name;
		int at;
	} variables[] = {{"wall_seconds", HPM_TIME_WALLCLOCK},
			 {"user_seconds", HPM_TIME_USER},
			 {"system_seconds", HPM_TIME_SYSTEM}};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		int at = variables[i].at, number = name_number(variables[i].name);

		know(inputs, number, item->times[at], HPM_COUNTED);
		if (number >= 0 && item->n_tasks > 1 && item->times_spread)
			inputs->name[number].tasks = hpm_spread_tasks(&item->times_spread[at]);
	}
}

/* What was stated goes before what the machine tells, which only stands in for what is missing. */
static void know_constants(struct inputs *inputs, int of_machine)
{
	for (int i = 0; i < inputs->constants->n; i++) {
		const struct hpm_constant *constant = &inputs->constants->constant[i];
		int number = name_number(constant->name);
		int is_machines;

		if (number < 0)
			continue;
		is_machines = hpm_names[number].is_constant && constant->how != HPM_ESTIMATED;
		if (is_machines != of_machine || (is_machines && inputs->name[number].is_known))
			continue;
		know(inputs, number, constant->value, constant->how);
	}
}

/* This machine's CPUs are those of one task; how many several tasks had nobody here knows. */
static void know_cpus(struct inputs *inputs, const hpm_data_item *item)
{
	int number = name_number("cpus");

	if (number < 0)
		return;
	if (item->n_tasks > 1)
		inputs->name[number].is_known = 0;
	if (inputs->name[number].is_known)
		inputs->cpus = inputs->name[number].value;
}

static void know_aliases(struct inputs *inputs, const char *was_known)
{
	for (int i = 0; i < hpm_name_count; i++) {
		const struct hpm_name_row *row = &hpm_names[i];

		for (int at = 0; at < row->aliases && !inputs->name[i].is_known; at++) {
			int other = hpm_aliases[row->first_alias + at];

			if (was_known[other])
				inputs->name[i] = inputs->name[other];
		}
	}
}

static int fill(struct inputs *inputs, const hpm_data_item *item)
{
	char *was_known = calloc((size_t)hpm_name_count, 1);
	int error = was_known ? hpm_metric_inputs_of(item, &inputs->counts) : -ENOMEM;

	if (!error) {
		know_counts(inputs, item);
		know_times(inputs, item);
		know_constants(inputs, 0);
		know_cpus(inputs, item);
		/* Aliases of events first; constants stand in for what is missing then. */
		for (int of_machine = 0; of_machine < 2; of_machine++) {
			if (of_machine)
				know_constants(inputs, 1);
			for (int i = 0; i < hpm_name_count; i++)
				was_known[i] = (char)(inputs->name[i].is_known &&
						      (!of_machine || hpm_names[i].is_constant));
			know_aliases(inputs, was_known);
		}
	}
	free(was_known);
	return error;
}

/* Adds up what a pattern matches, if there is any and all of it has a value. 0, or -ENOMEM. */
static int know_pattern(struct inputs *inputs, int number)
{
	const char *pattern = text(hpm_names[number].text);
	size_t prefix = strlen(pattern) - 1, length = 0;
	struct input sum = {.is_known = 1};
	char *names, *end;
	int n = 0;

	for (int i = 0; i < inputs->counts.n; i++) {
		const struct hpm_metric_input *input = &inputs->counts.input[i];

		if (!input->is_event || strncmp(input->name, pattern, prefix) != 0)
			continue;
		if (!input->has_value || (n && (hpm_levels(input->modes) != hpm_levels(sum.modes) ||
						input->tasks != sum.tasks)))
			return 0;
		if (!n++) {
			sum.modes = input->modes;
			sum.tasks = input->tasks;
		}
		sum.value += input->value;
		sum.how = hpm_worse(sum.how, input->how);
		sum.flags |= input->flags;
		length += strlen(input->name) + 2;
	}
	if (!n)
		return 0;
	names = end = malloc(length + 1);
	if (!names)
		return -ENOMEM;
	for (int i = 0; i < inputs->counts.n; i++) {
		const struct hpm_metric_input *input = &inputs->counts.input[i];

		if (input->is_event && !strncmp(input->name, pattern, prefix))
			end += sprintf(end, "%s%s", end > names ? ", " : "", input->name);
	}
	sum.spelling = keep(inputs, names);
	if (!sum.spelling)
		return -ENOMEM;
	inputs->name[number] = sum;
	return 0;
}

/* Whether all that a definition needs is known: 1, 0 or -ENOMEM. */
static int has(struct inputs *inputs, int first, int n)
{
	for (int i = first; i < first + n; i++) {
		int number = hpm_used[i];

		if (hpm_names[number].is_pattern && !inputs->name[number].is_known &&
		    know_pattern(inputs, number))
			return -ENOMEM;
		if (!inputs->name[number].is_known)
			return 0;
	}
	return 1;
}

static int is_on(const struct hpm_constants *constants, const struct hpm_definition *definition)
{
	const char *cpu = text(definition->cpus);

	if (!definition->n_cpus)
		return 1;
	for (int i = 0; i < definition->n_cpus; i++, cpu += strlen(cpu) + 1)
		for (int at = 0; at < constants->n_cpus; at++)
			if (!strcmp(cpu, constants->cpu[at]))
				return 1;
	return 0;
}

/* The rule on modes, and the modes that all inputs which have any have in common, or 0. */
static int holds(const struct inputs *inputs, const struct hpm_definition *definition, int *modes)
{
	int common = 0, differ = 0, all = 1, user = 1;

	for (int i = 0; i < definition->used; i++) {
		int levels = hpm_levels(inputs->name[hpm_used[definition->first_used + i]].modes);

		if (!levels)
			continue;
		differ |= common && common != levels;
		common = levels;
		all &= levels == HPM_MODE_ALL;
		user &= levels == HPM_MODE_USER;
	}
	*modes = differ ? 0 : common;
	switch (definition->domain) {
	case HPM_DOMAIN_SAME:
		return !differ;
	case HPM_DOMAIN_ALL:
		return all;
	case HPM_DOMAIN_USER:
		return user;
	}
	return 1;
}

/* Whether all inputs are over as many tasks of a job as each other, and how many. */
static int is_of_the_same(const struct inputs *inputs, const struct hpm_definition *definition,
			  int *tasks)
{
	*tasks = 0;
	for (int i = 0; i < definition->used; i++) {
		int used_tasks = inputs->name[hpm_used[definition->first_used + i]].tasks;

		if (used_tasks && *tasks && used_tasks != *tasks)
			return 0;
		*tasks = used_tasks ? used_tasks : *tasks;
	}
	return 1;
}

/* Two operands to one: 0, or -1 where there is no value. */
static int operate(int kind, double left, double right, double *result)
{
	switch (kind) {
	case HPM_OP_ADD:
		*result = left + right;
		break;
	case HPM_OP_SUBTRACT:
		*result = left - right;
		break;
	case HPM_OP_MULTIPLY:
		*result = left * right;
		break;
	case HPM_OP_DIVIDE:
		if (right == 0)
			return -1;
		*result = left / right;
		break;
	case HPM_OP_LESS:
		*result = left < right;
		break;
	case HPM_OP_LESS_EQUAL:
		*result = left <= right;
		break;
	case HPM_OP_GREATER:
		*result = left > right;
		break;
	case HPM_OP_GREATER_EQUAL:
		*result = left >= right;
		break;
	case HPM_OP_EQUAL:
		*result = left == right;
		break;
	case HPM_OP_UNEQUAL:
		*result = left != right;
		break;
	case HPM_OP_AND:
		*result = left > 0 && right > 0;
		break;
	case HPM_OP_OR:
		*result = left > 0 || right > 0;
		break;
	default:
		return -1;
	}
	return isfinite(*result) ? 0 : -1;
}

static int call(int kind, const double *arguments, int n, double *result)
{
	double value = arguments[0];

	switch (kind) {
	case HPM_OP_NEGATE:
		*result = -value;
		return 0;
	case HPM_OP_ABS:
		*result = fabs(value);
		return 0;
	case HPM_OP_SQRT:
		*result = sqrt(value);
		return value >= 0 ? 0 : -1;
	case HPM_OP_MAX:
	case HPM_OP_MIN:
		for (int i = 1; i < n; i++)
			if (kind == HPM_OP_MAX ? arguments[i] > value : arguments[i] < value)
				value = arguments[i];
		*result = value;
		return 0;
	case HPM_OP_SUM:
		value = 0;
		for (int i = 0; i < n; i++)
			value += arguments[i];
		*result = value;
		return isfinite(value) ? 0 : -1;
	}
	return operate(kind, arguments[0], arguments[n - 1], result);
}

/* 0, or -1: the program has no value. */
static int evaluate(const struct inputs *inputs, int first, int n, double *result)
{
	double stack[HPM_STACK_MAX];
	int depth = 0;

	for (int i = first; i < first + n; i++) {
		const struct hpm_op *op = &hpm_ops[i];

		if (op->kind == HPM_OP_NUMBER) {
			stack[depth++] = op->number;
		} else if (op->kind == HPM_OP_NAME) {
			if (!isfinite(inputs->name[op->name].value))
				return -1;
			stack[depth++] = inputs->name[op->name].value;
		} else {
			depth -= op->operands;
			if (call(op->kind, &stack[depth], op->operands, &stack[depth]))
				return -1;
			depth++;
		}
	}
	*result = stack[0];
	return 0;
}

/* The formula in the names that were counted, to be freed. */
static char *spelled(const struct inputs *inputs, const struct hpm_definition *definition)
{
	size_t length = 0;
	char *formula = NULL;

	/* Once to find the length, once to write. */
	for (int is_written = 0; is_written < 2; is_written++) {
		const char *next = text(definition->formula);
		char *end = formula;

		while (*next) {
			const char *piece = next;
			size_t n = strcspn(next, "\1");

			next += n;
			if (!n) {
				char *after;
				long number = strtol(next + 1, &after, 10);

				piece = inputs->name[number].spelling;
				n = strlen(piece);
				next = after + 1;
			}
			if (is_written) {
				memcpy(end, piece, n);
				end += n;
			} else {
				length += n;
			}
		}
		if (is_written) {
			*end = 0;
		} else {
			formula = malloc(length + 1);
			if (!formula)
				return NULL;
		}
	}
	return formula;
}

/* Of the machine, a rate that only programs have: gnomon.metrics.derived.PER_CPU_SECOND. */
static int says_nothing(const struct hpm_metric *metric)
{
	return !strcmp(metric->unit, "/CPU s") && metric->flags & HPM_IS_NODE_WIDE;
}

/* Whether a value is clearly above what it can be; clocks may differ a little. */
static int is_beyond(const struct inputs *inputs, const struct hpm_definition *definition,
		     double value)
{
	double limit = definition->limit * TOLERANCE;
	double of_cpus = definition->limit_per_cpu * TOLERANCE * inputs->cpus;

	return (limit > 0 && value > limit) || (of_cpus > 0 && value > of_cpus);
}

/* What a definition comes to, the formula to be freed: 1, 0 if it cannot be computed, -ENOMEM. */
static int compute(struct inputs *inputs, const struct hpm_definition *definition,
		   struct hpm_metric *metric)
{
	double condition;
	int is_known;

	if (!is_on(inputs->constants, definition))
		return 0;
	is_known = has(inputs, definition->first_used, definition->used);
	if (is_known == 1)
		is_known =
			has(inputs, definition->first_condition_used, definition->condition_used);
	if (is_known != 1)
		return is_known;
	if (!holds(inputs, definition, &metric->modes) ||
	    !is_of_the_same(inputs, definition, &metric->tasks))
		return 0;
	if (definition->condition_ops && (evaluate(inputs, definition->first_condition_op,
						   definition->condition_ops, &condition) ||
					  !(condition > 0)))
		return 0;
	if (evaluate(inputs, definition->first_op, definition->ops, &metric->value) ||
	    is_beyond(inputs, definition, metric->value))
		return 0;
	metric->name = text(definition->name);
	metric->unit = text(definition->unit);
	metric->title = text(definition->title);
	metric->description = text(definition->description);
	metric->how = HPM_COUNTED;
	metric->flags = 0;
	for (int i = 0; i < definition->used; i++) {
		const struct input *input = &inputs->name[hpm_used[definition->first_used + i]];

		metric->how = hpm_worse(metric->how, input->how);
		metric->flags |= input->flags;
	}
	if (says_nothing(metric))
		return 0;
	metric->formula = spelled(inputs, definition);
	return metric->formula ? 1 : -ENOMEM;
}

/* A quantity is spelled by its formula, in parentheses if it is more than a name. */
static int know_quantity(struct inputs *inputs, int number, struct hpm_metric *metric)
{
	struct input *input = &inputs->name[number];
	char *identifier = hpm_identifier(metric->formula), *spelling = NULL;

	if (identifier && !strcmp(identifier, metric->formula))
		spelling = strdup(metric->formula);
	else if (identifier && asprintf(&spelling, "(%s)", metric->formula) < 0)
		spelling = NULL;
	free(identifier);
	know(inputs, number, metric->value, metric->how);
	input->modes = metric->modes;
	input->flags = metric->flags;
	input->tasks = metric->tasks;
	input->spelling = keep(inputs, spelling);
	free(metric->formula);
	return input->spelling ? 0 : -ENOMEM;
}

static int know_quantities(struct inputs *inputs)
{
	for (int i = 0; i < hpm_quantity_count; i++) {
		const struct hpm_definition *quantity = &hpm_quantities[i];
		struct hpm_metric metric;
		int computed;

		if (inputs->name[quantity->result].is_known)
			continue;
		computed = compute(inputs, quantity, &metric);
		if (computed < 0 || (computed && know_quantity(inputs, quantity->result, &metric)))
			return -ENOMEM;
	}
	return 0;
}

static int is_found(const char *name, const struct hpm_metric *metrics, int n)
{
	for (int i = 0; i < n; i++)
		if (metrics[i].name == name)
			return 1;
	return 0;
}

static int compute_all(struct inputs *inputs, struct hpm_metric *out, int max)
{
	int n = 0;

	if (know_quantities(inputs))
		return -ENOMEM;
	for (int i = 0; i < hpm_definition_count && n < max; i++) {
		const struct hpm_definition *definition = &hpm_metric_definitions[i];
		int computed;

		if (is_found(text(definition->name), out, n))
			continue;
		computed = compute(inputs, definition, &out[n]);
		if (computed < 0) {
			hpm_metrics_free(out, n);
			return computed;
		}
		n += computed;
	}
	return n;
}

int hpm_metrics_of(const hpm_data_item *item, const struct hpm_constants *constants,
		   struct hpm_metric *out, int max)
{
	struct inputs inputs = {.constants = constants};
	int n = -ENOMEM;

	inputs.name = calloc((size_t)hpm_name_count, sizeof(*inputs.name));
	if (inputs.name && !fill(&inputs, item))
		n = compute_all(&inputs, out, max);
	hpm_metric_inputs_free(&inputs.counts);
	for (int i = 0; i < inputs.n_kept; i++)
		free(inputs.kept[i]);
	free(inputs.kept);
	free(inputs.name);
	return n;
}

void hpm_metrics_free(struct hpm_metric *metrics, int n)
{
	for (int i = 0; i < n; i++)
		free(metrics[i].formula);
}
