/*
 * Which functions the histograms and arcs of gmon.out are of.
 *
 * A bin belongs to the functions that share its addresses, to each in proportion. An arc whose
 * caller or callee is in no function of the program, such as the call of main, is left out.
 *
 * GNU gprof takes the addresses of a bin as an equal part of the histogram's range. glibc makes the
 * bins by profil(), though, which scales by a fraction of 65,536; since it has up to three bins
 * more than the range needs, gprof's bins are off by up to 12 bytes, and add up to more or less
 * than the samples. Both ways are here. Sources: glibc's gmon/gmon.c and sysdeps/posix/profil.c.
 */
#ifndef GNOMON_GMON_FUNCTIONS_H
#define GNOMON_GMON_FUNCTIONS_H

#include "gmon_file.h"

/* A function of a program, as gnomon-symbols answers it (native/symbols/main.c). */
struct gn_program_function {
	uint64_t start, end;
	uint32_t flags, file;
};

/* Functions of a program, one at least, ascending by address. */
struct gn_program {
	const struct gn_program_function *functions;
	uint32_t n;
};

/*
 * What is to be taken from addresses of a file: where the program was loaded. C libraries that do
 * not take it from them themselves write the addresses of the process.
 */
uint64_t gn_gmon_shift(const struct gn_program *program, const struct gn_gmon *gmon);

/* The part of a bin that a function has. */
struct gn_bin_part {
	uint32_t function, bin;
	uint64_t address, bytes; /* where the part begins in the program, and its length */
	double times;		 /* samples by gprof's rule; they may be fractions */
};

enum gn_bin_rule { GN_GPROF_BINS, GN_PROFIL_BINS };

/* A walk through the parts of a histogram's bins, in the order of addresses. */
struct gn_bin_walk {
	const struct gn_program *program;
	const struct gn_histogram *histogram;
	int64_t low; /* in units of two bytes, as all that gprof says of addresses */
	double scale;
	uint64_t profil_scale; /* 0 for gprof's rule */
	uint32_t bin, function, first_function;
};

struct gn_bin_walk gn_bin_walk(const struct gn_program *program,
			       const struct gn_histogram *histogram, uint64_t shift,
			       enum gn_bin_rule rule);
bool gn_next_part(struct gn_bin_walk *walk, struct gn_bin_part *part);

/* The parts of a histogram's bins by profil()'s rule: those of a bin add up to its samples. */
struct gn_bin_parts {
	struct gn_bin_part *of;
	uint32_t n, room;
};

/* 0, or -ENOMEM; `of` is to be freed in either case. */
int gn_bin_parts_make(struct gn_bin_parts *parts, const struct gn_program *program,
		      const struct gn_histogram *histogram, uint64_t shift);

/* Samples of each function by gprof's rule, in a zeroed array: sums in gprof's order. 0, or
 * -ENOMEM. */
int gn_function_times(double *times, const struct gn_program *program, const struct gn_gmon *gmon,
		      uint64_t shift);

/* Arcs between functions, in the order in which a file first has them. */
struct gn_function_arcs {
	int32_t *caller, *callee;
	int64_t *counts;
	uint32_t n;
};

/* 0, or -ENOMEM; to be freed in either case. */
int gn_function_arcs_make(struct gn_function_arcs *arcs, const struct gn_program *program,
			  const struct gn_gmon *gmon, uint64_t shift);
void gn_function_arcs_free(struct gn_function_arcs *arcs);

/*
 * How much of a file makes no sense for a program. A function counts its calls in one place, near
 * its start: arcs to other addresses are misplaced. Samples are where they are in no function.
 */
struct gn_gmon_misfit {
	uint64_t arcs, misplaced_arcs;
	uint64_t samples, misplaced_samples;
};

/* 0, or -ENOMEM. */
int gn_gmon_misfit(struct gn_gmon_misfit *misfit, const struct gn_program *program,
		   const struct gn_gmon *gmon, uint64_t shift);

#endif
