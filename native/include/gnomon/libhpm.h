/*
 * Sections of a program and what the hardware counted in them: IBM's HPM interface.
 *
 *	hpmInit(0, "my program");
 *	hpmStart(1, "outer call");
 *	work();
 *	hpmStop(1);
 *	hpmTerminate(0);
 *
 * hpmStart and hpmStop count all threads and processes of the program; hpmTstart and hpmTstop only
 * the thread that calls them. Nothing here returns an error or ends the program: hpm_error_count
 * says how much went wrong, and a line on stderr what. Source: HPM Toolkit users guide 3.2.2,
 * section 3.7.
 */
#ifndef GNOMON_LIBHPM_H
#define GNOMON_LIBHPM_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HPM_API __attribute__((visibility("default")))
#else
#define HPM_API
#endif

/* For par_ID, instead of the number of a section. */
#define HPM_AUTO_PARENT (-1)	/* the last section of the same kind that this thread started */
#define HPM_ONLY_EXCLUSIVE (-2) /* the same, and exclusive values of this section */
#define HPM_NO_PARENT (-3)

/* How many calls went wrong. */
extern HPM_API int hpm_error_count;

/* taskID is of no meaning any more. progName: the name of the output, without HPM_OUTPUT_NAME. */
HPM_API void hpmInit(int taskID, const char *progName);
HPM_API void hpmTerminate(int taskID);

/* instID: 1 to 1000, or less than HPM_NUM_INST_PTS. The label of the first start is kept. */
HPM_API void hpmStart(int instID, const char *label);
HPM_API void hpmStartx(int instID, int par_ID, const char *label);
HPM_API void hpmStop(int instID);

HPM_API void hpmTstart(int instID, const char *label);
HPM_API void hpmTstartx(int instID, int par_ID, const char *label);
HPM_API void hpmTstop(int instID);

/*
 * Seconds since hpmInit, and what the calling thread's counters counted since then (or since the
 * first call of the thread): the first numCounters events, in the order of the output; -1 for an
 * event that is not counted.
 */
HPM_API void hpmGetTimeAndCounters(int numCounters, double *time, long long *values);

/* The same of all events. */
HPM_API void hpmGetCounters(long long *values);

/*
 * Not of the guide. For libraries, which know neither whether the program has called hpmInit nor
 * which numbers it takes. The first is hpmInit, unless that was called before; it never complains.
 */
HPM_API void hpmInitOnce(const char *progName);

/* hpmTerminate, unless it was called before, or nothing was begun: for those who end by _exit(2).
 */
HPM_API void hpmTerminateOnce(void);

/*
 * A number that no section has, above those that programs choose: 0, after an error that was
 * reported, if there is none. The output says that the section is at this place; file may be NULL.
 * Numbers stay those of their owner in a forked child, too.
 */
HPM_API int hpmNewID(const char *file, int line);

/*
 * Says where a section that is not started yet is in the source. Without it `gnomon run` looks into
 * the debug information. 1; or 0: no section can have the number now, as its start will report.
 */
HPM_API int hpmPlace(int instID, const char *file, int line);

/*
 * For languages with call stacks of their own. Whether values of sections are kept by the place
 * that these are started from (HPM_CALL_PATHS); then hpmCalledFrom says for the next start of the
 * calling thread which place that is. `stack` stays as it is until the program ends, and is the
 * same pointer for the same place. Of each function, the outermost first, it has a line "python
 * LINE FUNCTION\tFILE\n".
 */
HPM_API int hpmKeepsPlaces(void);
HPM_API void hpmCalledFrom(const char *stack);

#ifdef __cplusplus
}
#endif

#endif
