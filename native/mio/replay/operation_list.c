#include "operation_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPERATION_BYTES sizeof(struct gn_replay_operation)

_Static_assert(sizeof(struct gn_replay_header) == 48, "as Python writes it");
_Static_assert(OPERATION_BYTES == 32, "as Python writes it");

static int refuse(struct gn_replay_error *error, uint64_t offset, const char *what)
{
	error->offset = offset;
	snprintf(error->message, sizeof(error->message), "%s", what);
	return -EINVAL;
}

static int read_all(int fd, void *to, size_t bytes, uint64_t offset)
{
	size_t n = 0;

	while (n < bytes) {
		const ssize_t part = pread(fd, (char *)to + n, bytes - n, (off_t)(offset + n));

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return part ? -errno : -ENODATA;
		n += (size_t)part;
	}
	return 0;
}

static int check_header(const struct gn_replay_header *header, uint64_t file_bytes,
			struct gn_replay_error *error)
{
	if (memcmp(header->magic, GN_REPLAY_MAGIC, sizeof(header->magic)))
		return refuse(error, offsetof(struct gn_replay_header, magic),
			      "this is no list of operations");
	if (header->byte_order != GN_REPLAY_BYTE_ORDER)
		return refuse(error, offsetof(struct gn_replay_header, byte_order),
			      "it has the byte order of another machine");
	if (header->version != GN_REPLAY_VERSION)
		return refuse(error, offsetof(struct gn_replay_header, version),
			      "it has another version");
	if (header->flags & ~GN_REPLAY_FLAGS)
		return refuse(error, offsetof(struct gn_replay_header, flags),
			      "it has unknown flags");
	if (!header->n_operations || header->n_operations > GN_REPLAY_OPERATIONS_MAX)
		return refuse(error, offsetof(struct gn_replay_header, n_operations),
			      "it has no operations, or too many");
	if (file_bytes != sizeof(*header) + header->n_operations * OPERATION_BYTES)
		return refuse(error, offsetof(struct gn_replay_header, n_operations),
			      "it is shorter or longer than its operations");
	if (header->begin_bytes > GN_REPLAY_FILE_MAX)
		return refuse(error, offsetof(struct gn_replay_header, begin_bytes),
			      "the file would be too large");
	if (header->end > GN_REPLAY_FILE_MAX)
		return refuse(error, offsetof(struct gn_replay_header, end),
			      "the file would be too large");
	return 0;
}

/* NULL: it can be done with what is open then, which it changes. */
static const char *problem_of(const struct gn_replay_header *header,
			      const struct gn_replay_operation *own, char *is_open)
{
	if (own->kind >= GN_REPLAY_KINDS)
		return "an operation of no kind";
	if (own->slot >= GN_REPLAY_SLOTS_MAX)
		return "too many open files";
	if (own->pause_ns > GN_REPLAY_PAUSE_MAX)
		return "too long a pause";
	if (own->bytes > GN_REPLAY_REQUEST_MAX || own->offset > header->end ||
	    own->bytes > header->end - own->offset)
		return "a request beyond the end";
	if (own->kind == GN_REPLAY_WRITE && !(header->flags & GN_REPLAY_ON_SCRATCH))
		return "a write where no scratch copy is asked for";
	if ((own->kind == GN_REPLAY_OPEN) == is_open[own->slot])
		return own->kind == GN_REPLAY_OPEN ? "a file that is open is opened"
						   : "a file is used that is not open";
	if (own->kind == GN_REPLAY_OPEN || own->kind == GN_REPLAY_CLOSE)
		is_open[own->slot] = own->kind == GN_REPLAY_OPEN;
	return NULL;
}

static int check_operations(struct gn_replay_list *list, struct gn_replay_error *error)
{
	char is_open[GN_REPLAY_SLOTS_MAX] = {0};

	for (uint64_t i = 0; i < list->header.n_operations; i++) {
		const struct gn_replay_operation *own = &list->operation[i];
		const char *problem = problem_of(&list->header, own, is_open);

		if (problem)
			return refuse(error, sizeof(list->header) + i * OPERATION_BYTES, problem);
		if (own->bytes > list->most_bytes)
			list->most_bytes = own->bytes;
	}
	return 0;
}

static int read_open_file(struct gn_replay_list *list, int fd, struct gn_replay_error *error)
{
	struct stat status;
	size_t bytes;
	int result;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return refuse(error, 0, "this is no list of operations");
	if ((uint64_t)status.st_size < sizeof(list->header))
		return refuse(error, (uint64_t)status.st_size, "it is truncated");
	result = read_all(fd, &list->header, sizeof(list->header), 0);
	if (!result)
		result = check_header(&list->header, (uint64_t)status.st_size, error);
	if (result)
		return result;
	bytes = list->header.n_operations * OPERATION_BYTES;
	list->operation = malloc(bytes);
	if (!list->operation)
		return -ENOMEM;
	result = read_all(fd, list->operation, bytes, sizeof(list->header));
	if (!result)
		result = check_operations(list, error);
	if (result)
		gn_replay_list_free(list);
	return result;
}

int gn_replay_list_read(struct gn_replay_list *list, const char *path,
			struct gn_replay_error *error)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int result;

	*list = (struct gn_replay_list){0};
	*error = (struct gn_replay_error){0};
	if (fd < 0)
		result = -errno;
	else
		result = read_open_file(list, fd, error);
	if (fd >= 0)
		close(fd);
	if (result && !error->message[0])
		snprintf(error->message, sizeof(error->message), "%s", strerror(-result));
	return result;
}

void gn_replay_list_free(struct gn_replay_list *list)
{
	free(list->operation);
	list->operation = NULL;
}
