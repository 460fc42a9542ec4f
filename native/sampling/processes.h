/*
 * Processes and threads as the kernel's records tell of them: who forked whom, what each is called,
 * what it has mapped. One that was there before is looked up in /proc when it is first met.
 */
#ifndef GNOMON_SAMPLING_PROCESSES_H
#define GNOMON_SAMPLING_PROCESSES_H

#include <gnomon/unwind.h>
#include <stdint.h>

#define GN_UNNUMBERED UINT32_MAX

/* TASK_COMM_LEN of the kernel. */
#define GN_TASK_NAME 16

struct gn_process {
	struct gn_unwind_space *space;
	int32_t pid;
	uint32_t number;     /* in the record file, once a sample is of it */
	uint32_t jit_module; /* likewise, of addresses that are in no file */
	uint32_t n_threads;
	uint32_t kept_space;   /* of its mappings as they were last kept, 0: not yet */
	uint64_t kept_changes; /* of its space, by then */
	uint8_t is_waiting;    /* for the program that it executes next: waiting_events.h */
	uint64_t serial;       /* of all processes: numbers of tasks come again */
	char name[GN_TASK_NAME];
};

struct gn_group_values;
struct gn_thread_waits;

struct gn_thread {
	struct gn_group_values *group_values; /* NULL: no group has counted in it */
	struct gn_thread_waits *waits;	      /* NULL: nothing is known of its waits */
	struct gn_process *process;	      /* lives as long as it has this thread's `serial` */
	uint64_t serial;
	int32_t pid, tid;
	uint32_t number;
	char name[GN_TASK_NAME];
};

/* By numbers of tasks, of which the kernel gives at most PID_MAX_LIMIT = 1 << 22. */
#define GN_TASKS_PER_PAGE 4096u
#define GN_TASK_PAGES 1024u

struct gn_processes {
	struct gn_unwind_files *files;
	struct gn_process **process[GN_TASK_PAGES];
	struct gn_thread **thread[GN_TASK_PAGES];
	uint64_t n;	  /* processes that there were */
	uint32_t n_alive; /* of these, that have not ended */
};

int gn_processes_begin(struct gn_processes *all);
void gn_processes_end(struct gn_processes *all);

/* The thread, and its process; NULL without memory or where the numbers are none. */
struct gn_thread *gn_processes_thread(struct gn_processes *all, int32_t pid, int32_t tid);

/* The process, NULL if nothing was heard of it. */
struct gn_process *gn_processes_find(struct gn_processes *all, int32_t pid);

/* The thread of a number, NULL if nothing was heard of it or its process has ended. */
struct gn_thread *gn_processes_find_thread(struct gn_processes *all, int32_t tid);

/* Any other thread of the process that a thread is of; NULL: there is none. */
struct gn_thread *gn_processes_other_thread(struct gn_processes *all,
					    const struct gn_thread *thread);

/* PERF_RECORD_FORK, EXIT, COMM and MMAP2. 0 or -ENOMEM. */
int gn_processes_fork(struct gn_processes *all, int32_t pid, int32_t tid, int32_t parent_pid,
		      int32_t parent_tid);
void gn_processes_exit(struct gn_processes *all, int32_t pid, int32_t tid);
/* The thread whose name it is, NULL without memory. */
struct gn_thread *gn_processes_name(struct gn_processes *all, int32_t pid, int32_t tid,
				    const char *name, int is_exec);
int gn_processes_map(struct gn_processes *all, int32_t pid, int32_t tid,
		     const struct gn_unwind_mapping *mapping);

#endif
