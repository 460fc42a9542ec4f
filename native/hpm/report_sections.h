/* Of many sections in NAME.hpm: the table of them all, and what of them need not be said twice. */
#ifndef GNOMON_HPM_REPORT_SECTIONS_H
#define GNOMON_HPM_REPORT_SECTIONS_H

#include "writers.h"

/* Prints all sections, hottest first, if there are at least two. */
void hpm_sections_print(struct gn_atomic_file *output, const struct hpm_report *report);

#define HPM_STANDS_FOR_BOTH 1
#define HPM_IS_SAID 2

/*
 * Of each item, into twin[report->n]: whether it has inclusive values that are the exclusive ones,
 * too, or is those exclusive ones; 0 for all others. Returns how many such pairs there are.
 */
int hpm_find_twins(const struct hpm_report *report, unsigned char *twin);

/* Whether a metric says of a section what another one of them says. */
int hpm_is_repeated(const struct hpm_metric *metrics, int n, int index);

#endif
