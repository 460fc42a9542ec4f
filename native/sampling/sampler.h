/*
 * Samples a tree of processes, or the machine: a thread of its own reads the kernel's rings and
 * writes the record file (sample_file.h). Stacks never leave memory.
 */
#ifndef GNOMON_SAMPLING_SAMPLER_H
#define GNOMON_SAMPLING_SAMPLER_H

#include <stdint.h>

#include "sampled_events.h"

struct gn_sampler;

/* Where samples go, and what is said of them. */
struct gn_sampling_output {
	const char *path;	  /* of the record file, which must not exist */
	int32_t rank;		  /* of this task of a job, -1: none */
	const char *const *event; /* of each event what readers need to know: JSON */
	const char *waits;	  /* the same of waits; NULL: none are recorded */
	const char *kept;	  /* of the file of stacks (kept_stacks.h); NULL: none are kept */
	uint64_t kept_bytes;	  /* as far as these go */
};

/* 0 or a negative errno with what failed; then nothing is left. */
int gn_sampler_start(struct gn_sampler **sampler, const struct gn_sampling_plan *plan,
		     const struct gn_sampling_output *output, struct gn_sampling_failure *failure);

struct gn_sampling_facts {
	uint64_t samples;
	uint64_t lost;
	uint64_t left_out; /* of processes with events of their own, which stand for these */
	uint64_t kept;	   /* stacks */
	uint64_t ring_bytes;
	uint64_t cpu_ns; /* that the thread took */
	int status;	 /* 0, or the errno that ended recording */
};

/* Takes what is left in the rings, closes the file and gives all back. */
void gn_sampler_stop(struct gn_sampler *sampler, struct gn_sampling_facts *facts);

#endif
