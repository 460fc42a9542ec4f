/*
 * What libhpm and hpmcount measured, as it is handed to an aggregator and from there to the output:
 * a vector of items, each the counts of one group of events in one section.
 *
 * Source: HPM Toolkit User's Guide 3.2.2, section 2.7.6, which leaves hpm_event_info open; the
 * members of hpm_data_item after xml_descr are Gnomon's. Memory of a vector belongs to who made it.
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

/* hpm_event_info.how, from what is known best to what is known least */
#define HPM_UNAVAILABLE (-1) /* value is NaN, and `reason` says why */
#define HPM_COUNTED 0
#define HPM_SCALED 1 /* counted for a part of the time, and extrapolated */
#define HPM_SAMPLED 2
#define HPM_EMULATED 3
#define HPM_MODELLED 4
#define HPM_ESTIMATED 5

/* hpm_event_info.modes: those it was counted in, added up; 0 for what has none, such as a time */
#define HPM_MODE_USER 1
#define HPM_MODE_KERNEL 2
#define HPM_MODE_HYPERVISOR 4
#define HPM_MODE_ALL 7

/* hpm_event_info.flags */
#define HPM_IS_DERIVED 1   /* a formula's value: does not add up over threads or cores */
#define HPM_IS_NODE_WIDE 2 /* covers the whole machine, not only the program */

/* One event, or one field of the resource usage. NULL is as good as "". */
typedef struct {
	char *name; /* as the user gave it; with the PMU where a hybrid CPU makes it several */
	char *unit; /* "" for a plain count */
	char *description;
	char *reason; /* "" where there is a value */
	double value; /* in `unit`, scaled */
	double enabled_s;
	double running_s;
	int how;
	int modes;
	int flags;
	char *component; /* what counted it: "cpu", "kernel" ...; "" for resource usage */
} hpm_event_info;

typedef struct {
	int num_data;
	hpm_event_info *data;
	double times[HPM_NTIM];
	int is_mplex_cont; /* goes on with the item before: another group of the same multiplexing
			    */
	int is_rusage;	   /* of getrusage(2), its fields in their order; the first item only */
	int mpi_task_id;   /* -1: not an MPI program */
	int instr_id;	   /* the section; 0 for the whole program */
	int count;	   /* how often it was started */
	int is_exclusive;
	int xml_element_id; /* counted from 1; the same for all items of a section */
	char *description;  /* the section's label, with what is to be said of it; may have lines */
	char *xml_descr;    /* the section's label alone */

	/* Zero or NULL where an aggregator has nothing to say. */
	char *group;	/* whose events these are: "2 BRANCH", or the events as given */
	char *file;	/* where the section was first started */
	int line;	/* in it */
	int parent_id;	/* instr_id of the parent section; 0: it has none */
	int thread_id;	/* that Linux gave; 0: all threads of the process */
	int process_id; /* the same */
} hpm_data_item;

typedef hpm_data_item *hpm_event_vector;

#ifdef __cplusplus
}
#endif

#endif
