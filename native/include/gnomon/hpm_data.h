/*
 * What HPM measured, as aggregators get it and as it is written.
 * Source: HPM Toolkit User's Guide 3.2.2, section 2.7.6; hpm_spread, hpm_event_info, which the
 * guide leaves open, and the members of hpm_data_item after xml_descr are Gnomon's.
 */
#ifndef GNOMON_HPM_DATA_H
#define GNOMON_HPM_DATA_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Places in hpm_data_item.times, in seconds; NaN for what is not known. CYCLE is the wall clock by
 * the processor's time counter; START, STOP and INIT (of hpmInit) are seconds since the epoch.
 */
#define HPM_NTIM 8
#define HPM_TIME_WALLCLOCK 0
#define HPM_TIME_CYCLE 1
#define HPM_TIME_USER 2
#define HPM_TIME_SYSTEM 3
#define HPM_TIME_START 4
#define HPM_TIME_STOP 5
#define HPM_TIME_OVERHEAD 6
#define HPM_TIME_INIT 7

/* How a value came to be, from what is known best to what is known least; -1: there is none. */
#define HPM_UNAVAILABLE (-1)
#define HPM_COUNTED 0
#define HPM_SCALED 1
#define HPM_SAMPLED 2
#define HPM_EMULATED 3
#define HPM_MODELLED 4
#define HPM_ESTIMATED 5

/* Modes that an event was counted in, added up; 0 for what has none, such as a time. */
#define HPM_MODE_USER 1
#define HPM_MODE_KERNEL 2
#define HPM_MODE_HYPERVISOR 4
#define HPM_MODE_ALL 7

/* Bits of hpm_event_info.flags. */
#define HPM_IS_DERIVED 1   /* a formula's value: does not add up over threads or cores */
#define HPM_IS_NODE_WIDE 2 /* covers the whole machine, not only the program */
#define HPM_IS_NET 4	   /* less what starts and stops of sections counted themselves */

/*
 * A value over the tasks of a job. What is not known is NaN, or -1 for a task. The value itself
 * stands beside it: the mean, the extreme, or whatever the aggregator makes of the tasks' values.
 */
typedef struct {
	int n; /* tasks that had a value; the others have no part in it */
	double minimum;
	double maximum;
	double deviation; /* standard deviation of the tasks' values, n - 1 in the denominator */
	int min_task;	  /* the lowest MPI task that has the minimum */
	int max_task;
	int n_bins;	       /* of a histogram: of equal width from minimum to maximum; 0: none */
	const long long *bins; /* tasks in each; a value on a boundary is in the upper one, maximum
				  in the last */
} hpm_spread;

/* One event, or one field of getrusage(2). NULL is as good as "". */
typedef struct {
	char *name;	   /* as the user gave it, ru_utime ... for resource usage */
	char *component;   /* what counted it: "cpu", "kernel", ...; "" for resource usage */
	char *unit;	   /* of `value`; "" for a plain count */
	char *description; /* one line, or "" */
	char *reason;	   /* why there is no value, with the remedy; "" if there is one */
	double value;	   /* scaled for multiplexing; NaN if HPM_UNAVAILABLE */
	double enabled_s;  /* for how long it was meant to count, */
	double running_s;  /* and for how long it really did */
	int how;
	int modes;
	int flags;
	hpm_spread *spread; /* over the tasks; NULL for one task's own value */
} hpm_event_info;

typedef struct {
	int num_data;
	hpm_event_info *data;
	double times[HPM_NTIM];
	int is_mplex_cont;
	int is_rusage;	 /* data: the fields of getrusage(2) in its order */
	int mpi_task_id; /* -1: not an MPI program */
	int instr_id;	 /* the section; 0 for the whole program */
	int count;	 /* of calls */
	int is_exclusive;
	int xml_element_id; /* the same for everything of one section; 0: none */
	char *description;  /* printed before the item; may have several lines; or NULL */
	char *xml_descr;    /* the same for the XML output */

	/* Gnomon's own; zero or NULL where an aggregator does not know better. */
	char *label;	    /* of the section, as hpmStart got it */
	char *group;	    /* whose events these are: "2 BRANCH", or the list of events */
	char *file;	    /* where the section was started first */
	char *parent_label; /* of `parent_id` */
	int line;
	int parent_id; /* instr_id of the parent section, 0 if it has none */
	int thread_id; /* that Linux gave; 0: all threads of the process */
	int process_id;
	int n_tasks;		  /* that this is of; 0: one task's own, */
	char *tasks;		  /* and which: "0-31,40"; NULL */
	hpm_spread *times_spread; /* HPM_NTIM of them, as in `times`; NULL */
} hpm_data_item;

typedef hpm_data_item *hpm_event_vector;

#ifdef __cplusplus
}
#endif

#endif
