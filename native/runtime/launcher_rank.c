/* What the launcher says of this rank and its job, without MPI. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_name.h"
#include "launcher_env.h"
#include "launcher_rank.h"

#define ANCESTORS_MAX 64
#define ENVIRONMENT_MAX (1 << 20)

/* --- the launcher's process ------------------------------------------------------------------- */

/* Reads a file of /proc, zero-terminated. Returns its bytes, or -1. */
static ssize_t read_proc(pid_t process, const char *name, char *text, size_t size)
{
	char path[64];
	size_t used = 0;
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (used < size - 1 && (got = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	close(fd);
	text[used] = 0;
	return got < 0 ? -1 : (ssize_t)used;
}

/* Its parent and when it was started, of field 4 and 22 of /proc/PID/stat. */
static int parent_of(pid_t process, pid_t *parent, unsigned long long *start)
{
	char text[1024];
	const char *rest;
	int above;

	if (read_proc(process, "stat", text, sizeof(text)) < 0 || !(rest = strrchr(text, ')')))
		return -1;
	if (sscanf(rest + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &above, start) != 2)
		return -1;
	*parent = above;
	return 0;
}

/* 1, 0, or -1: it is not for us to see, as of another user's process. */
static int has_variable(pid_t process, const char *variable, char *room)
{
	const size_t length = strlen(variable);
	const ssize_t bytes = read_proc(process, "environ", room, ENVIRONMENT_MAX);

	if (bytes <= 0)
		return -1;
	for (const char *at = room; at < room + bytes; at += strlen(at) + 1)
		if (!strncmp(at, variable, length) && at[length] == '=')
			return 1;
	return 0;
}

/* The nearest ancestor that has not the rank's variable is the launcher or its node's daemon. */
static pid_t find_launcher(const char *variable, unsigned long long *start)
{
	char *room = malloc(ENVIRONMENT_MAX);
	pid_t process, parent;
	int i;

	*start = 0;
	if (!room || parent_of(getpid(), &process, start)) {
		free(room);
		return 0;
	}
	for (i = 0; i < ANCESTORS_MAX && process > 1; i++) {
		if (has_variable(process, variable, room) != 1)
			break;
		if (parent_of(process, &parent, start))
			break;
		process = parent;
	}
	if (parent_of(process, &parent, start))
		*start = 0;
	free(room);
	return process;
}

/* Hydra's daemons are told where mpiexec listens, which is the same on all nodes. */
static int find_control_port(pid_t process, char port[128])
{
	char text[4096];
	const ssize_t bytes = read_proc(process, "cmdline", text, sizeof(text));

	for (const char *at = text; bytes > 0 && at < text + bytes; at += strlen(at) + 1)
		if (!strcmp(at, "--control-port") && at + strlen(at) + 1 < text + bytes) {
			snprintf(port, 128, "%s", at + strlen(at) + 1);
			return 1;
		}
	return 0;
}

/* --- the job's name --------------------------------------------------------------------------- */

/* FNV-1a, as what is unique of a job has all kinds of characters in it. */
static void hash_name(const char *text, char name[17])
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	snprintf(name, 17, "%016llx", (unsigned long long)hash);
}

static const char *text_of(const char *variable)
{
	const char *value = getenv(variable);

	return value ? value : "";
}

static void name_job(struct gn_launch *launch, const char *variable, int is_one_node)
{
	char text[1024], host[GN_HOST_NAME_SIZE], port[128];
	unsigned long long start;
	pid_t process;

	launch->is_common = 1;
	if (*text_of("PMIX_NAMESPACE")) {
		snprintf(text, sizeof(text), "pmix %s %s", text_of("PMIX_NAMESPACE"),
			 text_of("OMPI_MCA_orte_hnp_uri"));
		hash_name(text, launch->name);
		return;
	}
	if (*text_of("SLURM_JOB_ID") && *text_of("SLURM_STEP_ID") &&
	    !strncmp(variable, "SLURM", 5)) {
		snprintf(text, sizeof(text), "slurm %s %s %s", text_of("SLURM_JOB_ID"),
			 text_of("SLURM_STEP_ID"), text_of("SLURM_RESTART_COUNT"));
		hash_name(text, launch->name);
		return;
	}
	process = find_launcher(variable, &start);
	if (!is_one_node && find_control_port(process, port)) {
		snprintf(text, sizeof(text), "hydra %s", port);
	} else {
		launch->is_common = is_one_node;
		gn_host_name(host);
		snprintf(text, sizeof(text), "process %s %d %llu", host, (int)process, start);
	}
	hash_name(text, launch->name);
}

int gn_launcher_process(long *process, unsigned long long *start)
{
	struct gn_rank_place place;

	if (gn_rank_place_here(&place))
		return -ENODATA;
	*process = find_launcher(place.variable, start);
	return *process > 0 && *start ? 0 : -ESRCH;
}

int gn_launcher_rank(void)
{
	struct gn_rank_place place;

	return gn_rank_place_here(&place) ? -1 : (int)place.rank;
}

int gn_launch_find(struct gn_launch *launch)
{
	struct gn_rank_place place;

	if (gn_rank_place_here(&place) || place.ranks <= 1)
		return -ENODATA;
	*launch = (struct gn_launch){
		.rank = (int)place.rank,
		.ranks = (int)place.ranks,
		.local_rank = (int)place.local_rank,
		.local_ranks = place.local_ranks < 0 ? 0 : (int)place.local_ranks,
	};
	name_job(launch, place.variable, launch->local_ranks == launch->ranks);
	return 0;
}
