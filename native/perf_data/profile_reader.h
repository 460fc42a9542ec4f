/*
 * The samples of a perf.data file as native/sampling has samples: threads, a tree of call paths
 * over places, and rows that refer to these by number.
 */
#ifndef GNOMON_PERF_DATA_PROFILE_READER_H
#define GNOMON_PERF_DATA_PROFILE_READER_H

#include <stdint.h>

#include "path_tree.h"
#include "perf_file.h"
#include "rows.h"
#include "tasks.h"

struct gn_profile_process {
	int32_t pid;
	char name[GN_TASK_NAME_BYTES];
};

struct gn_profile_thread {
	int32_t tid;
	uint32_t process;
	char name[GN_TASK_NAME_BYTES];
};

/* Rows as native/sampling/sample_file.h describes them, but for tasks. */
struct gn_profile {
	struct gn_path_tree tree;
	struct gn_rows process, thread;
	struct gn_rows sample; /* struct gn_sample_sample */
	struct gn_rows value;  /* struct gn_sample_value */
	struct gn_rows data;   /* struct gn_sample_data */
	struct gn_rows jump;   /* struct gn_sample_jump */
	uint64_t without_user; /* user stacks that were to be written later, and were not */
	uint64_t left_out_maps;
};

/*
 * Reads the samples of a file whose modules have their places. `machine`: enum gn_unwind_machine of
 * who recorded, or negative where its stacks cannot be unwound. 0, -ENOMEM, or -EBADMSG with the
 * file's problem told.
 */
int gn_profile_read(struct gn_profile *profile, struct gn_perf_file *file, int machine);
void gn_profile_free(struct gn_profile *profile);

#endif
