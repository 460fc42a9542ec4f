/*
 * What each thread of a process needs to record its samples: the paths that it has been on, and
 * streams of its own. A handler takes no lock: what a thread that ended leaves goes on with the
 * next.
 */
#ifndef GNOMON_PYTHON_THREADS_H
#define GNOMON_PYTHON_THREADS_H

#include <stdint.h>
#include <sys/types.h>

#include "memory_probe.h"
#include "python_records.h"
#include "python_stack.h"
#include "python_streams.h"

/* Both are powers of two; when there is no room for more nodes the tree begins anew. */
#define GN_PATH_NODES 32768u
#define GN_PATH_SLOTS 65536u

struct gn_path_node {
	uint32_t parent; /* index of a node; 0: it is a root */
	uint32_t code;
	int32_t instruction;
	uint32_t number; /* in the file; twice that, and is_entry */
	uint32_t recent; /* index of the child of last time; 0: there is none */
};

struct gn_python_thread {
	_Atomic pid_t tid; /* whose it is; 0: nobody's */
	uint32_t n_nodes;
	uintptr_t last_pc, last_sp;   /* where the last sample came, */
	struct gn_python_sample last; /* and what it was */
	uint64_t last_end_ns;	      /* when that was recorded */
	uint64_t read_again_ns;	      /* not before */
	uint32_t n_long;	      /* stacks in a row that took long to read */
	uint32_t n_unmoved;	      /* samples since the thread has moved */
	struct gn_probe probe;
	struct gn_code_streams code_streams;
	struct gn_record_stream nodes, samples;
	struct gn_python_stack stack;
	uint32_t slot[GN_PATH_SLOTS];
	struct gn_path_node node[GN_PATH_NODES + 1]; /* the first is above the roots */
};

/* Of this process; in a child that is forked there are none again. */
struct gn_python_threads;

struct gn_python_threads *gn_python_threads_new(void);

/* Of the calling thread, `self`, in a signal handler. NULL: there is no memory. */
struct gn_python_thread *gn_python_thread(struct gn_python_threads *threads, pid_t self);

/* The number in the file of the node for the thread's stack; 0: it has none. Records new nodes. */
uint32_t gn_python_path(struct gn_python_threads *threads, struct gn_python_thread *thread);

#endif
