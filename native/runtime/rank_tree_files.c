/*
 * The tree through files in the job's directory, each written beside and renamed:
 *
 *	own.ROUND.TASK	 a message of a rank that has children, before theirs are merged into it
 *	up.ROUND.TASK	 a message of a rank and all below it
 *	total.ROUND	 the root has it all
 *	down.ROUND	 the root's message for everybody
 *	root.NUMBER	 a link to the rank that is the root, and took over from those before
 *	out.TASK	 a link to the reason why a rank is no part of the totals any more
 *
 * Whoever waits for a rank waits for its file as long as it lives, or until the deadline. Of a rank
 * that is not there its own message is taken, if it left one, and those of its children.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport.h"
#include "write_all.h"

#define NS_PER_MS 1000000
#define NS_PER_S 1000000000.0

/* Launchers kill a second after they have told a job to end. */
#define HURRIED_MESSAGES (300 * NS_PER_MS)
#define HURRIED_ROOT (700 * NS_PER_MS)
#define HURRIED_ROUND (100 * NS_PER_MS)

/* A root waits for its ranks, and then has to merge and write. */
#define ROOT_SLACK (10000 * (int64_t)NS_PER_MS)

/* Locks are looked at no more often than that. */
#define LOOK_EVERY (10 * NS_PER_MS)

#define CHANGE_OF_WAY (2000 * (int64_t)NS_PER_MS)
#define BEAT_EVERY (100 * NS_PER_MS)

struct files {
	struct gn_job *job;
	int64_t begun_ns; /* this round, for which the rank has come */
	int64_t timeout_ns;
	int root;    /* -1: nobody has said that it is it */
	int n_roots; /* how many have */
};

static struct files *files_of(struct gn_tree *tree)
{
	return tree->state;
}

/* --- files ------------------------------------------------------------------------------------ */

static int write_message(struct gn_tree *tree, const char *name, const struct gn_message *message)
{
	const int folder = files_of(tree)->job->folder;
	unsigned char *bytes;
	char draft[32];
	size_t size;
	int fd, failed = gn_message_pack(message, &bytes, &size);

	if (failed)
		return gn_tree_too_large(tree, failed);
	snprintf(draft, sizeof(draft), "new.%d", tree->rank);
	fd = openat(folder, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	failed = fd < 0 ? errno : gn_write_all(fd, bytes, size);
	if (fd >= 0 && close(fd) && !failed)
		failed = errno;
	if (!failed && renameat(folder, draft, folder, name))
		failed = errno;
	free(bytes);
	if (failed) {
		unlinkat(folder, draft, 0);
		gn_tree_failed(
			failed, "%.800s/%s cannot be written: %s; free some disk space, or set %s",
			files_of(tree)->job->where, name, strerror(failed), tree->terms->directory);
	}
	return failed;
}

/* 0, ENOENT, or another errno. */
static int read_message(struct gn_tree *tree, const char *name, struct gn_message *message)
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
	else if (!S_ISREG(is.st_mode) || is.st_size > (off_t)(2 * GN_BLOB_MAX))
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
		failed = gn_message_unpack(bytes, used, message);
	free(bytes);
	return failed;
}

