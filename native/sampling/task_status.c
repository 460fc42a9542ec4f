#include "task_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t gn_task_status(int32_t tid, const char *line_name)
{
	const size_t length = strlen(line_name);
	char path[40], line[128];
	int32_t number = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	status = fopen(path, "re");
	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, line_name, length)) {
			number = atoi(line + length);
			break;
		}
	fclose(status);
	return number;
}
