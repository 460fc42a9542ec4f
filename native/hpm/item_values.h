/* What stands in items, in the words of all files: times, texts, numbers, how they came to be. */
#ifndef GNOMON_HPM_ITEM_VALUES_H
#define GNOMON_HPM_ITEM_VALUES_H

#include "gnomon/hpm_data.h"

/* Names of HPM_TIME_*. */
extern const char *const hpm_time_names[HPM_NTIM];

/* A text that may be NULL. */
const char *hpm_text(const char *text);

/* NaN where there is none. */
double hpm_value(const hpm_event_info *event);

/* "counted" ...; "" for HPM_UNAVAILABLE. */
const char *hpm_how_name(int how);

/* "all", "user", "user+kernel" ...; "" for 0. */
const char *hpm_modes_name(int modes);

/* Whether two items are of one section. */
int hpm_is_same_section(const hpm_data_item *first, const hpm_data_item *second);

/* Seconds since the epoch as local time, "21.11.2026 18:06:51", or as XML has it; "n/a". */
#define HPM_TIMESTAMP_SIZE 64
void hpm_timestamp_text(double seconds, int is_xml, char text[HPM_TIMESTAMP_SIZE]);

#endif