static int exists(struct gn_tree *tree, const char *name)
{
	return !faccessat(files_of(tree)->job->folder, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/*
 * What other nodes made is seen once the directory has been opened anew (NFS). And the parent whose
 * child this may be is shown that it is alive and waits.
 */
static void refresh(const struct gn_job *job)
{
	static int64_t beaten;
	const int64_t now = gn_monotonic_ns();
	const int fd = openat(job->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	if (now - beaten > BEAT_EVERY && !futimens(job->here, NULL))
		beaten = now;
}

/* --- for how long ----------------------------------------------------------------------------- */

static int is_past(const struct files *files, int64_t wait_ns, int64_t hurried_ns)
{
	const int64_t now = gn_monotonic_ns(), told = gn_job_shortened_ns();

	return now > files->begun_ns + wait_ns ||
	       (told && now > told + hurried_ns && now > files->begun_ns + HURRIED_ROUND);
}

/* Some wait for what lives however long: the launcher would do so, too. */
static int64_t patience(const struct files *files, enum gn_presence presence)
{
	return presence == GN_RANK_ALIVE && files->job->terms->waits_for_living ? INT64_MAX / 2
										: files->timeout_ns;
}

static int is_elsewhere(const struct gn_job *job)
{
	return job->is_one_node && job->launch.local_ranks &&
	       gn_job_present(job) >= job->launch.local_ranks;
}

/* --- messages of others --------------------------------------------------------------------------
 */

enum arrival {
	FOUND_WHOLE,
	FOUND_OWN, /* those below it are missing in it */
	FOUND_NOTHING,
};

/* Nothing that it sends from now on counts: it is told so when it comes. */
static void shut_out(struct gn_tree *tree, int rank, enum gn_presence presence, char *why)
{
	const struct files *files = files_of(tree);
	const double seconds = (double)files->timeout_ns / NS_PER_S;
	const int is_on_one_node = files->job->launch.local_ranks == tree->ranks;
	char name[32];

	if (gn_job_shortened_ns())
		snprintf(why, GN_REASON_SIZE, "was not done when the job was ended");
	else if (presence != GN_RANK_ABSENT)
		snprintf(why, GN_REASON_SIZE, "did not come to its end within %g s", seconds);
	else
		snprintf(why, GN_REASON_SIZE, "did not start within %g s%s%s", seconds,
			 is_on_one_node ? "" : ", or is on a node that does not share ",
			 is_on_one_node ? "" : tree->terms->directory);
	snprintf(name, sizeof(name), "out.%d", rank);
	/* Who cannot write that cannot tell a total either. */
	if (symlinkat(why, files->job->folder, name))
		return;
}

static int is_shut_out(struct gn_tree *tree, int rank, char why[GN_REASON_SIZE])
{
	char name[32];
	ssize_t bytes;

	snprintf(name, sizeof(name), "out.%d", rank);
	bytes = readlinkat(files_of(tree)->job->folder, name, why, GN_REASON_SIZE - 1);
	why[bytes > 0 ? bytes : 0] = 0;
	return bytes > 0;
}

/* Takes what there is of a rank. */
static enum arrival take(struct gn_tree *tree, int rank, int is_last, struct gn_message *message,
			 char *why)
{
	char name[32];
	int failed;

	snprintf(name, sizeof(name), "up.%d.%d", tree->round, rank);
	failed = read_message(tree, name, message);
	if (!failed)
		return FOUND_WHOLE;
	if (failed != ENOENT)
		snprintf(why, GN_REASON_SIZE, "sent what cannot be read: %s", strerror(failed));
	if (!is_last)
		return FOUND_NOTHING;
	snprintf(name, sizeof(name), "own.%d.%d", tree->round, rank);
	return read_message(tree, name, message) ? FOUND_NOTHING : FOUND_OWN;
}

static enum arrival await(struct gn_tree *tree, int rank, struct gn_message *message, char *why)
{
	struct files *files = files_of(tree);
	const int64_t since = gn_monotonic_ns();
	int64_t looked = 0;

	*why = 0;
	if (is_shut_out(tree, rank, why))
		return FOUND_NOTHING;
	for (;;) {
		char reason[GN_REASON_SIZE] = "";
		enum gn_presence presence;
		enum arrival state = take(tree, rank, 0, message, why);

		if (state != FOUND_NOTHING || *why)
			return state;
		if (gn_monotonic_ns() - looked < LOOK_EVERY) {
			gn_backoff(since);
			continue;
		}
		looked = gn_monotonic_ns();
		refresh(files->job);
		presence = gn_job_presence(files->job, rank, reason);
		if (presence == GN_RANK_GONE) {
			state = take(tree, rank, 1, message, why);
			if (state == FOUND_NOTHING && !*why)
				snprintf(why, GN_REASON_SIZE, "%s",
					 *reason ? reason : files->job->terms->gone);
			return state;
		}
		if (presence == GN_RANK_ABSENT && is_elsewhere(files->job)) {
			snprintf(why, GN_REASON_SIZE,
				 "is on another node: set %s to a directory that all nodes share",
				 tree->terms->directory);
			return FOUND_NOTHING;
		}
		if (is_past(files, patience(files, presence), HURRIED_MESSAGES)) {
			state = take(tree, rank, 1, message, why);
			if (state == FOUND_NOTHING)
				shut_out(tree, rank, presence, why);
			return state;
		}
		gn_backoff(since);
	}
}

/*
 * Merges what `rank` and all below it sent; own, if not NULL, is that of this rank, which then is
 * not looked for in files.
 */
static void collect(struct gn_tree *tree, int rank, struct gn_message *own, struct gn_message *into,
		    const struct gn_merging *merging)
{
	char why[GN_REASON_SIZE];
	struct gn_message message = {0};
	enum arrival state = FOUND_OWN;

	if (own && rank == tree->rank)
		gn_message_merge(into, own, rank, merging);
	else
		state = await(tree, rank, &message, why);
	if (state == FOUND_NOTHING)
		gn_gaps_add(&into->gaps, rank, rank, 0, why);
	else if (!own || rank != tree->rank)
		gn_message_merge(into, &message, rank, merging);
	for (int i = 1; state != FOUND_WHOLE && i <= GN_TREE_FANOUT; i++) {
		const int64_t child = (int64_t)rank * GN_TREE_FANOUT + i;

		if (child >= tree->ranks)
			break;
		collect(tree, (int)child, own, into, merging);
	}
}

/* --- the root --------------------------------------------------------------------------------- */

static void look_for_root(struct gn_tree *tree)
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

/* Whether this rank is the root from now on: one of all who try is. */
static int become_root(struct gn_tree *tree)
{
	struct files *files = files_of(tree);
	char name[32], text[32];

	snprintf(name, sizeof(name), "root.%d", files->n_roots);
	snprintf(text, sizeof(text), "%d", tree->rank);
	if (symlinkat(text, files->job->folder, name)) {
		look_for_root(tree);
		return 0;
	}
	files->root = tree->rank;
	files->n_roots++;
	return 1;
}

/* Whether a lower one that is there, too, is to take over. */
static int has_better(struct gn_tree *tree)
{
	char name[32], why[GN_REASON_SIZE];

	for (int rank = 0; rank < tree->rank; rank++) {
		snprintf(name, sizeof(name), "up.%d.%d", tree->round, rank);
		if (rank != files_of(tree)->root && exists(tree, name) &&
		    gn_job_presence(files_of(tree)->job, rank, why) != GN_RANK_GONE)
			return 1;
	}
	return 0;
}

enum root_state {
	ROOT_IS_DUE,
	ROOT_IS_LATE,
	ROOT_IS_GONE,
};

static enum root_state look_at_root(struct gn_tree *tree)
{
	struct files *files = files_of(tree);
	char why[GN_REASON_SIZE];
	enum gn_presence presence;
	int64_t wait;
	int is_named;

	refresh(files->job);
	look_for_root(tree);
	is_named = files->root >= 0;
	presence = gn_job_presence(files->job, is_named ? files->root : 0, why);
	if (presence == GN_RANK_GONE || (presence == GN_RANK_ABSENT && is_elsewhere(files->job)))
		return ROOT_IS_GONE;
	wait = patience(files, presence);
	if (!is_named)
		return is_past(files, wait, HURRIED_MESSAGES) ? ROOT_IS_GONE : ROOT_IS_DUE;
	/* It came as late as that, and waits as long itself. */
	if (wait == files->timeout_ns)
		wait += files->timeout_ns + ROOT_SLACK;
	return is_past(files, wait, HURRIED_ROOT) ? ROOT_IS_LATE : ROOT_IS_DUE;
}

/* Waits for a file of the root's. 0, EOWNERDEAD, or ETIMEDOUT. */
static int await_root(struct gn_tree *tree, const char *name, int may_take_over)
{
	const int64_t since = gn_monotonic_ns();
	int64_t looked = 0;

	while (!exists(tree, name)) {
		enum root_state state = ROOT_IS_DUE;

		if (gn_monotonic_ns() - looked >= LOOK_EVERY) {
			looked = gn_monotonic_ns();
			state = look_at_root(tree);
		}
		if (state != ROOT_IS_DUE && exists(tree, name))
			return 0;
		if (state == ROOT_IS_LATE)
			return gn_tree_failed(ETIMEDOUT,
					      "task %d, the root of the tree, does not go on; "
					      "%s is how long the others wait",
					      files_of(tree)->root, tree->terms->timeout);
		if (state == ROOT_IS_GONE && !may_take_over)
			return gn_tree_failed(EOWNERDEAD,
					      "task %d, the root of the tree, ended before it "
					      "was done",
					      files_of(tree)->root);
		if (state == ROOT_IS_GONE && !has_better(tree) && become_root(tree))
			return 0;
		gn_backoff(since);
	}
	return 0;
}

static int be_root(struct gn_tree *tree, struct gn_message *own, struct gn_message *total,
		   const struct gn_merging *merging)
{
	char name[32];

	tree->is_root = 1;
	collect(tree, 0, own, total, merging);
	snprintf(name, sizeof(name), "total.%d", tree->round);
	if (symlinkat("root", files_of(tree)->job->folder, name) && errno != EEXIST)
		return gn_tree_failed(
			errno, "%.800s/%s cannot be created: %s; free some disk space, or set %s",
			files_of(tree)->job->where, name, strerror(errno), tree->terms->directory);
	return 0;
}

/* --- the transport ---------------------------------------------------------------------------- */

/* Whoever cannot go on must not be waited for. */
static int resigned(struct gn_tree *tree, int failed)
{
	char why[GN_REASON_SIZE];

	if (failed) {
		snprintf(why, sizeof(why), "could not send what it measured: %s", strerror(failed));
		gn_job_resign(files_of(tree)->job, why);
	}
	return failed;
}

/* Who has waited through MPI already waits no longer than it takes all to come to files. */
static int64_t begin(const struct gn_tree *tree)
{
	const struct files *files = tree->state;
	const int64_t now = gn_monotonic_ns();
	const int64_t waited = tree->came_ns && tree->round == 1 ? now - tree->came_ns : 0;
	const int64_t least = files->timeout_ns / 2;
	const int64_t most = files->timeout_ns - (least < CHANGE_OF_WAY ? least : CHANGE_OF_WAY);

	return now - (waited < most ? waited : most);
}

static int reduce(struct gn_tree *tree, struct gn_message *message,
		  const struct gn_merging *merging)
{
	struct files *files = files_of(tree);
	const int64_t first = (int64_t)tree->rank * GN_TREE_FANOUT + 1;
	struct gn_message own = *message, total = {0};
	char name[32];
	int failed = 0;

	memset(message, 0, sizeof(*message));
	files->begun_ns = begin(tree);
	look_for_root(tree);
	if (!tree->rank && files->root < 0)
		become_root(tree);
	if (first < tree->ranks || files->root == tree->rank) {
		snprintf(name, sizeof(name), "own.%d.%d", tree->round, tree->rank);
		failed = write_message(tree, name, &own);
	}
	if (!failed && files->root == tree->rank) {
		failed = be_root(tree, &own, message, merging);
		return resigned(tree, failed);
	}
	tree->is_root = 0;
	if (!failed) {
		gn_message_merge(&total, &own, tree->rank, merging);
		for (int64_t child = first; child < first + GN_TREE_FANOUT && child < tree->ranks;
		     child++)
			collect(tree, (int)child, NULL, &total, merging);
		snprintf(name, sizeof(name), "up.%d.%d", tree->round, tree->rank);
		failed = write_message(tree, name, &total);
	}
	gn_message_free(&own);
	gn_message_free(&total);
	if (failed)
		return resigned(tree, failed);
	snprintf(name, sizeof(name), "total.%d", tree->round);
	failed = await_root(tree, name, 1);
	if (!failed && files->root == tree->rank)
		failed = be_root(tree, NULL, message, merging);
	return resigned(tree, failed);
}

static int share(struct gn_tree *tree, struct gn_message *message)
{
	char name[32], why[GN_REASON_SIZE];
	int failed;

	files_of(tree)->begun_ns = gn_monotonic_ns();
	snprintf(name, sizeof(name), "down.%d", tree->round);
	if (tree->is_root)
		return resigned(tree, write_message(tree, name, message));
	failed = await_root(tree, name, 0);
	if (failed)
		return resigned(tree, failed);
	if (is_shut_out(tree, tree->rank, why))
		return gn_tree_failed(ESTALE,
				      "the other tasks went on without task %d, which %s; "
				      "%s is how long they wait",
				      tree->rank, why, tree->terms->timeout);
	failed = read_message(tree, name, message);
	if (failed)
		gn_tree_failed(failed, "%.800s/%s cannot be read: %s", files_of(tree)->job->where,
			       name, strerror(failed));
	return resigned(tree, failed);
}

static void close_files(struct gn_tree *tree)
{
	struct files *files = files_of(tree);

	gn_job_leave(files->job, tree->gaps.n > 0);
	free(files);
}

static const struct gn_transport transport = {reduce, share, close_files};

int gn_tree_open_files(struct gn_tree *tree)
{
	struct files *files = calloc(1, sizeof(*files));
	int failed;

	if (!files)
		return gn_tree_failed(ENOMEM, "no memory for the tree of tasks; free some memory");
	failed = gn_job_get(tree->terms, &files->job);
	if (failed) {
		free(files);
		return -failed;
	}
	files->timeout_ns = gn_job_timeout_ns(tree->terms);
	files->root = -1;
	tree->state = files;
	tree->job = files->job;
	tree->rank = files->job->launch.rank;
	tree->ranks = files->job->launch.ranks;
	tree->is_root = 0;
	tree->transport = &transport;
	return 0;
}
