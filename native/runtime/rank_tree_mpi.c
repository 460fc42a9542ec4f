/*
 * The tree through MPI, in a program whose MPI is up.
 *
 * MPI cannot say that a rank never comes, and a message to such a rank would hang MPI_Finalize. So
 * ranks first tell up the tree that they are there, and the root says "go". If that takes too long,
 * everyone goes on through files. Whether it is "go" or files is decided once for all, by whoever
 * first makes a link in the job's directory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_calls.h"
#include "transport.h"

#define NS_PER_MS 1000000
#define LOOK_EVERY (50 * NS_PER_MS)

/* Ranks have come; what they still do is merging. */
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
struct first_piece {
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

typedef int give_up(struct gn_tree *tree, int rank);

/* What is received although nobody wants it any more goes where nobody looks. */
static int drop(union gn_mpi_handle *request)
{
	const int64_t since = gn_monotonic_ns();

	gn_mpi_cancel(request);
	while (!gn_mpi_test(request)) {
		if (gn_monotonic_ns() - since > DROP_WAIT) {
			gn_mpi_forget(request);
			return EINPROGRESS;
		}
		gn_backoff(since);
	}
	return 0;
}

/*
 * Until a request is complete: 0; or ETIMEDOUT, or what stop() says. EINPROGRESS: MPI may still
 * use the memory, which must stay.
 */
static int finish(struct gn_tree *tree, union gn_mpi_handle *request, int is_send, int rank,
		  int64_t wait_ns, give_up *stop)
{
	const int64_t since = gn_monotonic_ns();
	int64_t looked = 0;
	int state, failed = 0;

	while (!(state = gn_mpi_test(request))) {
		const int64_t now = gn_monotonic_ns();

		if (stop && now - looked > LOOK_EVERY) {
			looked = now;
			failed = stop(tree, rank);
		}
		if (!failed && now - since > wait_ns)
			failed = ETIMEDOUT;
		if (failed)
			break;
		gn_backoff(since);
	}
	if (state < 0)
		return EIO;
	if (failed && is_send) {
		gn_mpi_forget(request);
		return EINPROGRESS;
	}
	return failed && drop(request) ? EINPROGRESS : failed;
}

static int send_piece(struct gn_tree *tree, const void *bytes, size_t size, int rank, int tag)
{
	const struct mpi *mpi = tree->state;
	union gn_mpi_handle request;

	if (gn_mpi_isend(bytes, (int)size, rank, tag, &request))
		return EIO;
	return finish(tree, &request, 1, rank, mpi->timeout_ns + SLACK, NULL);
}

static int send_bytes(struct gn_tree *tree, const unsigned char *bytes, size_t size, int rank,
		      int kind)
{
	const struct mpi *mpi = tree->state;
	const int tag = mpi->first_tag + kind;
	struct first_piece *first = calloc(1, sizeof(*first));
	const size_t now = size < sizeof(first->bytes) ? size : sizeof(first->bytes);
	int failed;

	if (!first)
		return ENOMEM;
	first->size = size;
	first->round = tree->round;
	if (now)
		memcpy(first->bytes, bytes, now);
	failed = send_piece(tree, first, offsetof(struct first_piece, bytes) + now, rank, tag);
	/* What MPI may still read must stay. */
	if (failed != EINPROGRESS)
		free(first);
	if (!failed && size > now)
		failed = send_piece(tree, bytes + now, size - now, rank, tag);
	return failed;
}

/* One message of at most that size. */
static int receive_piece(struct gn_tree *tree, void *bytes, size_t size, int rank, int kind,
			 int64_t wait_ns, give_up *stop)
{
	const struct mpi *mpi = tree->state;
	union gn_mpi_handle request;

	if (gn_mpi_irecv(bytes, (int)size, rank, mpi->first_tag + kind, &request))
		return EIO;
	return finish(tree, &request, 0, rank, wait_ns, stop);
}

/* *bytes is for free(3). */
static int receive_bytes(struct gn_tree *tree, unsigned char **bytes, size_t *size, int rank,
			 int kind, int64_t wait_ns, give_up *stop)
{
	const struct mpi *mpi = tree->state;
	struct first_piece *first = calloc(1, sizeof(*first));
	unsigned char *all = NULL;
	size_t now = 0;
	int failed = !first ? ENOMEM
			    : receive_piece(tree, first, sizeof(*first), rank, kind, wait_ns, stop);

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
		failed = receive_piece(tree, all + now, *size - now, rank, kind, mpi->timeout_ns,
				       NULL);
	if (!failed)
		*bytes = all;
	else if (failed != EINPROGRESS)
		free(all);
	return failed;
}

static int children(const struct gn_tree *tree, int *first)
{
	const int64_t child = (int64_t)tree->rank * GN_TREE_FANOUT + 1;

	*first = (int)child;
	if (child >= tree->ranks)
		return 0;
	return tree->ranks - child < GN_TREE_FANOUT ? (int)(tree->ranks - child) : GN_TREE_FANOUT;
}

static int parent(const struct gn_tree *tree)
{
	return (tree->rank - 1) / GN_TREE_FANOUT;
}

/* --- whether all are there -------------------------------------------------------------------- */

/* Nodes that share nothing cannot agree by it. */
static int has_common_folder(const struct gn_tree *tree)
{
	return tree->job && !tree->job->is_one_node;
}

/* Says how to go on, if nobody has said it before; returns whether it is through MPI. */
static int decide(const struct gn_tree *tree, int is_mpi)
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
static int look(struct gn_tree *tree, int rank)
{
	struct mpi *mpi = tree->state;
	char why[GN_REASON_SIZE], text[8];
	const int is_late = gn_monotonic_ns() > mpi->until_ns;

	if (mpi->is_agreed)
		return 0;
	if (has_common_folder(tree)) {
		if (readlinkat(tree->job->folder, "way", text, sizeof(text)) > 0) {
			mpi->is_agreed = text[0] == 'm';
			return mpi->is_agreed ? 0 : ENOTSUP;
		}
		if (!is_late && gn_job_presence(tree->job, rank, why) != GN_RANK_GONE)
			return 0;
	} else if (!is_late) {
		return 0;
	}
	/* Who does not wait any longer says so; but if the root was quicker, its word comes. */
	mpi->is_agreed = decide(tree, 0);
	return mpi->is_agreed ? 0 : ENOTSUP;
}

/* A word from another rank while it is open how to go on. */
static int await_word(struct gn_tree *tree, int rank, int kind)
{
	const struct mpi *mpi = tree->state;
	unsigned char *bytes = NULL;
	size_t size = 0;
	int failed = receive_bytes(tree, &bytes, &size, rank, kind,
				   mpi->until_ns - gn_monotonic_ns() + SLACK, look);

	if (!failed && (size != 1 || bytes[0] != 1))
		failed = ENOTSUP;
	free(bytes);
	return failed;
}

/* What others sent while it was open is taken: some MPIs complain of what nobody did. */
static void drain(struct gn_tree *tree)
{
	unsigned char *bytes;
	size_t size;
	int first, n = children(tree, &first);

	for (int i = 0; i < n; i++)
		if (!receive_bytes(tree, &bytes, &size, first + i, TAG_HERE, DRAIN_WAIT, NULL))
			free(bytes);
	if (tree->rank &&
	    !receive_bytes(tree, &bytes, &size, parent(tree), TAG_GO, DRAIN_WAIT, NULL))
		free(bytes);
}

static int meet(struct gn_tree *tree)
{
	struct mpi *mpi = tree->state;
	unsigned char word = 1;
	int first, n = children(tree, &first), failed;

	tree->came_ns = gn_monotonic_ns();
	mpi->until_ns = gn_monotonic_ns() + mpi->timeout_ns;
	failed = look(tree, tree->rank);
	for (int i = 0; !failed && i < n; i++)
		failed = await_word(tree, first + i, TAG_HERE);
	if (!failed && tree->rank) {
		failed = send_bytes(tree, &word, 1, parent(tree), TAG_HERE);
		if (!failed)
			failed = await_word(tree, parent(tree), TAG_GO);
	}
	if (!tree->rank && !failed && !decide(tree, 1))
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

static int lost(const struct gn_tree *tree, int rank, int failed)
{
	return gn_tree_failed(failed, "task %d got nothing from task %d through MPI: %s",
			      tree->rank, rank, strerror(failed));
}

static int reduce(struct gn_tree *tree, struct gn_message *message,
		  const struct gn_merging *merging)
{
	const struct mpi *mpi = tree->state;
	unsigned char *bytes;
	size_t size;
	int first, n = children(tree, &first), failed;

	for (int i = 0; i < n; i++) {
		struct gn_message below;
		char why[GN_REASON_SIZE];

		failed = receive_bytes(tree, &bytes, &size, first + i, TAG_UP,
				       mpi->timeout_ns + SLACK, NULL);
		if (!failed) {
			failed = gn_message_unpack(bytes, size, &below);
			free(bytes);
		}
		if (!failed) {
			gn_message_merge(message, &below, first + i, merging);
			continue;
		}
		snprintf(why, sizeof(why), "sent nothing, nor did those below it in the tree: %s",
			 strerror(failed));
		gn_gaps_add(&message->gaps, first + i, first + i, 0, why);
	}
	tree->is_root = !tree->rank;
	if (tree->is_root)
		return 0;
	failed = gn_message_pack(message, &bytes, &size);
	gn_message_free(message);
	if (failed)
		return gn_tree_too_large(tree, failed);
	failed = send_bytes(tree, bytes, size, parent(tree), TAG_UP);
	if (failed != EINPROGRESS)
		free(bytes);
	return failed ? gn_tree_failed(failed, "task %d cannot send through MPI: %s", tree->rank,
				       strerror(failed))
		      : 0;
}

static int share(struct gn_tree *tree, struct gn_message *message)
{
	const struct mpi *mpi = tree->state;
	unsigned char *bytes;
	size_t size;
	int first, n = children(tree, &first), failed, is_kept = 0;

	if (tree->is_root)
		failed = gn_message_pack(message, &bytes, &size);
	else
		failed = receive_bytes(tree, &bytes, &size, parent(tree), TAG_DOWN,
				       2 * (mpi->timeout_ns + SLACK), NULL);
	if (failed)
		return lost(tree, tree->is_root ? 0 : parent(tree), failed);
	for (int i = 0; i < n; i++)
		if (send_bytes(tree, bytes, size, first + i, TAG_DOWN) == EINPROGRESS)
			is_kept = 1;
	if (!tree->is_root)
		failed = gn_message_unpack(bytes, size, message);
	/* What MPI may still read must stay. */
	if (!is_kept)
		free(bytes);
	return failed ? lost(tree, parent(tree), failed) : 0;
}

static void close_mpi(struct gn_tree *tree)
{
	/* All have come, though perhaps not all to this directory. */
	if (tree->job)
		gn_job_leave(tree->job, 1);
	free(tree->state);
}

static const struct gn_transport transport = {reduce, share, close_mpi};

int gn_tree_open_mpi(struct gn_tree *tree)
{
	static int n_opened;
	struct mpi *mpi;
	int failed, rank, ranks;

	failed = gn_mpi_find(&rank, &ranks);
	if (failed || ranks < 2)
		return ENOTSUP;
	mpi = calloc(1, sizeof(*mpi));
	if (!mpi)
		return ENOMEM;
	mpi->first_tag = FIRST_TAG + TAGS_PER_TREE * (n_opened++ % TREES_APART);
	mpi->timeout_ns = gn_job_timeout_ns(tree->terms);
	tree->state = mpi;
	tree->rank = rank;
	tree->ranks = ranks;
	/* Without a directory there is no other way, but this one there is. */
	if (gn_job_get(tree->terms, &tree->job))
		tree->job = NULL;
	failed = meet(tree);
	if (failed) {
		drain(tree);
		free(mpi);
		tree->state = NULL;
		tree->job = NULL;
		tree->rank = 0;
		tree->ranks = 1;
		return failed;
	}
	tree->is_root = !rank;
	tree->transport = &transport;
	return 0;
}
