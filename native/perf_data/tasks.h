/*
 * Processes and threads as a file's records tell of them: who forked whom, what each is called, and
 * what it has mapped. Those that a child inherits are its parent's until one of them changes.
 */
#ifndef GNOMON_PERF_DATA_TASKS_H
#define GNOMON_PERF_DATA_TASKS_H

#include <gnomon/unwind.h>
#include <stdint.h>

#include "mapped_files.h"
#include "number_map.h"
#include "rows.h"

/* TASK_COMM_LEN of the kernel. */
#define GN_TASK_NAME_BYTES 16u

struct gn_code_map {
	uint64_t start, end, file_offset;
	uint32_t module;
};

struct gn_map_set {
	uint64_t serial; /* another one after each change */
	uint32_t uses;	 /* processes that have it */
	uint32_t n, room;
	struct gn_code_map *map;       /* by their addresses, none over another */
	struct gn_unwind_space *space; /* the same for the unwinder; NULL: not needed yet */
};

struct gn_file_process {
	struct gn_map_set *maps; /* NULL: none yet */
	int32_t pid;
	uint32_t number; /* in the profile; GN_NO_NUMBER: it has no sample */
	char name[GN_TASK_NAME_BYTES];
};

struct gn_file_thread {
	uint32_t process; /* by its place among those here */
	int32_t tid;
	uint32_t number; /* likewise */
	char name[GN_TASK_NAME_BYTES];
};

struct gn_tasks {
	const struct gn_mapped_files *files;
	struct gn_unwind_files *unwound; /* NULL: nothing was unwound yet */
	struct gn_rows process, thread;
	struct gn_number_map by_pid, by_tid;
	struct gn_map_set *kernel;
	uint64_t serials;
	uint64_t copied_bytes; /* of maps that children had to have for themselves */
	uint64_t copied_most;
	uint64_t left_out; /* maps that there was no room for */
};

/* `copied_most`: bytes of copies of maps. 0 or -ENOMEM. */
int gn_tasks_begin(struct gn_tasks *tasks, const struct gn_mapped_files *files,
		   uint64_t copied_most);
void gn_tasks_end(struct gn_tasks *tasks);

/* GN_NO_NUMBER without memory. Of a thread that nothing was heard of no name is known. */
uint32_t gn_tasks_thread(struct gn_tasks *tasks, int32_t pid, int32_t tid);

static inline struct gn_file_thread *gn_file_thread(const struct gn_tasks *tasks, uint32_t n)
{
	return (struct gn_file_thread *)tasks->thread.row + n;
}

static inline struct gn_file_process *gn_file_process(const struct gn_tasks *tasks, uint32_t n)
{
	return (struct gn_file_process *)tasks->process.row + n;
}

/* What the records say. 0, -ENOMEM, or -EBADMSG where one is too short. */
int gn_tasks_fork(struct gn_tasks *tasks, const uint8_t *record,
		  const struct gn_perf_header *header, bool swaps);
int gn_tasks_name(struct gn_tasks *tasks, const uint8_t *record,
		  const struct gn_perf_header *header, bool swaps);
int gn_tasks_map(struct gn_tasks *tasks, const struct gn_file_mapping *mapping, uint32_t module);

/* NULL: nothing is mapped there. */
const struct gn_code_map *gn_map_at(const struct gn_map_set *maps, uint64_t address);

/* The maps of a process for the unwinder; NULL without memory. */
struct gn_unwind_space *gn_tasks_space(struct gn_tasks *tasks, struct gn_map_set *maps);

#endif
