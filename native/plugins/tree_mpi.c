/*
 * The tree through MPI, in a program whose MPI is up.
 *
 * MPI cannot say that a task never comes, and a message to such a task would hang MPI_Finalize. So
 * tasks first tell up the tree that they are there, and the root says "go". If that takes too long,
 * everyone goes on through files. Whether it is "go" or files is decided once for all, by whoever
 * first makes a link in the job's directory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_calls.h"
#include "tree.h"

#define NS_PER_MS 1000000
#define LOOK_EVERY (50 * NS_PER_MS)

/* Tasks have come; what they still do is merging. */
#define DRAIN_WAIT (20 * NS_PER_MS)
#define DROP_WAIT (1000 * (int64_t)NS_PER_MS)
#define SLACK (10000 * (int64_t)NS_PER_MS)

/* What every MPI has sent before a receiver is there. */
#define PIECE 2048
#define FIRST_TAG 18256
#define TAGS_PER_TREE 4
#define TREES_APART 64

enum { TAG_HERE, TAG_GO, TAG_UP, TAG_DOWN };

/* The first message of each; the rest, if any, is a second one. */
struct message {
	uint64_t size;
	int32_t round;
	unsigned char bytes[PIECE - 16];
};

struct mpi {
	int first_tag;
	int64_t timeout_ns;
	int64_t until_ns; /* it is waited for all to be there */
	int is_agreed;	  /* that it goes on through MPI */
};

/* --- waiting ---------------------------------------------------------------------------------- */

typedef int give_up(hpm_tree *tree, int task);

/* What is received although nobody wants it any more goes where nobody looks. */
static int drop(union hpm_mpi_handle *request)
{
	const int64_t since = hpm_now_ns();

	hpm_mpi_cancel(request);
	while (!hpm_mpi_test(request)) {
		if (hpm_now_ns() - since > DROP_WAIT) {
			hpm_mpi_forget(request);
			return EINPROGRESS;
		}
		hpm_pause(since);
	}
	return 0;
}

/*
 * Until a request is complete: 0; or ETIMEDOUT, or what stop() says. EINPROGRESS: MPI may still
 * use the memory, which must stay.
 */
static int finish(hpm_tree *tree, union hpm_mpi_handle *request, int is_send, int task,
		  int64_t wait_ns, give_up *stop)
{
	const int64_t since = hpm_now_ns();
	int64_t looked = 0;
	int state, failed = 0;

	while (!(state = hpm_mpi_test(request))) {
		const int64_t now = hpm_now_ns();

		if (stop && now - looked > LOOK_EVERY) {
			looked = now;
			failed = stop(tree, task);
		}
		if (!failed && now - since > wait_ns)
			failed = ETIMEDOUT;
		if (failed)
			break;
		hpm_pause(since);
	}
	if (state < 0)
		return EIO;
	if (failed && is_send) {
		hpm_mpi_forget(request);
		return EINPROGRESS;
	}
	return failed && drop(request) ? EINPROGRESS : failed;
}

static int send_piece(hpm_tree *tree, const void *bytes, size_t size, int task, int tag)
{
	const struct mpi *mpi = tree->state;
	union hpm_mpi_handle request;

	if (hpm_mpi_isend(bytes, (int)size, task, tag, &request))
		return EIO;
	return finish(tree, &request, 1, task, mpi->timeout_ns + SLACK, NULL);
}

static int send_bytes(hpm_tree *tree, const unsigned char *bytes, size_t size, int task, int kind)
{
	const struct mpi *mpi = tree->state;
	const int tag = mpi->first_tag + kind;
	struct message *first = calloc(1, sizeof(*first));
	const size_t now = size < sizeof(first->bytes) ? size : sizeof(first->bytes);
	int failed;

	if (!first)
		return ENOMEM;
	first->size = size;
	first->round = tree->round;
	if (now)
		memcpy(first->bytes, bytes, now);
	failed = send_piece(tree, first, offsetof(struct message, bytes) + now, task, tag);
	/* What MPI may still read must stay. */
	if (failed != EINPROGRESS)
		free(first);
	if (!failed && size > now)
		failed = send_piece(tree, bytes + now, size - now, task, tag);
	return failed;
}

/* One message of at most that size. */
static int receive_piece(hpm_tree *tree, void *bytes, size_t size, int task, int kind,
			 int64_t wait_ns, give_up *stop)
{
	const struct mpi *mpi = tree->state;
	union hpm_mpi_handle request;

	if (hpm_mpi_irecv(bytes, (int)size, task, mpi->first_tag + kind, &request))
		return EIO;
	return finish(tree, &request, 0, task, wait_ns, stop);
}

