/* Joining the job, who of it is there, and leaving. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "at_fork.h"
#include "backoff.h"
#include "job.h"
#include "job_directory.h"

#define NS_PER_S 1000000000
#define TIMEOUT_DEFAULT_S 60
#define TIMEOUT_MAX_S 1e6

/* What the file of a rank says that was done, where its lock may not be seen. */
#define HAS_LEFT "has left"

static int has_left;
static struct gn_job job = {.here = -1, .folder = -1};
static _Atomic int64_t hurried;

void gn_job_shorten_deadline(void)
{
	if (!hurried)
		hurried = gn_monotonic_ns();
}

int64_t gn_job_shortened_ns(void)
{
	return hurried;
}

int64_t gn_job_timeout_ns(const struct gn_job_terms *terms)
{
	const char *text = getenv(terms->timeout);
	char *end = NULL;
	double seconds = text && *text ? strtod(text, &end) : TIMEOUT_DEFAULT_S;

	if ((end && *end) || !(seconds >= 0 && seconds <= TIMEOUT_MAX_S))
		seconds = TIMEOUT_DEFAULT_S;
	return (int64_t)(seconds * NS_PER_S);
}

/* --- joining ---------------------------------------------------------------------------------- */

/* Where the job's directory is, and its name. */
static void place(const struct gn_launch *launch, const struct gn_job_terms *terms,
		  char base[PATH_MAX], char name[64], int *is_one_node)
{
	const char *chosen = getenv(terms->directory), *temporary = getenv("TMPDIR");
	const int all_here = launch->local_ranks == launch->ranks;
	const int is_shared = !all_here && launch->is_common;

	*is_one_node = !all_here && !launch->is_common;
	snprintf(name, 64, "%s-%u-%s-%s", terms->prefix, (unsigned int)geteuid(), launch->name,
		 terms->purpose);
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
 * process of this rank was quicker.
 */
static int appear(const struct gn_job *joined, char why[PATH_MAX])
{
	char name[32], hidden[48], reason[GN_REASON_SIZE] = "";
	int fd, error = 0;

	snprintf(name, sizeof(name), "here.%d", joined->launch.rank);
	snprintf(hidden, sizeof(hidden), "new.%d.%d", joined->launch.rank, (int)getpid());
	fd = openat(joined->folder, hidden, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	/* Room for a reason is taken now: the disk may be full when there is one. */
	errno = fd < 0 ? errno : ENOSPC;
	if (fd < 0 || write(fd, reason, sizeof(reason)) != (ssize_t)sizeof(reason) ||
	    (flock(fd, LOCK_EX | LOCK_NB) && joined->has_locks) ||
	    linkat(joined->folder, hidden, joined->folder, name, 0))
		error = errno;
	/* Some file systems have no second names. */
	if ((error == EPERM || error == EOPNOTSUPP || error == ENOSYS) && fd >= 0 &&
	    !renameat(joined->folder, hidden, joined->folder, name))
		error = 0;
	unlinkat(joined->folder, hidden, 0);
	if (!error)
		return fd;
	snprintf(why, PATH_MAX,
		 "nothing can be written to %.2000s, through which the job's tasks communicate: "
		 "%s; free some disk space, "
		 "or set %s",
		 joined->where, strerror(error), joined->terms->directory);
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

static int sees_locks(const struct gn_job *of)
{
#ifdef GN_LOCKS_ARE_NOT_SEEN
	(void)of;
	return 0;
#else
	return of->launch.local_ranks == of->launch.ranks || gn_job_directory_has_locks(of->folder);
#endif
}

static int join(const struct gn_job_terms *terms, char why[PATH_MAX])
{
	static int is_prepared;
	struct gn_job joined = {.terms = terms, .here = -1, .folder = -1, .is_own = 1};
	char base[PATH_MAX], name[64];
	int failed = gn_launch_find(&joined.launch);

	if (failed) {
		snprintf(why, PATH_MAX, "no launcher started this as one of several tasks");
		return failed;
	}
	place(&joined.launch, terms, base, name, &joined.is_one_node);
	do {
		joined.folder = gn_job_directory_enter(base, name, joined.launch.rank,
						       terms->directory, joined.where);
		if (joined.folder < 0) {
			snprintf(why, PATH_MAX, "%s", joined.where);
			return joined.folder;
		}
		joined.has_locks = sees_locks(&joined);
		joined.here = appear(&joined, why);
		if (joined.here < 0)
			close(joined.folder);
	} while (joined.here == -EEXIST);
	if (joined.here < 0)
		return joined.here;
	joined.process = getpid();
	job = joined;
	if (!is_prepared)
		is_prepared = !gn_at_fork(forget);
	return 0;
}

/* What the parent joined, which handed us its descriptor. */
static int inherit(const struct gn_job_child *child, char why[PATH_MAX])
{
	const char *number = child ? getenv(child->descriptor) : NULL;
	const char *where = child ? getenv(child->directory) : NULL;
	struct gn_job inherited = {0};
	struct stat named, opened;
	char name[32];
	char *end;
	long fd;
	int failed;

	if (!number || !where || has_left)
		return -ENOENT;
	fd = strtol(number, &end, 10);
	failed = gn_launch_find(&inherited.launch);
	if (failed)
		return failed;
	snprintf(name, sizeof(name), "here.%d", inherited.launch.rank);
	inherited.folder = open(where, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*end || fd < 0 || fd > INT_MAX || inherited.folder < 0 || fstat((int)fd, &opened) ||
	    fstatat(inherited.folder, name, &named, AT_SYMLINK_NOFOLLOW) ||
	    named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) {
		if (inherited.folder >= 0)
			close(inherited.folder);
		snprintf(why, PATH_MAX,
			 "%s=%.20s and %s=%.2000s are not those of this task; leave them to %s",
			 child->descriptor, number, child->directory, where, child->parent);
		return -EBADF;
	}
	inherited.terms = child->terms;
	inherited.here = (int)fd;
	if (getenv(child->is_shortened))
		gn_job_shorten_deadline();
	inherited.process = getpid();
	inherited.is_one_node = inherited.launch.local_ranks != inherited.launch.ranks &&
				!inherited.launch.is_common;
	snprintf(inherited.where, sizeof(inherited.where), "%s", where);
	job = inherited;
	return 0;
}

static int find(const struct gn_job_terms *terms, char why[PATH_MAX])
{
	int failed;

	if (job.process == getpid())
		return 0;
	failed = inherit(terms->child, why);
	return failed == -ENOENT ? join(terms, why) : failed;
}

int gn_job_join(const struct gn_job_terms *terms, char *where, size_t size)
{
	char why[PATH_MAX] = "";
	const int failed = find(terms, why);

	if (where && size)
		snprintf(where, size, "%s", failed ? why : job.where);
	return failed ? failed : job.here;
}

int gn_job_get(const struct gn_job_terms *terms, struct gn_job **current)
{
	char why[PATH_MAX] = "";
	const int failed = find(terms, why);

	*current = failed ? NULL : &job;
	if (failed)
		gn_tree_failed(-failed, "%.1000s", why);
	return failed;
}

/* --- who is there ----------------------------------------------------------------------------- */

enum gn_presence gn_job_presence(const struct gn_job *of, int rank, char why[GN_REASON_SIZE])
{
	char name[32];
	int is_locked;

	snprintf(name, sizeof(name), "here.%d", rank);
	is_locked = gn_job_directory_is_locked(of->folder, name, why, GN_REASON_SIZE);
	if (is_locked == -ENOENT)
		return GN_RANK_ABSENT;
	/* Of a file that cannot be looked at nothing is known: wait. */
	if (is_locked)
		return GN_RANK_ALIVE;
	if (!*why && !of->has_locks)
		return GN_RANK_UNSURE;
	if (!strcmp(why, HAS_LEFT))
		*why = 0;
	return GN_RANK_GONE;
}

int gn_job_present(const struct gn_job *of)
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

void gn_job_resign(struct gn_job *of, const char *why)
{
	char reason[GN_REASON_SIZE] = "";

	snprintf(reason, sizeof(reason), "%s", why);
	if (pwrite(of->here, reason, sizeof(reason), 0) < 0)
		reason[0] = 0;
	flock(of->here, LOCK_UN);
}

void gn_job_leave(struct gn_job *of, int is_short)
{
	if (of->has_locks)
		flock(of->here, LOCK_UN);
	else
		gn_job_resign(of, HAS_LEFT);
	gn_job_directory_remove(of->where, of->folder, of->launch.rank, of->launch.ranks,
				is_short	  ? 1
				: of->is_one_node ? of->launch.local_ranks
						  : of->launch.ranks,
				of->has_locks);
	close(of->folder);
	if (of->is_own)
		close(of->here);
	of->here = of->folder = -1;
	of->process = 0;
	has_left = 1;
}

void gn_job_end(const struct gn_job_terms *terms)
{
	char why[PATH_MAX];

	if (job.process == getpid() || (!has_left && !inherit(terms->child, why)))
		gn_job_leave(&job, 1);
}
