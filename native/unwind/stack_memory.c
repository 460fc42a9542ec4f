#include "stack_memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define PIECES_MAX 32
/* Of a signal's frame: its registers. */
#define KEPT_BYTES 256

int gn_memory_error(const struct gn_stack_memory *memory, uint64_t address)
{
	/* Stacks grow downwards: what is above may be more of this one. */
	return address >= memory->address ? -ENODATA : -EFAULT;
}

size_t gn_process_read(int pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {to, bytes}, pieces[PIECES_MAX];
	unsigned int n = 0;
	ssize_t done;

	/* A piece is read as a whole or not at all, so each is within a page. */
	for (size_t at = 0; at < bytes && n < PIECES_MAX; n++) {
		size_t piece = PAGE_BYTES - (address + at) % PAGE_BYTES;

		if (piece > bytes - at)
			piece = bytes - at;
		pieces[n] = (struct iovec){(void *)(uintptr_t)(address + at), piece};
		at += piece;
	}
	done = process_vm_readv(pid, &local, 1, pieces, n, 0);
	return done < 0 ? 0 : (size_t)done;
}

int gn_memory_renew(struct gn_stack_memory *memory, int pid, int thread, uint64_t kept,
		    uint64_t address, uint8_t *buffer, size_t buffer_bytes)
{
	const uint64_t offset = kept - memory->address;
	uint8_t now[KEPT_BYTES];
	size_t bytes;

	if (offset > memory->size || memory->size - offset < KEPT_BYTES)
		return -ENODATA;
	if (!thread || (syscall(SYS_tgkill, pid, thread, 0) && errno != EPERM))
		return -ESRCH;
	if (gn_process_read(pid, kept, now, sizeof(now)) != sizeof(now) ||
	    memcmp(now, memory->bytes + offset, sizeof(now)) != 0)
		return -ENODATA;
	bytes = gn_process_read(pid, address, buffer, buffer_bytes);
	if (!bytes)
		return -EFAULT;
	*memory = (struct gn_stack_memory){buffer, address, bytes};
	return 0;
}
