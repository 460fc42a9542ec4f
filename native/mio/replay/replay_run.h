/* Operations, carried out: by system calls as they stand, or through modules. */
#ifndef GNOMON_MIO_REPLAY_RUN_H
#define GNOMON_MIO_REPLAY_RUN_H

#include "mio_files.h"
#include "operation_list.h"
#include "replayed_file.h"

struct gn_replay_result {
	uint64_t ns; /* without pauses */
	uint64_t read_bytes, written_bytes;
	uint64_t failures;
	int first_errno; /* of these */
};

/* NULL as modules: system calls. 0 or a negative errno: nothing was done. */
int gn_replay_run(const struct gn_replay_list *list, const struct gn_replayed_file *file,
		  const struct gn_mio_list *modules, struct gn_replay_result *result);

#endif
