/*
 * The interface of libmpitrace, as the HPM Toolkit's chapter 4 has it: what a program linked with
 * it may ask about its own calls of MPI, and the functions that it may define to be asked.
 *
 * Names, structures and numbers of routines are those of the chapter; what differs from its print
 * is listed in the documentation ("MPI reference").
 */
#ifndef GNOMON_MPT_H
#define GNOMON_MPT_H

#include <gnomon/mpt_ids.h>

#ifdef __GNUC__
#define MT_API __attribute__((visibility("default")))
#else
#define MT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* All routines together, but for MPI_Init, MPI_Init_thread and MPI_Finalize: for
 * MT_get_allresults(). */
#define ALLMPI_ID 0

/* What MT_get_allresults() is asked for, and the type of its results. */
enum {
	COUNTS = 1,	       /* calls; long long */
	BYTES = 2,	       /* double */
	COMMUNICATIONTIME = 3, /* seconds; double */
	STACK = 4,	       /* bytes of the deepest stack that MPI was called with; double */
	HEAP = 5,	       /* bytes of data and heap that the process has; double */
	MAXSTACKFUNC = 6,      /* ID of the routine that was called with that stack; long long */
	ELAPSEDTIME = 7,       /* seconds since MPI_Init; double */
	AVGHOPS = 8,	       /* double; NaN: no topology is known, or nothing was sent */
};

/* Example 4-5. Hops that are not known are NaN: they come last in order, and count for nothing. */
struct MT_summarystruct {
	int min_rank;
	int max_rank;
	int med_rank;
	void *min_result;
	void *max_result;
	void *med_result;
	void *avg_result; /* always double */
	void *sum_result;
	void *all_result;	 /* by rank; free(3) of this one frees all of the structure */
	void *sorted_all_result; /* the least first */
	int *sorted_rank;
};

/* Example 4-6. Without a topology coordinates are -1 and sizes 0. */
struct MT_envstruct {
	int mpirank;
	int xCoord;
	int yCoord;
	int zCoord;
	int xSize;
	int ySize;
	int zSize;
	int procid; /* as the topology has it; -1: not known */
	int ntasks;
	double clockHz; /* of the clock that calls are timed with */
	int nmpi;	/* IDs are 1 to this */
};

/* Example 4-7. Sizes in MByte. */
struct MT_tracebufferstruct {
	int number_events;
	double total_buffer;
	double used_buffer;
	double free_buffer;
};

/* Example 4-8. Texts are of malloc(3), "" where they are not known. */
struct MT_callerstruct {
	char *filepath;
	char *filename;
	char *funcname;
	int lineno; /* 0: not known */
};

/* Example 4-9. 0: not known. */
struct MT_memorystruct {
	unsigned long max_stack_address;
	unsigned long min_stack_address;
	unsigned long max_heap_address;
};

/* Of this process and all its threads; 0 for what is no ID. */
MT_API long long MT_get_mpi_counts(int id);
MT_API double MT_get_mpi_bytes(int id);
/* Seconds. */
MT_API double MT_get_mpi_time(int id);

/* NaN: no topology is known, or nothing was sent to a rank. */
MT_API double MT_get_avg_hops(void);

/* Seconds since MPI_Init; 0 before it. */
MT_API double MT_get_time(void);
/* Seconds from MPI_Init to MPI_Finalize, before that to now. */
MT_API double MT_get_elapsed_time(void);

/* "MPI_Send"; NULL for what is no ID. Not to be freed. */
MT_API char *MT_get_mpi_name(int id);

/* 0. All zero: nothing is traced yet. */
MT_API int MT_get_tracebufferinfo(struct MT_tracebufferstruct *info);

/*
 * Level 0 is the call of MPI that MT_trace_event() is told of, level 1 the call of the function
 * that it is in; elsewhere level 0 is the call of this function. 0: there is no such level.
 */
MT_API unsigned long MT_get_calleraddress(int level);
/* 0; -1: nothing is known of the address. */
MT_API int MT_get_callerinfo(unsigned long address, struct MT_callerstruct *info);

MT_API void MT_get_environment(struct MT_envstruct *environment);

/*
 * All ranks have to call it with the same arguments, by one thread each, and each gets the results
 * of all. 0; -1: no such type or ID, or MPI is not up.
 */
MT_API int MT_get_allresults(int data_type, int id, struct MT_summarystruct *summary);

/* 0; -1: /proc cannot be read. */
MT_API int MT_get_memoryinfo(struct MT_memorystruct *info);

/* From where to where events are to be traced. Nothing is traced yet, which stderr tells once. */
MT_API void MT_trace_start(void);
MT_API void MT_trace_stop(void);
MT_API void trace_start(void);
MT_API void trace_stop(void);

/*
 * Defined by the program, if it likes. MT_trace_event: after each call of MPI from MPI_Init on, by
 * the thread that made it; what it calls of MPI itself is not counted. MT_output_trace: in
 * MPI_Finalize, whether this rank writes its files. MT_output_text: there, once in each rank, in
 * the place of what would be written to mpi_profile.RANK.
 */
#ifndef MPT_NO_HOOKS
MT_API int MT_trace_event(int id);
MT_API int MT_output_trace(int rank);
MT_API int MT_output_text(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
