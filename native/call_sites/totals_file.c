#include "totals_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bare_ticks.h"
#include "host_name.h"
#include "mapped_file.h"
#include "own_calls.h"
#include "scratch_memory.h"
#include "staging.h"
#include "tick_rate.h"

/* Of sites, sizes and peers a process has hundreds; of an all-to-all of the largest jobs millions.
 */
#define CAPACITY_BYTES ((uint64_t)1 << 32)
/* Of records that no file has, or as much of it as a process may map. */
#define MEMORY_BYTES ((uint64_t)1 << 28)
#define MEMORY_LEAST ((uint64_t)1 << 18)
#define PAGE_BYTES 4096u
/* What a file is called until its header is there: no reader meets one of a process that was killed
 * before. */
#define UNFINISHED ".new"

_Static_assert(sizeof(union gn_totals_record) == GN_TOTALS_RECORD_BYTES, "records have one size");
_Static_assert(sizeof(struct gn_totals_header) <= PAGE_BYTES, "the header is in the first page");

static struct gn_mapped_file file;
static struct gn_totals_header *opened;
struct gn_totals_range gn_totals_range;
static int is_in_memory;
static atomic_int is_closed;

void gn_totals_close(void)
{
	struct gn_totals_header *header = opened;
	uint64_t tail;

	if (!header || is_in_memory)
		return;
	header->ticks_hz = gn_tick_rate_hz();
	header->flags |= GN_TOTALS_CLOSED;
	/* What is called later, by a handler of the program's exit, is in no file. */
	atomic_store(&is_closed, 1);
	tail = gn_mapped_file_give_up(&file);
	if (header->tail < tail)
		tail = header->tail;
	/* Threads that still run go on writing. */
	gn_mapped_file_finish(&file, tail, tail);
}

void gn_totals_forget(void)
{
	if (!opened)
		return;
	gn_give_memory(file.start, file.capacity);
	if (!is_in_memory)
		gn_mapped_file_close(&file);
	memset(&file, 0, sizeof(file));
	opened = NULL;
	gn_totals_range = (struct gn_totals_range){0};
	is_in_memory = 0;
	atomic_store(&is_closed, 0);
}

/* What the kernel calls the process: its first thread, whichever this one is. */
static void read_name(char *name, size_t size)
{
	const int comm = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (comm >= 0) {
		n = read(comm, name, size - 1);
		close(comm);
	}
	name[n > 0 ? n : 0] = 0;
	name[strcspn(name, "\n")] = 0;
}

static void read_job(char *job, size_t size)
{
	/* Source: the standard of PMIx, "PMIX_NAMESPACE"; other launchers have no such variable. */
	const char *name = getenv("PMIX_NAMESPACE");

	if (name)
		strncpy(job, name, size - 1);
}

