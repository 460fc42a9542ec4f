/* A process whose files may have modules of Modular I/O: its beginning, children and end. */
#ifndef GNOMON_IO_MODULE_PROCESS_H
#define GNOMON_IO_MODULE_PROCESS_H

#include "io_process.h"

/* MIO_FILES has a rule. */
extern int gn_io_has_modules;

/* Whether a wrapper is to ask for modules: not for calls of ours, as of the files that we write,
 * while locks are held that a module's call may wait for. */
static inline int gn_io_asks_modules(void)
{
	return __builtin_expect(gn_io_has_modules, 0) && !gn_io_is_at_work;
}

/* Before another program is executed in a child, which may get any of the descriptors; in this
 * process; and when that ends at once. */
void gn_io_module_spawn(int gets_all);
void gn_io_module_execute(const char *path);
void gn_io_module_exit(void);

/*
 * Whether this is a child of vfork(2), at a change of its descriptors, which are in a table of its
 * own; the files are its parent's. Before the first one what was written is shown.
 */
int gn_io_is_child(void);

/* Whether it is one that has changed them: those of its parent's files may be other ones there. */
int gn_io_is_changed_child(void);

#endif
