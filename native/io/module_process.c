#include "module_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "io_process.h"
#include "mio_settings.h"
#include "open_files.h"
#include "own_calls.h"
#include "process_life.h"

int gn_io_has_modules;

/* Whose files these are. A child of vfork(2) has the same memory and another number. */
static pid_t owner;
static _Atomic pid_t child; /* the last that changed descriptors; 0: its parent did since */

static pid_t here(void)
{
	return (pid_t)syscall(SYS_getpid);
}

static void in_child(void)
{
	owner = here();
}

static __attribute__((constructor)) void begin(void)
{
	const char *files = getenv("MIO_FILES");
	struct gn_io_work work;

	if (!files || !*files)
		return;
	gn_io_work_begin(&work);
	if (gn_mio_settings()->files.n) {
		owner = here();
		gn_mio_files_begin();
		pthread_atfork(NULL, NULL, in_child);
		gn_io_has_modules = 1;
	}
	gn_io_work_end(&work);
}

static void end(void)
{
	struct gn_io_work work;

	gn_io_work_begin(&work);
	gn_mio_process_end();
	gn_io_work_end(&work);
}

static __attribute__((destructor)) void end_at_exit(void)
{
	gn_io_module_exit();
}

void gn_io_module_exit(void)
{
	if (gn_io_has_modules && here() == owner)
		end();
}

int gn_io_is_child(void)
{
	const pid_t pid = here();

	if (pid == owner) {
		atomic_store(&child, 0);
		return 0;
	}
	if (atomic_exchange(&child, pid) != pid)
		gn_mio_files_show(0, owner);
	return 1;
}

int gn_io_is_changed_child(void)
{
	return __builtin_expect(atomic_load_explicit(&child, memory_order_relaxed) != 0, 0) &&
	       gn_io_is_child();
}

void gn_io_module_spawn(int gets_all)
{
	struct gn_io_work work;

	if (!gn_mio_has_files())
		return;
	gn_io_work_begin(&work);
	if (!gn_io_is_child())
		gn_mio_files_show(gets_all, 0);
	gn_io_work_end(&work);
}

void gn_io_module_execute(const char *path)
{
	if (gn_io_has_modules && !gn_io_is_child() &&
	    (!path || !strchr(path, '/') || !syscall(SYS_faccessat, AT_FDCWD, path, X_OK)))
		end();
}
