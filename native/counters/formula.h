/* The formulas of presets: infix `N0 + 2*(N1 - N2)` or PAPI's postfix `N0|N1|N2|-|2|*|+|`. */
#ifndef GNOMON_COUNTERS_FORMULA_H
#define GNOMON_COUNTERS_FORMULA_H

#include <stddef.h>

#include "event_resolver.h"

/* A postfix program; `op` is the owner's to free. */
struct gn_program {
	int n;
	struct gn_op *op;
};

/* What is wrong with a formula, and at which of its columns, from 1. */
struct gn_formula_problem {
	int column;
	char text[192];
};

/*
 * The program of a formula over N0 .. N(natives-1); postfix if it has a |.
 * 0; -1: not a formula, see *problem; -ENOMEM.
 */
int gn_formula_parse(const char *text, int natives, struct gn_program *program,
		     struct gn_formula_problem *problem);

/* 1 if the program is complete and never short of operands nor deeper than GN_STACK_MAX. */
int gn_program_is_sound(const struct gn_program *program, int natives);

/*
 * 1 if the program is a sum of the natives' counts with whole factors, which are put into
 * factor[natives]; 0 for anything else.
 */
int gn_program_factors(const struct gn_program *program, int natives, int64_t *factor);

/* Whether it asks for the seconds. */
int gn_program_is_timed(const struct gn_program *program);

/* The kind of a preset, "not derived", "sum" ...; `text` is its formula as written, or "". */
const char *gn_program_kind(const struct gn_program *program, const char *text, int natives);

/* Adds a step to a program whose room is large enough. */
void gn_program_push(struct gn_program *program, enum gn_op_kind kind, int native, double constant);

/* A number as in C's sources, whatever the locale: 0, or -1 if the text is none. */
int gn_real_number(const char *text, double *number);

#endif
