/*
 * The raw file: what sections have measured so far, mapped into the measured program, so that it is
 * there however the program ends. hpmTerminate makes its output from it, and so does
 * `gnomon repair` after a kill.
 *
 * In the byte order of the machine that writes it:
 *
 *	struct hpm_raw_header, then at the offsets that it names
 *	struct hpm_raw_pack[n_packs]	   kernel groups of native events
 *	struct hpm_raw_event[n_events]	   events, and what each is made of
 *	struct hpm_raw_group[n_groups]	   which events are one item of the output
 *	char[environment_bytes]		   "HPM_STDOUT=yes\0..." as it was at hpmInit
 *	costs, HPM_KINDS of them:	   two times uint64_t[n_words], see hpm_raw_cost()
 *	slots, each slot_bytes:		   struct hpm_raw_slot, and two struct hpm_raw_copy
 *
 * Of the two copies the one numbered `sequence & 1` holds. A stop writes the other one and then
 * counts up: wherever the process dies, one copy is whole.
 */
#ifndef GNOMON_HPM_SECTION_FILE_H
#define GNOMON_HPM_SECTION_FILE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HPM_RAW_MAGIC "\211HPMRAW\n"
#define HPM_RAW_BYTE_ORDER 0x01020304u
#define HPM_RAW_VERSION 3u

#define HPM_RAW_EVENTS_MAX 1024
#define HPM_RAW_PACKS_MAX 256
#define HPM_RAW_GROUPS_MAX 256
#define HPM_RAW_WORDS_MAX 8192
#define HPM_RAW_SECTIONS_MAX (1 << 24)
#define HPM_RAW_ENVIRONMENT_MAX (1 << 20)
#define HPM_RAW_NATIVES_MAX 64
#define HPM_RAW_OPS_MAX 192
#define HPM_RAW_STACK_MAX 64
#define HPM_RAW_RUSAGE 16
#define HPM_USAGE_WORDS 4
#define HPM_KINDS 2

/* Bits of hpm_raw_header.flags. */
#define HPM_RAW_EXCLUSIVE 1u /* exclusive values of all sections were asked for */
#define HPM_RAW_TURNS 2u     /* pack 0 is a clock: some packs take turns */
#define HPM_RAW_KEPT 4u	     /* they are there of all, asked for or not: for `gnomon run` */

struct hpm_raw_header {
	char magic[8]; /* written last */
	uint32_t byte_order;
	uint32_t version;
	uint32_t flags;
	uint32_t slot_bytes;
	uint32_t n_words; /* of a snapshot: of every pack {number, enabled, running, counts}, then
			     starts and stops by enum hpm_kind, and
			     CPU time in user mode and in the kernel, in microseconds */
	uint32_t n_packs;
	uint32_t n_events;
	uint32_t n_groups;
	uint64_t packs;
	uint64_t events;
	uint64_t groups;
	uint64_t environment;
	uint64_t environment_bytes;
	uint64_t costs;
	uint64_t slots;
	_Atomic uint32_t n_slots;
	uint32_t pid;
	int32_t task;	      /* of MPI, -1: none */
	uint32_t is_child;    /* forked from a process that called hpmInit */
	uint64_t ticks;	      /* of the clock of all sections, at hpmInit */
	uint64_t realtime_ns; /* CLOCK_REALTIME at the same moment */
	double ticks_hz;
	double rusage[HPM_RAW_RUSAGE]; /* at hpmInit */
	char host[256];
	char program[1024]; /* hpmInit's */
	char command[1024]; /* path of the executable */
	char asked[1024];   /* events or groups, as they were asked for */
};

struct hpm_raw_pack {
	uint32_t n;
	uint32_t word; /* where it begins in a snapshot */
	uint32_t is_turning;
	uint32_t zero;
};

/* One step of a postfix program: enum gn_op_kind. */
struct hpm_raw_op {
	uint32_t kind;
	uint32_t native;
	double constant;
};

/* n_ops == 0: the sum of factor[i] times native i; else what the program gives. */
struct hpm_raw_event {
	char name[256];
	char component[32];
	char unit[16];
	char description[1024];
	char reason[512]; /* why it is not counted; "" if it is */
	double scale;
	uint32_t modes;
	uint32_t flags; /* of hpm_event_info */
	uint32_t n_natives;
	uint32_t n_ops;
	struct {
		uint32_t pack;
		uint32_t word; /* of its count */
		int64_t factor;
	} native[HPM_RAW_NATIVES_MAX];
	struct hpm_raw_op op[HPM_RAW_OPS_MAX];
};

struct hpm_raw_group {
	char name[256];
	uint32_t first;
	uint32_t n;
};

/* Kinds of sections. */
enum hpm_kind {
	HPM_PROCESS, /* hpmStart: all threads and processes */
	HPM_THREAD,  /* hpmTstart: the calling thread */
};

/*
 * In a snapshot of n_words, where those of a kind stand: how many starts and stops there were until
 * then, that with the snapshot too, of those who are counted.
 */
static inline uint32_t hpm_raw_calls_word(uint32_t n_words, int kind)
{
	return n_words - HPM_USAGE_WORDS + (uint32_t)kind;
}

