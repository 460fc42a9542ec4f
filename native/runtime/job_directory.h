/* The directory in which the ranks of a job meet. */
#ifndef GNOMON_RUNTIME_JOB_DIRECTORY_H
#define GNOMON_RUNTIME_JOB_DIRECTORY_H

#include <limits.h>
#include <stddef.h>

/*
 * Opens the job's directory below `base`, which is made if it is not there: this user's own, and
 * closed to others. Each rank's nth visit is to the nth directory in it, so that programs that run
 * one after the other in a job do not meet. Returns the descriptor of that one, with its path in
 * `where`, or a negative errno with the reason there, which names `variable` as the remedy.
 */
int gn_job_directory_enter(const char *base, const char *name, int rank, const char *variable,
			   char where[PATH_MAX]);

/*
 * Removes the job's directory if nobody is in it. all: how many ranks must have been there.
 * has_locks: else a rank is in it until its file says something.
 */
void gn_job_directory_remove(const char *where, int folder, int rank, int ranks, int all,
			     int has_locks);

/*
 * Whether a lock that is held on one node is seen on all: some file systems of clusters keep
 * flock(2) to each node, or have none.
 */
int gn_job_directory_has_locks(int folder);

/* Whether someone holds the lock of a file in a directory: 1, 0, or a negative errno. */
int gn_job_directory_is_locked(int folder, const char *name, char *content, size_t size);

#endif
