/*
 * What a process has called so far of what is measured, as MPI: a file that is mapped into it, so
 * that it is there however the process ends. It has records of 64 bytes, numbers of which are
 * changed in place by the one thread that they belong to, and nothing else.
 *
 *	struct gn_totals_header, in its first page
 *	names of routines, GN_TOTALS_NAME_BYTES each, from header.names on
 *	records, from header.records on, in chunks that a thread takes for itself: struct
 * gn_mpi_record
 *
 * A record of kind 0 is one that its thread has not used yet. All in the byte order of the machine.
 */
#ifndef GNOMON_TOTALS_FILE_H
#define GNOMON_TOTALS_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#define GN_TOTALS_MAGIC "\211GNMPI\n"
#define GN_TOTALS_BYTE_ORDER 0x01020304u
#define GN_TOTALS_VERSION 1u
#define GN_TOTALS_NAME_BYTES 40u
#define GN_TOTALS_RECORD_BYTES 64u
#define GN_TOTALS_CHUNK_RECORDS 16u
#define GN_TOTALS_NONE UINT32_MAX
#define GN_TOTALS_IS_CODE (1u << 31)

/* Bits of gn_mpi_header.flags. */
#define GN_TOTALS_CLOSED 1u	 /* the process ended by itself */
#define GN_TOTALS_FINALIZED 2u	 /* MPI_Finalize was called */
#define GN_TOTALS_SPAWNED 4u	 /* another program started it, in a MPI_COMM_WORLD of its own */
#define GN_TOTALS_HAS_MODULES 8u /* files had modules of MIO */

struct gn_totals_header {
	char magic[8]; /* written last */
	uint32_t byte_order;
	uint32_t version;
	uint32_t header_bytes;
	uint32_t flags;
	uint64_t features; /* as in a record file: none yet */
	uint32_t n_routines;
	uint32_t pid;
	uint64_t names;
	uint64_t records;
	_Atomic uint64_t tail; /* where the next chunk begins */
	_Atomic uint64_t lost; /* records that there was no room for */
	uint64_t realtime_ns;  /* of the file's beginning, and gn_bare_ticks() then */
	uint64_t ticks;
	double ticks_hz;
	uint64_t up_ticks;   /* when MPI_Init returned; 0: never */
	uint64_t down_ticks; /* when MPI_Finalize was called; 0: never */
	int32_t rank;	     /* in MPI_COMM_WORLD, as MPI says; -1: it was not up */
	int32_t n_ranks;
	int32_t thread_level;
	uint32_t zero;
	/* What was measured of the profile itself, in ticks: a call; and of an operation that has a
	 * request, what that and its completion cost beyond the calls. 0: not measured. */
	uint64_t cost_ticks_call, cost_ticks_nonblocking;
	char host[256];
	char library[256];  /* MPI_Get_library_version's first line */
	char name[16];	    /* of the process, as the kernel has it */
	char program[1024]; /* the path of what it executes */
	char job[64]; /* as its launcher calls it, which has one for each MPI_COMM_WORLD; "" */
};

enum gn_totals_kind {
	GN_TOTALS_UNUSED,
	GN_TOTALS_THREAD,
	GN_TOTALS_SITE,
	GN_TOTALS_SIZE,
	GN_TOTALS_MESSAGES,
	GN_TOTALS_COMMUNICATOR,
	GN_TOTALS_FRAME,
	GN_TOTALS_MODULE,
	GN_TOTALS_TEXT,
	GN_TOTALS_WAITING,
	GN_TOTALS_CODE, /* of texts alone: a Python function, its file, a newline and its name */
	GN_TOTALS_FILE,
	GN_TOTALS_ACCESS,
	GN_TOTALS_PROCESS_IO,
};

struct gn_thread_record {
	uint16_t kind, zero;
	uint32_t thread; /* its number */
	int32_t tid;
	uint32_t zero_12;
	char name[16];
	uint64_t last_ticks; /* when its last call ended */
	uint64_t zero_40[3];
};

