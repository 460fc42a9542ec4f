/*
 * The tree through files in the job's directory, each written beside and renamed:
 *
 *	own.ROUND.TASK	 a load of a task that has children, before theirs are merged into it
 *	up.ROUND.TASK	 a load of a task and all below it
 *	total.ROUND	 the root has it all
 *	down.ROUND	 the root's load for everybody
 *	root.NUMBER	 a link to the task that is the root, and took over from those before
 *	out.TASK	 a link to the reason why a task is no part of the totals any more
 *
 * Whoever waits for a task waits for its file as long as it lives, or until the deadline. Of a task
 * that is not there its own load is taken, if it left one, and those of its children.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"
#include "write_all.h"

#define NS_PER_MS 1000000
#define NS_PER_S 1000000000.0

/* Launchers kill a second after they have told a job to end. */
#define HURRIED_LOADS (300 * NS_PER_MS)
#define HURRIED_ROOT (700 * NS_PER_MS)
#define HURRIED_ROUND (100 * NS_PER_MS)

/* A root waits for its tasks, and then has to merge and write. */
#define ROOT_SLACK (10000 * (int64_t)NS_PER_MS)

/* Locks are looked at no more often than that. */
#define LOOK_EVERY (10 * NS_PER_MS)

#define CHANGE_OF_WAY (2000 * (int64_t)NS_PER_MS)
#define BEAT_EVERY (100 * NS_PER_MS)

struct files {
	struct hpm_job *job;
	int64_t begun_ns; /* this round, for which the task has come */
	int64_t timeout_ns;
	int root;    /* -1: nobody has said that it is it */
	int n_roots; /* how many have */
};

static struct files *files_of(hpm_tree *tree)
{
	return tree->state;
}

/* --- files ------------------------------------------------------------------------------------ */

