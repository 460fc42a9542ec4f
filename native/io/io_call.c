#include "io_call.h"

#include <limits.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/mman.h>

#include "event_file.h"
#include "memory_probe.h"

/* What is told apart of sizes. */
struct size {
	uint32_t hash;
	uint32_t file;
	uint16_t routine, class;
	union gn_totals_record *record;
};

struct request {
	uint64_t asked, delivered;
	int64_t offset; /* GN_IO_NO_POSITION: it has none */
	int direction;	/* -1: it moves nothing */
	int is_failed;
	uint32_t opening; /* GN_TOTALS_NONE: of no open file */
};

static const struct request NOTHING = {
	.offset = GN_IO_NO_POSITION, .direction = -1, .opening = GN_TOTALS_NONE};

uint64_t gn_io_failed_vector_bytes(const struct iovec *vector, int n)
{
	struct gn_probe probe = {0};
	uint64_t bytes = 0;

	for (int i = 0; i < n && i < IOV_MAX; i++) {
		if (!gn_probe(&probe, (uintptr_t)&vector[i], sizeof(vector[i])))
			return 0;
		bytes += vector[i].iov_len;
	}
	return bytes;
}

/* --- records, which are there already in most calls ------------------------------------------- */

/* The linker's, of this library: programs may have their own by these names (bash has). */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Of the library itself: what its constructors call is not the program's. */
static int is_own(uintptr_t address)
{
	return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)_end;
}

static __attribute__((noinline)) struct gn_call_place *
add_place(struct gn_io_thread *thread, const struct gn_call_origin *origin, uint32_t hash,
	  uint32_t file)
{
	struct gn_call_place *place;
	struct gn_io_work work;

	if (is_own(origin->return_address))
		return NULL;
	gn_io_work_begin(&work);
	gn_io_file_record(&thread->calls, file);
	place = gn_place_add(&thread->calls, origin, hash, file);
	if (place) {
		place->detail = place->site;
		place->detail_of = (int32_t)file;
	}
	gn_io_work_end(&work);
	return place;
}

static __attribute__((noinline)) void take_site(struct gn_io_thread *thread,
						struct gn_call_place *place, uint32_t file)
{
	struct gn_io_work work;

	gn_io_work_begin(&work);
	gn_io_file_record(&thread->calls, file);
	place->detail =
		gn_site_record(&thread->calls, place->routine, file, place->site->site.frame);
	place->detail_of = (int32_t)file;
	gn_io_work_end(&work);
}

static __attribute__((noinline)) struct gn_io_access *
add_access(struct gn_io_thread *thread, uint32_t file, uint16_t writes, uint32_t hash)
{
	const struct gn_access_record record = {
		.writes = writes, .thread = thread->calls.number, .file = file};
	struct gn_io_access *access = NULL;
	struct gn_io_work work;

	gn_io_work_begin(&work);
	if (!gn_hash_table_make_room(&thread->accesses, sizeof(*access))) {
		uint32_t i = hash;

		do
			access = gn_hash_table_entry(&thread->accesses, sizeof(*access), i++);
		while (access->hash);
		*access = (struct gn_io_access){
			.hash = hash, .file = file, .writes = writes, .class = UINT32_MAX};
		access->access = gn_totals_add(&thread->calls.chunk, GN_TOTALS_ACCESS, &record,
					       sizeof(record));
		thread->accesses.n++;
	}
	gn_io_work_end(&work);
	return access;
}

static struct gn_io_access *access_of(struct gn_io_thread *thread, uint32_t file, uint16_t writes)
{
	const uint32_t hash = gn_hash_of(file, writes);
	struct gn_io_access *access = thread->accesses.entry;

	for (uint32_t i = hash; access; i++) {
		access = gn_hash_table_entry(&thread->accesses, sizeof(*access), i);
		if (!access->hash)
			break;
		if (access->file == file && access->writes == writes)
			return access;
	}
	return add_access(thread, file, writes, hash);
}

