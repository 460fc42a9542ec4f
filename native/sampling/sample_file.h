/*
 * The record file of a sampled program (gnomon/record_file.h), written by one thread. What a record
 * refers to by its number was written before it, so that the file can be read however it ends.
 */
#ifndef GNOMON_SAMPLING_SAMPLE_FILE_H
#define GNOMON_SAMPLING_SAMPLE_FILE_H

#include <gnomon/record_file.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of records, in their order. */
enum gn_sample_kind {
	GN_SAMPLE_SETUP, /* one, at the beginning */
	GN_SAMPLE_EVENT, /* texts: what is sampled, as JSON */
	GN_SAMPLE_MODULE,
	GN_SAMPLE_PATH,	 /* texts: paths of modules */
	GN_SAMPLE_PLACE, /* numbered in their order from 0 */
	GN_SAMPLE_NODE,	 /* likewise: the place of a node */
	GN_SAMPLE_BRANCH,
	GN_SAMPLE_PROCESS,
	GN_SAMPLE_THREAD,
	GN_SAMPLE_SAMPLE,
	GN_SAMPLE_LOSS,
	GN_SAMPLE_COST,	  /* one, at the end */
	GN_SAMPLE_KERNEL, /* texts: names of the kernel's functions, by places */
	GN_SAMPLE_TIME,
	GN_SAMPLE_VALUE,
	GN_SAMPLE_DATA,
	GN_SAMPLE_JUMP,
	GN_SAMPLE_WAIT,
	GN_SAMPLE_REST,
	GN_SAMPLE_SPAN,
	GN_SAMPLE_KINDS
};

struct gn_sample_setup {
	uint64_t monotonic_ns; /* CLOCK_MONOTONIC, the clock of all times here, */
	uint64_t realtime_ns;  /* and CLOCK_REALTIME at the same moment */
	uint32_t stack_bytes;  /* copied with each sample */
	uint32_t n_cpus;
};

/* Modules 0 and 1 are always these. */
enum { GN_MODULE_KERNEL, GN_MODULE_CUT, GN_MODULES_RESERVED };

enum gn_module_kind {
	GN_MODULE_IS_KERNEL, /* offsets are addresses */
	GN_MODULE_IS_CUT,  /* the root of a stack without its outermost part; enum gn_unwind_end */
	GN_MODULE_IS_FILE, /* offsets are addresses as linked */
	GN_MODULE_IS_JIT,  /* no file: addresses in the process `pid` */
};

struct gn_sample_module {
	uint32_t module;
	uint32_t kind;
	int32_t pid; /* that mapped it first */
	uint32_t build_id_bytes;
	uint8_t build_id[64];
	uint64_t inode; /* of a file, 0: not known */
};

struct gn_sample_place {
	uint64_t offset;
	uint32_t module;
	uint32_t zero;
};

struct gn_sample_node {
	uint32_t place;
};

/* The parent of a node (GN_PATH_NONE: it is a root) where it is not the node before it. */
struct gn_sample_branch {
	uint32_t node;
	uint32_t parent;
};

/* The last record of a number holds. */
struct gn_sample_process {
	uint32_t process;
	int32_t pid;
	char name[16];
};

struct gn_sample_thread {
	uint32_t thread;
	uint32_t process;
	int32_t tid;
	char name[16];
};

struct gn_sample_sample {
	uint64_t time_ns;
	uint64_t weight; /* how much of the event it stands for */
	uint32_t thread;
	uint32_t node; /* GN_PATH_NONE: there was no memory for any */
	uint16_t cpu;
	uint16_t event;
	uint8_t end; /* enum gn_unwind_end */
	uint8_t flags;
	uint16_t zero;
};

enum {
	GN_SAMPLE_GUESSED = 1u << 0,	 /* frames of its stack were guessed */
	GN_SAMPLE_SHORTENED = 1u << 1,	 /* its innermost frames are missing: no memory for paths */
	GN_SAMPLE_KERNEL_ONLY = 1u << 2, /* it has no user stack */
	GN_SAMPLE_SIGNALLED = 1u << 3, /* its thread was told by a signal, to read its own frames */
	GN_SAMPLE_LOOKED = 1u << 4,    /* of a wait: its stack was read while it lasted */
};

/* What an event that is read at samples of another one counted since that one's last sample. */
struct gn_sample_value {
	uint64_t value;
	uint32_t sample; /* by the order of samples, from 0 */
	uint32_t event;
};