static int write_load(hpm_tree *tree, const char *name, const struct hpm_load *load)
{
	const int folder = files_of(tree)->job->folder;
	unsigned char *bytes;
	char made[32];
	size_t size;
	int fd, failed = hpm_load_pack(load, &bytes, &size);

	if (failed)
		return hpm_tree_failed(failed,
				       "what task %d sends takes more memory than there "
				       "is; aggregate fewer sections",
				       tree->task);
	snprintf(made, sizeof(made), "new.%d", tree->task);
	fd = openat(folder, made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	failed = fd < 0 ? errno : gn_write_all(fd, bytes, size);
	if (fd >= 0 && close(fd) && !failed)
		failed = errno;
	if (!failed && renameat(folder, made, folder, name))
		failed = errno;
	free(bytes);
	if (failed) {
		unlinkat(folder, made, 0);
		hpm_tree_failed(failed,
				"%.800s/%s cannot be written: %s; free some room, or set "
				"HPM_AGGREGATE_DIR",
				files_of(tree)->job->where, name, strerror(failed));
	}
	return failed;
}

/* 0, ENOENT, or another errno. */
static int read_load(hpm_tree *tree, const char *name, struct hpm_load *load)
{
	const int fd = openat(files_of(tree)->job->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned char *bytes = NULL;
	struct stat is;
	size_t used = 0;
	int failed = 0;

	if (fd < 0)
		return errno;
	if (fstat(fd, &is))
		failed = errno;
	else if (!S_ISREG(is.st_mode) || is.st_size > (off_t)(2 * HPM_BLOB_MAX))
		failed = EBADMSG;
	else if (!(bytes = malloc((size_t)is.st_size + 1)))
		failed = ENOMEM;
	while (!failed && used < (size_t)is.st_size) {
		const ssize_t got = read(fd, bytes + used, (size_t)is.st_size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			failed = got ? errno : EBADMSG;
		else
			used += (size_t)got;
	}
	close(fd);
	if (!failed)
		failed = hpm_load_unpack(bytes, used, load);
	free(bytes);
	return failed;
}

static int exists(hpm_tree *tree, const char *name)
{
	return !faccessat(files_of(tree)->job->folder, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/*
 * What other nodes made is seen once the directory has been opened anew (NFS). And hpmcount, whose
 * child this may be, is shown that it is alive and waits.
 */
static void refresh(const struct hpm_job *job)
{
	static int64_t beaten;
	const int64_t now = hpm_now_ns();
	const int fd = openat(job->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	if (now - beaten > BEAT_EVERY && !futimens(job->here, NULL))
		beaten = now;
}

/* --- for how long ----------------------------------------------------------------------------- */

static int is_past(const struct files *files, int64_t wait_ns, int64_t hurried_ns)
{
	const int64_t now = hpm_now_ns(), told = hpm_job_hurried_ns();

	return now > files->begun_ns + wait_ns ||
	       (told && now > told + hurried_ns && now > files->begun_ns + HURRIED_ROUND);
}

/* A living task of hpmcount's is waited for: the launcher would do so, too. */
static int64_t patience(const struct files *files, enum hpm_presence presence)
{
	return presence == HPM_ALIVE && files->job->is_count ? INT64_MAX / 2 : files->timeout_ns;
}

static int is_elsewhere(const struct hpm_job *job)
{
	return job->is_one_node && job->launch.local_tasks &&
	       hpm_job_came(job) >= job->launch.local_tasks;
}

/* --- loads of others -------------------------------------------------------------------------- */

enum found {
	FOUND_WHOLE,
	FOUND_OWN, /* those below it are missing in it */
	FOUND_NOTHING,
};

#define ELSEWHERE "is on another node: set HPM_AGGREGATE_DIR to a directory that all nodes share"

/* Nothing that it sends from now on counts: it is told so when it comes. */
static void shut_out(hpm_tree *tree, int task, enum hpm_presence presence, char *why)
{
	const struct files *files = files_of(tree);
	const double seconds = (double)files->timeout_ns / NS_PER_S;
	char name[32];

	if (hpm_job_hurried_ns())
		snprintf(why, HPM_REASON_SIZE, "was not done when the job was ended");
	else if (presence != HPM_ABSENT)
		snprintf(why, HPM_REASON_SIZE, "did not come to its end within %g s", seconds);
	else
		snprintf(why, HPM_REASON_SIZE, "did not start within %g s%s", seconds,
			 files->job->launch.local_tasks == tree->tasks
				 ? ""
				 : ", or is on a node that does not share HPM_AGGREGATE_DIR");
	snprintf(name, sizeof(name), "out.%d", task);
	/* Who cannot write that cannot tell a total either. */
	if (symlinkat(why, files->job->folder, name))
		return;
}

static int is_shut_out(hpm_tree *tree, int task, char why[HPM_REASON_SIZE])
{
	char name[32];
	ssize_t bytes;

	snprintf(name, sizeof(name), "out.%d", task);
	bytes = readlinkat(files_of(tree)->job->folder, name, why, HPM_REASON_SIZE - 1);
	why[bytes > 0 ? bytes : 0] = 0;
	return bytes > 0;
}

/* Takes what there is of a task. */
static enum found take(hpm_tree *tree, int task, int is_last, struct hpm_load *load, char *why)
{
	char name[32];
	int failed;

	snprintf(name, sizeof(name), "up.%d.%d", tree->round, task);
	failed = read_load(tree, name, load);
	if (!failed)
		return FOUND_WHOLE;
	if (failed != ENOENT)
		snprintf(why, HPM_REASON_SIZE, "sent what cannot be read: %s", strerror(failed));
	if (!is_last)
		return FOUND_NOTHING;
	snprintf(name, sizeof(name), "own.%d.%d", tree->round, task);
	return read_load(tree, name, load) ? FOUND_NOTHING : FOUND_OWN;
}

static enum found await(hpm_tree *tree, int task, struct hpm_load *load, char *why)
{
	struct files *files = files_of(tree);
	const int64_t since = hpm_now_ns();
	int64_t looked = 0;

	*why = 0;
	if (is_shut_out(tree, task, why))
		return FOUND_NOTHING;
	for (;;) {
		char reason[HPM_REASON_SIZE] = "";
		enum hpm_presence presence;
		enum found found = take(tree, task, 0, load, why);

		if (found != FOUND_NOTHING || *why)
			return found;
		if (hpm_now_ns() - looked < LOOK_EVERY) {
			hpm_pause(since);
			continue;
		}
		looked = hpm_now_ns();
		refresh(files->job);
		presence = hpm_job_presence(files->job, task, reason);
		if (presence == HPM_GONE) {
			found = take(tree, task, 1, load, why);
			if (found == FOUND_NOTHING && !*why)
				snprintf(why, HPM_REASON_SIZE, "%s",
					 *reason		? reason
					 : files->job->is_count ? "is gone: its hpmcount was killed"
								: "ended without hpmTerminate");
			return found;
		}
		if (presence == HPM_ABSENT && is_elsewhere(files->job)) {
			snprintf(why, HPM_REASON_SIZE, "%s", ELSEWHERE);
			return FOUND_NOTHING;
		}
		if (is_past(files, patience(files, presence), HURRIED_LOADS)) {
			found = take(tree, task, 1, load, why);
			if (found == FOUND_NOTHING)
				shut_out(tree, task, presence, why);
			return found;
		}
		hpm_pause(since);
	}
}

/*
 * Merges what `task` and all below it sent; own, if not NULL, is that of this task, which then is
 * not looked for in files.
 */
static void collect(hpm_tree *tree, int task, struct hpm_load *own, struct hpm_load *into,
		    const struct hpm_merging *merging)
{
	char why[HPM_REASON_SIZE];
	struct hpm_load load = {0};
	enum found found = FOUND_OWN;

	if (own && task == tree->task)
		hpm_load_merge(into, own, task, merging);
	else
		found = await(tree, task, &load, why);
	if (found == FOUND_NOTHING)
		hpm_gaps_add(&into->gaps, task, task, 0, why);
	else if (!own || task != tree->task)
		hpm_load_merge(into, &load, task, merging);
	for (int i = 1; found != FOUND_WHOLE && i <= HPM_FANOUT; i++) {
		const int64_t child = (int64_t)task * HPM_FANOUT + i;

		if (child >= tree->tasks)
			break;
		collect(tree, (int)child, own, into, merging);
	}
}

/* --- the root --------------------------------------------------------------------------------- */

static void look_for_root(hpm_tree *tree)
{
	struct files *files = files_of(tree);
	char name[32], text[32];
	ssize_t bytes;

	for (;;) {
		snprintf(name, sizeof(name), "root.%d", files->n_roots);
		bytes = readlinkat(files->job->folder, name, text, sizeof(text) - 1);
		if (bytes <= 0)
			return;
		text[bytes] = 0;
		files->root = (int)strtol(text, NULL, 10);
		files->n_roots++;
	}
}

/* Whether this task is the root from now on: one of all who try is. */
static int become_root(hpm_tree *tree)
{
	struct files *files = files_of(tree);
	char name[32], text[32];

	snprintf(name, sizeof(name), "root.%d", files->n_roots);
	snprintf(text, sizeof(text), "%d", tree->task);
	if (symlinkat(text, files->job->folder, name)) {
		look_for_root(tree);
		return 0;
	}
	files->root = tree->task;
	files->n_roots++;
	return 1;
}

/* Whether a lower one that is there, too, is to take over. */
static int has_better(hpm_tree *tree)
{
	char name[32], why[HPM_REASON_SIZE];

	for (int task = 0; task < tree->task; task++) {
		snprintf(name, sizeof(name), "up.%d.%d", tree->round, task);
		if (task != files_of(tree)->root && exists(tree, name) &&
		    hpm_job_presence(files_of(tree)->job, task, why) != HPM_GONE)
			return 1;
	}
	return 0;
}

enum root_state {
	ROOT_IS_DUE,
	ROOT_IS_LATE,
	ROOT_IS_GONE,
};

static enum root_state look_at_root(hpm_tree *tree)
{
	struct files *files = files_of(tree);
	char why[HPM_REASON_SIZE];
	enum hpm_presence presence;
	int64_t wait;
	int is_named;

	refresh(files->job);
	look_for_root(tree);
	is_named = files->root >= 0;
	presence = hpm_job_presence(files->job, is_named ? files->root : 0, why);
	if (presence == HPM_GONE || (presence == HPM_ABSENT && is_elsewhere(files->job)))
		return ROOT_IS_GONE;
	wait = patience(files, presence);
	if (!is_named)
		return is_past(files, wait, HURRIED_LOADS) ? ROOT_IS_GONE : ROOT_IS_DUE;
	/* It came as late as that, and waits as long itself. */
	if (wait == files->timeout_ns)
		wait += files->timeout_ns + ROOT_SLACK;
	return is_past(files, wait, HURRIED_ROOT) ? ROOT_IS_LATE : ROOT_IS_DUE;
}

/* Waits for a file of the root's. 0, EOWNERDEAD, or ETIMEDOUT. */
static int await_root(hpm_tree *tree, const char *name, int may_take_over)
{
	const int64_t since = hpm_now_ns();
	int64_t looked = 0;

	while (!exists(tree, name)) {
		enum root_state state = ROOT_IS_DUE;

		if (hpm_now_ns() - looked >= LOOK_EVERY) {
			looked = hpm_now_ns();
			state = look_at_root(tree);
		}
		if (state != ROOT_IS_DUE && exists(tree, name))
			return 0;
		if (state == ROOT_IS_LATE)
			return hpm_tree_failed(ETIMEDOUT,
					       "task %d, the root of the tree, does not go on; "
					       "HPM_AGGREGATE_TIMEOUT is how long the others wait",
					       files_of(tree)->root);
		if (state == ROOT_IS_GONE && !may_take_over)
			return hpm_tree_failed(EOWNERDEAD,
					       "task %d, the root of the tree, ended before it "
					       "was done",
					       files_of(tree)->root);
		if (state == ROOT_IS_GONE && !has_better(tree) && become_root(tree))
			return 0;
		hpm_pause(since);
	}
	return 0;
}

static int be_root(hpm_tree *tree, struct hpm_load *own, struct hpm_load *total,
		   const struct hpm_merging *merging)
{
	char name[32];

	tree->is_root = 1;
	collect(tree, 0, own, total, merging);
	snprintf(name, sizeof(name), "total.%d", tree->round);
	if (symlinkat("root", files_of(tree)->job->folder, name) && errno != EEXIST)
		return hpm_tree_failed(errno,
				       "%.800s/%s cannot be made: %s; free some room, or "
				       "set HPM_AGGREGATE_DIR",
				       files_of(tree)->job->where, name, strerror(errno));
	return 0;
}

/* --- the transport ---------------------------------------------------------------------------- */

/* Whoever cannot go on must not be waited for. */
static int resigned(hpm_tree *tree, int failed)
{
	char why[HPM_REASON_SIZE];

	if (failed) {
		snprintf(why, sizeof(why), "could not send what it measured: %s", strerror(failed));
		hpm_job_resign(files_of(tree)->job, why);
	}
	return failed;
}

/* Who has waited through MPI already waits no longer than it takes all to come to files. */
static int64_t begin(const hpm_tree *tree)
{
	const struct files *files = tree->state;
	const int64_t now = hpm_now_ns();
	const int64_t waited = tree->came_ns && tree->round == 1 ? now - tree->came_ns : 0;
	const int64_t least = files->timeout_ns / 2;
	const int64_t most = files->timeout_ns - (least < CHANGE_OF_WAY ? least : CHANGE_OF_WAY);

	return now - (waited < most ? waited : most);
}

static int reduce(hpm_tree *tree, struct hpm_load *load, const struct hpm_merging *merging)
{
	struct files *files = files_of(tree);
	const int64_t first = (int64_t)tree->task * HPM_FANOUT + 1;
	struct hpm_load own = *load, total = {0};
	char name[32];
	int failed = 0;

	memset(load, 0, sizeof(*load));
	files->begun_ns = begin(tree);
	look_for_root(tree);
	if (!tree->task && files->root < 0)
		become_root(tree);
	if (first < tree->tasks || files->root == tree->task) {
		snprintf(name, sizeof(name), "own.%d.%d", tree->round, tree->task);
		failed = write_load(tree, name, &own);
	}
	if (!failed && files->root == tree->task) {
		failed = be_root(tree, &own, load, merging);
		return resigned(tree, failed);
	}
	tree->is_root = 0;
	if (!failed) {
		hpm_load_merge(&total, &own, tree->task, merging);
		for (int64_t child = first; child < first + HPM_FANOUT && child < tree->tasks;
		     child++)
			collect(tree, (int)child, NULL, &total, merging);
		snprintf(name, sizeof(name), "up.%d.%d", tree->round, tree->task);
		failed = write_load(tree, name, &total);
	}
	hpm_load_free(&own);
	hpm_load_free(&total);
	if (failed)
		return resigned(tree, failed);
	snprintf(name, sizeof(name), "total.%d", tree->round);
	failed = await_root(tree, name, 1);
	if (!failed && files->root == tree->task)
		failed = be_root(tree, NULL, load, merging);
	return resigned(tree, failed);
}

static int share(hpm_tree *tree, struct hpm_load *load)
{
	char name[32], why[HPM_REASON_SIZE];
	int failed;

	files_of(tree)->begun_ns = hpm_now_ns();
	snprintf(name, sizeof(name), "down.%d", tree->round);
	if (tree->is_root)
		return resigned(tree, write_load(tree, name, load));
	failed = await_root(tree, name, 0);
	if (failed)
		return resigned(tree, failed);
	if (is_shut_out(tree, tree->task, why))
		return hpm_tree_failed(ESTALE,
				       "the other tasks went on without task %d, which %s; "
				       "HPM_AGGREGATE_TIMEOUT is how long they wait",
				       tree->task, why);
	failed = read_load(tree, name, load);
	if (failed)
		hpm_tree_failed(failed, "%.800s/%s cannot be read: %s", files_of(tree)->job->where,
				name, strerror(failed));
	return resigned(tree, failed);
}

static void close_files(hpm_tree *tree)
{
	struct files *files = files_of(tree);

	hpm_job_leave(files->job, tree->gaps.n > 0);
	free(files);
}

static const struct hpm_transport transport = {reduce, share, close_files};

int hpm_tree_open_files(hpm_tree *tree)
{
	struct files *files = calloc(1, sizeof(*files));
	int failed;

	if (!files)
		return hpm_tree_failed(ENOMEM, "no memory for the tree of tasks; free some");
	failed = hpm_job_get("sections", &files->job);
	if (failed) {
		free(files);
		return -failed;
	}
	files->timeout_ns = hpm_timeout_ns();
	files->root = -1;
	tree->state = files;
	tree->job = files->job;
	tree->task = files->job->launch.task;
	tree->tasks = files->job->launch.tasks;
	tree->is_root = 0;
	tree->transport = &transport;
	return 0;
}
