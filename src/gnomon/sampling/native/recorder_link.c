#include "recorder_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "python_records.h"
#include "staging.h"

/* A recorder that does not answer is stopped or dead: the program goes on without it. */
#define PATIENCE_S 2

/* Its name, of the variable as it was first: the program may change it. NULL: there is none. */
static const char *socket_name(void)
{
	static char name[32];
	const char *variable = secure_getenv(GN_PYTHON_SOCKET);

	if (!name[0] && variable && strlen(variable) < sizeof(name) && !strchr(variable, '/'))
		strcpy(name, variable);
	return name[0] ? name : NULL;
}

/*
 * The staging folder, likewise: a program that is about to execute another one may have made the
 * environment of that one its own. NULL: there is none.
 */
static const char *staging_folder(void)
{
	static char remembered[PATH_MAX];
	const char *folder;

	if (!remembered[0]) {
		folder = gn_staging_folder(GN_PYTHON_WRITER);
		if (folder && strlen(folder) < sizeof(remembered))
			strcpy(remembered, folder);
	}
	return remembered[0] ? remembered : NULL;
}

/* A path of any length: by its folder's descriptor. */
static int connect_to(int fd, const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error;

	if (folder_fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder_fd,
		 socket_name());
	error = connect(fd, (const struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	close(folder_fd);
	return error;
}

static int exchange(int fd, enum gn_python_request request)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	const uint32_t word = request;
	int32_t answer;
	ssize_t n;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    send(fd, &word, sizeof(word), MSG_NOSIGNAL) != sizeof(word))
		return -errno;
	do
		n = recv(fd, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(answer) ? answer : -EPROTO;
}

int gn_recorder_is_there(void)
{
	const char *folder = staging_folder();
	const int before = errno;
	int folder_fd, is_there;

	if (!folder || !socket_name())
		return 0;
	folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	is_there = folder_fd >= 0 && !faccessat(folder_fd, socket_name(), F_OK, 0);
	if (folder_fd >= 0)
		close(folder_fd);
	errno = before;
	return is_there;
}

int gn_recorder_ask(enum gn_python_request request)
{
	const char *folder = staging_folder();
	const int before = errno;
	int fd, error;

	if (!folder || !socket_name())
		return -ENOENT;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	error = fd < 0 ? -errno : connect_to(fd, folder);
	if (!error)
		error = exchange(fd, request);
	if (fd >= 0)
		close(fd);
	errno = before;
	return error;
}