static union gn_totals_record *make_size(struct gn_io_thread *thread, uint32_t file,
					 uint32_t routine, uint32_t class)
{
	const struct gn_size_record record = {.routine = (uint16_t)routine,
					      .thread = thread->calls.number,
					      .class = class,
					      .file = file};
	const uint32_t hash = gn_hash_of(file, (uint64_t)routine << 8 | class);
	struct size *size;

	if (gn_hash_table_make_room(&thread->sizes, sizeof(*size)))
		return NULL;
	for (uint32_t i = hash;; i++) {
		size = gn_hash_table_entry(&thread->sizes, sizeof(*size), i);
		if (!size->hash)
			break;
		if (size->file == file && size->routine == routine && size->class == class)
			return size->record;
	}
	size->record = gn_totals_add(&thread->calls.chunk, GN_TOTALS_SIZE, &record, sizeof(record));
	if (!size->record)
		return NULL;
	size->hash = hash;
	size->file = file;
	size->routine = (uint16_t)routine;
	size->class = (uint16_t)class;
	thread->sizes.n++;
	return size->record;
}

static __attribute__((noinline)) void take_size(struct gn_io_thread *thread,
						struct gn_io_access *access, uint32_t routine,
						uint32_t class)
{
	struct gn_io_work work;

	gn_io_work_begin(&work);
	access->size = make_size(thread, access->file, routine, class);
	access->routine = (uint16_t)routine;
	access->class = class;
	gn_io_work_end(&work);
}

/* --- accounts --------------------------------------------------------------------------------- */

static uint32_t opening_of(const struct gn_io_open_file *own)
{
	return own ? own->opening : GN_TOTALS_NONE;
}

/* The clocks of two processors may differ. UINT64_MAX: the call's time is elsewhere. */
static inline uint64_t ticks_between(uint64_t begin, uint64_t end)
{
	return end > begin ? end - begin : 0;
}

static __attribute__((noinline)) void add_event(struct gn_io_thread *thread, uint64_t begin,
						const union gn_totals_record *site,
						const struct request *request, uint64_t ticks)
{
	const uint32_t place = gn_totals_place(site);
	const int is_wide = request->asked != request->delivered || request->asked > UINT32_MAX ||
			    ticks >> (32 - GN_IO_EVENT_TICKS_BIT);
	const uint32_t n = is_wide ? 2 : 1;
	struct gn_io_event *event = gn_io_event_next(&thread->events, place, n);
	uint32_t kind = GN_IO_EVENT_CALL;

	if (!event)
		return;
	if (request->direction >= 0)
		kind = request->direction == GN_IO_READS ? GN_IO_EVENT_READ : GN_IO_EVENT_WRITE;
	if (request->is_failed)
		kind |= GN_IO_EVENT_FAILED;
	event->begin = begin == UINT64_MAX ? gn_bare_ticks(gn_io_uses_counter) : begin;
	event->offset = request->offset;
	event->site = place;
	event->opening = request->opening;
	event->bytes = is_wide ? 0 : (uint32_t)request->asked;
	event->ticks_and_kind = (is_wide ? 0 : (uint32_t)ticks << GN_IO_EVENT_TICKS_BIT) | kind;
	if (is_wide)
		*(struct gn_io_event_wide *)(event + 1) = (struct gn_io_event_wide){
			.asked = request->asked,
			.delivered = request->delivered,
			.ticks = ticks,
			.kind = GN_IO_EVENT_WIDE,
		};
	gn_spool_add(&thread->events, sizeof(*event), n);
}

