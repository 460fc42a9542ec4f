/*
 * What a program with sections notes of itself, for tests that work out what the sections must have
 * measured: every start, stop and touched page, in order, with the thread and the time.
 */
#ifndef GNOMON_TESTS_TRACE_H
#define GNOMON_TESTS_TRACE_H

/* A start (parent as hpmStartx has it) or a stop that is about to be made, then its end. */
void trace_start(char kind, int id, int parent);
void trace_stop(char kind, int id);
void trace_done(void);

/* Touches n pages, each of which is one page fault. */
void trace_touch(int n);

/* From now on sections count: what came before was to have code and memory there. */
void trace_begin(void);

/* Prints all of it: "op kind id parent thread before_ns after_ns", one a line. */
void trace_print(void);

/* The same for Fortran; kind: 0 hpmStart, 1 hpmTstart. */
void trace_start_(const int *kind, const int *id, const int *parent);
void trace_stop_(const int *kind, const int *id);
void trace_done_(void);
void trace_touch_(const int *n);
void trace_begin_(void);
void trace_print_(void);

#endif
