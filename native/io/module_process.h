/* A process whose files may have modules of Modular I/O: its beginning, children and end. */
#ifndef GNOMON_IO_MODULE_PROCESS_H
#define GNOMON_IO_MODULE_PROCESS_H

/* MIO_FILES has a rule. Wrappers ask for modules only where it is set. */
extern int gn_io_has_modules;

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
