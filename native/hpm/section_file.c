/* Writing the raw file. */
#include "section_file.h"

#include "descriptor.h"
#include "fast_path.h"
#include "file_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file grows by so much; sections come and go within it without a system call. */
#define CHUNK_BYTES (256 * 1024)

static size_t rounded_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Space that is there, so that a full disk is an error here and no signal later. */
static int make_ready(struct hpm_raw_file *file, size_t bytes)
{
	size_t ready;
	int error;

	if (bytes <= file->ready_bytes)
		return 0;
	ready = rounded_up(bytes, CHUNK_BYTES);
	if (ready > file->reserved_bytes)
		ready = file->reserved_bytes;
	if (ready < bytes)
		return -ENOSPC;
	if (file->fd >= 0) {
		struct gn_file_signals signals;

		/* A limit of a file's size is an error, too, and no end of the program. */
		gn_file_signals_hold(&signals);
		error = posix_fallocate(file->fd, 0, (off_t)ready);
		gn_file_signals_release(&signals);
		if (error)
			return -error;
	}
	file->ready_bytes = ready;
	return 0;
}

static int open_file(struct hpm_raw_file *file, const char *path, const char *other)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
	const char *names[] = {path, other};

	for (int i = 0; i < 2; i++) {
		if (strlen(names[i]) >= sizeof(file->path))
			return -ENAMETOOLONG;
		file->fd = open(names[i], flags, 0666);
		if (file->fd >= 0) {
			/* An absolute name, as the program may change its folder. */
			if (!realpath(names[i], file->path))
				strcpy(file->path, names[i]);
			file->fd = gn_descriptor_raise(file->fd);
			gn_descriptor_mark_used(file->fd);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

static void lay_out(struct hpm_raw_header *header)
{
	uint64_t offset = rounded_up(sizeof(*header), 64);

	header->packs = offset;
	offset += header->n_packs * sizeof(struct hpm_raw_pack);
	header->events = offset;
	offset += header->n_events * sizeof(struct hpm_raw_event);
	header->groups = offset;
	offset += header->n_groups * sizeof(struct hpm_raw_group);
	header->environment = offset;
	offset += header->environment_bytes;
	header->costs = rounded_up(offset, 64);
	offset = header->costs + 2 * HPM_KINDS * header->n_words * sizeof(uint64_t);
	header->slots = rounded_up(offset, 64);
	header->slot_bytes = (uint32_t)rounded_up(hpm_raw_slot_bytes(header->n_words), 64);
}

static void point_into(struct hpm_raw *raw, void *start)
{
	char *base = start;

	raw->header = start;
	raw->pack = (struct hpm_raw_pack *)(base + raw->header->packs);
	raw->event = (struct hpm_raw_event *)(base + raw->header->events);
	raw->group = (struct hpm_raw_group *)(base + raw->header->groups);
	raw->environment = base + raw->header->environment;
	raw->costs = (uint64_t *)(base + raw->header->costs);
	raw->slots = base + raw->header->slots;
}

static void give_up_file(struct hpm_raw_file *file)
{
	if (file->fd >= 0) {
		unlink(file->path);
		close(file->fd);
	}
	file->fd = -1;
	file->path[0] = '\0';
	file->ready_bytes = 0;
}

static void *map(struct hpm_raw_file *file)
{
	const int flags = file->fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	void *start = mmap(NULL, file->reserved_bytes, PROT_READ | PROT_WRITE,
			   flags | MAP_NORESERVE, file->fd, 0);

	if (start == MAP_FAILED)
		return NULL;
	/* What a child does must not be seen in its parent's sections. */
	madvise(start, file->reserved_bytes, MADV_DONTFORK);
	return start;
}

int hpm_raw_create(struct hpm_raw_file *file, const struct hpm_raw_plan *plan, uint32_t n_max,
		   const char *path, const char *other)
{
	struct hpm_raw_header header = plan->header;
	char *start = NULL;
	int error;

	memset(file, 0, sizeof(*file));
	lay_out(&header);
	file->n_max = n_max;
	file->reserved_bytes =
		rounded_up(header.slots + (size_t)n_max * header.slot_bytes, CHUNK_BYTES);
	error = open_file(file, path, other);
	if (!error)
		error = make_ready(file, header.slots);
	if (!error) {
		start = map(file);
		error = start ? 0 : -errno;
	}
	if (error) {
		give_up_file(file);
		start = map(file);
		if (!start)
			return -ENOMEM;
		make_ready(file, header.slots);
	}
	memset(header.magic, 0, sizeof(header.magic));
	memcpy(start, &header, sizeof(header));
	point_into(&file->raw, start);
	memcpy(file->raw.pack, plan->pack, header.n_packs * sizeof(*plan->pack));
	if (header.n_events)
		memcpy(file->raw.event, plan->event, header.n_events * sizeof(*plan->event));
	memcpy(file->raw.group, plan->group, header.n_groups * sizeof(*plan->group));
	if (header.environment_bytes)
		memcpy(file->raw.environment, plan->environment, header.environment_bytes);
	atomic_thread_fence(memory_order_release);
	memcpy(file->raw.header->magic, HPM_RAW_MAGIC, sizeof(header.magic));
	return error;
}

struct hpm_raw_slot *hpm_raw_add(struct hpm_raw_file *file, int id)
{
	struct hpm_raw_header *header = file->raw.header;
	const uint32_t n = atomic_load(&header->n_slots);
	struct hpm_raw_slot *slot;

	if (n >= file->n_max ||
	    make_ready(file, header->slots + (size_t)(n + 1) * header->slot_bytes))
		return NULL;
	slot = hpm_raw_slot_at(&file->raw, n);
	/* The pages are there from now on: no section is to count their faults. */
	memset(slot, 0, header->slot_bytes);
	slot->id = id;
	atomic_store(&header->n_slots, n + 1);
	return slot;
}

void hpm_raw_remove(struct hpm_raw_file *file)
{
	give_up_file(file);
}
