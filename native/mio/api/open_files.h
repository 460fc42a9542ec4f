/*
 * Files that programs opened by MIO_open64(), by their descriptors, which are the kernel's own. A
 * file has a lock; who holds one takes no other, nor that of the table but to add a descriptor.
 */
#ifndef GNOMON_MIO_OPEN_FILES_H
#define GNOMON_MIO_OPEN_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "mio_stack.h"

struct gn_mio_file {
	struct gn_mio_stack *stack; /* NULL: it is closed */
	pthread_mutex_t lock;
	struct gn_mio_file *next, *before; /* of all that are open */
	unsigned int n_users;		   /* of the table: descriptors and calls that go on */
	dev_t device;
	ino_t inode;
	int64_t position;
	bool has_position; /* requests have offsets: it is no pipe, nor shared with another process
			    */
	bool is_at_end;	   /* the position is where the last append ended, which the kernel knows */
	bool is_append;
	bool is_scratch;
	bool is_held_for_fork;
	_Atomic bool has_peer; /* another open of the same file */
};

/* The file of a descriptor, locked; NULL: the descriptor is none of MIO's, or EDEADLK in a signal
 * handler that came over a call of this file. */
struct gn_mio_file *gn_mio_file_lock(int fd, int *error);
void gn_mio_file_unlock(struct gn_mio_file *file);

/* 0, or a negative errno: the stack is closed. */
int gn_mio_file_add(struct gn_mio_stack *stack, bool is_scratch);

/* One more descriptor of the file, which is locked. */
int gn_mio_file_add_descriptor(struct gn_mio_file *file, int fd);

/* As close(2); the last descriptor of a file closes its layers. false: the descriptor is none of
 * MIO's. */
bool gn_mio_file_close(int fd, int *result);

/* What others hold of the file by this path goes to the system, before it is opened again. */
void gn_mio_file_flush_peers(const char *path);

/* The position, where the kernel alone knows it; 0 or a negative errno. */
int gn_mio_file_find_position(struct gn_mio_file *file);

/* Has intermediate statistics written of all files. */
void gn_mio_files_tell(void);

#endif
