/*
 * Blocks are taken by adding to the tail, which lives in the file, so that a reader knows where to
 * stop whatever happened to the writer. What a stream has written is in its block's first word,
 * with the checksum: a kill between two instructions loses the record at hand and no other.
 */
#include "gnomon/record_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "crc32c.h"
#include "fork_page.h"
#include "gnomon/clock.h"
#include "host_name.h"
#include "mapped_file.h"

/* Blocks of streams that have ended, of each kind. */
#define SPARES 8

#define BLOCK_ROOM (GN_RECORD_BLOCK_BYTES - (uint32_t)sizeof(struct gn_record_block))
#define CRC_FROM offsetof(struct gn_record_block, magic)

_Static_assert(sizeof(struct gn_record_header) == GN_RECORD_PAGE, "header is one page");
_Static_assert(offsetof(struct gn_record_header, stop_error) == 88, "as documented");
_Static_assert(offsetof(struct gn_record_header, host) == 128, "as documented");
_Static_assert(offsetof(struct gn_record_header, tail) == 1024, "as documented");
_Static_assert(offsetof(struct gn_record_header, lost) == 1088, "as documented");
_Static_assert(sizeof(struct gn_record_kind_entry) == 32, "as documented");
_Static_assert(sizeof(struct gn_record_field_entry) == 32, "as documented");
_Static_assert(sizeof(struct gn_record_block) == 32, "as documented");
_Static_assert(GN_RECORD_TEXT_MAX + 16 <= BLOCK_ROOM, "a text fits into a block");

/* On a page that the kernel clears in a forked child. */
struct owner {
	_Atomic uint32_t is_owned;
	_Atomic uint32_t is_recording;
};

struct gn_record_file {
	struct gn_record_header *header; /* also where the mapping of the file begins */
	struct owner *owner;
	uint64_t number;	  /* of this process's, from 1 */
	_Atomic int status;	  /* 0 or what ended recording */
	_Atomic uint64_t refused; /* everything from this offset on was refused */
	uint32_t n_kinds;
	uint32_t record_bytes[GN_RECORD_KINDS_MAX];
	_Atomic uint64_t spare[GN_RECORD_KINDS_MAX][SPARES]; /* offsets; 0: none */
	struct gn_mapped_file mapped;
};

static char *address(const struct gn_record_file *file, uint64_t offset)
{
	return file->mapped.start + offset;
}

static int is_owned(const struct gn_record_file *file)
{
	return file && atomic_load_explicit(&file->owner->is_owned, memory_order_relaxed);
}

static int is_recording(const struct gn_record_file *file)
{
	return file && atomic_load_explicit(&file->owner->is_recording, memory_order_relaxed);
}

int gn_record_file_status(const struct gn_record_file *file)
{
	if (!file)
		return -EBADF;
	return is_owned(file) ? atomic_load(&file->status) : -ECHILD;
}

/* Counts what is not recorded, and says why. */
static int refuse(const struct gn_record_file *file, int error)
{
	if (is_owned(file))
		__atomic_fetch_add(&file->header->lost, 1, __ATOMIC_RELAXED);
	return error;
}

