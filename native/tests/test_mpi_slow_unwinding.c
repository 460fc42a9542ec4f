/* However long it takes to find out where a call comes from, that is no part of the call's time. */
#include <dlfcn.h>
#include <gnomon/clock.h>
#include <stdlib.h>
#include <time.h>
#include <unwind.h>

#include "check.h"
#include "profile.h"

#define SLOW_NS 300000000u

static const char *const names[] = {"MPI_Test"};
static int n_unwound;

/* In the place of the compiler's own, which it calls. */
_Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn look, void *argument)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW);
	const struct timespec pause = {0, SLOW_NS};
	_Unwind_Reason_Code (*next)(_Unwind_Trace_Fn, void *);

	*(void **)&next = library ? dlsym(library, "_Unwind_Backtrace") : NULL;
	if (!next)
		return _URC_FATAL_PHASE1_ERROR;
	nanosleep(&pause, NULL);
	n_unwound++;
	return next(look, argument);
}

static void unwinding_is_no_part_of_a_call(void)
{
	struct gn_mpi_call call;

	CHECK(gn_mpi_begin(&call, 0, __builtin_return_address(0), __builtin_frame_address(0)));
	gn_mpi_stop(&call);
	gn_mpi_end(&call);
	CHECK_EQ(n_unwound, 1);
	CHECK(call.site != NULL);
	CHECK_EQ(call.site->site.calls, 1);
	CHECK((double)call.site->site.ticks < gn_clock_hz() / 1e9 * SLOW_NS / 2);
}

int main(void)
{
	char folder[] = "/tmp/gnomon-mpi-XXXXXX", command[64];

	if (!mkdtemp(folder) || setenv("GNOMON_RUN_DIR", folder, 1))
		return 1;
	gn_mpi_profile_begin(names, 1);
	RUN(unwinding_is_no_part_of_a_call);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) || check_result;
}
