/*
 * The content of gmon.out files: histograms of addresses, arcs, counts of basic blocks.
 *
 * GNU's form begins with "gmon"; those of BSD do not say what they are but for 4.4BSD's version. No
 * form says how wide its addresses are: the program does, else what makes sense of the whole file.
 *
 *   GNU      "gmon", version u32, 12 bytes; then records, each behind a byte that says its kind:
 *            0 histogram: low, high (addresses), bins, rate (u32), unit (15 bytes), its letter,
 * bins 1 arc: from, to (addresses), count (u32) 2 basic blocks: n (u32), n times address, count (as
 * wide as an address); of version 0 n (u32), a text, n times count, address (as wide), two texts,
 * line (u32) BSD      low, high (addresses), bytes of bins and header (u32); 4.4BSD: version, rate,
 * 12 bytes; bins; then arcs: from, to, count, all as wide as an address
 *
 * A bin is a u16. Sources: GNU gprof's manual, "Profiling Data File Format"; glibc's gmon/sys/
 * gmon_out.h; FreeBSD's sys/gmon.h.
 *
 * A file may hold anything: nothing is read outside of it, and memory grows with what was read.
 * Functions return 0, -ENOMEM, or -EBADMSG where it makes no sense; the problem then says why.
 */
#ifndef GNOMON_GMON_FILE_H
#define GNOMON_GMON_FILE_H

#include "number_slots.h"

#include <stdbool.h>

enum {
	GN_BSD44_VERSION = 0x00051879,
	GN_GMON_UNIT_BYTES = 15,
	GN_GMON_PROBLEM_BYTES = 128,
};

/* How a file has its numbers: addresses of 64 bits or of 32, and which byte comes first. */
struct gn_gmon_layout {
	bool is_wide, is_big;
};

/* How often the program counter was in each of equal parts of a range of addresses. */
struct gn_histogram {
	uint64_t low, high;
	uint32_t rate, n_bins;		   /* samples per second */
	char unit[GN_GMON_UNIT_BYTES + 1]; /* "seconds", unless somebody changed the program */
	char letter[2];			   /* short for it */
	uint32_t *bins;
};

/* All of them together. */
uint64_t gn_samples_of(const struct gn_histogram *histogram);

/* Counts of pairs of addresses, or of single ones: these have no `callees`. */
struct gn_counts {
	uint64_t *callers, *callees;
	int64_t *counts;
	uint32_t n, room;
	struct gn_slots slots; /* of sums: by addresses */
};

struct gn_gmon {
	struct gn_gmon_layout layout;
	struct gn_histogram *histograms;
	uint32_t n_histograms, histogram_room;
	struct gn_counts arcs, blocks;
	bool says_rate; /* the file tells how many samples a second has */
	bool is_sum;	/* something was added to it */
};

struct gn_gmon_problem {
	size_t offset; /* of the byte at which sense ended */
	char text[GN_GMON_PROBLEM_BYTES];
};

/* Whether a file that begins so is GNU's form or 4.4BSD's. */
bool gn_is_gmon(const void *start, size_t size);

/* Read a file. `layout` is the program's; NULL to take the one that makes sense of the file. */
int gn_gmon_read(struct gn_gmon *gmon, const void *content, size_t size,
		 const struct gn_gmon_layout *layout, struct gn_gmon_problem *problem);
void gn_gmon_free(struct gn_gmon *gmon);

/*
 * Add a file to what is nothing, or a sum, of which each range of addresses has one histogram and
 * each pair one count. -EBADMSG: its histograms overlap, or it cannot be of the same program.
 */
int gn_gmon_add(struct gn_gmon *sum, const struct gn_gmon *other, struct gn_gmon_problem *problem);

/* Room for n counts more, with callees or without: 0, or -ENOMEM. */
int gn_counts_reserve(struct gn_counts *counts, uint32_t n, bool has_callees);

#endif
