/*
 * Calls by which other processes get descriptors, threads get tables of their own, and files get a
 * limit: the kernel has to know before what modules hold.
 */
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "module_calls.h"
#include "module_exposure.h"
#include "module_process.h"
#include "next_symbol.h"

/* Looked up once: programs send messages all the time. */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static typeof(&name) next;                                                         \
                                                                                                   \
		if (!__atomic_load_n(&next, __ATOMIC_RELAXED))                                     \
			__atomic_store_n(&next, (typeof(&name))gn_next_symbol(#name),              \
					 __ATOMIC_RELAXED);                                        \
		next;                                                                              \
	})

/* A message that cannot be read is the kernel's to refuse. */
static void expose_sent(const struct msghdr *message)
{
	const struct cmsghdr *part;

	if (!gn_io_is_readable(message, sizeof(*message)) ||
	    !gn_io_is_readable(message->msg_control, message->msg_controllen))
		return;
	for (part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR((struct msghdr *)(uintptr_t)message,
				(struct cmsghdr *)(uintptr_t)part)) {
		const int *fd = (const int *)CMSG_DATA(part);
		const size_t n = part->cmsg_len < CMSG_LEN(0)
					 ? 0
					 : (part->cmsg_len - CMSG_LEN(0)) / sizeof(*fd);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++)
			gn_io_expose(fd[i]);
	}
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (gn_io_asks_modules())
		expose_sent(message);
	return NEXT(sendmsg)(fd, message, flags);
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags)
{
	if (gn_io_asks_modules() && gn_io_is_readable(messages, n * sizeof(*messages)))
		for (unsigned int i = 0; i < n; i++)
			expose_sent(&messages[i].msg_hdr);
	return NEXT(sendmmsg)(fd, messages, n, flags);
}

/* The number of a descriptor then has several meanings in a process. */
int unshare(int flags)
{
	if (flags & CLONE_FILES && gn_io_asks_modules()) {
		gn_io_expose_range(0, INT_MAX, 0);
		gn_io_has_modules = 0;
	}
	return NEXT(unshare)(flags);
}

/* What is held was written under the former limit. */
static void show_before_limit(int resource)
{
	if (resource == RLIMIT_FSIZE && gn_io_asks_modules())
		gn_io_show_all();
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	show_before_limit((int)resource);
	return NEXT(setrlimit)(resource, limit);
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	show_before_limit((int)resource);
	return NEXT(setrlimit64)(resource, limit);
}

int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
	    struct rlimit *former)
{
	show_before_limit((int)resource);
	return NEXT(prlimit)(pid, resource, limit, former);
}

int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
	      struct rlimit64 *former)
{
	show_before_limit((int)resource);
	return NEXT(prlimit64)(pid, resource, limit, former);
}
