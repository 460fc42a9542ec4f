/*
 * From a sample's registers and stack to a node of the tree of paths; modules, places and nodes are
 * written down as they are met.
 */
#ifndef GNOMON_SAMPLING_SAMPLED_STACK_H
#define GNOMON_SAMPLING_SAMPLED_STACK_H

#include <gnomon/unwind.h>
#include <stddef.h>
#include <stdint.h>

#include "path_tree.h"
#include "processes.h"
#include "sample_file.h"

/* A copy of 64 KiB has no more, each with a return address and a saved register. */
#define GN_FRAMES_MAX 4096u

/* Of the stack of one sample, as it lies in the ring. */
struct gn_sampled_stack {
	const uint64_t *kernel; /* addresses, innermost first, and PERF_CONTEXT_* */
	uint64_t n_kernel;
	uint64_t abi; /* of the registers; 0: there is no user stack */
	const uint64_t *registers;
	size_t n_registers;
	const void *stack;
	size_t stack_bytes;
};

struct gn_stack_paths {
	struct gn_path_tree tree;
	struct gn_sample_file *out;
	struct gn_unwind_files *files;
	uint32_t *module_of_file;
	uint32_t n_files;
	uint32_t n_modules;
	uint32_t n_frames; /* of the last stack */
	uint64_t argument; /* the first of a function or system call, as registers had it then */
	/* When the rings are read that the next samples are from. */
	uint64_t read_ns;
	/* Stacks that go on beyond their copies. */
	uint64_t n_beyond;
	struct gn_unwind_frame frame[GN_FRAMES_MAX];
};

/* 0 or -ENOMEM. */
int gn_stack_paths_begin(struct gn_stack_paths *paths, struct gn_sample_file *out,
			 struct gn_unwind_files *files);
void gn_stack_paths_end(struct gn_stack_paths *paths);

/*
 * The number of the place where a process or the kernel has an address; GN_PATH_NONE where neither
 * is known to have code there, or there is no memory.
 */
uint32_t gn_stack_paths_place(struct gn_stack_paths *paths, struct gn_process *process,
			      uint64_t address);

/*
 * The path of a sample with the kernel's part of its stack, which was not taken with the rest.
 */
void gn_stack_paths_add_kernel(struct gn_stack_paths *paths, const uint64_t *kernel, uint32_t n,
			       struct gn_sample_sample *sample);

/* The place that a path ends with; GN_PATH_NONE: there is no path. */
uint32_t gn_stack_paths_leaf(const struct gn_stack_paths *paths, uint32_t node);

/* Fills in a sample's node, end and flags. */
void gn_stack_paths_add(struct gn_stack_paths *paths, struct gn_process *process, int32_t tid,
			const struct gn_sampled_stack *stack, struct gn_sample_sample *sample);

#endif