/* *bytes is for free(3). */
static int receive_bytes(hpm_tree *tree, unsigned char **bytes, size_t *size, int task, int kind,
			 int64_t wait_ns, give_up *stop)
{
	const struct mpi *mpi = tree->state;
	struct message *first = calloc(1, sizeof(*first));
	unsigned char *all = NULL;
	size_t now = 0;
	int failed = !first ? ENOMEM
			    : receive_piece(tree, first, sizeof(*first), task, kind, wait_ns, stop);

	if (failed == EINPROGRESS)
		return failed;
	if (!failed && (first->size > INT32_MAX || first->round != tree->round))
		failed = EBADMSG;
	if (!failed) {
		now = first->size < sizeof(first->bytes) ? first->size : sizeof(first->bytes);
		*size = first->size;
		all = malloc(first->size + 1);
		failed = all ? 0 : ENOMEM;
	}
	if (!failed)
		memcpy(all, first->bytes, now);
	free(first);
	if (!failed && *size > now)
		failed = receive_piece(tree, all + now, *size - now, task, kind, mpi->timeout_ns,
				       NULL);
	if (!failed)
		*bytes = all;
	else if (failed != EINPROGRESS)
		free(all);
	return failed;
}

static int children(const hpm_tree *tree, int *first)
{
	const int64_t child = (int64_t)tree->task * HPM_FANOUT + 1;

	*first = (int)child;
	if (child >= tree->tasks)
		return 0;
	return tree->tasks - child < HPM_FANOUT ? (int)(tree->tasks - child) : HPM_FANOUT;
}

static int parent(const hpm_tree *tree)
{
	return (tree->task - 1) / HPM_FANOUT;
}

/* --- whether all are there -------------------------------------------------------------------- */

/* Nodes that share nothing cannot agree by it. */
static int has_common_folder(const hpm_tree *tree)
{
	return tree->job && !tree->job->is_one_node;
}

/* Says how to go on, if nobody has said it before; returns whether it is through MPI. */
static int decide(const hpm_tree *tree, int is_mpi)
{
	char text[8];
	ssize_t bytes;

	/* Then each one's word is its own. */
	if (!has_common_folder(tree))
		return is_mpi;
	if (!symlinkat(is_mpi ? "mpi" : "files", tree->job->folder, "way"))
		return is_mpi;
	bytes = readlinkat(tree->job->folder, "way", text, sizeof(text));
	return bytes > 0 ? text[0] == 'm' : is_mpi;
}

/* ENOTSUP: it goes on through files. */
static int look(hpm_tree *tree, int task)
{
	struct mpi *mpi = tree->state;
	char why[HPM_REASON_SIZE], text[8];
	const int is_late = hpm_now_ns() > mpi->until_ns;

	if (mpi->is_agreed)
		return 0;
	if (has_common_folder(tree)) {
		if (readlinkat(tree->job->folder, "way", text, sizeof(text)) > 0) {
			mpi->is_agreed = text[0] == 'm';
			return mpi->is_agreed ? 0 : ENOTSUP;
		}
		if (!is_late && hpm_job_presence(tree->job, task, why) != HPM_GONE)
			return 0;
	} else if (!is_late) {
		return 0;
	}
	/* Who does not wait any longer says so; but if the root was quicker, its word comes. */
	mpi->is_agreed = decide(tree, 0);
	return mpi->is_agreed ? 0 : ENOTSUP;
}

/* A word from another task while it is open how to go on. */
static int await_word(hpm_tree *tree, int task, int kind)
{
	const struct mpi *mpi = tree->state;
	unsigned char *bytes = NULL;
	size_t size = 0;
	int failed = receive_bytes(tree, &bytes, &size, task, kind,
				   mpi->until_ns - hpm_now_ns() + SLACK, look);

	if (!failed && (size != 1 || bytes[0] != 1))
		failed = ENOTSUP;
	free(bytes);
	return failed;
}

/* What others sent while it was open is taken: some MPIs complain of what nobody did. */
static void drain(hpm_tree *tree)
{
	unsigned char *bytes;
	size_t size;
	int first, n = children(tree, &first);

	for (int i = 0; i < n; i++)
		if (!receive_bytes(tree, &bytes, &size, first + i, TAG_HERE, DRAIN_WAIT, NULL))
			free(bytes);
	if (tree->task &&
	    !receive_bytes(tree, &bytes, &size, parent(tree), TAG_GO, DRAIN_WAIT, NULL))
		free(bytes);
}

