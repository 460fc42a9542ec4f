/*
 * Asynchronous requests go to the C library's aio(7) at once: what layers hold of the file is
 * written or dropped before. AIX's aio_nwait() waits for any of those that were begun, which aio(7)
 * does not know: they are kept here until they have been waited for.
 */
#include "aio_requests.h"

#include <aio.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gnomon/MIO_user.h"
#include "open_files.h"
#include "result.h"

/* Begun at a time; more are EAGAIN, as POSIX has it. */
#define REQUESTS_MAX 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct aiocb64 *requests[REQUESTS_MAX];
static int n_requests;

void gn_mio_aio_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	n_requests = 0;
}

static int keep(struct aiocb64 *request)
{
	int result = -EAGAIN;

	pthread_mutex_lock(&lock);
	if (n_requests < REQUESTS_MAX) {
		requests[n_requests++] = request;
		result = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static void forget(const struct aiocb64 *request)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_requests; i++)
		if (requests[i] == request) {
			requests[i] = requests[--n_requests];
			break;
		}
	pthread_mutex_unlock(&lock);
}

/* 0 or a negative errno; nothing is to be done for a descriptor that is none of MIO's. */
static int settle(int fd)
{
	int error, result;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);

	if (!file)
		return -error;
	result = gn_mio_stack_flush(file->stack);
	if (!result)
		result = gn_mio_stack_drop(file->stack);
	gn_mio_file_unlock(file);
	return result;
}

static int begin(int fd, struct aiocb64 *request, int (*call)(struct aiocb64 *))
{
	int result = request ? settle(fd) : -EINVAL;

	if (!result)
		result = keep(request);
	if (result)
		return (int)gn_mio_returned(result);
	request->aio_fildes = fd;
	result = call(request);
	if (result)
		forget(request);
	return result;
}

int MIO_aio_read64(int fd, MIO_STRUCT_AIOCB *request)
{
	return begin(fd, request, aio_read64);
}

int MIO_aio_write64(int fd, MIO_STRUCT_AIOCB *request)
{
	return begin(fd, request, aio_write64);
}

int MIO_aio_suspend64(int n, MIO_STRUCT_AIOCB **list)
{
	if (n <= 0 || !list)
		return (int)gn_mio_returned(-EINVAL);
	return aio_suspend64((const struct aiocb64 *const *)list, n, NULL);
}

int MIO_aio_cancel64(int fd, MIO_STRUCT_AIOCB *request)
{
	return aio_cancel64(fd, request);
}

/* Those that are complete go to `list`; returns how many. With the lock held. */
static int take_complete(struct aiocb64 **list, int n)
{
	int n_complete = 0;

	for (int i = 0; i < n_requests && n_complete < n;) {
		if (aio_error64(requests[i]) == EINPROGRESS) {
			i++;
			continue;
		}
		list[n_complete++] = requests[i];
		memmove(&requests[i], &requests[i + 1],
			(size_t)(--n_requests - i) * sizeof(*requests));
	}
	return n_complete;
}

/* Until one of those that go on is complete. 0 or a negative errno. */
static int wait_for_any(void)
{
	const struct aiocb64 **present;
	int n, result = 0;

	pthread_mutex_lock(&lock);
	n = n_requests;
	present = malloc((size_t)(n ? n : 1) * sizeof(*present));
	if (present && n)
		memcpy(present, requests, (size_t)n * sizeof(*present));
	pthread_mutex_unlock(&lock);
	if (!present)
		return -ENOMEM;
	if (!n)
		result = -EINVAL;
	else if (aio_suspend64(present, n, NULL))
		result = -errno;
	free(present);
	return result;
}

int MIO_aio_nwait64(int n, int n_least, MIO_STRUCT_AIOCB **list)
{
	int n_complete = 0, n_begun, result = 0;

	pthread_mutex_lock(&lock);
	n_begun = n_requests;
	pthread_mutex_unlock(&lock);
	if (!list || n_least < 1 || n < n_least || n_begun < n_least)
		return (int)gn_mio_returned(-EINVAL);
	while (!result) {
		pthread_mutex_lock(&lock);
		n_complete += take_complete(list + n_complete, n - n_complete);
		pthread_mutex_unlock(&lock);
		if (n_complete >= n_least)
			break;
		result = wait_for_any();
	}
	/* Those that were taken are the program's to look at. */
	return n_complete ? n_complete : (int)gn_mio_returned(result);
}

/* What is to be begun, in the form of the C library; entries may be NULL. */
static int prepare(struct liocb64 *request)
{
	struct aiocb64 *own = &request->lio_aiocb;
	int result;

	own->aio_fildes = request->lio_fildes;
	own->aio_lio_opcode = request->lio_opcode;
	if (request->lio_opcode == LIO_NOP)
		return 0;
	result = settle(request->lio_fildes);
	return result ? result : keep(own);
}

int MIO_lio_listio64(int mode, MIO_STRUCT_LIOCB **list, int n, void *event)
{
	struct aiocb64 **own;
	int n_prepared, result = 0;

	if (n < 0 || n > REQUESTS_MAX || (n && !list))
		return (int)gn_mio_returned(-EINVAL);
	own = calloc((size_t)n + 1, sizeof(*own));
	if (!own)
		return (int)gn_mio_returned(-ENOMEM);
	for (n_prepared = 0; n_prepared < n && !result; n_prepared++) {
		struct liocb64 *request = list[n_prepared];

		result = request ? prepare(request) : 0;
		own[n_prepared] = request ? &request->lio_aiocb : NULL;
	}
	result = result ? (int)gn_mio_returned(result) : lio_listio64(mode, own, n, event);
	/* LIO_WAIT has waited for them; of a call that failed some may go on, as aio(7) has it. */
	for (int i = 0; i < n_prepared; i++)
		if (own[i] && (mode == LIO_WAIT || aio_error64(own[i]) != EINPROGRESS))
			forget(own[i]);
	free(own);
	return result;
}