static inline void add_call(struct gn_io_thread *thread, const struct gn_io_call *call,
			    uint32_t file, const struct request *request, uint64_t ticks)
{
	const struct gn_call_origin origin = {
		.return_address = call->return_address,
		.frame = call->frame,
		.routine = call->routine,
		.object = GN_TOTALS_NONE,
		.python = gn_has_python_callers ? gn_python_caller_hash() : 0,
	};
	const uint32_t hash = gn_origin_hash(&origin);
	struct gn_call_place *place = gn_place_find(&thread->calls, &origin, hash);
	struct gn_site_record *site;

	if (__builtin_expect(!place, 0))
		place = add_place(thread, &origin, hash, file);
	if (!place)
		return;
	if (__builtin_expect(place->detail_of != (int32_t)file, 0))
		take_site(thread, place, file);
	if (!place->detail)
		return;
	site = &place->detail->site;
	site->calls++;
	site->sent += request->asked;
	site->received += request->delivered;
	site->ticks += ticks;
	if (ticks > site->most_ticks)
		site->most_ticks = ticks;
	site->failures += (uint64_t)request->is_failed;
	if (__builtin_expect(gn_io_events_are_on, 0))
		add_event(thread, call->begin, place->detail, request, ticks);
}

static inline void add_access_to(struct gn_access_record *record, const struct request *request,
				 int64_t last_end, uint32_t block_bytes)
{
	const int64_t end = request->offset + (int64_t)request->delivered;

	if (request->offset > last_end) {
		record->forward++;
		record->forward_bytes += (uint64_t)(request->offset - last_end);
	} else if (request->offset < last_end) {
		record->backward++;
		record->backward_bytes += (uint64_t)(last_end - request->offset);
	}
	/* Of most file systems a power of two. */
	if (((uint64_t)request->offset | request->asked) & (block_bytes - 1))
		record->unaligned++;
	if (end > (int64_t)record->end)
		record->end = (uint64_t)end;
}

static inline void add_request(struct gn_io_thread *thread, const struct gn_io_call *call,
			       uint32_t file, uint32_t block_bytes, _Atomic int64_t *last_end,
			       const struct request *request, uint64_t ticks)
{
	const uint32_t class = gn_size_class(request->asked);
	struct gn_io_access *access = access_of(thread, file, (uint16_t)request->direction);

	if (!access)
		return;
	if (__builtin_expect(access->class != class || access->routine != call->routine, 0))
		take_size(thread, access, call->routine, class);
	if (access->size) {
		access->size->size.calls++;
		access->size->size.bytes += request->delivered;
		access->size->size.ticks += ticks;
	}
	if (!access->access || !block_bytes || request->offset == GN_IO_NO_POSITION ||
	    request->is_failed)
		return;
	add_access_to(&access->access->access, request,
		      atomic_load_explicit(last_end, memory_order_relaxed), block_bytes);
	atomic_store_explicit(last_end, request->offset + (int64_t)request->delivered,
			      memory_order_relaxed);
}

static __attribute__((noinline)) struct gn_io_open_file *meet_descriptor(int fd)
{
	struct gn_io_open_file *own;
	struct gn_io_work work;

	gn_io_work_begin(&work);
	own = gn_io_descriptor_get(fd);
	gn_io_work_end(&work);
	return own;
}

static inline struct gn_io_open_file *open_file_of(int fd)
{
	struct gn_io_open_file *own = gn_io_descriptor_find(fd);

	return __builtin_expect(own != NULL, 1) ? own : meet_descriptor(fd);
}

static __attribute__((noinline)) uint32_t no_file(void)
{
	struct gn_io_work work;
	uint32_t file;

	gn_io_work_begin(&work);
	file = gn_io_file("(none)");
	gn_io_work_end(&work);
	return file;
}

static inline void finish(struct gn_io_thread *thread, uint64_t end)
{
	thread->calls.record->thread.last_ticks = end;
	thread->is_busy--;
}

