/* Another process, stopped for a moment: its registers, a copy of its stack, its mappings. */
#ifndef GNOMON_TESTS_STOPPED_PROCESS_H
#define GNOMON_TESTS_STOPPED_PROCESS_H

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "unwind_maps.h"

struct stopped_stack {
	struct gn_unwind_registers registers;
	uint8_t *bytes;
	size_t size;
};

static inline size_t copy_memory(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	size_t done = 0;

	/* A page at a time: the last one may be missing. */
	while (done < bytes) {
		size_t piece = 4096 - (address + done) % 4096;
		struct iovec local, remote;

		if (piece > bytes - done)
			piece = bytes - done;
		local = (struct iovec){(char *)to + done, piece};
		remote = (struct iovec){(void *)(uintptr_t)(address + done), piece};
		if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)piece)
			break;
		done += piece;
	}
	return done;
}

#if defined(__x86_64__)

static inline struct gn_unwind_registers dwarf_registers(const struct user_regs_struct *user,
							 pid_t thread)
{
	return (struct gn_unwind_registers){
		.value = {user->rax, user->rdx, user->rcx, user->rbx, user->rsi, user->rdi,
			  user->rbp, user->rsp, user->r8, user->r9, user->r10, user->r11, user->r12,
			  user->r13, user->r14, user->r15, user->rip},
		.machine = GN_UNWIND_X86_64,
		.thread = thread,
	};
}

/* False if the process is gone. It goes on afterwards, unless it had been stopped before. */
static inline bool copy_stack(pid_t pid, struct stopped_stack *stack, size_t most)
{
	struct user_regs_struct user;
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		return false;
	CHECK(!ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	CHECK(waitpid(pid, &status, __WALL) == pid);
	if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, 0, &user))
		return false;
	stack->registers = dwarf_registers(&user, pid);
	stack->bytes = malloc(most);
	CHECK(stack->bytes);
	stack->size = copy_memory(pid, user.rsp, stack->bytes, most);
	return !ptrace(PTRACE_DETACH, pid, 0, 0);
}

#endif

#endif