/* The block that begins at `offset`, and all that follow, are not there. */
static void end_recording(struct gn_record_file *file, int error, uint64_t offset)
{
	uint64_t refused = atomic_load(&file->refused);
	int none = 0;

	while (offset < refused && !atomic_compare_exchange_weak(&file->refused, &refused, offset))
		;
	if (!atomic_compare_exchange_strong(&file->status, &none, error))
		return;
	atomic_store(&file->owner->is_recording, 0);
	__atomic_store_n(&file->header->stop_error, (uint32_t)-error, __ATOMIC_RELAXED);
	__atomic_fetch_or(&file->header->flags, GN_RECORD_STOPPED, __ATOMIC_RELEASE);
	gn_mapped_file_report(&file->mapped, -error, offset);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void store_state(struct gn_record_stream *stream)
{
	const uint64_t state = (uint64_t)stream->crc << 32 | stream->used;

	__atomic_store_n((uint64_t *)stream->block, state, __ATOMIC_RELEASE);
}

/* A block that another stream has left, with room for so many bytes. */
static int take_spare(struct gn_record_stream *stream, struct gn_record_file *file, uint32_t kind,
		      uint32_t bytes)
{
	for (int i = 0; i < SPARES; i++) {
		uint64_t state, offset;

		if (!atomic_load_explicit(&file->spare[kind][i], memory_order_relaxed))
			continue;
		offset = atomic_exchange(&file->spare[kind][i], 0);
		if (!offset)
			continue;
		stream->block = address(file, offset);
		state = __atomic_load_n((uint64_t *)stream->block, __ATOMIC_ACQUIRE);
		stream->used = (uint32_t)state;
		stream->crc = (uint32_t)(state >> 32);
		if (BLOCK_ROOM - stream->used >= bytes)
			return 1;
	}
	return 0;
}

static int take_block(struct gn_record_stream *stream, struct gn_record_file *file, uint32_t kind,
		      uint32_t bytes)
{
	struct gn_record_block *block;
	uint64_t offset, end;
	int error;

	if (take_spare(stream, file, kind, bytes))
		return 0;
	stream->block = NULL;
	offset = __atomic_fetch_add(&file->header->tail, GN_RECORD_BLOCK_BYTES, __ATOMIC_RELAXED);
	end = offset + GN_RECORD_BLOCK_BYTES;
	if (!gn_mapped_file_has_room(&file->mapped, end)) {
		error = gn_mapped_file_grow(&file->mapped, end);
		if (error) {
			end_recording(file, error, offset);
			return error;
		}
	}
	block = (struct gn_record_block *)address(file, offset);
	memcpy(block->magic, GN_RECORD_BLOCK_MAGIC, sizeof(block->magic));
	block->kind = kind;
	block->offset = offset;
	stream->block = (char *)block;
	stream->used = 0;
	stream->crc = gn_crc32c(0, stream->block + CRC_FROM, sizeof(*block) - CRC_FROM);
	store_state(stream);
	return 0;
}

/* Room for so many bytes, or NULL with the error. The stream is busy until finish_record(). */
static inline char *begin_record(struct gn_record_stream *stream, struct gn_record_file *file,
				 uint32_t kind, uint32_t bytes, int *error)
{
	*error = 0;
	if (!is_recording(file)) {
		*error = refuse(file, gn_record_file_status(file));
		return NULL;
	}
	/* Of a file that is no more, or of the parent: what is in it stays there. */
	if (stream->file != file->number) {
		stream->block = NULL;
		stream->is_busy = 0;
		atomic_signal_fence(memory_order_seq_cst);
		stream->file = file->number;
	}
	if (stream->is_busy) {
		*error = refuse(file, -EBUSY);
		return NULL;
	}
	stream->is_busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (!stream->block || BLOCK_ROOM - stream->used < bytes)
		*error = take_block(stream, file, kind, bytes);
	if (!*error)
		return stream->block + sizeof(struct gn_record_block) + stream->used;
	atomic_signal_fence(memory_order_seq_cst);
	stream->is_busy = 0;
	refuse(file, *error);
	return NULL;
}

static inline void finish_record(struct gn_record_stream *stream, const char *record,
				 uint32_t bytes)
{
	stream->crc = gn_crc32c(stream->crc, record, bytes);
	stream->used += bytes;
	store_state(stream);
	atomic_signal_fence(memory_order_seq_cst);
	stream->is_busy = 0;
}

int gn_record_append(struct gn_record_stream *stream, struct gn_record_file *file, uint32_t kind,
		     const void *record)
{
	uint32_t bytes;
	char *to;
	int error;

	if (!file)
		return -EBADF;
	if (kind >= file->n_kinds || !file->record_bytes[kind])
		return refuse(file, -EINVAL);
	bytes = file->record_bytes[kind];
	to = begin_record(stream, file, kind, bytes, &error);
	if (!to)
		return error;
	memcpy(to, record, bytes);
	finish_record(stream, to, bytes);
	return 0;
}

int gn_record_append_text(struct gn_record_stream *stream, struct gn_record_file *file,
			  uint32_t kind, uint32_t number, const char *text, size_t length)
{
	const uint32_t head[2] = {number, (uint32_t)length};
	uint32_t bytes;
	char *to;
	int error;

	if (!file)
		return -EBADF;
	if (kind >= file->n_kinds || file->record_bytes[kind])
		return refuse(file, -EINVAL);
	if (length > GN_RECORD_TEXT_MAX)
		return refuse(file, -EMSGSIZE);
	bytes = (uint32_t)(sizeof(head) + length + 7) & ~7u;
	to = begin_record(stream, file, kind, bytes, &error);
	if (!to)
		return error;
	memset(to + bytes - 8, 0, 8);
	memcpy(to, head, sizeof(head));
	if (length)
		memcpy(to + sizeof(head), text, length);
	finish_record(stream, to, bytes);
	return 0;
}

void gn_record_stream_end(struct gn_record_stream *stream, struct gn_record_file *file,
			  uint32_t kind)
{
	char *block = stream->block;

	if (!block || stream->is_busy || !is_recording(file) || stream->file != file->number)
		return;
	stream->block = NULL;
	for (int i = 0; i < SPARES; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&file->spare[kind][i], &none,
						   (uint64_t)(block - file->mapped.start)))
			return;
	}
}

