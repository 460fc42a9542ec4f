/*
 * What an owner may read of a thread that waits: its system call and its stack.
 * Source: proc(5), /proc/PID/task/TID/syscall; process_vm_readv(2).
 */
#ifndef GNOMON_SAMPLING_WAIT_LOOK_H
#define GNOMON_SAMPLING_WAIT_LOOK_H

#include "sampled_stack.h"
#include "waits.h"

/* A buffer for stacks. */
#define GN_LOOK_BYTES (32u << 10)

/*
 * Looks at a thread. 0, with `sample` filled in if it is not NULL and there is a stack (1 in
 * `has_stack`); -EAGAIN: it does not wait, or did not stay where it was.
 */
int gn_wait_look_at(const struct gn_thread *thread, struct gn_stack_paths *paths, void *buffer,
		    struct gn_wait_look *look, struct gn_sample_sample *sample, int *has_stack);

#endif