/* Calls of a routine from a place, with a communicator or a file. */
struct gn_site_record {
	uint16_t kind, routine;
	uint32_t thread;
	uint32_t object; /* its number; GN_TOTALS_NONE: the routine has none */
	uint32_t frame;	 /* the innermost one, of the call; GN_TOTALS_NONE: not known */
	uint64_t calls;
	uint64_t sent, received; /* bytes; with files those that were asked for, and delivered */
	uint64_t ticks;
	uint64_t most_ticks; /* of a call */
	union {
		uint64_t completion_ticks; /* in Wait and Test, of what was started here */
		uint64_t failures;	   /* of calls with files */
	};
};

/* Calls of a routine that moved so much: 0, or above 2^(class - 2) up to 2^(class - 1) bytes.
 */
struct gn_size_record {
	uint16_t kind, routine;
	uint32_t thread;
	uint32_t class;
	uint32_t file; /* its number; of messages 0 */
	uint64_t calls, bytes, ticks;
	uint64_t zero_40[3];
};

/* What was sent to a rank from a site. */
struct gn_messages_record {
	uint16_t kind, zero;
	uint32_t thread;
	uint32_t site; /* by its place among the records */
	int32_t peer;  /* its rank in MPI_COMM_WORLD; -1: it has none there */
	uint64_t messages, bytes;
	uint64_t most_bytes;
	uint64_t zero_40[3];
};

struct gn_communicator_record {
	uint16_t kind, flags; /* 1: an inter-communicator */
	uint32_t communicator;
	int32_t rank, size, remote_size;
	int32_t first; /* rank in MPI_COMM_WORLD of its rank 0; -1: it has none there */
	uint64_t zero_24[5];
};

/* A frame of a call stack, and the one that called it. */
struct gn_frame_record {
	uint16_t kind, zero;
	uint32_t frame;
	uint32_t caller; /* GN_TOTALS_NONE: it is the outermost that is known */
	uint32_t module; /* or of a Python function its number with GN_TOTALS_IS_CODE */
	uint64_t offset; /* of the call, as the module's file has addresses; in Python its line */
	uint64_t zero_24[5];
};

struct gn_module_record {
	uint16_t kind, build_id_bytes;
	uint32_t module;
	uint8_t build_id[32];
	uint64_t zero_40[3];
};

/* A part of a text: of a module its path, of a communicator its name. */
struct gn_text_record {
	uint16_t kind, of; /* enum gn_totals_kind */
	uint32_t number;   /* of the module or communicator */
	uint32_t part;	   /* from 0 */
	uint32_t zero;
	char text[48];
};

/* How long calls from a site waited for the last rank to come, where a barrier told: a part of the
 * site's ticks. */
struct gn_waiting_record {
	uint16_t kind, zero;
	uint32_t thread;
	uint32_t site; /* by its place among the records */
	uint32_t zero_12;
	uint64_t calls; /* that a barrier came before */
	uint64_t ticks;
	uint64_t zero_32[4];
};

/* A file that calls were about. Its path is a text. */
struct gn_file_record {
	uint16_t kind, type; /* enum gn_file_type */
	uint32_t file;
	uint64_t device, inode;	     /* 0: not asked for */
	uint64_t bytes;		     /* its size when it was first opened */
	uint64_t block_bytes;	     /* what its file system would have requests be a multiple of */
	_Atomic uint32_t how_opened; /* bits of enum gn_file_opened, of all its descriptors */
	uint32_t zero_44;
	uint64_t zero_48[2];
};

enum gn_file_opened {
	GN_FILE_APPENDED = 1,
	GN_FILE_DIRECT = 2,	 /* O_DIRECT */
	GN_FILE_SYNCHRONOUS = 4, /* O_SYNC or O_DSYNC */
	GN_FILE_INHERITED = 8,	 /* the process got the descriptor from another one */
};

enum gn_file_type {
	GN_FILE_UNKNOWN, /* known by its path alone, or it does not exist */
	GN_FILE_REGULAR,
	GN_FILE_DIRECTORY,
	GN_FILE_PIPE,
	GN_FILE_SOCKET,
	GN_FILE_TERMINAL,
	GN_FILE_DEVICE,
	GN_FILE_OTHER,
};

/*
 * Reads, or writes, of a file by a thread: how they were placed. A request that begins before the
 * end of the last one of the same open file went backward, one that begins behind it forward.
 */
