/*
 * Threads that read ahead past the kernel's cache, two for all files of a process.
 *
 * They begin with the first request, block all signals, and end after a fifth of a second without
 * one: a program whose main thread has left by pthread_exit() ends when its own threads do.
 *
 * They have a table of descriptors to themselves. In the program's a descriptor of ours could be
 * closed and its number be given to another file, would shift the numbers that the program counts
 * on, and would at its close take all POSIX locks that the process has on the file.
 */
#ifndef GNOMON_MIO_PREFETCH_POOL_H
#define GNOMON_MIO_PREFETCH_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GN_PREFETCH_THREADS 2

/* A file as the threads have it open, with O_DIRECT. */
struct gn_direct_file {
	int program_fd;
	pid_t thread; /* of the program, for its table of descriptors */
	dev_t device;
	ino_t inode;
	int fd; /* in the threads' table, if `table` is theirs */
	unsigned int table;
};

enum gn_prefetch_job_state { GN_JOB_IDLE, GN_JOB_QUEUED, GN_JOB_RUNNING, GN_JOB_DONE };

struct gn_prefetch_job {
	struct gn_prefetch_job *next;
	struct gn_direct_file *file;
	void *to;     /* NULL: the file is closed */
	size_t bytes; /* these and the offset by the device's blocks */
	int64_t offset;
	ssize_t result; /* bytes, or a negative errno */
	atomic_int state;
};

/* 0, or a negative errno: no thread can be started. */
int gn_prefetch_submit(struct gn_prefetch_job *job);
/* After it the job is idle or done; is_needed 0: it need not be done if it has not begun. */
void gn_prefetch_wait(struct gn_prefetch_job *job, int is_needed);
/* No job of the file may be on its way. */
void gn_direct_file_close(struct gn_direct_file *file);

/* In the child of a fork: locks and lists as at the start of a program. */
void gn_prefetch_pool_after_fork(void);

#endif
