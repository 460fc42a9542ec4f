/*
 * Samples are taken until another program has replaced this one, and the signal of the last would
 * come to that program, which has no handler and would die: they are stopped before an exec.
 * posix_spawn(3), system(3) and popen(3) execute in a child of theirs that has no such events.
 */
#include "python_sampler.h"

#define GN_EXEC_BEGIN(path) gn_python_pause()
#define GN_EXEC_FAILED(was_sampled)                                                                \
	do {                                                                                       \
		if (was_sampled)                                                                   \
			gn_python_resume();                                                        \
	} while (0)

#define GN_SPAWN_BEGIN(actions) (void)0

#include "exec_calls.h"
