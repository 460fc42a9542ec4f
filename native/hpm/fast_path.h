/*
 * What a start and a stop are made of, without a function of the C library: after a system call
 * each jump through a table of addresses costs about as much as a hundred instructions.
 */
#ifndef GNOMON_HPM_FAST_PATH_H
#define GNOMON_HPM_FAST_PATH_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* read(2), with a negative errno for an error. */
static inline long hpm_read(int fd, void *to, size_t size)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_read), "D"((long)fd), "S"(to), "d"(size)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_read;
	register long result __asm__("x0") = fd;
	register void *where __asm__("x1") = to;
	register size_t room __asm__("x2") = size;

	__asm__ volatile("svc 0" : "+r"(result) : "r"(number), "r"(where), "r"(room) : "memory");
	return result;
#else
	const int before = errno;
	const ssize_t got = read(fd, to, size);
	const long result = got < 0 ? -errno : got;

	errno = before;
	return result;
#endif
}

#endif
