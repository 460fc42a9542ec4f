/*
 * Records of one size in a file, as fast as threads write them, and whole after kill -9.
 *
 * The file has units of GN_SPOOL_RECORDS records, the first of which is a struct gn_spool_unit. A
 * thread has one of them mapped, which it fills without a lock, and writes to another one when it
 * is full, with a system call: to dirty fresh pages of a mapping costs several times that. Which
 * unit that is, is said in its own one before, and what a reader goes by, so that no record is
 * there twice. The records of a thread are those of the units that it wrote, and then those of its
 * own.
 */
#ifndef GNOMON_CORE_RECORD_SPOOL_H
#define GNOMON_CORE_RECORD_SPOOL_H

#include <stddef.h>

#include "mapped_file.h"

/* Of 32 bytes each they are 256 KiB, which kernels copy in one piece at a multiple of that. After
 * each write a program's own calls take longer for a while: the fewer the better. */
#define GN_SPOOL_RECORDS 8192u
/* In which a thread's own one gets its room at first. */
#define GN_SPOOL_STEPS 8u

/* Bytes. */
#define GN_SPOOL_RECORD_MOST 256u

enum gn_spool_use { GN_SPOOL_UNUSED, GN_SPOOL_MAPPED, GN_SPOOL_WRITTEN };

struct gn_spool_unit {
	/* Which unit its records belong in, counted from 1: this one, or one that they are being
	 * written to; and in the lower half how many there are. */
	_Atomic uint64_t state;
	uint32_t use; /* enum gn_spool_use */
	uint32_t zero;
};

struct gn_spool {
	struct gn_mapped_file file;
	uint64_t begin;		/* of the first unit */
	_Atomic uint64_t *tail; /* of the last one's end; in the file */
	uint32_t record_bytes;	/* at most GN_SPOOL_RECORD_MOST */
	_Atomic int error;	/* an errno: nothing is taken any more */
};

/* A thread's; zeros at first. */
struct gn_spool_writer {
	char *next, *end;
	struct gn_spool_unit *unit;
};

/* Takes nothing more, and returns where the last unit ends. */
uint64_t gn_spool_end(struct gn_spool *spool);

/* Room for a thread's records, where it has none left; 0 or a negative errno. */
int gn_spool_turn(struct gn_spool *spool, struct gn_spool_writer *writer);

/* `n` records from writer->next on, which end before writer->end or there, are complete. */
static inline void gn_spool_add(struct gn_spool_writer *writer, uint32_t record_bytes, uint32_t n)
{
	_Atomic uint64_t *state = &writer->unit->state;

	writer->next += (size_t)record_bytes * n;
	atomic_store_explicit(state, atomic_load_explicit(state, memory_order_relaxed) + n,
			      memory_order_release);
}

#endif
