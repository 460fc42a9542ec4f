#include "stack_memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define PIECES_MAX 32
/* That must not have changed since the copy: of a signal's frame its registers. */
#define KEPT_BYTES 256

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

bool gn_thread_is_alive(int pid, int thread)
{
	return thread && (!syscall(SYS_tgkill, pid, thread, 0) || errno == EPERM);
}

int gn_memory_renew(struct gn_stack_memory *memory, int pid, int thread, uint64_t kept,
		    uint64_t address, uint8_t *buffer, size_t buffer_bytes)
{
	const uint64_t offset = kept - memory->address;
	uint8_t now[KEPT_BYTES];
	size_t bytes;

	if (offset > memory->size || memory->size - offset < KEPT_BYTES)
		return -ENODATA;
	if (!gn_thread_is_alive(pid, thread))
		return -ESRCH;
	if (gn_process_read(pid, kept, now, sizeof(now)) != sizeof(now) ||
	    memcmp(now, memory->bytes + offset, sizeof(now)) != 0)
		return -ENODATA;
	bytes = gn_process_read(pid, address, buffer, buffer_bytes);
	if (!bytes)
		return -EFAULT;
	*memory = (struct gn_stack_memory){buffer, address, bytes, NULL};
	return 0;
}

int gn_memory_read_beyond(const struct gn_stack_memory *memory, uint64_t address, uint64_t *value,
			  unsigned int bytes)
{
	struct gn_live_stack *live = memory->live;
	uint64_t offset;

	/* Stacks grow downwards: what is above may be more of this one. */
	if (address < memory->address)
		return -EFAULT;
	if (!live || !gn_memory_is_beyond(memory, address))
		return -ENODATA;
	offset = address - live->address;
	if (live->size < bytes || offset > live->size - bytes) {
		if (live->n_reads++ == GN_LIVE_READS_MAX)
			return -ENODATA;
		live->address = address;
		live->size = gn_process_read(live->pid, address, live->bytes, sizeof(live->bytes));
		offset = 0;
		if (live->size < bytes)
			return -ENODATA;
	}
	memcpy(value, live->bytes + offset, bytes);
	return 0;
}

bool gn_memory_is_current(const struct gn_stack_memory *memory, int pid)
{
	const size_t bytes = memory->size < KEPT_BYTES ? memory->size : KEPT_BYTES;
	uint8_t now[KEPT_BYTES];

	return bytes &&
	       gn_process_read(pid, memory->address + memory->size - bytes, now, bytes) == bytes &&
	       !memcmp(now, memory->bytes + memory->size - bytes, bytes);
}
