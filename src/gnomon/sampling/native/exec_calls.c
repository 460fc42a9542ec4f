/*
 * The exec family. Samples are taken until another program has replaced this one, and the signal of
 * the last would come to that program, which has no handler and would die: they are stopped before.
 * posix_spawn(3), system(3) and popen(3) execute in a child of theirs that has no such events.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "python_sampler.h"

extern char **environ;

typedef int (*path_call)(const char *, char *const *);
typedef int (*path_env_call)(const char *, char *const *, char *const *);
typedef int (*fd_call)(int, char *const *, char *const *);
typedef int (*at_call)(int, const char *, char *const *, char *const *, int);

/* An exec that returns has failed: the program goes on, with samples. */
#define EXECUTE(type, name, ...)                                                                   \
	const type next = (type)dlsym(RTLD_NEXT, name);                                            \
	const int was_sampled = gn_python_pause();                                                 \
	int error;                                                                                 \
                                                                                                   \
	if (next)                                                                                  \
		next(__VA_ARGS__);                                                                 \
	else                                                                                       \
		errno = ENOSYS;                                                                    \
	error = errno;                                                                             \
	if (was_sampled)                                                                           \
		gn_python_resume();                                                                \
	errno = error;                                                                             \
	return -1

int execve(const char *path, char *const arguments[], char *const environment[])
{
	EXECUTE(path_env_call, "execve", path, arguments, environment);
}

int execv(const char *path, char *const arguments[])
{
	EXECUTE(path_call, "execv", path, arguments);
}

int execvp(const char *file, char *const arguments[])
{
	EXECUTE(path_call, "execvp", file, arguments);
}

int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	EXECUTE(path_env_call, "execvpe", file, arguments, environment);
}

int fexecve(int fd, char *const arguments[], char *const environment[])
{
	EXECUTE(fd_call, "fexecve", fd, arguments, environment);
}

int execveat(int fd, const char *path, char *const arguments[], char *const environment[],
	     int flags)
{
	EXECUTE(at_call, "execveat", fd, path, arguments, environment, flags);
}

/* Arguments of the variadic ones, with the NULL at their end. */
static size_t count(const char *first, va_list arguments)
{
	size_t n = 1;

	for (const char *argument = first; argument; argument = va_arg(arguments, const char *))
		n++;
	return n;
}

static void take(char **to, const char *first, va_list *arguments)
{
	const char *argument = first;

	while ((*to++ = (char *)argument))
		argument = va_arg(*arguments, const char *);
}

#define ARGUMENTS(array, first)                                                                    \
	va_list list, behind;                                                                      \
	char **array;                                                                              \
                                                                                                   \
	va_start(list, first);                                                                     \
	va_copy(behind, list);                                                                     \
	array = alloca(count(first, behind) * sizeof(*array));                                     \
	va_end(behind);                                                                            \
	take(array, first, &list)

int execl(const char *path, const char *first, ...)
{
	ARGUMENTS(arguments, first);
	va_end(list);
	return execv(path, arguments);
}

int execlp(const char *file, const char *first, ...)
{
	ARGUMENTS(arguments, first);
	va_end(list);
	return execvp(file, arguments);
}

int execle(const char *path, const char *first, ...)
{
	char *const *environment;

	ARGUMENTS(arguments, first);
	for (char **argument = arguments; *argument; argument++)
		;
	environment = va_arg(list, char *const *);
	va_end(list);
	return execve(path, arguments, environment);
}
