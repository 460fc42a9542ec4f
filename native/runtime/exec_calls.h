/*
 * The exec family, included by a library that programs preload: no program is told of Gnomon's
 * libraries that cannot load them. What includes it says what is to be done before and, where an
 * exec returns, after: GN_EXEC_BEGIN(path), an int, and GN_EXEC_FAILED(it); and before a child is
 * made that executes: GN_SPAWN_BEGIN(actions).
 */
#ifndef GNOMON_RUNTIME_EXEC_CALLS_H
#define GNOMON_RUNTIME_EXEC_CALLS_H

#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "loader_variable.h"
#include "next_symbol.h"

extern char **environ;

typedef int (*path_env_call)(const char *, char *const *, char *const *);
typedef int (*fd_call)(int, char *const *, char *const *);
typedef int (*spawn_call)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			  const posix_spawnattr_t *, char *const *, char *const *);
typedef int (*at_call)(int, const char *, char *const *, char *const *, int);

/*
 * An exec that returns has failed: the program goes on. `environment` is what the call has, or
 * another one in its place.
 */
#define EXECUTE(type, name, program, environment, ...)                                             \
	const type next = (type)gn_next_symbol(name);                                              \
	const int begun = GN_EXEC_BEGIN(program);                                                  \
	const size_t bytes = gn_loader_bytes(environment, program);                                \
	int error;                                                                                 \
                                                                                                   \
	if (bytes)                                                                                 \
		environment = gn_loader_environment(environment, alloca(bytes));                   \
	if (next)                                                                                  \
		next(__VA_ARGS__);                                                                 \
	else                                                                                       \
		errno = ENOSYS;                                                                    \
	error = errno;                                                                             \
	GN_EXEC_FAILED(begun);                                                                     \
	errno = error;                                                                             \
	return -1

int execve(const char *path, char *const arguments[], char *const variables[])
{
	char *const *environment = variables;

	EXECUTE(path_env_call, "execve", path, environment, path, arguments, environment);
}

int execv(const char *path, char *const arguments[])
{
	return execve(path, arguments, environ);
}

int execvpe(const char *file, char *const arguments[], char *const variables[])
{
	char *const *environment = variables;

	EXECUTE(path_env_call, "execvpe", file, environment, file, arguments, environment);
}

int execvp(const char *file, char *const arguments[])
{
	return execvpe(file, arguments, environ);
}

int fexecve(int fd, char *const arguments[], char *const variables[])
{
	char *const *environment = variables;

	EXECUTE(fd_call, "fexecve", NULL, environment, fd, arguments, environment);
}

int execveat(int fd, const char *path, char *const arguments[], char *const variables[], int flags)
{
	char *const *environment = variables;

	EXECUTE(at_call, "execveat", NULL, environment, fd, path, arguments, environment, flags);
}

/* The child that executes has no samples that signal. */
static int spawn(const char *name, pid_t *pid, const char *path,
		 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		 char *const arguments[], char *const variables[])
{
	const spawn_call next = (spawn_call)gn_next_symbol(name);
	const size_t bytes = gn_loader_bytes(variables, path);

	if (!next)
		return ENOSYS;
	GN_SPAWN_BEGIN(actions);
	return next(pid, path, actions, attributes, arguments,
		    bytes ? gn_loader_environment(variables, alloca(bytes)) : variables);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const arguments[],
		char *const variables[])
{
	return spawn("posix_spawn", pid, path, actions, attributes, arguments, variables);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, char *const arguments[],
		 char *const variables[])
{
	return spawn("posix_spawnp", pid, file, actions, attributes, arguments, variables);
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

#endif
