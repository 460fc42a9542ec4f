/* What formulas may use of an item, by identifier: gnomon.metrics.derived.quantities in C. */
#ifndef GNOMON_HPM_COUNTS_H
#define GNOMON_HPM_COUNTS_H

#include "gnomon/hpm_data.h"

struct hpm_count {
	char *name; /* the identifier */
	double value;
	int has_value;
	int is_event; /* the count of an event under its plain name: patterns find it */
	int how;
	int modes;
	int flags;
};

struct hpm_counts {
	struct hpm_count *one;
	int n;
	int room;
};

/* The item's events, in their order, then plain names that stand for them. 0, or -ENOMEM. */
int hpm_counts_of(const hpm_data_item *item, struct hpm_counts *counts);

void hpm_counts_free(struct hpm_counts *counts);

/* The name by which a formula refers to an event, to be freed; NULL: no memory. */
char *hpm_identifier(const char *event);

/* The least certain of the two. */
int hpm_worse(int how, int other);

/* Modes such that those which mean the same to a program compare equal. */
int hpm_levels(int modes);

#endif
