/* Histograms of addresses: regions of code or data, and the buckets of each. */
#ifndef GNOMON_COUNTERS_PROFIL_H
#define GNOMON_COUNTERS_PROFIL_H

#include <stdint.h>

#include "gnomon/gnomon.h"

/* Regions of one width of buckets, by offset, and what was put into none of them. */
struct gn_histogram {
	int width; /* bytes of a bucket */
	int n;
	struct gn_profil *region;
	uint64_t outside;
};

/* GN_OK or a GN_E*, explained. */
int gn_histogram_begin(struct gn_histogram *histogram, const struct gn_profil *regions, int n,
		       int flags);
void gn_histogram_end(struct gn_histogram *histogram);

/* Adds to the bucket of an address, which stays at its largest number once it is there. */
void gn_histogram_add(struct gn_histogram *histogram, uint64_t address, uint64_t increment);

#endif
