/* Joining the job, who of it is there, and leaving. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <gnomon/hpm_tree.h>

#include "job.h"

#define NS_PER_S 1000000000
#define TIMEOUT_DEFAULT_S 60
#define TIMEOUT_MAX_S 1e6

/* What the file of a task says that was done, where its lock may not be seen. */
#define HAS_LEFT "has left"

static int has_left;
static struct hpm_job job = {.here = -1, .folder = -1};
static _Atomic int64_t hurried;
static __thread char failure[1024];

int hpm_tree_failed(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure, sizeof(failure), format, arguments);
	va_end(arguments);
	return error;
}

const char *hpm_tree_error(void)
{
	return failure;
}

int64_t hpm_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void hpm_job_hurry(void)
{
	if (!hurried)
		hurried = hpm_now_ns();
}

int64_t hpm_job_hurried_ns(void)
{
	return hurried;
}

int64_t hpm_timeout_ns(void)
{
	const char *text = getenv("HPM_AGGREGATE_TIMEOUT");
	char *end = NULL;
	double seconds = text && *text ? strtod(text, &end) : TIMEOUT_DEFAULT_S;

	if ((end && *end) || !(seconds >= 0 && seconds <= TIMEOUT_MAX_S))
		seconds = TIMEOUT_DEFAULT_S;
	return (int64_t)(seconds * NS_PER_S);
}

/* --- joining ---------------------------------------------------------------------------------- */

/* Where the job's directory is, and its name. */
static void place(const struct hpm_launch *launch, const char *purpose, char base[PATH_MAX],
		  char name[64], int *is_one_node)
{
	const char *chosen = getenv("HPM_AGGREGATE_DIR"), *temporary = getenv("TMPDIR");
	const int all_here = launch->local_tasks == launch->tasks;
	const int is_shared = !all_here && launch->is_common;

	*is_one_node = !all_here && !launch->is_common;
	snprintf(name, 64, "hpm-%u-%s-%s", (unsigned int)geteuid(), launch->name, purpose);
	if (chosen && *chosen) {
		/* The program may go elsewhere before it leaves the job. */
		if (!realpath(chosen, base))
			snprintf(base, PATH_MAX, "%s", chosen);
	} else if (is_shared) {
		if (!getcwd(base, PATH_MAX))
			snprintf(base, PATH_MAX, ".");
		memmove(name + 1, name, strlen(name) + 1);
		name[0] = '.';
	} else {
		snprintf(base, PATH_MAX, "%s", temporary && *temporary == '/' ? temporary : "/tmp");
	}
}

/*
 * The file is locked before it has its name, so that nobody sees it without. -EEXIST: another
 * process of this task was quicker.
 */
