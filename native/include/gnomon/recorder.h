/*
 * A record file for a library that `gnomon run` preloads into the measured program: one for each
 * process, in the folder where the run is put together.
 *
 *	static const struct gn_recorder_plan plan = {"toy", kinds, n_kinds, 0, NULL};
 *
 *	__attribute__((constructor)) static void begin(void)
 *	{
 *		gn_recorder_start(&plan);
 *	}
 *
 *	static __thread struct gn_record_stream calls;
 *	...
 *	gn_recorder_append(&calls, CALL, &call);
 *
 * A child that is forked gets a file of its own at its first record. A file is closed when its
 * process exits; after _exit, exec or a kill it is as readable, and says that it was not closed.
 *
 * Link with libgnomon-runtime.a and libgnomon-core.a. The library is not to be unloaded
 * (-Wl,-z,nodelete), as its process's end comes to it.
 */
#ifndef GNOMON_RECORDER_H
#define GNOMON_RECORDER_H

#include "record_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What its files are called: HOST.PID.NANOSECONDS.CAPABILITY.gnrec. */
struct gn_recorder_plan {
	const char *capability; /* by whose name `gnomon run` knows who records */
	const struct gn_record_kind *kinds;
	uint32_t n_kinds;
	/* Of each file; 0: GN_RECORD_CAPACITY. Of a limit of address space a sixteenth at most. */
	uint64_t capacity_bytes;
	void (*opened)(void); /* writes what each file is to begin with; NULL: nothing */
};

/*
 * Begins to record. The plan stays where it is. 0; -ENOENT: this process is not measured, or not
 * for this capability: nothing is recorded; -EALREADY: it was called before; or the negative errno
 * of gn_record_file_open(), which was said on stderr.
 */
int gn_recorder_start(const struct gn_recorder_plan *plan);

/* The file of this process, NULL where nothing is recorded. */
struct gn_record_file *gn_recorder_file(void);

static inline int gn_recorder_append(struct gn_record_stream *stream, uint32_t kind,
				     const void *record)
{
	return gn_record_append(stream, gn_recorder_file(), kind, record);
}

static inline int gn_recorder_append_text(struct gn_record_stream *stream, uint32_t kind,
					  uint32_t number, const char *text, size_t length)
{
	return gn_record_append_text(stream, gn_recorder_file(), kind, number, text, length);
}

#ifdef __cplusplus
}
#endif

#endif
