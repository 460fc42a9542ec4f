/*
 * Files with a stack of layers, by their descriptors, which are the kernel's own. A file has a
 * lock; who holds one takes no other, nor that of the table but to change descriptors.
 */
#ifndef GNOMON_MIO_OPEN_FILES_H
#define GNOMON_MIO_OPEN_FILES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mio_stack.h"

struct gn_mio_file {
	struct gn_mio_stack *stack; /* NULL: it is closed */
	pthread_mutex_t lock;
	struct gn_mio_file *next;	    /* of all that there ever were: memory is used again */
	_Atomic unsigned int n_descriptors; /* 0: it is free */
	dev_t device;
	ino_t inode;
	int64_t position;
	bool has_position; /* requests have offsets: it is no pipe, nor shared with another process
			    */
	bool is_stale;	   /* the position, which the kernel knows: after an append */
	bool is_append;
	bool is_direct; /* O_DIRECT: the parts of a request may be no blocks */
	bool is_scratch;
	bool is_held_for_fork;
	bool is_without_lock;  /* who has it took it when there was no other thread */
	_Atomic bool has_peer; /* another open of the same file */
	void *_Atomic late; /* what handlers of signals called meanwhile, for who has such a list */
};

/* The next descriptor from `fd` on that has such a file, -1: none. Below, the file of a descriptor,
 * not locked, and whether there is one. */
int gn_mio_file_next(int fd);

/* Descriptors in a block, and blocks. */
#define GN_MIO_BLOCK 1024u
#define GN_MIO_BLOCKS 1024u

typedef struct gn_mio_file *_Atomic gn_mio_slot;
extern gn_mio_slot *_Atomic gn_mio_block[GN_MIO_BLOCKS];

static inline gn_mio_slot *gn_mio_slot_of(int fd)
{
	gn_mio_slot *own;

	if (fd < 0 || (unsigned int)fd >= GN_MIO_BLOCK * GN_MIO_BLOCKS)
		return NULL;
	own = atomic_load_explicit(&gn_mio_block[(unsigned int)fd / GN_MIO_BLOCK],
				   memory_order_acquire);
	return own ? &own[(unsigned int)fd % GN_MIO_BLOCK] : NULL;
}

static inline struct gn_mio_file *gn_mio_file_of(int fd)
{
	gn_mio_slot *own = gn_mio_slot_of(fd);

	return own ? atomic_load_explicit(own, memory_order_acquire) : NULL;
}

static inline bool gn_mio_file_is_at(int fd)
{
	return gn_mio_file_of(fd) != NULL;
}

/* The file of a descriptor, locked; NULL: the descriptor has none, or with `error` EDEADLK in a
 * signal handler that came over a call of this file. */
struct gn_mio_file *gn_mio_file_lock(int fd, int *error);
void gn_mio_file_unlock(struct gn_mio_file *file);

/* With the mutex alone, for a second; false: another thread is at the file, or this one in a call
 * that a signal's handler came over. */
bool gn_mio_file_lock_for_fork(struct gn_mio_file *file);

/* 0, or a negative errno: the stack is closed. */
int gn_mio_file_add(struct gn_mio_stack *stack, bool is_scratch);

/* One more descriptor of the file, which is locked. */
int gn_mio_file_add_descriptor(struct gn_mio_file *file, int fd);

/* As close(2); the last descriptor of a file closes its layers. false: the descriptor has no such
 * file. */
bool gn_mio_file_close(int fd, int *result);

/* The same, but that the descriptor stays open. 0, or a negative errno of what was held. */
int gn_mio_file_drop(int fd);

/* All descriptors of the file stay open and are the kernel's alone from now on, which knows the
 * position and all that was written. */
void gn_mio_file_detach(int fd);

/* With the file's lock held: what the program did is what the system knows, and it alone keeps the
 * position from now on. */
void gn_mio_file_hand_over(struct gn_mio_file *file);

/* What others hold of a file goes to the system, before it is opened again or looked at;
 * `has_peer`: and always from now on. */
void gn_mio_file_flush_peers(const struct stat *status, bool has_peer);

/* The position, where the kernel alone knows it; 0 or a negative errno. */
int gn_mio_file_find_position(struct gn_mio_file *file);

/* Calls for each file that is open, one after another, with its lock if that can be had in a
 * second. */
void gn_mio_files_for_each(void (*call)(struct gn_mio_file *file, void *context), void *context);

/* What layers hold of all files goes to the system. */
void gn_mio_files_flush(void);

/* Whether this thread is in a call of a file: that a signal came over. */
bool gn_mio_is_in_call(void);

/* What is called when a call of a file has ended; NULL: nothing. */
void gn_mio_files_after_call(void (*call)(void));

/* Has intermediate statistics written of all files. */
void gn_mio_files_tell(void);

/* Whether there is an open file. */
bool gn_mio_has_files(void);

/* For forks and the end of a process (process_life.c). */
void gn_mio_files_lock_table(void);
void gn_mio_files_unlock_table(void);
struct gn_mio_file *gn_mio_files_first(void);
void gn_mio_files_forked(void);
void gn_mio_files_end(void);

#endif
