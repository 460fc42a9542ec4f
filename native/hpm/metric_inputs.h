/* What formulas may use of an item, by identifier: gnomon.metrics.derived.formula_inputs in C. */
#ifndef GNOMON_HPM_METRIC_INPUTS_H
#define GNOMON_HPM_METRIC_INPUTS_H

#include "gnomon/hpm_data.h"

struct hpm_metric_input {
	char *name; /* the identifier */
	double value;
	int has_value;
	int is_event; /* the count of an event under its plain name: patterns find it */
	int how;
	int modes;
	int flags;
	int tasks; /* hpm_spread_tasks() */
};

struct hpm_metric_inputs {
	struct hpm_metric_input *input;
	int n;
	int room;
};

/* The item's events, in their order, then plain names that stand for them. 0, or -ENOMEM. */
int hpm_metric_inputs_of(const hpm_data_item *item, struct hpm_metric_inputs *counts);

void hpm_metric_inputs_free(struct hpm_metric_inputs *counts);

/* The name by which a formula refers to an event, to be freed; NULL: no memory. */
char *hpm_identifier(const char *event);

/* The least certain of the two. */
int hpm_worse(int how, int other);

/*
 * Tasks of a job that a value is over, those that had one; less than 0 if it is over so many of
 * something else, such as earlier runs; 0 for one task's own value.
 */
int hpm_spread_tasks(const hpm_spread *spread);

/* Modes such that those which mean the same to a program compare equal. */
int hpm_levels(int modes);

#endif
