/* The branches of a sample (PERF_SAMPLE_BRANCH_STACK) as records of the file. */
#ifndef GNOMON_SAMPLING_SAMPLE_JUMPS_H
#define GNOMON_SAMPLING_SAMPLE_JUMPS_H

#include <stdint.h>

#include "sample_record.h"
#include "sampled_stack.h"

/* Of the sample of a number, which is written before them. */
void gn_sample_jumps_write(struct gn_stack_paths *paths, struct gn_process *process,
			   const struct gn_sample_record *taken, uint32_t sample);

#endif
