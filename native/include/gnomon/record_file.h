/*
 * Records that a process leaves behind: an append-only file, written through a mapping by all
 * threads at once, and readable however the process ends, by SIGKILL for instance.
 *
 * A file has kinds of records, which it describes itself. Each thread writes the records of a kind
 * into a block of its own, so that threads meet once in some hundred records, where they take the
 * next block. gn_record_append() takes no lock and neither allocates nor uses stdio; it leaves
 * errno alone and may be called in signal handlers. Once in many blocks it asks the file system
 * for more space. When there is no more, recording ends with one line on stderr; the program goes
 * on.
 *
 * libgnomon-core.a has this; gnomon/store/record_file.py reads it. gnomon/recorder.h opens such a
 * file for a library that `gnomon run` preloads.
 */
#ifndef GNOMON_RECORD_FILE_H
#define GNOMON_RECORD_FILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- kinds of records ------------------------------------------------------------------------- */

/* The low four bits are the size in bytes. */
enum gn_record_type {
	GN_RECORD_U8 = 0x01,
	GN_RECORD_U16 = 0x02,
	GN_RECORD_U32 = 0x04,
	GN_RECORD_U64 = 0x08,
	GN_RECORD_I8 = 0x11,
	GN_RECORD_I16 = 0x12,
	GN_RECORD_I32 = 0x14,
	GN_RECORD_I64 = 0x18,
	GN_RECORD_F32 = 0x24,
	GN_RECORD_F64 = 0x28,
	GN_RECORD_CHAR = 0x31 /* text that ends with a zero byte or the field */
};

#define GN_RECORD_NAME_MAX 23 /* bytes of a field's name, and of a kind's */
#define GN_RECORD_KINDS_MAX 32u
#define GN_RECORD_FIELDS_MAX 256u /* of all kinds */

/* A member of a struct: a number, or an array of them. */
struct gn_record_field {
	const char *name;
	uint32_t offset;
	uint16_t type;
	uint16_t count;
};

