/*
 * The job's directory: NAME/lock, NAME/turn.TASK with how often a rank came, and NAME/0, NAME/1,
 * ... in which the ranks of one run meet, with their files here.TASK. All who enter hold the lock
 * together for that moment; who removes the directory holds it alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "job_directory.h"
#include "own_calls.h"

#define TRIES 100
#define STALE_S 600 /* nobody needs that long to enter */

__attribute__((format(printf, 3, 4))) static int said(char where[PATH_MAX], int error,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(where, PATH_MAX, format, arguments);
	va_end(arguments);
	return -error;
}

/* Opens our directory `path`. Never what is a link, or another user's, or open to others. */
static int open_own(const char *path, char where[PATH_MAX])
{
	struct stat is;
	int folder;

	if (mkdir(path, 0700) && errno != EEXIST)
		return said(where, errno,
			    "the directory %s, through which the job's tasks communicate, "
			    "cannot be created: %s",
			    path, strerror(errno));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0) {
		if (errno == ENOENT)
			return -EAGAIN;
		return said(where, errno,
			    "%s, through which the job's tasks communicate, cannot be "
			    "opened as a directory: %s",
			    path,
			    errno == ELOOP || errno == ENOTDIR ? "a link or a file has its name"
							       : strerror(errno));
	}
	if (fstat(folder, &is)) {
		close(folder);
		return -EAGAIN;
	}
	if (is.st_uid != geteuid() || is.st_mode & 077) {
		close(folder);
		return said(where, EPERM,
			    "the directory %s, through which the job's tasks communicate, %s", path,
			    is.st_uid != geteuid() ? "is another user's"
						   : "is open to other users");
	}
	return folder;
}

/* Whether a path still leads to what is open. */
static int is_still(const char *path, int folder)
{
	struct stat named, opened;

	return !lstat(path, &named) && !fstat(folder, &opened) && named.st_ino == opened.st_ino &&
	       named.st_dev == opened.st_dev;
}

/* How often a rank was here before. */
static long turn_of(int top, int rank)
{
	char name[32], text[32] = "";
	ssize_t bytes;

	snprintf(name, sizeof(name), "turn.%d", rank);
	bytes = readlinkat(top, name, text, sizeof(text) - 1);
	return bytes > 0 ? strtol(text, NULL, 10) : 0;
}

/* A link's text takes no room that a full disk has not, and is there as a whole or not at all. */
static int set_turn(int top, int rank, long turn)
{
	char name[32], link[48], text[32];

	snprintf(name, sizeof(name), "turn.%d", rank);
	snprintf(link, sizeof(link), "turn.%d.%d", rank, (int)getpid());
	snprintf(text, sizeof(text), "%ld", turn);
	unlinkat(top, link, 0);
	if (symlinkat(text, top, link) || renameat(top, link, top, name))
		return -errno;
	return 0;
}

/* One try; -EAGAIN: somebody removed the directory meanwhile. */
static int enter(const char *path, int rank, char where[PATH_MAX])
{
	char name[32];
	long turn;
	int top = open_own(path, where), lock = -1, folder = -1, failed = -EAGAIN;

	if (top < 0)
		return top;
	lock = openat(top, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0) {
		failed = errno == ENOENT
				 ? -EAGAIN
				 : said(where, errno,
					"%s/lock, by which the job's tasks find each other, "
					"cannot be created: %s",
					path, strerror(errno));
		goto out;
	}
	while (flock(lock, LOCK_SH) && errno == EINTR)
		;
	if (!is_still(path, top))
		goto out;
	turn = turn_of(top, rank);
	failed = set_turn(top, rank, turn + 1);
	if (failed) {
		failed = said(where, -failed,
			      "nothing can be made in %s, in which the job's tasks "
			      "meet: %s",
			      path, strerror(-failed));
		goto out;
	}
	snprintf(name, sizeof(name), "%ld", turn);
	said(where, 0, "%s/%ld", path, turn);
	if (mkdirat(top, name, 0700) && errno != EEXIST) {
		failed = said(where, errno, "a directory in %s cannot be created: %s", path,
			      strerror(errno));
		goto out;
	}
	folder = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	failed = folder < 0 ? said(where, errno, "%s/%ld cannot be opened: %s", path, turn,
				   strerror(errno))
			    : 0;
out:
	if (lock >= 0)
		close(lock);
	close(top);
	return failed ? failed : folder;
}

/* --- locks ------------------------------------------------------------------------------------ */

int gn_job_directory_is_locked(int folder, const char *name, char *content, size_t size)
{
	const int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int is_locked;
	ssize_t bytes;

	if (fd < 0)
		return -errno;
	is_locked = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	if (content) {
		bytes = pread(fd, content, size - 1, 0);
		content[bytes > 0 ? bytes : 0] = 0;
	}
	close(fd);
	return is_locked;
}

int gn_job_directory_has_locks(int folder)
{
	static const unsigned int with_locks[] = {
		0xef53,	    /* ext2 to ext4 */
		0x58465342, /* XFS */
		0x9123683e, /* Btrfs */
		0x2fc12fc1, /* ZFS */
		0xf2f52010, /* F2FS */
		0x01021994, /* tmpfs */
		0x794c7630, /* overlay */
		0x6969,	    /* NFS */
	};
	struct statfs is;

	for (size_t i = 0; !fstatfs(folder, &is) && i < sizeof(with_locks) / sizeof(*with_locks);
	     i++)
		if ((unsigned int)is.f_type == with_locks[i])
			return 1;
	return 0;
}

/* --- what is left of others ------------------------------------------------------------------- */