struct gn_access_record {
	uint16_t kind, writes; /* 1: these are writes */
	uint32_t thread;
	uint32_t file;
	uint32_t unaligned; /* requests that are no whole blocks */
	uint64_t forward, forward_bytes;
	uint64_t backward, backward_bytes;
	uint64_t end;	/* of the request that reached furthest */
	uint64_t opens; /* with `writes` 0: descriptors that were opened */
};

/* What the kernel counted of calls that move bytes (proc(5), io), and of pages that it had to
 * fetch. Of bytes a process has those of children, too, from when it has waited for them. */
struct gn_process_io_record {
	uint16_t kind, is_last; /* 0: before the program's first call, all 0 after a fork */
	uint32_t parent;
	uint64_t read_bytes, written_bytes;		  /* rchar, wchar */
	uint64_t thread_read_bytes, thread_written_bytes; /* of the thread that tells it, alone */
	uint64_t device_read_bytes, device_written_bytes;
	uint64_t major_faults; /* without children */
};

union gn_totals_record {
	_Atomic uint16_t kind;
	struct gn_thread_record thread;
	struct gn_site_record site;
	struct gn_size_record size;
	struct gn_messages_record messages;
	struct gn_communicator_record communicator;
	struct gn_frame_record frame;
	struct gn_module_record module;
	struct gn_text_record text;
	struct gn_waiting_record waiting;
	struct gn_file_record file;
	struct gn_access_record access;
	struct gn_process_io_record process_io;
};

static inline uint32_t gn_size_class(uint64_t bytes)
{
	return bytes <= 1 ? bytes == 1 : 65 - (uint32_t)__builtin_clzll(bytes - 1);
}

/* Where a thread takes its records. */
struct gn_totals_chunk {
	union gn_totals_record *next;
	uint32_t n;
};

/* Who writes: the name of the capability, and of its routines by their numbers. */
struct gn_totals_plan {
	const char *capability;
	const char *const *names;
	uint32_t n_routines;
};

/* 0 or a negative errno: then nothing is recorded. -ENOENT: this process is not measured. The file
 * is HOST.PID.NANOSECONDS.CAPABILITY.totals in the run's folder. */
int gn_totals_open(const struct gn_totals_plan *plan);

/* The same records in memory alone, for a process that is not measured but asks for its own sums.
 * 0 or a negative errno. */
int gn_totals_open_in_memory(const struct gn_totals_plan *plan);

/* NULL: none is open. */
struct gn_totals_header *gn_totals_header(void);

/* Where it is; NULL: none is open, or it is in memory alone. */
const char *gn_totals_path(void);

/* All records so far and how many they are; others may be added meanwhile. NULL: none is open. */
const union gn_totals_record *gn_totals_records(uint64_t *n);

/* At the end of the process that opened it; its children have nothing to do with it. */
void gn_totals_close(void);

/* In a child: the parent's is unmapped, and one of its own may be opened. */
void gn_totals_forget(void);

/*
 * A record of a thread, all zero but what `first` has, which is shorter than it; NULL without
 * memory. Without room in the file it is in memory alone, and counted as lost.
 */
union gn_totals_record *gn_totals_add(struct gn_totals_chunk *chunk, enum gn_totals_kind kind,
				      const void *first, uint32_t bytes);

/* Where records may be: of every event the place is asked for. */
extern struct gn_totals_range {
	const char *begin;
	uint64_t bytes; /* 0: there is no file */
} gn_totals_range;

/* Its place among the file's records; GN_TOTALS_NONE: it is not there. */
static inline uint32_t gn_totals_place(const union gn_totals_record *record)
{
	const uint64_t bytes = (uint64_t)((uintptr_t)record - (uintptr_t)gn_totals_range.begin);

	return bytes < gn_totals_range.bytes ? (uint32_t)(bytes / GN_TOTALS_RECORD_BYTES)
					     : GN_TOTALS_NONE;
}

/* A text in as many records as it takes. */
void gn_totals_add_text(struct gn_totals_chunk *chunk, enum gn_totals_kind of, uint32_t number,
			const char *text);

#endif