static int appear(const struct hpm_job *made, char why[PATH_MAX])
{
	char name[32], hidden[48], reason[HPM_REASON_SIZE] = "";
	int fd, error = 0;

	snprintf(name, sizeof(name), "here.%d", made->launch.task);
	snprintf(hidden, sizeof(hidden), "new.%d.%d", made->launch.task, (int)getpid());
	fd = openat(made->folder, hidden, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	/* Room for a reason is taken now: the disk may be full when there is one. */
	errno = fd < 0 ? errno : ENOSPC;
	if (fd < 0 || write(fd, reason, sizeof(reason)) != (ssize_t)sizeof(reason) ||
	    (flock(fd, LOCK_EX | LOCK_NB) && made->has_locks) ||
	    linkat(made->folder, hidden, made->folder, name, 0))
		error = errno;
	/* Some file systems have no second names. */
	if ((error == EPERM || error == EOPNOTSUPP || error == ENOSYS) && fd >= 0 &&
	    !renameat(made->folder, hidden, made->folder, name))
		error = 0;
	unlinkat(made->folder, hidden, 0);
	if (!error)
		return fd;
	snprintf(why, PATH_MAX,
		 "nothing can be written to %.2000s, in which the job's tasks meet: %s; free some "
		 "room, or set HPM_AGGREGATE_DIR",
		 made->where, strerror(error));
	if (fd >= 0)
		close(fd);
	return -error;
}

/* A child that lives on would keep the lock of its parent. */
static void forget(void)
{
	if (job.process && job.is_own) {
		close(job.here);
		close(job.folder);
	}
}

static int sees_locks(const struct hpm_job *of)
{
#ifdef HPM_LOCKS_ARE_NOT_SEEN
	(void)of;
	return 0;
#else
	return of->launch.local_tasks == of->launch.tasks || hpm_folder_has_locks(of->folder);
#endif
}

static int join(const char *purpose, char why[PATH_MAX])
{
	static int is_prepared;
	struct hpm_job made = {.here = -1, .folder = -1, .is_own = 1};
	char base[PATH_MAX], name[64];
	int failed = hpm_launch_find(&made.launch);

	if (failed) {
		snprintf(why, PATH_MAX, "no launcher started this as one of several tasks");
		return failed;
	}
	made.is_count = !strcmp(purpose, "count");
	place(&made.launch, purpose, base, name, &made.is_one_node);
	do {
		made.folder = hpm_folder_enter(base, name, made.launch.task, made.where);
		if (made.folder < 0) {
			snprintf(why, PATH_MAX, "%s", made.where);
			return made.folder;
		}
		made.has_locks = sees_locks(&made);
		made.here = appear(&made, why);
		if (made.here < 0)
			close(made.folder);
	} while (made.here == -EEXIST);
	if (made.here < 0)
		return made.here;
	made.process = getpid();
	job = made;
	if (!is_prepared)
		is_prepared = !pthread_atfork(NULL, NULL, forget);
	return 0;
}

/* What the parent joined, which handed us its descriptor. */
static int inherit(char why[PATH_MAX])
{
	const char *number = getenv("HPM_JOB_FD"), *where = getenv("HPM_JOB_DIR");
	struct hpm_job made = {.is_count = 1};
	struct stat named, opened;
	char name[32];
	char *end;
	long fd;
	int failed;

	if (!number || !where || has_left)
		return -ENOENT;
	fd = strtol(number, &end, 10);
	failed = hpm_launch_find(&made.launch);
	if (failed)
		return failed;
	snprintf(name, sizeof(name), "here.%d", made.launch.task);
	made.folder = open(where, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*end || fd < 0 || fd > INT_MAX || made.folder < 0 || fstat((int)fd, &opened) ||
	    fstatat(made.folder, name, &named, AT_SYMLINK_NOFOLLOW) ||
	    named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) {
		if (made.folder >= 0)
			close(made.folder);
		snprintf(why, PATH_MAX,
			 "HPM_JOB_FD=%.20s and HPM_JOB_DIR=%.2000s are not those of this task; "
			 "leave them to hpmcount",
			 number, where);
		return -EBADF;
	}
	made.here = (int)fd;
	if (getenv("HPM_JOB_HURRY"))
		hpm_job_hurry();
	made.process = getpid();
	made.is_one_node = made.launch.local_tasks != made.launch.tasks && !made.launch.is_common;
	snprintf(made.where, sizeof(made.where), "%s", where);
	job = made;
	return 0;
}

static int find(const char *purpose, char why[PATH_MAX])
{
	int failed;

	if (job.process == getpid())
		return 0;
	failed = inherit(why);
	return failed == -ENOENT ? join(purpose, why) : failed;
}

int hpm_job_join(const char *purpose, char *where, size_t size)
{
	char why[PATH_MAX] = "";
	const int failed = find(purpose, why);

	if (where && size)
		snprintf(where, size, "%s", failed ? why : job.where);
	return failed ? failed : job.here;
}

int hpm_job_get(const char *purpose, struct hpm_job **found)
{
	char why[PATH_MAX] = "";
	const int failed = find(purpose, why);

	*found = failed ? NULL : &job;
	if (failed)
		hpm_tree_failed(-failed, "%.1000s", why);
	return failed;
}

/* --- who is there ----------------------------------------------------------------------------- */

enum hpm_presence hpm_job_presence(const struct hpm_job *of, int task, char why[HPM_REASON_SIZE])
{
	char name[32];
	int is_locked;

	snprintf(name, sizeof(name), "here.%d", task);
	is_locked = hpm_folder_is_locked(of->folder, name, why, HPM_REASON_SIZE);
	if (is_locked == -ENOENT)
		return HPM_ABSENT;
	/* Of a file that cannot be looked at nothing is known: wait. */
	if (is_locked)
		return HPM_ALIVE;
	if (!*why && !of->has_locks)
		return HPM_UNSURE;
	if (!strcmp(why, HAS_LEFT))
		*why = 0;
	return HPM_GONE;
}

int hpm_job_came(const struct hpm_job *of)
{
	const int copy = openat(of->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int came = 0;

	if (!entries) {
		if (copy >= 0)
			close(copy);
		return 0;
	}
	while ((entry = readdir(entries)))
		if (!strncmp(entry->d_name, "here.", 5) &&
		    entry->d_name[5 + strspn(entry->d_name + 5, "0123456789")] == 0)
			came++;
	closedir(entries);
	return came;
}

void hpm_job_resign(struct hpm_job *of, const char *why)
{
	char reason[HPM_REASON_SIZE] = "";

	snprintf(reason, sizeof(reason), "%s", why);
	if (pwrite(of->here, reason, sizeof(reason), 0) < 0)
		reason[0] = 0;
	flock(of->here, LOCK_UN);
}

void hpm_job_leave(struct hpm_job *of, int is_short)
{
	if (of->has_locks)
		flock(of->here, LOCK_UN);
	else
		hpm_job_resign(of, HAS_LEFT);
	hpm_folder_remove(of->where, of->folder, of->launch.task, of->launch.tasks,
			  is_short	    ? 1
			  : of->is_one_node ? of->launch.local_tasks
					    : of->launch.tasks,
			  of->has_locks);
	close(of->folder);
	if (of->is_own)
		close(of->here);
	of->here = of->folder = -1;
	of->process = 0;
	has_left = 1;
}

void hpm_job_end(void)
{
	char why[PATH_MAX];

	if (job.process == getpid() || (!has_left && !inherit(why)))
		hpm_job_leave(&job, 1);
}
