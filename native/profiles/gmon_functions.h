/*
 * Which functions the histograms and arcs of gmon.out are of, as GNU gprof says it.
 *
 * A bin belongs to the functions that share its addresses, to each in proportion. An arc whose
 * caller or callee is in no function of the program, such as the call of main, is left out.
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
	uint64_t address; /* where the part begins in the program */
	double times;	  /* samples; they may be fractions */
};

/* A walk through the parts of a histogram's bins, in the order of addresses. */
struct gn_bin_walk {
	const struct gn_program *program;
	const struct gn_histogram *histogram;
	int64_t low; /* in units of two bytes, as all that gprof says of addresses */
	double scale;
	uint32_t bin, function, first_function;
};

struct gn_bin_walk gn_bin_walk(const struct gn_program *program,
			       const struct gn_histogram *histogram, uint64_t shift);
bool gn_next_part(struct gn_bin_walk *walk, struct gn_bin_part *part);

/* Samples of each function, in a zeroed array: sums in gprof's order. 0, or -ENOMEM. */
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

#endif