#define HPM_LABEL_MAX 256
#define HPM_FILE_MAX 512
#define HPM_MODULE_MAX 1024
#define HPM_BUILD_ID_MAX 80

struct hpm_raw_slot {
	int32_t id;
	int32_t parent; /* of the last start, 0: none */
	uint32_t kind;
	uint32_t is_exclusive; /* exclusive values were asked for */
	uint32_t is_active;
	int32_t thread;
	_Atomic uint32_t sequence;
	int32_t line;	/* of the source, 0: not known */
	uint32_t place; /* that starts it, a number of its stack; 0: of no or of any */
	uint32_t zero;
	uint64_t overhead_ticks; /* in the calls that start and stop it */
	uint64_t nested;	 /* stops of starts within it, which measure nothing */
	char label[HPM_LABEL_MAX];
	char file[HPM_FILE_MAX];
	/* Of the first start, where no place in the source was told: */
	uint64_t offset;		 /* its address as the module's file has it, */
	char module[HPM_MODULE_MAX];	 /* which program or library that is; "": not known */
	char build_id[HPM_BUILD_ID_MAX]; /* of it, in hexadecimal digits; "" if it has none */
};

/* One set of totals and, from `exclusive_count` on, those of exclusive values. */
struct hpm_raw_copy {
	uint64_t count; /* stops */
	uint64_t wall_ticks;
	uint64_t first_ticks; /* first start and last stop */
	uint64_t last_ticks;
	uint64_t lost; /* starts or stops whose counters could not be read */
	uint64_t exclusive_count;
	uint64_t exclusive_ticks;
	uint64_t word[]; /* n_words, and as many of exclusive values */
};

static inline size_t hpm_raw_copy_bytes(uint32_t n_words)
{
	return sizeof(struct hpm_raw_copy) + 2 * (size_t)n_words * sizeof(uint64_t);
}

static inline size_t hpm_raw_slot_bytes(uint32_t n_words)
{
	return sizeof(struct hpm_raw_slot) + 2 * hpm_raw_copy_bytes(n_words);
}

static inline struct hpm_raw_copy *hpm_raw_copy_of(struct hpm_raw_slot *slot, uint32_t n_words,
						   uint32_t sequence)
{
	char *first = (char *)(slot + 1);

	return (struct hpm_raw_copy *)(first + (sequence & 1) * hpm_raw_copy_bytes(n_words));
}

/* The tables of a raw file, in memory. */
struct hpm_raw {
	struct hpm_raw_header *header;
	struct hpm_raw_pack *pack;
	struct hpm_raw_event *event;
	struct hpm_raw_group *group;
	char *environment;
	uint64_t *costs;
	char *slots;
};

/*
 * What a start and a stop with nothing between them count at the least: of sections of a kind, by
 * words of a snapshot. Between their own two snapshots or, is_pair, in a section around them.
 */
static inline uint64_t *hpm_raw_cost(const struct hpm_raw *raw, int kind, int is_pair)
{
	return raw->costs + (size_t)(2 * kind + is_pair) * raw->header->n_words;
}

static inline struct hpm_raw_slot *hpm_raw_slot_at(const struct hpm_raw *raw, uint32_t i)
{
	return (struct hpm_raw_slot *)(raw->slots + (size_t)i * raw->header->slot_bytes);
}

/* --- writing: section_file.c
 * ----------------------------------------------------------------------------*/

/* What a file is made from; the header's counts and offsets are filled in. */
struct hpm_raw_plan {
	struct hpm_raw_header header;
	struct hpm_raw_pack pack[HPM_RAW_PACKS_MAX];
	struct hpm_raw_group group[HPM_RAW_GROUPS_MAX];
	struct hpm_raw_event *event; /* [header.n_events] */
	char *environment;
};

struct hpm_raw_file {
	struct hpm_raw raw;
	int fd; /* -1: there is no file, only memory */
	char path[4096];
	size_t reserved_bytes; /* of address space */
	size_t ready_bytes;    /* of the file */
	uint32_t n_max;
};

/*
 * Makes the file for at most n_max sections. If `path` is taken, `other` is tried. A negative errno
 * where there can be no file: the sections then are in memory alone.
 */
int hpm_raw_create(struct hpm_raw_file *file, const struct hpm_raw_plan *plan, uint32_t n_max,
		   const char *path, const char *other);

/* Another slot, zero but for its id; NULL if there is no more room. */
struct hpm_raw_slot *hpm_raw_add(struct hpm_raw_file *file, int id);

/* The output has been written: the file goes. The mapping stays, as threads may still look at it.
 */
void hpm_raw_remove(struct hpm_raw_file *file);

/* --- reading: section_file_read.c
 * -----------------------------------------------------------------------*/

/*
 * Reads and checks a whole file; 0, or -1 and why. `raw` then points into memory that
 * hpm_raw_free() gives back.
 */
int hpm_raw_read(const char *path, struct hpm_raw *raw, char *why, size_t size);
void hpm_raw_free(struct hpm_raw *raw);

#endif
