#include "python_hooks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "finalize.h"
#include "hooks.h"
#include "settings.h"

/* Nothing of it stays in __main__, where this is executed. */
#define STATEMENT                                                                                  \
	"exec(compile(open(__import__('os').environ['" GN_TRACE_LOADER_VARIABLE                    \
	"'], encoding='utf-8').read(), 'gnomon_mpi_hooks', 'exec'), "                              \
	"{'__name__': 'gnomon_mpi_hooks'})"

/* For the loader: those of the file, NULL for what it does not define. */
__attribute__((visibility("default"))) void
gnomon_mpi_set_hooks(int (*event)(int), int (*output_trace)(int), int (*output_text)(void));
/* For the loader: the interpreter ends, before MPI_Finalize it may be. */
__attribute__((visibility("default"))) void gnomon_mpi_finish(void);

void gnomon_mpi_set_hooks(int (*event)(int), int (*output_trace)(int), int (*output_text)(void))
{
	gn_trace_hooks = (struct gn_trace_hooks){event, output_trace, output_text};
}

void gnomon_mpi_finish(void)
{
	gn_trace_finish();
	gn_trace_hooks = (struct gn_trace_hooks){NULL, NULL, NULL};
}

void gn_trace_load_python_hooks(int rank)
{
	const char *file = getenv(GN_TRACE_HOOKS_VARIABLE);
	int (*is_up)(void), (*ensure)(void), (*execute)(const char *);
	void (*release)(int);
	int state;

	if (!file || !*file)
		return;
	*(void **)&is_up = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
	*(void **)&ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
	*(void **)&release = dlsym(RTLD_DEFAULT, "PyGILState_Release");
	*(void **)&execute = dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
	if (!is_up || !ensure || !release || !execute || !is_up()) {
		if (!rank)
			gn_trace_say(
				GN_TRACE_HOOKS_VARIABLE
				": this is no program of Python; define MT_trace_event and its "
				"kin in the program itself (mpt.h)");
		return;
	}
	if (!getenv(GN_TRACE_LOADER_VARIABLE)) {
		if (!rank)
			gn_trace_say(GN_TRACE_HOOKS_VARIABLE
				     " is for gnomon run; start the program "
				     "with it");
		return;
	}
	state = ensure();
	execute(STATEMENT);
	release(state);
}
