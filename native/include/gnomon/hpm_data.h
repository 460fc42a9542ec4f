/*
 * What libhpm and hpmcount measured, as it is handed to an aggregator and from there to the output:
 * a vector of items, each the counts of one group of events in one section.
 *
 * Source: HPM Toolkit users guide 3.2.2, section 2.7.6, which leaves hpm_event_info open. Strings
 * are never NULL. Memory of a vector belongs to who made it.
 */
#ifndef GNOMON_HPM_DATA_H
#define GNOMON_HPM_DATA_H

#ifdef __cplusplus
extern "C" {
#endif

/* Indices of hpm_data_item.times: seconds; NaN where it was not measured. */
#define HPM_NTIM 8
#define HPM_TIME_WALLCLOCK 0 /* in the section */
#define HPM_TIME_CYCLE 1     /* CPU time by the count of cycles */
#define HPM_TIME_USER 2	     /* CPU time in user mode */
#define HPM_TIME_SYSTEM 3    /* CPU time in the kernel */
#define HPM_TIME_START 4     /* first start, since the epoch */
#define HPM_TIME_STOP 5	     /* last stop, since the epoch */
#define HPM_TIME_OVERHEAD 6  /* in the calls that start and stop the section */
#define HPM_TIME_INIT 7	     /* hpmInit, since the epoch */

/* hpm_event_info.how */
#define HPM_UNAVAILABLE (-1) /* value is NaN, and `reason` says why */
#define HPM_COUNTED 0
#define HPM_SCALED 1 /* counted for a part of the time, and extrapolated */

/* One event, or one field of the resource usage. */
typedef struct {
	char *name;
	char *unit; /* "" for a plain count */
	char *description;
	char *reason; /* "" where there is a value */
	double value; /* in `unit`, scaled */
	double enabled_s;
	double running_s;
	int how;
} hpm_event_info;

typedef struct {
	int num_data;
	hpm_event_info *data;
	double times[HPM_NTIM];
	int is_mplex_cont; /* goes on with the item before: another group of the same multiplexing */
	int is_rusage;	   /* of getrusage(2), its fields in their order; the first item only */
	int mpi_task_id;   /* -1: not an MPI program */
	int instr_id;	   /* the section; 0 for the whole program */
	int count;	   /* how often it was started */
	int is_exclusive;
	int xml_element_id;
	char *description; /* the section's label, with what is to be said of it */
	char *xml_descr;   /* the section's label alone */
} hpm_data_item;

typedef hpm_data_item *hpm_event_vector;

#ifdef __cplusplus
}
#endif

#endif