/* Which data a sample was taken at. */
struct gn_sample_data {
	uint64_t address;
	uint64_t source;  /* union perf_mem_data_src; 0: not known */
	uint64_t latency; /* PERF_SAMPLE_WEIGHT; 0: not known */
	uint32_t sample;
	uint32_t zero;
};

/* A branch that was taken before a sample, as the PMU recorded it: the last one comes first. */
struct gn_sample_jump {
	uint32_t from_place; /* GN_PATH_NONE: the process has no code there */
	uint32_t to_place;   /* likewise */
	uint32_t sample;
	uint16_t cycles; /* since the branch before; 0: not known */
	uint8_t flags;
	uint8_t zero;
};

/* With neither of the first two it is not known whether the branch was predicted. */
enum {
	GN_JUMP_MISPREDICTED = 1u << 0,
	GN_JUMP_PREDICTED = 1u << 1,
	GN_JUMP_IN_TRANSACTION = 1u << 2,
	GN_JUMP_ABORTS = 1u << 3, /* the transaction */
};

/*
 * A wait: its sample has when it began, how many nanoseconds it took, and where. Waits come in the
 * order of their ends.
 */
struct gn_sample_wait {
	uint64_t woken_ns; /* when the thread could run again; 0: not known */
	uint64_t subject;  /* address of the futex that it waited for; 0: not known */
	uint32_t sample;
	int32_t waker;	/* tid of who woke it, 0: not known */
	int32_t holder; /* tid of who owned what is at `subject`, if that is a mutex; 0: nobody */
	uint8_t call;	/* enum gn_wait_call and gn_wait_file */
	uint8_t flags;
	uint16_t zero;
};

enum {
	GN_WAIT_RUNNABLE = 1u << 0,	/* it waited for nothing but a CPU */
	GN_WAIT_BY_INTERRUPT = 1u << 1, /* an interrupt woke it: a timer, a device */
};

/* Durations are told apart by powers of two, of nanoseconds. */
#define GN_WAIT_DURATIONS 48u

/* Waits whose stacks are not known, of a thread: their records add up. */
struct gn_sample_rest {
	uint64_t ns;
	uint32_t n;
	uint32_t thread;
	uint16_t duration; /* each was at least 1 << duration ns, the last class has all longer ones
			    */
	uint8_t is_runnable;
	uint8_t zero;
	uint32_t zeros;
};

/* From when to when a thread was measured. */
struct gn_sample_span {
	uint64_t begin_ns, end_ns;
	uint32_t thread;
	uint32_t zero;
};

enum gn_loss_kind {
	GN_LOSS_SAMPLES,   /* the kernel had no room in the ring */
	GN_LOSS_THROTTLED, /* the kernel took no samples for a while */
	GN_LOSS_SPOILT,	   /* what was in a ring was no record */
	GN_LOSS_MEMORY,	   /* no memory for a thread or process */
	GN_LOSS_PROCESS,   /* a process is not sampled: no events could be opened for it */
	GN_LOSS_SWITCHES,  /* waits are recorded no longer: there were so many in a second */
};

struct gn_sample_loss {
	uint64_t time_ns;
	uint64_t count;
	uint32_t kind;
	uint32_t cpu;
};

/* CPU time of the thread that reads, up to the end of the last sample. */
struct gn_sample_cost {
	uint64_t cpu_ns;
	uint64_t ring_bytes; /* of each CPU */
	uint64_t left_out;   /* samples of processes which have events of their own beside those */
};

/* CPU time of a thread where a clock is not sampled in each mode: its records add up. */
struct gn_sample_time {
	uint64_t counted_ns;
	int32_t tid;
	uint32_t zero;
};

struct gn_sample_file {
	struct gn_record_file *file;
	struct gn_record_stream stream[GN_SAMPLE_KINDS];
};

/* Makes the file. 0 or a negative errno, of gn_record_file_open(). */
int gn_sample_file_open(struct gn_sample_file *file, const char *path, int32_t rank);
void gn_sample_file_close(struct gn_sample_file *file);

/* A refusal is counted in the file, and ends sampling: see gn_record_file_status(). */
void gn_sample_append(struct gn_sample_file *file, enum gn_sample_kind kind, const void *record);
void gn_sample_append_text(struct gn_sample_file *file, enum gn_sample_kind kind, uint32_t number,
			   const char *text);

#endif
