/*
 * A file with its layers. Who has one calls the functions here one at a time, as the lock that goes
 * with each file sees to; all return what they say or a negative errno.
 */
#ifndef GNOMON_MIO_STACK_H
#define GNOMON_MIO_STACK_H

#include "mio_files.h"

struct gn_mio_stack;

/*
 * Opens the file through the layers of a list, which are copied as are the names of the file. 0, or
 * a negative errno: nothing is open.
 */
int gn_mio_stack_open(struct gn_mio_stack **stack, const struct gn_mio_list *list,
		      const struct gn_mio_open *file);

/*
 * Closes the layers, lets each tell what it has to, and frees all. What `close` of the uppermost
 * returned.
 */
int gn_mio_stack_close(struct gn_mio_stack *stack);

ssize_t gn_mio_stack_read(struct gn_mio_stack *stack, void *to, size_t bytes, int64_t offset);
ssize_t gn_mio_stack_write(struct gn_mio_stack *stack, const void *from, size_t bytes,
			   int64_t offset);
int gn_mio_stack_seek(struct gn_mio_stack *stack, int64_t from, int64_t to);
int gn_mio_stack_status(struct gn_mio_stack *stack, struct stat *status);
int gn_mio_stack_truncate(struct gn_mio_stack *stack, int64_t bytes);
int gn_mio_stack_sync(struct gn_mio_stack *stack, int data_only);
int gn_mio_stack_control(struct gn_mio_stack *stack, int command, void *argument);
int gn_mio_stack_flush(struct gn_mio_stack *stack);
int gn_mio_stack_drop(struct gn_mio_stack *stack);

/* Before a fork, and in the child. */
void gn_mio_stack_prepare_fork(struct gn_mio_stack *stack);
void gn_mio_stack_forked(struct gn_mio_stack *stack);

/* Reports of all its layers, each to where its option `stats` says. */
void gn_mio_stack_tell(struct gn_mio_stack *stack, int is_final);

/* The number of a signal for intermediate statistics that a layer's option `inter` asks for; 0. */
int gn_mio_stack_signal(const struct gn_mio_stack *stack);

/* Whether a layer may keep what was written for a while. */
int gn_mio_stack_holds_writes(const struct gn_mio_stack *stack);

int gn_mio_stack_descriptor(const struct gn_mio_stack *stack);

/* The file goes on under this descriptor, a duplicate; -1: under none, the program closed it. */
void gn_mio_stack_set_descriptor(struct gn_mio_stack *stack, int fd);

const struct gn_mio_open *gn_mio_stack_file(const struct gn_mio_stack *stack);

/* For the lowest layer, which opened it. */
void gn_mio_set_descriptor(struct gn_mio_layer *layer, int fd);

#endif