static uint64_t fill_header(struct gn_totals_header *header, const struct gn_staging_origin *origin,
			    const struct gn_totals_plan *plan)
{
	const uint32_t n_routines = plan->n_routines;

	header->byte_order = GN_TOTALS_BYTE_ORDER;
	header->version = GN_TOTALS_VERSION;
	header->header_bytes = PAGE_BYTES;
	header->n_routines = n_routines;
	header->names = PAGE_BYTES;
	header->records = PAGE_BYTES + (uint64_t)n_routines * GN_TOTALS_NAME_BYTES;
	header->records = (header->records + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	header->pid = origin->pid;
	header->rank = -1;
	header->realtime_ns = origin->realtime_ns;
	header->ticks = gn_bare_ticks(gn_tick_rate_begin());
	header->ticks_hz = gn_tick_rate_hz();
	strncpy(header->host, origin->host, sizeof(header->host) - 1);
	read_name(header->name, sizeof(header->name));
	read_job(header->job, sizeof(header->job));
	/* Where it cannot be read, or is longer, the rest stays zero. */
	if (readlink("/proc/self/exe", header->program, sizeof(header->program) - 1) < 0)
		header->program[0] = 0;
	for (uint32_t i = 0; i < n_routines; i++)
		strncpy((char *)header + header->names + (uint64_t)i * GN_TOTALS_NAME_BYTES,
			plan->names[i], GN_TOTALS_NAME_BYTES - 1);
	return header->records;
}

static int give_name(void)
{
	const size_t length = strlen(file.path) - strlen(UNFINISHED);
	char *path = gn_scratch_take();
	int failed;

	if (!path)
		return -ENOMEM;
	memcpy(path, file.path, length);
	path[length] = 0;
	failed = rename(file.path, path) ? -errno : 0;
	gn_scratch_give(path);
	if (failed)
		return failed;
	/* By which it is opened again where the program closes its descriptor. */
	file.path[length] = 0;
	return 0;
}

/* In the staging folder. 0, or a negative errno. */
static int create(const struct gn_staging_origin *origin, uint64_t first)
{
	char *path = gn_scratch_take(), ending[64];
	int failed = path ? 0 : -ENOMEM;

	snprintf(ending, sizeof(ending), "%s.totals" UNFINISHED, origin->capability);
	if (!failed)
		failed = gn_staging_path(origin, ending, path, PATH_MAX);
	if (!failed) {
		failed = gn_mapped_file_create(&file, path, gn_mapped_file_capacity(CAPACITY_BYTES),
					       first);
		if (failed)
			gn_mapped_file_report(&file, -failed, 0);
	}
	gn_scratch_give(path);
	return failed;
}

static void open_records(struct gn_totals_header *header)
{
	gn_totals_range.begin = file.start + header->records;
	gn_totals_range.bytes = file.capacity - header->records;
	opened = header;
}

int gn_totals_open(const struct gn_totals_plan *plan)
{
	char host[GN_HOST_NAME_SIZE];
	const struct gn_staging_origin origin = gn_staging_here(plan->capability, host);
	const uint64_t first =
		PAGE_BYTES + (uint64_t)plan->n_routines * GN_TOTALS_NAME_BYTES + 2 * PAGE_BYTES;
	struct gn_totals_header *header;
	int failed;

	if (opened || !gn_staging_folder(plan->capability))
		return opened ? -EALREADY : -ENOENT;
	gn_tick_rate_begin();
	failed = create(&origin, first);
	if (failed)
		return failed;
	header = (struct gn_totals_header *)file.start;
	header->tail = fill_header(header, &origin, plan);
	atomic_thread_fence(memory_order_release);
	memcpy(header->magic, GN_TOTALS_MAGIC, sizeof(header->magic));
	failed = give_name();
	if (failed) {
		gn_mapped_file_report(&file, -failed, 0);
		gn_mapped_file_close(&file);
		return failed;
	}
	open_records(header);
	return 0;
}

static char *map_memory(uint64_t *bytes)
{
	for (*bytes = MEMORY_BYTES; *bytes >= MEMORY_LEAST; *bytes /= 4) {
		void *memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (memory != MAP_FAILED)
			return memory;
	}
	return NULL;
}

int gn_totals_open_in_memory(const struct gn_totals_plan *plan)
{
	char host[GN_HOST_NAME_SIZE];
	const struct gn_staging_origin origin = gn_staging_here(plan->capability, host);
	struct gn_totals_header *header;

	if (opened)
		return -EALREADY;
	gn_tick_rate_begin();
	file.start = map_memory(&file.capacity);
	if (!file.start)
		return -ENOMEM;
	header = (struct gn_totals_header *)file.start;
	header->tail = fill_header(header, &origin, plan);
	is_in_memory = 1;
	open_records(header);
	return 0;
}

struct gn_totals_header *gn_totals_header(void)
{
	return opened;
}

const char *gn_totals_path(void)
{
	return opened && !is_in_memory ? file.path : NULL;
}

const union gn_totals_record *gn_totals_records(uint64_t *n)
{
	const struct gn_totals_header *header = opened;
	uint64_t end = header ? header->tail : 0;

	/* Another thread may be about to make room for its own. */
	if (header && !is_in_memory && end > file.allocated)
		end = file.allocated;
	else if (header && end > file.capacity)
		end = file.capacity;
	*n = header && end > header->records ? (end - header->records) / GN_TOTALS_RECORD_BYTES : 0;
	return header ? (const union gn_totals_record *)(file.start + header->records) : NULL;
}

static int has_room(uint64_t end)
{
	if (is_in_memory)
		return end <= file.capacity;
	return gn_mapped_file_has_room(&file, end) || !gn_mapped_file_grow(&file, end);
}

static int take_chunk(struct gn_totals_chunk *chunk)
{
	struct gn_totals_header *header = gn_totals_header();
	const uint64_t bytes = GN_TOTALS_CHUNK_RECORDS * GN_TOTALS_RECORD_BYTES;
	uint64_t begin;

	chunk->n = GN_TOTALS_CHUNK_RECORDS;
	if (header) {
		begin = atomic_fetch_add(&header->tail, bytes);
		if (!atomic_load(&is_closed) && has_room(begin + bytes)) {
			header->ticks_hz = gn_tick_rate_hz();
			chunk->next = (union gn_totals_record *)(file.start + begin);
			return 0;
		}
		atomic_fetch_sub(&header->tail, bytes);
		if (!atomic_load(&is_closed))
			atomic_fetch_add(&header->lost, GN_TOTALS_CHUNK_RECORDS);
	}
	chunk->n = PAGE_BYTES / GN_TOTALS_RECORD_BYTES;
	chunk->next = gn_take_memory(PAGE_BYTES);
	return chunk->next ? 0 : -ENOMEM;
}

union gn_totals_record *gn_totals_add(struct gn_totals_chunk *chunk, enum gn_totals_kind kind,
				      const void *first, uint32_t bytes)
{
	union gn_totals_record *record;

	if (!chunk->n && take_chunk(chunk)) {
		chunk->n = 0;
		return NULL;
	}
	chunk->n--;
	record = chunk->next++;
	/* Behind the kind, which comes last: a reader believes what has one. */
	memcpy((char *)record + sizeof(uint16_t), (const char *)first + sizeof(uint16_t),
	       bytes - sizeof(uint16_t));
	atomic_store_explicit(&record->kind, (uint16_t)kind, memory_order_release);
	return record;
}

void gn_totals_add_text(struct gn_totals_chunk *chunk, enum gn_totals_kind of, uint32_t number,
			const char *text)
{
	struct gn_text_record record = {.of = (uint16_t)of, .number = number};
	size_t left = strlen(text);

	do {
		const size_t n = left < sizeof(record.text) ? left : sizeof(record.text);

		memset(record.text, 0, sizeof(record.text));
		memcpy(record.text, text, n);
		gn_totals_add(chunk, GN_TOTALS_TEXT, &record, sizeof(record));
		text += n;
		left -= n;
		record.part++;
	} while (left);
}
