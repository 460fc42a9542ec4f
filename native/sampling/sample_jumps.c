#include "sample_jumps.h"

static uint8_t flags_of(const struct perf_branch_entry *branch)
{
	return (uint8_t)((branch->mispred ? GN_JUMP_MISPREDICTED : 0) |
			 (branch->predicted ? GN_JUMP_PREDICTED : 0) |
			 (branch->in_tx ? GN_JUMP_IN_TRANSACTION : 0) |
			 (branch->abort ? GN_JUMP_ABORTS : 0));
}

void gn_sample_jumps_write(struct gn_stack_paths *paths, struct gn_process *process,
			   const struct gn_sample_record *taken, uint32_t sample)
{
	for (uint64_t i = 0; i < taken->n_branches; i++) {
		const struct perf_branch_entry *branch = &taken->branch[i];
		const struct gn_sample_jump jump = {
			.from_place = gn_stack_paths_place(paths, process, branch->from),
			.to_place = gn_stack_paths_place(paths, process, branch->to),
			.sample = sample,
			.cycles = branch->cycles,
			.flags = flags_of(branch),
		};

		gn_sample_append(paths->out, GN_SAMPLE_JUMP, &jump);
	}
}
