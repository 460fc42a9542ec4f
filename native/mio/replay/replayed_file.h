/*
 * The file that operations are replayed on: the user's own, which is opened for reading alone, or a
 * scratch file beside it. That one has no name, so that nothing of it is left however the process
 * ends.
 */
#ifndef GNOMON_MIO_REPLAYED_FILE_H
#define GNOMON_MIO_REPLAYED_FILE_H

#include "operation_list.h"

struct gn_replayed_file {
	int fd;
	int is_scratch;
	int open_flags;	     /* of those who open `path` */
	char path[32];	     /* by which it is opened */
	uint64_t bytes;	     /* its size */
	uint64_t used_bytes; /* of it, from its begin: operations reach no further */
};

/*
 * Opens the user's file, or makes the scratch file in a folder: where the operations write, or read
 * more than the user's file has. 0, or a negative errno with a message of `size` bytes: nothing is
 * open.
 */
int gn_replayed_file_open(struct gn_replayed_file *file, const struct gn_replay_list *list,
			  const char *path, const char *folder, char *message, size_t size);
void gn_replayed_file_close(struct gn_replayed_file *file);

/* Has the kernel drop its pages of it, or fetch them. */
void gn_replayed_file_cool(const struct gn_replayed_file *file);
void gn_replayed_file_warm(const struct gn_replayed_file *file);

/* How many bytes of what is used the kernel has in memory; -1: it does not tell. */
int64_t gn_replayed_file_cached(const struct gn_replayed_file *file);

#endif