/* --- opening ---------------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The tightest of several, as an interrupt may come in between. */
static void read_anchors(struct gn_record_header *header)
{
	uint64_t tightest = UINT64_MAX;

	for (int attempt = 0; attempt < 5; attempt++) {
		uint64_t ticks = gn_clock_ticks();
		uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t realtime = clock_ns(CLOCK_REALTIME);
		uint64_t after = clock_ns(CLOCK_MONOTONIC_RAW);

		if (after - before < tightest) {
			tightest = after - before;
			header->ticks = ticks;
			header->raw_ns = before + tightest / 2;
			header->realtime_ns = realtime;
		}
	}
}

static int is_name(const char *name)
{
	const size_t length = name ? strlen(name) : 0;

	return length > 0 && length <= GN_RECORD_NAME_MAX;
}

static int is_field(const struct gn_record_field *field, uint32_t record_bytes)
{
	const uint32_t size = field->type & 15u;

	return is_name(field->name) && size && field->count && field->offset <= record_bytes &&
	       (uint64_t)size * field->count <= record_bytes - field->offset;
}

/* The number of all fields, or -EINVAL: no reader could make sense of it. */
static int check_plan(const struct gn_record_plan *plan)
{
	uint32_t n_fields = 0;

	if (!plan->n_kinds || plan->n_kinds > GN_RECORD_KINDS_MAX || !is_name(plan->writer))
		return -EINVAL;
	for (uint32_t k = 0; k < plan->n_kinds; k++) {
		const struct gn_record_kind *kind = &plan->kinds[k];

		if (!is_name(kind->name) || kind->record_bytes > BLOCK_ROOM ||
		    !kind->record_bytes != !kind->n_fields ||
		    kind->n_fields > GN_RECORD_FIELDS_MAX - n_fields)
			return -EINVAL;
		for (uint32_t f = 0; f < kind->n_fields; f++)
			if (!is_field(&kind->fields[f], kind->record_bytes))
				return -EINVAL;
		n_fields += kind->n_fields;
	}
	return (int)n_fields;
}

/* Names are zero behind their ends, as the file is. */
static void write_tables(const struct gn_record_file *file, const struct gn_record_plan *plan)
{
	char *tables = address(file, GN_RECORD_PAGE);
	struct gn_record_kind_entry *kind = (struct gn_record_kind_entry *)tables;
	struct gn_record_field_entry *field =
		(struct gn_record_field_entry *)(kind + plan->n_kinds);

	for (uint32_t k = 0; k < plan->n_kinds; k++, kind++) {
		strcpy(kind->name, plan->kinds[k].name);
		kind->record_bytes = plan->kinds[k].record_bytes;
		kind->n_fields = plan->kinds[k].n_fields;
		for (uint32_t f = 0; f < kind->n_fields; f++, field++) {
			const struct gn_record_field *from = &plan->kinds[k].fields[f];

			strcpy(field->name, from->name);
			field->offset = from->offset;
			field->type = from->type;
			field->count = from->count;
		}
	}
	file->header->tables_crc = gn_crc32c(0, tables, (size_t)((char *)field - tables));
}

static void write_header(const struct gn_record_file *file, const struct gn_record_plan *plan,
			 uint32_t n_fields, uint32_t header_bytes)
{
	struct gn_record_header *header = file->header;
	uint64_t magic;

	header->byte_order = GN_RECORD_BYTE_ORDER;
	header->version = GN_RECORD_VERSION;
	header->header_bytes = header_bytes;
	header->capacity_bytes = file->mapped.capacity;
	read_anchors(header);
	header->ticks_hz = gn_clock_hz();
	header->clock_source = gn_clock_source();
	header->pid = (uint32_t)getpid();
	header->block_bytes = GN_RECORD_BLOCK_BYTES;
	header->n_kinds = plan->n_kinds;
	header->n_fields = n_fields;
	header->rank = plan->rank;
	gn_host_name(header->host);
	strcpy(header->writer, plan->writer);
	header->tail = header_bytes;
	write_tables(file, plan);
	memcpy(&magic, GN_RECORD_MAGIC, sizeof(magic));
	__atomic_store_n((uint64_t *)header->magic, magic, __ATOMIC_RELEASE);
}

