/*
 * Files with layers, where a process forks, executes another program or ends. A file that a process
 * had open when it forked is shared with the child: from then on the kernel alone keeps its
 * position, as it does without layers, and these get requests without offsets.
 */
#ifndef GNOMON_MIO_PROCESS_LIFE_H
#define GNOMON_MIO_PROCESS_LIFE_H

#include <sys/types.h>

/* Once: forks are seen from now on. */
void gn_mio_files_begin(void);

/*
 * Before a program is executed, here or in a child: what was written is the system's. Descriptors
 * that the program will have, too, are handed over; `all`: whatever it closes. `parent`: this
 * process is its child by vfork(2), and the files are the parent's; else 0.
 */
void gn_mio_files_show(int all, pid_t parent);

/* When the process ends, or executes another program. */
void gn_mio_process_end(void);

#endif
