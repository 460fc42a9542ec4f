/* What the kernel says of a task. Source: proc(5), /proc/PID/status. */
#ifndef GNOMON_SAMPLING_TASK_STATUS_H
#define GNOMON_SAMPLING_TASK_STATUS_H

#include <stdint.h>

/* The number behind the name of a line, "Tgid:"; 0 where there is none, or no such task. */
int32_t gn_task_status(int32_t tid, const char *line_name);

#endif
