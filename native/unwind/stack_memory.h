/* The memory that a stack is unwound in: the copy, later perhaps a second one from the process. */
#ifndef GN_STACK_MEMORY_H
#define GN_STACK_MEMORY_H

#include <gnomon/unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GN_LIVE_BYTES 4096u
/* Of one stack. */
#define GN_LIVE_READS_MAX 64u

/* A part of what lies beyond a copy, as the process has it when it is needed. */
struct gn_live_stack {
	int pid;
	/* The thread may have moved: callers must call the very function below them. */
	bool is_doubtful;
	unsigned int n_reads;
	uint64_t address;
	size_t size;
	uint8_t bytes[GN_LIVE_BYTES];
};

struct gn_stack_memory {
	const uint8_t *bytes;
	uint64_t address;
	uint64_t size;
	/* NULL: what lies beyond the copy is not looked at. */
	struct gn_live_stack *live;
};

static inline bool gn_memory_is_beyond(const struct gn_stack_memory *memory, uint64_t address)
{
	return address >= memory->address && address - memory->address >= memory->size;
}

/* Beyond the copy, from the live stack. -ENODATA: there is none; -EFAULT: it is below the copy. */
int gn_memory_read_beyond(const struct gn_stack_memory *memory, uint64_t address, uint64_t *value,
			  unsigned int bytes);

/* At most 8 bytes, least significant first. */
static inline int gn_memory_read(const struct gn_stack_memory *memory, uint64_t address,
				 uint64_t *value, unsigned int bytes)
{
	uint64_t offset = address - memory->address;

	*value = 0;
	if (memory->size < bytes || offset > memory->size - bytes)
		return gn_memory_read_beyond(memory, address, value, bytes);
	memcpy(value, memory->bytes + offset, bytes);
	return 0;
}

/* What a process has in its memory: the number of bytes that could be read. */
size_t gn_process_read(int pid, uint64_t address, void *to, size_t bytes);

/* A second copy: of the stack that a signal interrupted, from its process as that is now. Only if
 * the thread lives and the signal's frame, which lies at `kept` in the first copy, is as it was. */
int gn_memory_renew(struct gn_stack_memory *memory, int pid, int thread, uint64_t kept,
		    uint64_t address, uint8_t *buffer, size_t buffer_bytes);

bool gn_thread_is_alive(int pid, int thread);

/* Whether a living thread has what the last bytes of a copy of its stack say: then what lies beyond
 * is most likely as it was, too. */
bool gn_memory_is_current(const struct gn_stack_memory *memory, int pid);

#endif