static int meet(hpm_tree *tree)
{
	struct mpi *mpi = tree->state;
	unsigned char word = 1;
	int first, n = children(tree, &first), failed;

	tree->came_ns = hpm_now_ns();
	mpi->until_ns = hpm_now_ns() + mpi->timeout_ns;
	failed = look(tree, tree->task);
	for (int i = 0; !failed && i < n; i++)
		failed = await_word(tree, first + i, TAG_HERE);
	if (!failed && tree->task) {
		failed = send_bytes(tree, &word, 1, parent(tree), TAG_HERE);
		if (!failed)
			failed = await_word(tree, parent(tree), TAG_GO);
	}
	if (!tree->task && !failed && !decide(tree, 1))
		failed = ENOTSUP;
	/* Where the job's directory tells them, nothing is sent to who may never come. */
	if (failed && has_common_folder(tree) && !decide(tree, 0))
		return failed;
	word = !failed;
	for (int i = 0; i < n; i++)
		if (send_bytes(tree, &word, 1, first + i, TAG_GO) && !failed)
			failed = EIO;
	return failed;
}

/* --- the transport ---------------------------------------------------------------------------- */

static int lost(const hpm_tree *tree, int task, int failed)
{
	return hpm_tree_failed(failed, "task %d got nothing from task %d through MPI: %s",
			       tree->task, task, strerror(failed));
}

static int reduce(hpm_tree *tree, struct hpm_load *load, const struct hpm_merging *merging)
{
	const struct mpi *mpi = tree->state;
	unsigned char *bytes;
	size_t size;
	int first, n = children(tree, &first), failed;

	for (int i = 0; i < n; i++) {
		struct hpm_load below;
		char why[HPM_REASON_SIZE];

		failed = receive_bytes(tree, &bytes, &size, first + i, TAG_UP,
				       mpi->timeout_ns + SLACK, NULL);
		if (!failed) {
			failed = hpm_load_unpack(bytes, size, &below);
			free(bytes);
		}
		if (!failed) {
			hpm_load_merge(load, &below, first + i, merging);
			continue;
		}
		snprintf(why, sizeof(why), "sent nothing, nor did those below it in the tree: %s",
			 strerror(failed));
		hpm_gaps_add(&load->gaps, first + i, first + i, 0, why);
	}
	tree->is_root = !tree->task;
	if (tree->is_root)
		return 0;
	failed = hpm_load_pack(load, &bytes, &size);
	hpm_load_free(load);
	if (failed)
		return hpm_tree_failed(failed,
				       "what task %d sends takes more memory than there "
				       "is; aggregate fewer sections",
				       tree->task);
	failed = send_bytes(tree, bytes, size, parent(tree), TAG_UP);
	if (failed != EINPROGRESS)
		free(bytes);
	return failed ? hpm_tree_failed(failed, "task %d cannot send through MPI: %s", tree->task,
					strerror(failed))
		      : 0;
}

static int share(hpm_tree *tree, struct hpm_load *load)
{
	const struct mpi *mpi = tree->state;
	unsigned char *bytes;
	size_t size;
	int first, n = children(tree, &first), failed, is_kept = 0;

	if (tree->is_root)
		failed = hpm_load_pack(load, &bytes, &size);
	else
		failed = receive_bytes(tree, &bytes, &size, parent(tree), TAG_DOWN,
				       2 * (mpi->timeout_ns + SLACK), NULL);
	if (failed)
		return lost(tree, tree->is_root ? 0 : parent(tree), failed);
	for (int i = 0; i < n; i++)
		if (send_bytes(tree, bytes, size, first + i, TAG_DOWN) == EINPROGRESS)
			is_kept = 1;
	if (!tree->is_root)
		failed = hpm_load_unpack(bytes, size, load);
	/* What MPI may still read must stay. */
	if (!is_kept)
		free(bytes);
	return failed ? lost(tree, parent(tree), failed) : 0;
}

static void close_mpi(hpm_tree *tree)
{
	/* All have come, though perhaps not all to this directory. */
	if (tree->job)
		hpm_job_leave(tree->job, 1);
	free(tree->state);
}

static const struct hpm_transport transport = {reduce, share, close_mpi};

int hpm_tree_open_mpi(hpm_tree *tree)
{
	static int n_opened;
	struct mpi *mpi;
	int failed, task, tasks;

	failed = hpm_mpi_find(&task, &tasks);
	if (failed || tasks < 2)
		return ENOTSUP;
	mpi = calloc(1, sizeof(*mpi));
	if (!mpi)
		return ENOMEM;
	mpi->first_tag = FIRST_TAG + TAGS_PER_TREE * (n_opened++ % TREES_APART);
	mpi->timeout_ns = hpm_timeout_ns();
	tree->state = mpi;
	tree->task = task;
	tree->tasks = tasks;
	/* Without a directory there is no other way, but this one there is. */
	if (hpm_job_get("sections", &tree->job))
		tree->job = NULL;
	failed = meet(tree);
	if (failed) {
		drain(tree);
		free(mpi);
		tree->state = NULL;
		tree->job = NULL;
		tree->task = 0;
		tree->tasks = 1;
		return failed;
	}
	tree->is_root = !task;
	tree->transport = &transport;
	return 0;
}
