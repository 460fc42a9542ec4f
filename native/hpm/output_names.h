/* Names of result files. */
#ifndef GNOMON_HPM_OUTPUT_NAMES_H
#define GNOMON_HPM_OUTPUT_NAMES_H

#include <stddef.h>
#include <time.h>

/* What a unique file name is made of. */
struct hpm_instance {
	const char *host;
	long task; /* MPI task if a launcher tells, else the process */
	struct tm moment;
	const char *clock; /* strftime(3) of its time of day; NULL: hh.mm.ss */
};

/* This process's; `host` has room for the name. */
void hpm_instance_now(struct hpm_instance *instance, char host[256]);

/* The MPI task that the launcher gave this process, -1 if there is none. */
long hpm_mpi_task(void);

/*
 * _host_task_date_time before the last dot of a name, by the guide's rules: the host is cut at its
 * first dot; a name without a dot gets the text at its end, one whose only dot comes first in front
 * and without the leading underscore. 0, or -ENAMETOOLONG.
 */
int hpm_unique_name(const char *name, const struct hpm_instance *instance, char *out, size_t size);

#endif
