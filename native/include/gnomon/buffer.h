/*
 * Records that a process leaves behind: an append-only file, written through a mapping by all
 * threads at once, and readable however the process ends, by SIGKILL for instance.
 *
 * gn_buffer_reserve(), gn_buffer_commit() and gn_buffer_append() take no lock and neither allocate
 * nor use stdio; they leave errno alone and may be called in signal handlers. Once in many
 * thousand records one of them asks the file system for more space. (One that has no fallocate()
 * is written zeros to; threads that need the space before it is there wait for it.) When there is
 * no more, recording ends with one line on stderr; the program goes on.
 */
#ifndef GNOMON_BUFFER_H
#define GNOMON_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The file begins with this page, in the byte order of the machine that writes it.
 *
 *   offset  bytes  field
 *        0      8  magic           89 47 4e 4f 4d 4f 4e 0a ("\211GNOMON\n"); written last
 *        8      4  byte_order      0x01020304
 *       12      4  version         1
 *       16      4  header_bytes    4096: where the records begin
 *       20      4  flags           bit 0 GN_BUFFER_CLOSED: final_bytes holds
 *                                  bit 1 GN_BUFFER_STOPPED: recording ended early, see stop_error
 *       24      8  features        bits 0..31: who does not know one must not read the file
 *                                  bits 32..63: who does not know one may ignore it
 *       32      8  capacity_bytes  what the file can grow to, header included
 *       40      8  final_bytes     0 until closed; then where the records end
 *       48      8  raw_ns          CLOCK_MONOTONIC_RAW at opening, the time base of all records
 *       56      8  realtime_ns     CLOCK_REALTIME at the same moment, to align several hosts
 *       64      8  ticks           gn_clock_ticks() at the same moment
 *       72      8  ticks_hz        IEEE 754 double: ticks per second
 *       80      4  clock_source    enum gn_clock_source
 *       84      4  pid             of the process, in its own PID namespace
 *       88      4  stop_error      errno that ended recording, 0 for none
 *       92     36  zero
 *      128    256  host            name of the host, ended by a zero byte
 *      384    640  zero
 *     1024      8  tail            where the next record goes; beyond the file when it is full
 *     1032     56  zero
 *     1088      8  lost            records that were refused for want of space
 *     1096   3000  zero
 *
 * A record begins at a multiple of 8 and is:
 *
 *        0      4  size            of header and payload in bytes, without what aligns the next
 *        4      2  type            the writer's business
 *        6      2  state           GN_RECORD_RESERVED: being written; GN_RECORD_COMMITTED
 *        8         payload
 *
 * Eight zero bytes where a record should begin are part of a record that a thread had taken the
 * space for, but not begun, when the process died; the next record follows them.
 */
#define GN_BUFFER_MAGIC "\211GNOMON\n"
#define GN_BUFFER_BYTE_ORDER 0x01020304u
#define GN_BUFFER_VERSION 1u
#define GN_BUFFER_HEADER_BYTES 4096u

#define GN_BUFFER_CLOSED 1u
#define GN_BUFFER_STOPPED 2u

#define GN_RECORD_RESERVED 1u
#define GN_RECORD_COMMITTED 2u

struct gn_buffer_header {
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
	uint32_t zero_92[9];
	char host[256];
	uint64_t zero_384[80];
	uint64_t tail; /* on cache lines of its own, as all threads write it */
	uint64_t zero_1032[7];
	uint64_t lost;
	uint64_t zero_1096[375];
};

struct gn_record {
	uint32_t size;
	uint16_t type;
	uint16_t state;
};

/* What a file may grow to where the caller has no wish; takes address space, not memory. */
#define GN_BUFFER_CAPACITY_BYTES ((uint64_t)1 << 30)
#define GN_BUFFER_CAPACITY_MAX ((uint64_t)1 << 40)

/* The largest payload of one record. */
#define GN_RECORD_PAYLOAD_MAX ((size_t)1 << 24)

struct gn_buffer;

/*
 * Makes the file `path`, which must not exist, and gives a buffer to it in `*buffer`.
 * capacity_bytes: what the file may grow to, rounded up to whole pages; 0 for the default.
 * Returns 0 or a negative errno, without leaving a file; among them -EEXIST, -EINVAL (capacity),
 * -ENOSPC and -EDQUOT (disk full), -EFBIG (RLIMIT_FSIZE), -ENOMEM (no address space).
 */
int gn_buffer_open(struct gn_buffer **buffer, const char *path, uint64_t capacity_bytes);

/*
 * Takes space for a record and gives the address of its payload, aligned to 8 bytes. Every record
 * is to be handed to gn_buffer_commit() when its payload is complete, by the same process.
 * Returns NULL where nothing is recorded (any more): the space is used up, the buffer is closed,
 * this is a child that has been forked since, the payload is too large, or `buffer` is NULL.
 */
void *gn_buffer_reserve(struct gn_buffer *buffer, uint16_t type, size_t payload_bytes);
void gn_buffer_commit(void *payload);

/* Both at once, for a payload that lies ready. Returns 0, or -ENOSPC where nothing is recorded. */
int gn_buffer_append(struct gn_buffer *buffer, uint16_t type, const void *payload,
		     size_t payload_bytes);

/*
 * Why gn_buffer_reserve() returns NULL: 0 while it does not, -ECHILD in a forked child, -EBADF
 * once closed, else the negative errno that ended recording (-ENOBUFS: capacity used up).
 */
int gn_buffer_status(const struct gn_buffer *buffer);

/*
 * Cuts the file to what was used and marks it closed. Other threads may still be recording: what
 * they have not committed by then is left out, and reserve returns NULL from then on. In a forked
 * child only the file descriptor is closed. Returns 0 or a negative errno.
 */
int gn_buffer_close(struct gn_buffer *buffer);

/* Closes, and gives address space and buffer back: nobody may use them at the same time. */
void gn_buffer_free(struct gn_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
