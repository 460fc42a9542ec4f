/* Tells what Valgrind's cachegrind cannot: what a forked child had from its parent, and what a
 * process had counted before it executed another program.
 *
 * Cachegrind writes a process's counts when that ends. A forked child begins with its parent's
 * counts, and execve throws a process's counts away. So at a fork (in the child) and before an
 * execve a probe is forked that ends at once: cachegrind writes its counts, which are those of
 * that moment. The probe sends no SIGCHLD and is waited for, so the program does not see it.
 *
 * Valgrind loads this file into every program (vgpreload_cachegrind-PLATFORM.so) and replaces the
 * C library's functions by the wrappers below, for the library's own calls too. It must need
 * nothing from any library. Source: Valgrind manual, "Function wrapping"; valgrind/valgrind.h.
 *
 * What it says goes into Valgrind's log of the process, one line each:
 *   gnomon-mark image PID ID   the process counts as image ID from here on
 *   gnomon-mark fork PID ID    this log is a probe's: what image ID began with
 *   gnomon-mark exec PID ID    this log is a probe's: what image ID had before execve
 *   gnomon-mark lost PID ID    no probe could be made
 */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
/* Functions of this prefix are left out of the program's counts; a probe runs on in them. */
#define VALGRIND_PRINTF gnomon_emulation_printf
#include <valgrind/valgrind.h>

#define WAIT_ANY_KIND 0x40000000 /* __WALL of wait4(2): also a child that sends no signal */

/* One execution of one program in one process; a fork begins a new one in the child. */
static struct {
	long pid;
	uint64_t id;
} image;

static long system_call(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = 0;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#endif
}

static long own_pid(void)
{
	return system_call(SYS_getpid, 0, 0, 0, 0);
}

static void begin_image(void)
{
	struct timespec now = {0, 0};
	system_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	image.pid = own_pid();
	image.id = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void gnomon_emulation_probe(const char *why)
{
	/* No flags: like fork(2), but without a signal at its end. */
	long pid = system_call(SYS_clone, 0, 0, 0, 0);
	if (pid == 0) {
		gnomon_emulation_printf("gnomon-mark %s %ld %lx\n", why, image.pid,
					(unsigned long)image.id);
		system_call(SYS_exit_group, 0, 0, 0, 0);
	}
	if (pid < 0) {
		gnomon_emulation_printf("gnomon-mark lost %ld %lx\n", image.pid,
					(unsigned long)image.id);
		return;
	}
	while (system_call(SYS_wait4, pid, 0, WAIT_ANY_KIND, 0) == -EINTR)
		;
}

static void in_child(void)
{
	/* fork calls _Fork, and both are wrapped. */
	if (image.pid == own_pid())
		return;
	begin_image();
	gnomon_emulation_probe("fork");
	gnomon_emulation_printf("gnomon-mark image %ld %lx\n", image.pid, (unsigned long)image.id);
}

static void before_exec(void)
{
	/* A child that no wrapper saw (posix_spawn's) has done nothing of its own worth a probe. */
	if (image.pid == own_pid())
		gnomon_emulation_probe("exec");
}

__attribute__((constructor)) static void started(void)
{
	begin_image();
	gnomon_emulation_printf("gnomon-mark image %ld %lx\n", image.pid, (unsigned long)image.id);
}

/* libcZdZa is Valgrind's spelling of libc.*, the C library's soname. */
#define WRAPPER(name) I_WRAP_SONAME_FNNAME_ZU(libcZdZa, name)
#define FORK_WRAPPER(name)                                                                         \
	long WRAPPER(name)(void);                                                                  \
	long WRAPPER(name)(void)                                                                   \
	{                                                                                          \
		OrigFn function;                                                                   \
		long pid;                                                                          \
		VALGRIND_GET_ORIG_FN(function);                                                    \
		CALL_FN_W_v(pid, function);                                                        \
		if (pid == 0)                                                                      \
			in_child();                                                                \
		return pid;                                                                        \
	}
#define EXEC_WRAPPER(name)                                                                         \
	long WRAPPER(name)(long a, long b, long c);                                                \
	long WRAPPER(name)(long a, long b, long c)                                                 \
	{                                                                                          \
		OrigFn function;                                                                   \
		long result;                                                                       \
		VALGRIND_GET_ORIG_FN(function);                                                    \
		before_exec();                                                                     \
		CALL_FN_W_WWW(result, function, a, b, c);                                          \
		return result;                                                                     \
	}

#pragma GCC visibility push(default)
FORK_WRAPPER(fork)
FORK_WRAPPER(_Fork)
FORK_WRAPPER(vfork) /* Valgrind makes it a fork, so that it may return twice from here */
EXEC_WRAPPER(execve)
EXEC_WRAPPER(fexecve)
#pragma GCC visibility pop
