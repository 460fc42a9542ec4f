#include "python_threads.h"

#include <errno.h>
#include <gnomon/recorder.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python_records.h"

#define THREADS_MAX 8192u

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct gn_python_threads {
	_Atomic uint32_t n_numbers; /* of nodes */
	struct gn_python_thread *_Atomic thread[THREADS_MAX];
};

/* Fixed when the library is loaded: nothing is allocated in a handler. */
static __thread struct gn_python_thread *own __attribute__((tls_model("initial-exec")));

static void *zeros(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (madvise(memory, bytes, MADV_WIPEONFORK)) {
		munmap(memory, bytes);
		return NULL;
	}
	return memory;
}

struct gn_python_threads *gn_python_threads_new(void)
{
	return zeros(sizeof(struct gn_python_threads));
}

static int has_ended(pid_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH;
}

static struct gn_python_thread *claim(struct gn_python_threads *threads, pid_t self)
{
	for (uint32_t i = 0; i < THREADS_MAX; i++) {
		struct gn_python_thread *thread = threads->thread[i], *none = NULL;
		pid_t owner;

		if (!thread) {
			thread = zeros(sizeof(*thread));
			if (!thread)
				return NULL;
			thread->tid = self;
			if (atomic_compare_exchange_strong(&threads->thread[i], &none, thread))
				return thread;
			munmap(thread, sizeof(*thread));
			thread = none;
		}
		owner = thread->tid;
		if ((owner == self || !owner || has_ended(owner)) &&
		    atomic_compare_exchange_strong(&thread->tid, &owner, self))
			return thread;
	}
	return NULL;
}

struct gn_python_thread *gn_python_thread(struct gn_python_threads *threads, pid_t self)
{
	if (!own || own->tid != self)
		own = claim(threads, self);
	if (own)
		memset(&own->probe, 0, sizeof(own->probe));
	return own;
}

static int is_child(const struct gn_path_node *node, uint32_t parent,
		    const struct gn_python_frame *frame)
{
	return node->parent == parent && node->code == frame->code &&
	       node->instruction == frame->instruction && (node->number & 1) == frame->is_entry;
}

/* The index of a node, which is recorded if it is new. */
static uint32_t child(struct gn_python_threads *threads, struct gn_python_thread *thread,
		      uint32_t parent, const struct gn_python_frame *frame)
{
	uint64_t key = ((uint64_t)parent << 32 | frame->code) * 0x9e3779b97f4a7c15u;
	struct gn_python_node record = {0};
	struct gn_path_node *node = &thread->node[thread->node[parent].recent];
	uint32_t slot;

	/* The one of last time is mostly right, and lies nearer than its slot. */
	if (node != thread->node && is_child(node, parent, frame))
		return thread->node[parent].recent;
	key = (key ^ (uint32_t)frame->instruction ^ (uint64_t)frame->is_entry << 40) *
	      0xff51afd7ed558ccdu;
	slot = (uint32_t)(key >> 40) & (GN_PATH_SLOTS - 1);
	for (; thread->slot[slot]; slot = (slot + 1) & (GN_PATH_SLOTS - 1))
		if (is_child(&thread->node[thread->slot[slot]], parent, frame))
			return thread->node[parent].recent = thread->slot[slot];
	thread->node[parent].recent = thread->slot[slot] = ++thread->n_nodes;
	node = &thread->node[thread->n_nodes];
	record.node = atomic_fetch_add(&threads->n_numbers, 1) + 1;
	record.parent = parent ? thread->node[parent].number >> 1 : 0;
	record.code = frame->code;
	record.instruction = frame->instruction;
	record.is_entry = frame->is_entry;
	node->parent = parent;
	node->code = frame->code;
	node->instruction = frame->instruction;
	node->number = record.node << 1 | frame->is_entry;
	node->recent = 0;
	gn_recorder_append(&thread->nodes, GN_PYTHON_NODE, &record);
	return thread->n_nodes;
}

uint32_t gn_python_path(struct gn_python_threads *threads, struct gn_python_thread *thread)
{
	uint32_t node = 0;

	if (thread->n_nodes + thread->stack.n > GN_PATH_NODES) {
		memset(thread->slot, 0, sizeof(thread->slot));
		thread->n_nodes = thread->node[0].recent = 0;
	}
	for (uint32_t i = thread->stack.n; i; i--)
		node = child(threads, thread, node, &thread->stack.frame[i - 1]);
	return node ? thread->node[node].number >> 1 : 0;
}
