#include "wait_look.h"

#include <errno.h>
#include <fcntl.h>
#include <gnomon/unwind.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock_ns.h"

/* glibc's pthread_mutex_t has the futex first, and its owner's tid behind a count. */
#define MUTEX_OWNER 8u
#define LINE 256

struct call_now {
	long number;
	uint64_t argument, sp, pc;
};

/* 1: the thread waits, in a system call or, with the number -1, elsewhere in the kernel. */
static int read_call(const struct gn_thread *thread, struct call_now *call)
{
	char path[64], line[LINE];
	ssize_t bytes;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", thread->pid, thread->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	bytes = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (bytes <= 0)
		return 0;
	line[bytes] = '\0';
	memset(call, 0, sizeof(*call));
	n = sscanf(line, "%ld 0x%" SCNx64 " 0x%*x 0x%*x 0x%*x 0x%*x 0x%*x 0x%" SCNx64 " 0x%" SCNx64,
		   &call->number, &call->argument, &call->sp, &call->pc);
	if (n == 4)
		return 1;
	n = sscanf(line, "%ld 0x%" SCNx64 " 0x%" SCNx64, &call->number, &call->sp, &call->pc);
	call->argument = 0;
	return n == 3 && call->number == -1;
}

static enum gn_wait_call kind_of(long number)
{
	switch (number) {
	case -1:
		return GN_CALL_NONE;
	case SYS_futex:
#ifdef SYS_futex_waitv
	case SYS_futex_waitv:
#endif
		return GN_CALL_FUTEX;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
#ifdef SYS_pause
	case SYS_pause:
#endif
		return GN_CALL_SLEEP;
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
		return GN_CALL_POLL;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return GN_CALL_READ;
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_connect:
		return GN_CALL_WRITE;
	case SYS_wait4:
	case SYS_waitid:
		return GN_CALL_CHILD;
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_msync:
		return GN_CALL_SYNC;
	default:
		return GN_CALL_OTHER;
	}
}

static enum gn_wait_file file_of(const struct gn_thread *thread, uint64_t descriptor)
{
	char path[64], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", thread->pid, thread->tid,
		 (int)descriptor);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return GN_FILE_UNKNOWN;
	target[n] = '\0';
	if (!strncmp(target, "pipe:", 5))
		return GN_FILE_PIPE;
	if (!strncmp(target, "socket:", 7))
		return GN_FILE_SOCKET;
	if (!strncmp(target, "/dev/pts/", 9) || !strncmp(target, "/dev/tty", 8))
		return GN_FILE_TERMINAL;
	/* What else is no path has no kind of its own. */
	return target[0] == '/' ? GN_FILE_OTHER : GN_FILE_UNKNOWN;
}

/* As much of the memory from an address on as is there, at most to the next multiple of the buffer.
 */
static size_t read_memory(int32_t pid, uint64_t address, void *buffer, size_t bytes)
{
	const size_t page = 4096;
	const struct iovec local = {buffer, bytes};
	struct iovec remote[GN_LOOK_BYTES / 4096 + 1];
	unsigned long n = 0;
	ssize_t there;

	/* Piece by piece, so that what is behind the end of the stack costs only itself. */
	for (size_t done = 0; done < bytes;) {
		const size_t piece = page - (address + done) % page;

		remote[n].iov_base = (void *)(uintptr_t)(address + done);
		remote[n].iov_len = piece < bytes - done ? piece : bytes - done;
		done += remote[n++].iov_len;
	}
	there = process_vm_readv(pid, &local, 1, remote, n, 0);
	return there > 0 ? (size_t)there : 0;
}

static int unwind(const struct gn_thread *thread, struct gn_stack_paths *paths, void *buffer,
		  const struct call_now *call, struct gn_sample_sample *sample)
{
	const int machine = gn_unwind_own_machine();
	/* What else was in registers is not known: frames that need it end the stack. */
	uint64_t registers[GN_UNWIND_REGISTERS_MAX];
	struct gn_sampled_stack stack = {.abi = PERF_SAMPLE_REGS_ABI_64, .registers = registers};

	if (machine < 0)
		return 0;
	stack.n_registers =
		gn_unwind_to_perf((enum gn_unwind_machine)machine, call->sp, call->pc, registers);
	stack.stack = buffer;
	stack.stack_bytes = read_memory(thread->pid, call->sp, buffer, GN_LOOK_BYTES);
	if (!stack.stack_bytes)
		return 0;
	memset(sample, 0, sizeof(*sample));
	sample->time_ns = gn_clock_ns(CLOCK_MONOTONIC);
	gn_stack_paths_add(paths, thread->process, thread->tid, &stack, sample);
	return 1;
}

int gn_wait_look_at(const struct gn_thread *thread, struct gn_stack_paths *paths, void *buffer,
		    struct gn_wait_look *look, struct gn_sample_sample *sample, int *has_stack)
{
	const uint64_t from_ns = gn_clock_ns(CLOCK_MONOTONIC);
	struct call_now before, after;

	*has_stack = 0;
	if (!read_call(thread, &before))
		return -EAGAIN;
	memset(look, 0, sizeof(*look));
	look->call = (uint8_t)kind_of(before.number);
	if (look->call == GN_CALL_READ || look->call == GN_CALL_WRITE)
		look->call |= (uint8_t)file_of(thread, before.argument);
	if (look->call == GN_CALL_FUTEX) {
		look->subject = before.argument;
		if (read_memory(thread->pid, before.argument + MUTEX_OWNER, &look->holder,
				sizeof(look->holder)) != sizeof(look->holder))
			look->holder = 0;
	}
	if (sample)
		*has_stack = unwind(thread, paths, buffer, &before, sample);
	if (!read_call(thread, &after) || memcmp(&before, &after, sizeof(before)))
		return -EAGAIN;
	look->from_ns = from_ns;
	look->until_ns = gn_clock_ns(CLOCK_MONOTONIC);
	return 0;
}