void gn_io_add(const struct gn_io_call *call, struct gn_io_target target, int64_t offset,
	       int failed)
{
	const uint64_t end = gn_bare_ticks(gn_io_uses_counter);
	const uint32_t file = target.file;
	struct request request = NOTHING;

	if (!call->thread || file == GN_IO_OWN_FILE)
		return;
	request.opening = target.opening;
	request.offset = offset;
	request.is_failed = failed;
	call->thread->is_busy++;
	add_call(call->thread, call, file == GN_IO_NO_FILE ? no_file() : file, &request,
		 ticks_between(call->begin, end));
	finish(call->thread, end);
}

static struct gn_io_target target_of(const struct gn_io_open_file *own)
{
	return own ? (struct gn_io_target){own->file, own->opening} : GN_IO_NOTHING;
}

void gn_io_used(const struct gn_io_call *call, int fd, int failed)
{
	const struct gn_io_open_file *own;

	if (!call->thread)
		return;
	own = open_file_of(fd);
	gn_io_add(call, target_of(own), GN_IO_NO_POSITION, failed);
}

/* A request of an open file, of which a position of its own may move. */
static inline void add_move(const struct gn_io_call *call, struct gn_io_open_file *own,
			    _Atomic int64_t *last_end, const struct request *request, uint64_t end)
{
	const uint64_t ticks = ticks_between(call->begin, end);
	struct gn_io_thread *thread = call->thread;
	const uint32_t file = own ? own->file : no_file();

	if (file == GN_IO_OWN_FILE)
		return;
	thread->is_busy++;
	add_call(thread, call, file, request, ticks);
	add_request(thread, call, file, own ? own->block_bytes : 0, last_end, request, ticks);
	finish(thread, end);
}

void gn_io_moved(const struct gn_io_call *call, int fd, enum gn_io_direction direction,
		 uint64_t asked, ssize_t result)
{
	gn_io_moved_at(call, fd, direction, asked, result, -1);
}

static struct request request_of(enum gn_io_direction direction, uint64_t asked, ssize_t result,
				 int64_t offset)
{
	return (struct request){
		.asked = asked,
		.delivered = result > 0 ? (uint64_t)result : 0,
		.offset = offset,
		.direction = direction,
		.is_failed = result < 0,
	};
}

/* At the position, which moves. */
static int64_t move_position(_Atomic int64_t *moves, uint64_t bytes)
{
	const int64_t position = atomic_load_explicit(moves, memory_order_relaxed);

	if (position != GN_IO_NO_POSITION)
		atomic_store_explicit(moves, position + (int64_t)bytes, memory_order_relaxed);
	return position;
}

static int64_t move(struct gn_io_open_file *own, enum gn_io_direction direction, uint64_t bytes)
{
	int64_t offset;

	if (__builtin_expect(!own->appends || direction != GN_IO_WRITES, 1))
		return move_position(&own->position, bytes);
	offset = move_position(&own->append_offset, bytes);
	if (offset != GN_IO_NO_POSITION)
		atomic_store_explicit(&own->position, offset + (int64_t)bytes,
				      memory_order_relaxed);
	return offset;
}

void gn_io_moved_at(const struct gn_io_call *call, int fd, enum gn_io_direction direction,
		    uint64_t asked, ssize_t result, int64_t offset)
{
	const uint64_t end = gn_bare_ticks(gn_io_uses_counter);
	struct gn_io_open_file *own;
	struct request request;

	if (!call->thread)
		return;
	own = open_file_of(fd);
	request = request_of(direction, asked, result, offset);
	request.opening = opening_of(own);
	if (own && offset < 0)
		request.offset = move(own, direction, request.delivered);
	add_move(call, own, own ? &own->end : NULL, &request, end);
}

void gn_io_stream_request(const struct gn_io_call *call, int fd, enum gn_io_direction direction,
			  uint64_t asked, uint64_t delivered, int failed)
{
	const uint64_t end = gn_bare_ticks(gn_io_uses_counter);
	struct request request = request_of(direction, asked, (ssize_t)delivered, 0);
	struct gn_io_open_file *own = open_file_of(fd);

	request.is_failed = failed;
	request.opening = opening_of(own);
	request.offset = own ? move_position(&own->stream_position, delivered) : GN_IO_NO_POSITION;
	add_move(call, own, own ? &own->stream_end : NULL, &request, end);
}

