/* The floors of a library that records calls on files: one that passes them on, and with
 * FLOOR_TIMED one that reads the counter before and after. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef FLOOR_TIMED
#include <x86intrin.h>
unsigned long long floor_ticks;
#define BEGIN() const unsigned long long begin = __rdtsc()
#define END() (floor_ticks += __rdtsc() - begin)
#else
#define BEGIN() (void)0
#define END() (void)0
#endif

#define PASS(type, name, parameters, arguments)                                                    \
	type name parameters                                                                       \
	{                                                                                          \
		static type(*next) parameters;                                                     \
		type result;                                                                       \
                                                                                                   \
		if (!next)                                                                         \
			next = (type(*) parameters)dlsym(RTLD_NEXT, #name);                        \
		BEGIN();                                                                           \
		result = next arguments;                                                           \
		END();                                                                             \
		return result;                                                                     \
	}

PASS(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
PASS(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size))
PASS(ssize_t, pread, (int fd, void *to, size_t size, off_t offset), (fd, to, size, offset))
PASS(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t offset),
     (fd, from, size, offset))
PASS(int, fgetc, (FILE * stream), (stream))
