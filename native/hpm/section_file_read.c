/* Reading a raw file that may be anything: every number is checked before it is used. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event_resolver.h"
#include "section_file.h"

#define BYTES_MAX ((uint64_t)4 << 30)

struct reader {
	char *bytes;
	uint64_t size;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reader *reader, const char *format,
							...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->why, reader->why_size, format, arguments);
	va_end(arguments);
	return -1;
}

/* Another process that lives has it: F_GETLK says which. */
static int is_in_use(int fd, int *pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return 0;
	*pid = (int)lock.l_pid;
	return 1;
}

static int read_all(struct reader *reader, int fd)
{
	struct stat status;
	uint64_t got = 0;
	int pid;

	if (fstat(fd, &status))
		return refuse(reader, "it cannot be read: %s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return refuse(reader, "not a regular file; name a .hpmraw file");
	if (is_in_use(fd, &pid))
		return refuse(reader, "process %d still writes it; wait for its end", pid);
	if ((uint64_t)status.st_size < sizeof(struct hpm_raw_header))
		return refuse(
			reader,
			"it ends at byte %lld, within the header; it is no raw file of libhpm, "
			"or was cut off",
			(long long)status.st_size);
	if ((uint64_t)status.st_size > BYTES_MAX)
		return refuse(reader, "it has %lld bytes, and libhpm's have %lld at most",
			      (long long)status.st_size, (long long)BYTES_MAX);
	reader->size = (uint64_t)status.st_size;
	reader->bytes = malloc(reader->size);
	if (!reader->bytes)
		return refuse(reader, "there is no memory for its %lld bytes; free some memory",
			      (long long)status.st_size);
	while (got < reader->size) {
		const ssize_t more = read(fd, reader->bytes + got, reader->size - got);

		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			return refuse(reader, "it cannot be read beyond byte %llu: %s",
				      (unsigned long long)got,
				      more ? strerror(errno) : "it became shorter");
		got += (uint64_t)more;
	}
	return 0;
}

/* A table of n rows of `bytes` each, wholly in the file. */
static int check_table(struct reader *reader, const char *name, uint64_t offset, uint64_t n,
		       uint64_t bytes)
{
	if (offset % 8 || offset < sizeof(struct hpm_raw_header) || offset > reader->size ||
	    n * bytes > reader->size - offset)
		return refuse(
			reader,
			"byte %llu: %llu rows of %s do not fit into its %llu bytes; it was cut "
			"off or damaged",
			(unsigned long long)offset, (unsigned long long)n, name,
			(unsigned long long)reader->size);
	return 0;
}

static int check_text(struct reader *reader, const char *text, size_t size, const char *name)
{
	if (memchr(text, '\0', size))
		return 0;
	return refuse(reader, "byte %llu: %s has no end; the file is damaged",
		      (unsigned long long)(text - reader->bytes), name);
}

static int check_header(struct reader *reader)
{
	const struct hpm_raw_header *header = (struct hpm_raw_header *)reader->bytes;
	const uint32_t slots = atomic_load(&header->n_slots);

	if (memcmp(header->magic, HPM_RAW_MAGIC, sizeof(header->magic)) != 0)
		return refuse(reader, "byte 0: it does not begin as raw files of libhpm do");
	if (header->byte_order != HPM_RAW_BYTE_ORDER)
		return refuse(reader, "byte 8: it was written with another byte order; repair it "
				      "on such a machine");
	if (header->version != HPM_RAW_VERSION)
		return refuse(reader,
			      "byte 12: it has version %u, and this Gnomon reads %u; take "
			      "the Gnomon that wrote it",
			      header->version, HPM_RAW_VERSION);
	if (header->flags & ~(HPM_RAW_EXCLUSIVE | HPM_RAW_TURNS | HPM_RAW_KEPT))
		return refuse(reader,
			      "byte 16: flags 0x%x are not known; take the Gnomon that "
			      "wrote it",
			      header->flags);
	if (header->n_packs > HPM_RAW_PACKS_MAX || header->n_events > HPM_RAW_EVENTS_MAX ||
	    header->n_groups > HPM_RAW_GROUPS_MAX || header->n_words > HPM_RAW_WORDS_MAX ||
	    slots > HPM_RAW_SECTIONS_MAX || header->environment_bytes > HPM_RAW_ENVIRONMENT_MAX)
		return refuse(reader, "the header counts more than can be; the file is damaged");
	if (header->n_words < HPM_USAGE_WORDS)
		return refuse(reader,
			      "byte 24: a snapshot of %u words has no times; the file is "
			      "damaged",
			      header->n_words);
	if (header->slot_bytes < hpm_raw_slot_bytes(header->n_words) ||
	    header->slot_bytes > hpm_raw_slot_bytes(header->n_words) + 64 || header->slot_bytes % 8)
		return refuse(reader,
			      "byte 20: sections of %u bytes do not go with %u words; the "
			      "file is damaged",
			      header->slot_bytes, header->n_words);
	if (!(header->ticks_hz >= 1e3 && header->ticks_hz <= 1e12))
		return refuse(reader, "a clock of %g Hz cannot be; the file is damaged",
			      header->ticks_hz);
	for (int i = 0; i < HPM_RAW_RUSAGE; i++) {
		if (!isfinite(header->rusage[i]))
			return refuse(reader, "resource usage %d is no number; the file is damaged",
				      i);
	}
	if (header->flags & HPM_RAW_TURNS && !header->n_packs)
		return refuse(reader, "there is no clock for its turns; the file is damaged");
	return check_text(reader, header->host, sizeof(header->host), "the host") ||
			       check_text(reader, header->program, sizeof(header->program),
					  "the program") ||
			       check_text(reader, header->command, sizeof(header->command),
					  "the command") ||
			       check_text(reader, header->asked, sizeof(header->asked),
					  "the list of events") ||
			       check_table(reader, "packs", header->packs, header->n_packs,
					   sizeof(struct hpm_raw_pack)) ||
			       check_table(reader, "events", header->events, header->n_events,
					   sizeof(struct hpm_raw_event)) ||
			       check_table(reader, "groups", header->groups, header->n_groups,
					   sizeof(struct hpm_raw_group)) ||
			       check_table(reader, "costs", header->costs,
					   2 * HPM_KINDS * (uint64_t)header->n_words,
					   sizeof(uint64_t)) ||
			       check_table(reader, "sections", header->slots, slots,
					   header->slot_bytes)
		       ? -1
		       : 0;
}

static int check_packs(struct reader *reader, const struct hpm_raw *raw)
{
	uint32_t word = 0;

	for (uint32_t p = 0; p < raw->header->n_packs; p++) {
		const struct hpm_raw_pack *pack = &raw->pack[p];

		if (pack->word != word || pack->n > raw->header->n_words ||
		    word + 3 + pack->n > raw->header->n_words - HPM_USAGE_WORDS ||
		    pack->is_turning > 1)
			return refuse(reader,
				      "byte %llu: pack %u is not where it should be; the "
				      "file is damaged",
				      (unsigned long long)((const char *)pack - reader->bytes), p);
		word += 3 + pack->n;
	}
	return 0;
}

/* Whether a program never takes more from its stack than is there, and leaves one number. */
static int is_program(const struct hpm_raw_event *event)
{
	int depth = 0;

	for (uint32_t i = 0; i < event->n_ops; i++) {
		const struct hpm_raw_op *op = &event->op[i];

		switch (op->kind) {
		case GN_OP_NATIVE:
			if (op->native >= event->n_natives)
				return 0;
			depth++;
			break;
		case GN_OP_CONSTANT:
		case GN_OP_SECONDS:
			depth++;
			break;
		case GN_OP_ADD:
		case GN_OP_SUBTRACT:
		case GN_OP_MULTIPLY:
		case GN_OP_DIVIDE:
			depth--;
			break;
		default:
			return 0;
		}
		if (depth < 1 || depth > HPM_RAW_STACK_MAX)
			return 0;
	}
	return !event->n_ops || depth == 1;
}

static int check_event(struct reader *reader, const struct hpm_raw *raw, uint32_t e)
{
	const struct hpm_raw_event *event = &raw->event[e];
	const unsigned long long offset = (unsigned long long)((const char *)event - reader->bytes);

	if (check_text(reader, event->name, sizeof(event->name), "an event's name") ||
	    check_text(reader, event->component, sizeof(event->component), "a component's name") ||
	    check_text(reader, event->unit, sizeof(event->unit), "an event's unit") ||
	    check_text(reader, event->description, sizeof(event->description),
		       "an event's description") ||
	    check_text(reader, event->reason, sizeof(event->reason), "an event's reason"))
		return -1;
	if (event->n_natives > HPM_RAW_NATIVES_MAX || event->n_ops > HPM_RAW_OPS_MAX ||
	    !isfinite(event->scale))
		return refuse(reader,
			      "byte %llu: event %u is made of more than can be; the file is "
			      "damaged",
			      offset, e);
	for (uint32_t i = 0; i < event->n_natives; i++) {
		const uint32_t p = event->native[i].pack, word = event->native[i].word;

		if (p >= raw->header->n_packs || word < raw->pack[p].word + 3 ||
		    word >= raw->pack[p].word + 3 + raw->pack[p].n)
			return refuse(reader,
				      "byte %llu: event %u counts what is not there; the "
				      "file is damaged",
				      offset, e);
	}
	if (!is_program(event))
		return refuse(reader,
			      "byte %llu: the formula of event %u makes no sense; the file "
			      "is damaged",
			      offset, e);
	return 0;
}

static int check_group(struct reader *reader, const struct hpm_raw *raw, uint32_t g)
{
	const struct hpm_raw_group *group = &raw->group[g];

	if (check_text(reader, group->name, sizeof(group->name), "a group's name"))
		return -1;
	if (group->first > raw->header->n_events || group->n > raw->header->n_events - group->first)
		return refuse(reader,
			      "byte %llu: group %u has events that are not there; the file "
			      "is damaged",
			      (unsigned long long)((const char *)group - reader->bytes), g);
	return 0;
}

static int check_slot(struct reader *reader, const struct hpm_raw *raw, uint32_t i)
{
	const struct hpm_raw_slot *slot = hpm_raw_slot_at(raw, i);

	if (check_text(reader, slot->label, sizeof(slot->label), "a section's label") ||
	    check_text(reader, slot->file, sizeof(slot->file), "a section's file") ||
	    check_text(reader, slot->module, sizeof(slot->module), "a section's module") ||
	    check_text(reader, slot->build_id, sizeof(slot->build_id), "a build id"))
		return -1;
	if (slot->id < 1 || slot->id > HPM_RAW_SECTIONS_MAX || slot->kind > HPM_THREAD)
		return refuse(reader, "byte %llu: section %d cannot be; the file is damaged",
			      (unsigned long long)((const char *)slot - reader->bytes), slot->id);
	return 0;
}

static int check(struct reader *reader, struct hpm_raw *raw)
{
	int failed = check_header(reader);

	if (failed)
		return failed;
	raw->header = (struct hpm_raw_header *)reader->bytes;
	raw->pack = (struct hpm_raw_pack *)(reader->bytes + raw->header->packs);
	raw->event = (struct hpm_raw_event *)(reader->bytes + raw->header->events);
	raw->group = (struct hpm_raw_group *)(reader->bytes + raw->header->groups);
	raw->environment = reader->bytes + raw->header->environment;
	raw->costs = (uint64_t *)(reader->bytes + raw->header->costs);
	raw->slots = reader->bytes + raw->header->slots;
	if (raw->header->environment > reader->size ||
	    raw->header->environment_bytes > reader->size - raw->header->environment ||
	    (raw->header->environment_bytes &&
	     raw->environment[raw->header->environment_bytes - 1]))
		return refuse(reader, "byte %llu: the variables have no end; the file is damaged",
			      (unsigned long long)raw->header->environment);
	failed = check_packs(reader, raw);
	for (uint32_t e = 0; !failed && e < raw->header->n_events; e++)
		failed = check_event(reader, raw, e);
	for (uint32_t g = 0; !failed && g < raw->header->n_groups; g++)
		failed = check_group(reader, raw, g);
	for (uint32_t i = 0; !failed && i < atomic_load(&raw->header->n_slots); i++)
		failed = check_slot(reader, raw, i);
	return failed;
}

int hpm_raw_read(const char *path, struct hpm_raw *raw, char *why, size_t size)
{
	struct reader reader = {.why = why, .why_size = size};
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int failed;

	if (fd < 0)
		return refuse(&reader, "%s", strerror(errno));
	failed = read_all(&reader, fd);
	close(fd);
	if (!failed)
		failed = check(&reader, raw);
	if (failed)
		free(reader.bytes);
	return failed;
}

void hpm_raw_free(struct hpm_raw *raw)
{
	free(raw->header);
}
