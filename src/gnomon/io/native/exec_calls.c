/*
 * What ends a program here, or begins another one. One that cannot load this library, in another
 * root or of another user, is not told of it.
 */
#include "module_process.h"

#define GN_EXEC_BEGIN(path) (gn_io_module_execute(path), 0)
#define GN_EXEC_FAILED(begun) (void)(begun)
#define GN_SPAWN_BEGIN(actions) gn_io_module_spawn((actions) != NULL)

#include "exec_calls.h"

#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

/* Handlers of forks are not called. */
pid_t _Fork(void)
{
	pid_t (*const next)(void) = (pid_t (*)(void))gn_next_symbol("_Fork");

	if (gn_io_asks_modules())
		gn_io_module_spawn(1);
	return next();
}

int clone(int (*call)(void *), void *stack, int flags, void *argument, ...)
{
	typedef int (*function)(int (*)(void *), void *, int, void *, ...);
	const function next = (function)gn_next_symbol("clone");
	void *parent_number, *storage, *child_number;
	va_list more;

	/* Three words that may not be there: what is not asked for is not looked at. */
	va_start(more, argument);
	parent_number = va_arg(more, void *);
	storage = va_arg(more, void *);
	child_number = va_arg(more, void *);
	va_end(more);
	if (gn_io_asks_modules() && !(flags & CLONE_THREAD))
		gn_io_module_spawn(1);
	return next(call, stack, flags, argument, parent_number, storage, child_number);
}

int system(const char *command)
{
	int (*const next)(const char *) = (int (*)(const char *))gn_next_symbol("system");

	gn_io_module_spawn(0);
	return next(command);
}

/* Destructors are not called: what modules hold is written here, and the recording ends, but where
 * handlers of the program are still to be called. */
#define ENDS(name, END)                                                                            \
	void name(int status)                                                                      \
	{                                                                                          \
		void (*const next)(int) = (void (*)(int))gn_next_symbol(#name);                    \
                                                                                                   \
		gn_io_module_exit();                                                               \
		END;                                                                               \
		next(status);                                                                      \
		__builtin_unreachable();                                                           \
	}

ENDS(_exit, gn_io_process_end())
ENDS(_Exit, gn_io_process_end())
ENDS(quick_exit, )
