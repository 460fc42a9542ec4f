/*
 * The program, or the library, that an address is in. Without the loader's lock, where the C
 * library can tell without (glibc since 2.35): a child of a fork would wait for ever for a thread
 * that its parent had.
 */
#ifndef GNOMON_RUNTIME_LOADED_OBJECT_H
#define GNOMON_RUNTIME_LOADED_OBJECT_H

#include <link.h>
#include <stdint.h>

struct gn_loaded_object {
	uintptr_t base;
	const char *name;	    /* of its file; "": the program */
	const ElfW(Phdr) * headers; /* program headers */
	uint32_t n_headers;
};

/* 0: the address is in none. */
int gn_loaded_object_of(uintptr_t address, struct gn_loaded_object *object);

/* The header of the segment of it that has the address; NULL: none, or headers are not known. */
const ElfW(Phdr) * gn_segment_of(const struct gn_loaded_object *object, uintptr_t address);

#endif
