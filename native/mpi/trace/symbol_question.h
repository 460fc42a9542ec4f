/* What gnomon-symbols (native/symbols/main.c) says of one address. */
#ifndef GNOMON_MPI_TRACE_SYMBOL_QUESTION_H
#define GNOMON_MPI_TRACE_SYMBOL_QUESTION_H

#include <stdint.h>

/* Where that program is, if it is neither beside this library nor of the `gnomon` in PATH. */
#define GN_TRACE_SYMBOLS_VARIABLE "GNOMON_SYMBOLS_PROGRAM"

/* Texts of malloc(3), NULL where they are not known. */
struct gn_trace_symbol {
	char *function, *file;
	int line;
};

/* The offset is that of the call in the module's file. 0; -1: there is no answer. */
int gn_trace_ask_symbol(const char *module, uint64_t offset, struct gn_trace_symbol *symbol);

#endif