#define GN_RECORD_FIELD(record, member, type)                                                      \
	{#member, offsetof(record, member), type, sizeof(((record *)0)->member) / ((type) & 15)}

/* record_bytes 0: numbered texts of any length up to GN_RECORD_TEXT_MAX. */
struct gn_record_kind {
	const char *name;
	uint32_t record_bytes;
	uint32_t n_fields;
	const struct gn_record_field *fields;
};

#define GN_RECORD_KIND(name, record, fields)                                                       \
	{name, sizeof(record), sizeof(fields) / sizeof((fields)[0]), fields}
#define GN_RECORD_TEXTS(name) {name, 0, 0, NULL}

/* --- writing ---------------------------------------------------------------------------------- */

struct gn_record_plan {
	const char *writer; /* who records, for the reader: a capability's name */
	const struct gn_record_kind *kinds;
	uint32_t n_kinds;
	int32_t rank; /* of the process in its job; -1: not known */
	/* What the file may grow to; 0: GN_RECORD_CAPACITY. It takes address space, not memory. */
	uint64_t capacity_bytes;
};

#define GN_RECORD_CAPACITY ((uint64_t)1 << 30)
#define GN_RECORD_CAPACITY_MAX ((uint64_t)1 << 40)
#define GN_RECORD_TEXT_MAX 8192u

struct gn_record_file;

/*
 * Where one thread writes records of one kind: zero at first, and nobody else's. What a signal
 * handler writes goes to a stream of the handler's own.
 */
struct gn_record_stream {
	char *block;
	uint32_t used, crc;
	uint64_t file; /* which of this process's */
	int is_busy;
};

/*
 * Makes the file `path`, which must not exist. Returns 0 or a negative errno, without leaving a
 * file; among them -EEXIST, -EINVAL (kinds, capacity), -ENOSPC and -EDQUOT (disk full), -EFBIG
 * (RLIMIT_FSIZE), -ENOMEM (no address space). As long as the process lives the file has a lock
 * (fcntl(2), F_GETLK tells), so that it can be seen that it is still written.
 */
int gn_record_file_open(struct gn_record_file **file, const char *path,
			const struct gn_record_plan *plan);

/*
 * Copies a record of the kind's size. 0, or: -EBADF: the file is NULL or closed; -ECHILD: this is a
 * child that has been forked since; -EBUSY: a signal came in the middle of a call with this stream;
 * or the errno that ended recording (-ENOBUFS: the capacity is used up). What is refused is counted
 * in the file, but in a child.
 */
int gn_record_append(struct gn_record_stream *stream, struct gn_record_file *file, uint32_t kind,
		     const void *record);

/* A text with the number by which other records name it; -EMSGSIZE: it is too long. */
int gn_record_append_text(struct gn_record_stream *stream, struct gn_record_file *file,
			  uint32_t kind, uint32_t number, const char *text, size_t length);

/* At a thread's end: another stream of the kind goes on with its block. */
void gn_record_stream_end(struct gn_record_stream *stream, struct gn_record_file *file,
			  uint32_t kind);

/* 0 as long as records are taken, else why not: as above. */
int gn_record_file_status(const struct gn_record_file *file);

/*
 * Cuts the file to what was used and marks it closed. Other threads may still be recording: what
 * they have not appended by then is left out. In a forked child only the descriptor is closed.
 * Returns 0 or a negative errno.
 */
int gn_record_file_close(struct gn_record_file *file);

/* Closes, and gives address space and memory back: nobody may use them at the same time. */
void gn_record_file_free(struct gn_record_file *file);

/* --- the file --------------------------------------------------------------------------------- */

/*
 * It begins with this page, in the byte order of the machine that writes it.
 *
 *   offset  bytes  field
 *        0      8  magic           89 47 4e 4f 4d 4f 4e 0a ("\211GNOMON\n"); written last
 *        8      4  byte_order      0x01020304
 *       12      4  version         2
 *       16      4  header_bytes    where the blocks begin: a multiple of 4096
 *       20      4  flags           bit 0 GN_RECORD_CLOSED: final_bytes holds
 *                                  bit 1 GN_RECORD_STOPPED: recording ended early, see stop_error
 *       24      8  features        bits 0..31: who does not know one must not read the file
 *                                  bits 32..63: who does not know one may ignore it
 *       32      8  capacity_bytes  what the file can grow to, header included
 *       40      8  final_bytes     0 until closed; then where the blocks end
 *       48      8  raw_ns          CLOCK_MONOTONIC_RAW at opening
 *       56      8  realtime_ns     CLOCK_REALTIME at the same moment, to align several hosts
 *       64      8  ticks           gn_clock_ticks() at the same moment: the base of records' times
 *       72      8  ticks_hz        IEEE 754 double: ticks per second
 *       80      4  clock_source    enum gn_clock_source
 *       84      4  pid             of the process, in its own PID namespace
 *       88      4  stop_error      errno that ended recording, 0 for none
 *       92      4  block_bytes     of each block: a power of two
 *       96      4  n_kinds
 *      100      4  n_fields        of all kinds
 *      104      4  rank            of the process in its job, -1: not known
 *      108      4  tables_crc      CRC-32C of the kinds and fields
 *      112     16  zero
 *      128    256  host            name of the host, ended by a zero byte
 *      384     64  writer          who recorded, ended by a zero byte
 *      448    576  zero
 *     1024      8  tail            where the next block goes; beyond the file when it is full
 *     1032     56  zero
 *     1088      8  lost            records that were refused
 *     1096   3000  zero
 *     4096 32 each kinds           name[24], record_bytes, n_fields; the fields follow each other
 *          32 each fields          name[24], offset, type (2 bytes), count (2 bytes)
 *
 * Blocks follow at header_bytes, each with records of one kind without space between them:
 *
 *        0      8  state           bits 0..31: bytes of records; 32..63: CRC-32C of bytes 8 to 31
 *                                  and these. Written as one word, so that both always fit.
 *        8      4  magic           47 4e 42 4b ("GNBK")
 *       12      4  kind            from 0
 *       16      8  offset          of this block in the file
 *       24      8  zero
 *       32         records
 *
 * A numbered text is: number (4 bytes), length (4 bytes), the text, zeros up to a multiple of 8.
 * A block of zeros is one that a thread had taken, but not begun, when the process died.
 */
#define GN_RECORD_MAGIC "\211GNOMON\n"
#define GN_RECORD_BYTE_ORDER 0x01020304u
#define GN_RECORD_VERSION 2u
#define GN_RECORD_PAGE 4096u
#define GN_RECORD_BLOCK_BYTES 16384u
#define GN_RECORD_BLOCK_MAGIC "GNBK"

#define GN_RECORD_CLOSED 1u
#define GN_RECORD_STOPPED 2u

struct gn_record_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint32_t header_bytes;
	uint32_t flags;
	uint64_t features;
	uint64_t capacity_bytes;
	uint64_t final_bytes;
	uint64_t raw_ns;
	uint64_t realtime_ns;
	uint64_t ticks;
	double ticks_hz;
	uint32_t clock_source;
	uint32_t pid;
	uint32_t stop_error;
	uint32_t block_bytes;
	uint32_t n_kinds;
	uint32_t n_fields;
	int32_t rank;
	uint32_t tables_crc;
	uint32_t zero_112[4];
	char host[256];
	char writer[64];
	uint64_t zero_448[72];
	uint64_t tail; /* on cache lines of its own, as all threads write it */
	uint64_t zero_1032[7];
	uint64_t lost;
	uint64_t zero_1096[375];
};

struct gn_record_kind_entry {
	char name[GN_RECORD_NAME_MAX + 1];
	uint32_t record_bytes;
	uint32_t n_fields;
};

struct gn_record_field_entry {
	char name[GN_RECORD_NAME_MAX + 1];
	uint32_t offset;
	uint16_t type;
	uint16_t count;
};

struct gn_record_block {
	uint64_t state;
	char magic[4];
	uint32_t kind;
	uint64_t offset;
	uint64_t zero_24;
};

#ifdef __cplusplus
}
#endif

#endif