static uint32_t header_bytes_of(uint32_t n_kinds, uint32_t n_fields)
{
	const size_t tables = n_kinds * sizeof(struct gn_record_kind_entry) +
			      n_fields * sizeof(struct gn_record_field_entry);
	const size_t pages = (tables + GN_RECORD_PAGE - 1) / GN_RECORD_PAGE;

	return (uint32_t)(1 + pages) * GN_RECORD_PAGE;
}

/* The structure's own memory, and its page that children get cleared. */
static int make_file(struct gn_record_file **out, const struct gn_record_plan *plan)
{
	static _Atomic uint64_t numbers;
	struct gn_record_file *file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (file == MAP_FAILED)
		return -errno;
	file->owner = gn_fork_page();
	if (!file->owner) {
		munmap(file, sizeof(*file));
		return -ENOMEM;
	}
	file->owner->is_owned = 1;
	file->refused = UINT64_MAX;
	file->number = atomic_fetch_add(&numbers, 1) + 1;
	file->n_kinds = plan->n_kinds;
	for (uint32_t k = 0; k < plan->n_kinds; k++)
		file->record_bytes[k] = plan->kinds[k].record_bytes;
	*out = file;
	return 0;
}

static void unmake_file(struct gn_record_file *file)
{
	gn_fork_page_free(file->owner);
	munmap(file, sizeof(*file));
}

int gn_record_file_open(struct gn_record_file **opened, const char *path,
			const struct gn_record_plan *plan)
{
	const uint64_t capacity = plan->capacity_bytes ? plan->capacity_bytes : GN_RECORD_CAPACITY;
	const int n_fields = check_plan(plan);
	struct gn_record_file *file = NULL;
	uint32_t header_bytes;
	int result;

	if (n_fields < 0)
		return n_fields;
	header_bytes = header_bytes_of(plan->n_kinds, (uint32_t)n_fields);
	if (capacity < header_bytes + (uint64_t)GN_RECORD_BLOCK_BYTES ||
	    capacity > GN_RECORD_CAPACITY_MAX)
		return -EINVAL;
	result = gn_clock_init();
	if (!result)
		result = make_file(&file, plan);
	if (result)
		return result;
	result = gn_mapped_file_create(&file->mapped, path, capacity, header_bytes);
	if (result) {
		unmake_file(file);
		return result;
	}
	file->header = (struct gn_record_header *)file->mapped.start;
	write_header(file, plan, (uint32_t)n_fields, header_bytes);
	atomic_store(&file->owner->is_recording, 1);
	*opened = file;
	return 0;
}

/* --- closing ---------------------------------------------------------------------------------- */

int gn_record_file_close(struct gn_record_file *file)
{
	uint64_t used;
	int result;

	if (!is_owned(file)) {
		gn_mapped_file_close(&file->mapped);
		return 0;
	}
	if (__atomic_load_n(&file->header->flags, __ATOMIC_ACQUIRE) & GN_RECORD_CLOSED)
		return 0;
	atomic_store(&file->owner->is_recording, 0);
	atomic_store(&file->status, -EBADF);

	/* No block can come to lie across the end once the allocation stays as it is. */
	used = gn_mapped_file_give_up(&file->mapped);
	if (used > __atomic_load_n(&file->header->tail, __ATOMIC_RELAXED))
		used = __atomic_load_n(&file->header->tail, __ATOMIC_RELAXED);
	if (used > atomic_load(&file->refused))
		used = atomic_load(&file->refused);
	used -= (used - file->header->header_bytes) % GN_RECORD_BLOCK_BYTES;

	/* Where the file cannot be cut, final_bytes alone tells where the blocks end. */
	result = gn_mapped_file_finish(&file->mapped, file->header->header_bytes, used);
	__atomic_store_n(&file->header->final_bytes, used, __ATOMIC_RELAXED);
	__atomic_fetch_or(&file->header->flags, GN_RECORD_CLOSED, __ATOMIC_RELEASE);
	return result;
}

void gn_record_file_free(struct gn_record_file *file)
{
	if (!file)
		return;
	gn_record_file_close(file);
	munmap(file->mapped.start, file->mapped.capacity);
	unmake_file(file);
}
