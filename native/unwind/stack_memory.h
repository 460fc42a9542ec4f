/* The memory that a stack is unwound in: the copy, later perhaps a second one from the process. */
#ifndef GN_STACK_MEMORY_H
#define GN_STACK_MEMORY_H

#include <gnomon/unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gn_stack_memory {
	const uint8_t *bytes;
	uint64_t address;
	uint64_t size;
};

/* -ENODATA: beyond the copy; -EFAULT: below it. */
int gn_memory_error(const struct gn_stack_memory *memory, uint64_t address);

/* At most 8 bytes, least significant first. */
static inline int gn_memory_read(const struct gn_stack_memory *memory, uint64_t address,
				 uint64_t *value, unsigned int bytes)
{
	uint64_t offset = address - memory->address;

	*value = 0;
	if (memory->size < bytes || offset > memory->size - bytes)
		return gn_memory_error(memory, address);
	memcpy(value, memory->bytes + offset, bytes);
	return 0;
}

/* What a process has in its memory: the number of bytes that could be read. */
size_t gn_process_read(int pid, uint64_t address, void *to, size_t bytes);

/* A second copy: of the stack that a signal interrupted, from its process as that is now. Only if
 * the thread lives and the signal's frame, which lies at `kept` in the first copy, is as it was. */
int gn_memory_renew(struct gn_stack_memory *memory, int pid, int thread, uint64_t kept,
		    uint64_t address, uint8_t *buffer, size_t buffer_bytes);

#endif
