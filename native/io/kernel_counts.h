/* What the kernel counts of a process, beside what its calls were seen to do (proc(5), io). */
#ifndef GNOMON_IO_KERNEL_COUNTS_H
#define GNOMON_IO_KERNEL_COUNTS_H

/* Within work of ours: as the process's first call begins, and at its end. The counts of a process
 * that was forked began with it; what was counted of others before is the loader's. */
void gn_io_count_begin(int is_forked);
void gn_io_count_end(void);

#endif