static void remove_all(int folder, int depth)
{
	const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!entries) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((entry = readdir(entries))) {
		int below;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!unlinkat(folder, entry->d_name, 0) || !depth)
			continue;
		below = openat(folder, entry->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			remove_all(below, depth - 1);
			close(below);
		}
		unlinkat(folder, entry->d_name, AT_REMOVEDIR);
	}
	closedir(entries);
}

/* Whether somebody is in one of the runs' directories. */
static int is_inhabited(int top)
{
	const int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *runs = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *run, *file;
	int is = !runs;

	while (!is && (run = readdir(runs))) {
		const int below = run->d_name[0] < '0' || run->d_name[0] > '9'
					  ? -1
					  : openat(top, run->d_name,
						   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		const int kept = below < 0 ? -1 : dup(below);
		DIR *files = below < 0 ? NULL : fdopendir(below);

		while (!is && files && (file = readdir(files)))
			is = !strncmp(file->d_name, "here.", 5) &&
			     gn_job_directory_is_locked(kept, file->d_name, NULL, 0) > 0;
		if (files)
			closedir(files);
		if (kept >= 0)
			close(kept);
	}
	if (runs)
		closedir(runs);
	else if (copy >= 0)
		close(copy);
	return is;
}

/* Of jobs that were killed, all ranks at once, nobody has removed the directory. */
static void sweep(const char *base, const char *own)
{
	DIR *entries = opendir(base);
	const size_t common = strcspn(own, "-") + 1;
	const size_t prefix = common + strcspn(own + common, "-") + 1;
	const struct dirent *entry;

	while (entries && gn_job_directory_has_locks(dirfd(entries)) &&
	       (entry = readdir(entries))) {
		struct stat is;
		int top, lock;

		if (strncmp(entry->d_name, own, prefix) || !strcmp(entry->d_name, own))
			continue;
		top = openat(dirfd(entries), entry->d_name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (top < 0)
			continue;
		lock = openat(top, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (lock >= 0 && !fstat(top, &is) && is.st_uid == geteuid() &&
		    time(NULL) - is.st_mtime > STALE_S && !flock(lock, LOCK_EX | LOCK_NB) &&
		    !is_inhabited(top)) {
			remove_all(top, 1);
			unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
		}
		if (lock >= 0)
			close(lock);
		close(top);
	}
	if (entries)
		closedir(entries);
}

/* --- entering -------------------------------------------------------------------------------- */

static int enter_or_say_why(const char *base, const char *name, int rank, char where[PATH_MAX])
{
	char path[PATH_MAX];
	int folder = -EAGAIN;

	if (snprintf(path, sizeof(path), "%s/%s", base, name) >= PATH_MAX - 32)
		return said(where, ENAMETOOLONG, "%.1000s: the name is too long", base);
	for (int i = 0; folder == -EAGAIN && i < TRIES; i++)
		folder = enter(path, rank, where);
	if (folder >= 0 && !rank)
		sweep(base, name);
	if (folder == -EAGAIN)
		return said(where, ENOENT,
			    "the directory %s, through which the job's tasks communicate, is "
			    "removed again and again",
			    path);
	return folder;
}

int gn_job_directory_enter(const char *base, const char *name, int rank, const char *variable,
			   char where[PATH_MAX])
{
	const int folder = enter_or_say_why(base, name, rank, where);
	const size_t length = folder < 0 ? strlen(where) : 0;

	if (folder < 0)
		snprintf(where + length, PATH_MAX - length,
			 "; set %s to a directory of yours that all nodes share", variable);
	return folder;
}

/* --- leaving ---------------------------------------------------------------------------------- */

/*
 * Whether nobody is in `folder`, and all who ever came to the job were there last. (They may also
 * be in one before, where one hpmcount runs another.)
 */
static int is_deserted(int top, int folder, int rank, int ranks, int all, int has_locks)
{
	char name[32], turn[32], said_so[2];
	const long last = turn_of(top, rank);
	int came = 0;

	for (int i = 0; i < ranks; i++) {
		const int other = (rank + i) % ranks;
		int is_locked;

		snprintf(turn, sizeof(turn), "turn.%d", other);
		if (faccessat(top, turn, F_OK, AT_SYMLINK_NOFOLLOW))
			continue;
		snprintf(name, sizeof(name), "here.%d", other);
		is_locked = gn_job_directory_is_locked(folder, name, said_so, sizeof(said_so));
		/* One without a file is on its way. */
		if (is_locked || turn_of(top, other) != last || (!has_locks && !*said_so))
			return 0;
		came++;
	}
	return came >= all;
}

void gn_job_directory_remove(const char *where, int folder, int rank, int ranks, int all,
			     int has_locks)
{
	char path[PATH_MAX], gone[PATH_MAX + 32];
	char *slash;
	int top, lock, is_locked = 0;

	snprintf(path, sizeof(path), "%s", where);
	slash = strrchr(path, '/');
	if (!slash)
		return;
	*slash = 0;
	top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return;
	lock = openat(top, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	/* Of two who leave at once the second must not give up because the first one looks. */
	for (int i = 0; lock >= 0 && !is_locked && i < TRIES; i++) {
		is_locked = !flock(lock, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
		if (!is_locked)
			gn_pause(1000000);
	}
	if (is_locked && is_still(path, top) &&
	    is_deserted(top, folder, rank, ranks, all, has_locks) && !is_inhabited(top)) {
		snprintf(gone, sizeof(gone), "%s.gone.%d", path, (int)getpid());
		if (!rename(path, gone)) {
			remove_all(top, 1);
			rmdir(gone);
		}
	}
	if (lock >= 0)
		close(lock);
	close(top);
}