#define MOST_COPIED ((uint64_t)1 << 60)

void gn_io_copied(const struct gn_io_call *call, uint32_t source, int to, int64_t to_offset,
		  int from, int64_t from_offset, uint64_t asked, ssize_t result)
{
	struct gn_io_call untimed = *call;

	/* Who asks for more than a file can have wants all that there is. */
	if (asked > MOST_COPIED)
		asked = result > 0 ? (uint64_t)result : 0;
	gn_io_moved_at(call, to, GN_IO_WRITES, asked, result, to_offset);
	/* Its time is with the file that it wrote. */
	untimed.begin = UINT64_MAX;
	untimed.routine = source;
	gn_io_moved_at(&untimed, from, GN_IO_READS, asked, result, from_offset);
}

void gn_io_sought(const struct gn_io_call *call, int fd, int64_t result)
{
	const uint64_t end = gn_bare_ticks(gn_io_uses_counter);
	struct request request = NOTHING;
	struct gn_io_open_file *own;

	if (!call->thread)
		return;
	own = open_file_of(fd);
	if (own && result >= 0)
		atomic_store_explicit(&own->position, result, memory_order_relaxed);
	if (own && own->file == GN_IO_OWN_FILE)
		return;
	request.is_failed = result < 0;
	request.opening = opening_of(own);
	if (result >= 0)
		request.offset = result;
	call->thread->is_busy++;
	add_call(call->thread, call, own ? own->file : no_file(), &request,
		 ticks_between(call->begin, end));
	finish(call->thread, end);
}

/* --- descriptors and paths -------------------------------------------------------------------- */

/* One more descriptor of a file was opened. */
static void count_open(struct gn_io_thread *thread, uint32_t file)
{
	struct gn_io_access *access;

	if (file >= GN_IO_OWN_FILE)
		return;
	thread->is_busy++;
	access = access_of(thread, file, GN_IO_READS);
	if (access && access->access)
		access->access->access.opens++;
	thread->is_busy--;
}

void gn_io_opened(const struct gn_io_call *call, int fd, int directory, const char *path, int flags)
{
	struct gn_io_open_file *own;
	struct gn_io_call timed = *call;
	struct gn_io_work work;
	struct gn_io_target target = GN_IO_NOTHING;
	uint64_t end = gn_bare_ticks(gn_io_uses_counter);

	if (!call->thread)
		return;
	gn_io_work_begin(&work);
	if (fd >= 0) {
		own = gn_io_descriptor_open(fd, flags);
		target = target_of(own);
	} else if (path) {
		target.file = gn_io_file_of_path(directory, path, 0);
	}
	gn_io_work_end(&work);
	/* What we looked up is no part of the call. */
	timed.begin += gn_bare_ticks(gn_io_uses_counter) - end;
	gn_io_add(&timed, target, GN_IO_NO_POSITION, fd < 0);
	if (fd >= 0)
		count_open(call->thread, target.file);
}

void gn_io_duplicated(const struct gn_io_call *call, int fd, int of)
{
	struct gn_io_work work;

	if (!call->thread)
		return;
	if (fd >= 0) {
		gn_io_work_begin(&work);
		gn_io_descriptor_duplicate(fd, of);
		gn_io_work_end(&work);
	}
	gn_io_used(call, of, fd < 0);
}

uint32_t gn_io_closing(struct gn_io_call *call, unsigned int first, unsigned int last)
{
	const struct gn_io_open_file *own;
	struct gn_io_work work;
	uint32_t file;

	if (!call->thread)
		return GN_IO_NO_FILE;
	gn_io_work_begin(&work);
	own = first == last ? gn_io_descriptor_get((int)first) : NULL;
	file = own ? own->file : GN_IO_NO_FILE;
	call->opening = opening_of(own);
	gn_io_descriptors_close(first, last);
	gn_io_work_end(&work);
	return file;
}

