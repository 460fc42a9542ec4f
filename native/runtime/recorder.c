/* The record file of each process, opened when it is first needed. */
#include "gnomon/recorder.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_name.h"
#include "launcher_rank.h"
#include "lifecycle.h"
#include "mapped_file.h"
#include "own_calls.h"
#include "signal_shield.h"
#include "staging.h"
#include "stderr_line.h"

/* How a thread waits for another one that opens the file. */
#define NAP_NS 50000

/* Of one process: zero in a child that was forked. */
struct recorder {
	struct gn_record_file *_Atomic file;
	_Atomic int opener; /* the thread that opens it, or opened it; 0: none yet */
	_Atomic int is_open;
	int error; /* why there is none */
};

static const struct gn_recorder_plan *plan;
static struct recorder *_Atomic here;

static void close_at_exit(void)
{
	struct recorder *recorder = here;

	if (recorder && recorder->file)
		gn_record_file_close(recorder->file);
}

static struct gn_lifecycle life = {
	.state_bytes = sizeof(struct recorder),
	.at_exit = close_at_exit,
};

static const char *remedy(int error)
{
	switch (error) {
	case -ENOSPC:
	case -EDQUOT:
		return "make room there";
	case -EFBIG:
		return "raise the limit on file size (ulimit -f)";
	case -ENOMEM:
		return "raise the limit on address space (ulimit -v)";
	}
	return "make the run's folder writable";
}

static void report(const char *path, int error)
{
	char why[128];
	struct iovec texts[] = {
		{.iov_base = "gnomon: "},
		{.iov_base = (char *)path},
		{.iov_base = ": "},
		{.iov_base = (char *)plan->capability},
		{.iov_base = " records nothing: "},
		{.iov_base = strerror_r(-error, why, sizeof(why))},
		{.iov_base = "; "},
		{.iov_base = (char *)remedy(error)},
		{.iov_base = "\n"},
	};

	gn_stderr_line(texts, sizeof(texts) / sizeof(*texts));
}

/* 0, or a negative errno. */
static int open_file(struct gn_record_file **file)
{
	char host[GN_HOST_NAME_SIZE], path[PATH_MAX], ending[64];
	struct gn_record_plan records = {
		.writer = plan->capability,
		.kinds = plan->kinds,
		.n_kinds = plan->n_kinds,
		.rank = gn_launcher_rank(),
		.capacity_bytes = gn_mapped_file_capacity(
			plan->capacity_bytes ? plan->capacity_bytes : GN_RECORD_CAPACITY),
	};
	const struct gn_staging_origin origin = gn_staging_here(plan->capability, host);
	int error;

	snprintf(ending, sizeof(ending), "%s.gnrec", plan->capability);
	error = gn_staging_path(&origin, ending, path, sizeof(path));
	if (error)
		return error;
	error = gn_record_file_open(file, path, &records);
	if (error) {
		report(path, error);
		/* For the run, which says so, too: an empty file, as there may be no room. */
		snprintf(ending, sizeof(ending), "%.40s.%d.refused", plan->capability, -error);
		gn_staging_write(&origin, ending, "", 0);
	}
	return error;
}

/*
 * The first thread that comes opens the file; others wait for it, but not a signal's handler in
 * that thread itself. A signal would find the file half made.
 */
static void open_once(struct recorder *recorder)
{
	struct gn_record_file *file = NULL;
	const int self = (int)gettid(), before = errno;
	struct gn_signal_shield shield;
	int nobody = 0;

	if (atomic_compare_exchange_strong(&recorder->opener, &nobody, self)) {
		gn_signal_shield_begin(&shield);
		recorder->error = open_file(&file);
		atomic_store(&recorder->file, file);
		if (file && plan->opened)
			plan->opened();
		atomic_store(&recorder->is_open, 1);
		gn_signal_shield_end(&shield);
	}
	while (!atomic_load(&recorder->is_open) && recorder->opener != self)
		gn_pause(NAP_NS);
	errno = before;
}

struct gn_record_file *gn_recorder_file(void)
{
	struct recorder *recorder = atomic_load_explicit(&here, memory_order_acquire);

	if (!recorder)
		return NULL;
	if (__builtin_expect(!atomic_load_explicit(&recorder->is_open, memory_order_acquire), 0))
		open_once(recorder);
	return atomic_load_explicit(&recorder->file, memory_order_relaxed);
}

int gn_recorder_start(const struct gn_recorder_plan *asked)
{
	static _Atomic int is_started;
	struct recorder *recorder;

	if (!gn_staging_folder(asked->capability))
		return -ENOENT;
	if (atomic_exchange(&is_started, 1))
		return -EALREADY;
	plan = asked;
	recorder = gn_lifecycle_begin(&life);
	if (!recorder)
		return -ENOMEM;
	atomic_store(&here, recorder);
	gn_recorder_file();
	return recorder->error;
}