void gn_io_closed(const struct gn_io_call *call, uint32_t file, int failed)
{
	gn_io_add(call, (struct gn_io_target){file, call->opening}, GN_IO_NO_POSITION, failed);
}

uint32_t gn_io_range_closing(const struct gn_io_call *call, unsigned int first, unsigned int last,
			     int flags)
{
	struct gn_io_work work;

	if (call->thread && first <= last && !(flags & (int)CLOSE_RANGE_CLOEXEC)) {
		gn_io_work_begin(&work);
		gn_io_descriptors_close(first, last);
		gn_io_work_end(&work);
	}
	return GN_IO_NO_FILE;
}

void gn_io_controlled(const struct gn_io_call *call, int fd, int command, const void *argument,
		      int result)
{
	struct gn_io_open_file *own;

	if (!call->thread)
		return;
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
		gn_io_duplicated(call, result, fd);
		return;
	}
	own = gn_io_descriptor_find(fd);
	if (own && command == F_SETFL && result >= 0) {
		struct gn_io_work work;

		own->appends = ((intptr_t)argument & O_APPEND) != 0;
		own->append_offset = GN_IO_NO_POSITION;
		gn_io_work_begin(&work);
		gn_io_file_opened(own->file, (int)(intptr_t)argument);
		gn_io_work_end(&work);
	}
	gn_io_used(call, fd, result < 0);
}

void gn_io_sized(const struct gn_io_call *call, int fd, uint64_t asked, uint64_t delivered,
		 int failed)
{
	const uint64_t end = gn_bare_ticks(gn_io_uses_counter);
	struct request request = NOTHING;
	const struct gn_io_open_file *own;

	if (!call->thread)
		return;
	own = open_file_of(fd);
	if (own && own->file == GN_IO_OWN_FILE)
		return;
	request.asked = asked;
	request.delivered = delivered;
	request.is_failed = failed;
	request.opening = opening_of(own);
	call->thread->is_busy++;
	add_call(call->thread, call, own ? own->file : no_file(), &request,
		 ticks_between(call->begin, end));
	finish(call->thread, end);
}

void gn_io_mapped(const struct gn_io_call *call, int fd, int flags, int failed)
{
	if (fd >= 0 && !(flags & MAP_ANONYMOUS))
		gn_io_used(call, fd, failed);
}

void gn_io_listed(const struct gn_io_call *call, struct aiocb *const list[], int n, int failed)
{
	uint64_t bytes = 0;
	int fd = -1;

	if (!call->thread)
		return;
	for (int i = 0; i < n; i++)
		if (list[i] && list[i]->aio_lio_opcode != LIO_NOP) {
			fd = list[i]->aio_fildes;
			bytes += list[i]->aio_nbytes;
		}
	gn_io_sized(call, fd, bytes, 0, failed);
}

static uint32_t file_named(const struct gn_io_call *call, int directory, const char *path,
			   int was_read)
{
	struct gn_io_work work;
	uint32_t file;

	if (!call->thread)
		return GN_IO_NO_FILE;
	gn_io_work_begin(&work);
	file = gn_io_file_of_path(directory, path, was_read);
	gn_io_work_end(&work);
	return file;
}

uint32_t gn_io_name(const struct gn_io_call *call, int directory, const char *path)
{
	return file_named(call, directory, path, 0);
}

void gn_io_named(const struct gn_io_call *call, int directory, const char *path, int failed)
{
	const uint64_t end = gn_bare_ticks(gn_io_uses_counter);
	const uint32_t file = file_named(call, directory, path, !failed);
	struct gn_io_call timed = *call;

	timed.begin += gn_bare_ticks(gn_io_uses_counter) - end;
	gn_io_add(&timed, (struct gn_io_target){file, GN_TOTALS_NONE}, GN_IO_NO_POSITION, failed);
}
