/*
 * Writes to a file whose descriptor others get, or whose writer is stopped, in the way that is
 * named; the file is then what it says.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 60
#define WRITES 200

static int file;

static void put(const char *text)
{
	if (write(file, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
}

static int child(void *unused)
{
	(void)unused;
	put("child ");
	_exit(0);
}

static void end_after(pid_t pid)
{
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		abort();
	put("parent again\n");
}

static void *write_on(void *unused)
{
	for (;;)
		put("on and on ");
	return unused;
}

static void cancel(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, write_on, NULL))
		abort();
	usleep(1000);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	/* How much it was is a matter of time. */
	if (ftruncate(file, 7))
		abort();
}

static void send_descriptor(int socket)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec byte = {"x", 1};
	struct msghdr message = {.msg_iov = &byte,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.head), &file, sizeof(int));
	if (sendmsg(socket, &message, 0) != 1)
		abort();
}

static void receive_and_write(int socket)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec place = {&byte, 1};
	struct msghdr message = {.msg_iov = &place,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	if (recvmsg(socket, &message, 0) != 1)
		_exit(1);
	memcpy(&file, CMSG_DATA(&control.head), sizeof(int));
	child(NULL);
}

static void send_to_child(void)
{
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		abort();
	pid = fork();
	if (!pid)
		receive_and_write(sockets[1]);
	/* Opened behind the fork, of which the child knows nothing but by the message. */
	close(file);
	file = open("sent", O_RDWR | O_CREAT, 0644);
	put("before ");
	send_descriptor(sockets[0]);
	end_after(pid);
}

static void *write_some(void *unused)
{
	for (int i = 0; i < WRITES; i++)
		put("0123456789");
	return unused;
}

/* No write is over another, whenever a fork comes. */
static void fork_beside_threads(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread[2];

		if (pthread_create(&thread[0], NULL, write_some, NULL) ||
		    pthread_create(&thread[1], NULL, write_some, NULL))
			abort();
		for (int j = 0; j < 3; j++) {
			const pid_t pid = fork();

			if (!pid)
				child(NULL);
			waitpid(pid, NULL, 0);
		}
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
		close(file);
		file = open("data", O_RDWR | O_APPEND);
		if (lseek(file, 0, SEEK_END) != (i + 1) * (2 * WRITES * 10 + 3 * 6))
			printf("round %d: bytes are missing\n", i);
		close(file);
		file = open("data", O_RDWR);
		lseek(file, 0, SEEK_END);
	}
	if (ftruncate(file, 0))
		abort();
}

static void *open_and_write(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		char name[16], text[6] = "";

		snprintf(name, sizeof(name), "t%d", i % 7);
		file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
		put("ab");
		put("cde");
		if (pread(file, text, 5, 0) != 5 || strcmp(text, "abcde"))
			puts("what was written is not there");
		close(file);
	}
	return unused;
}

static void vfork_beside_threads(void)
{
	pthread_t thread;

	close(file);
	if (pthread_create(&thread, NULL, open_and_write, NULL))
		abort();
	for (int i = 0; i < ROUNDS; i++) {
		const pid_t pid = vfork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	pthread_join(thread, NULL);
}

int main(int n, char **arguments)
{
	static char stack[1 << 16];
	const struct rlimit limit = {4, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	const char *way = n > 1 ? arguments[1] : "";

	file = open("data", O_RDWR | O_CREAT, 0644);
	if (strcmp(way, "threads"))
		put("parent ");
	if (!strcmp(way, "clone"))
		end_after(clone(child, stack + sizeof(stack), SIGCHLD, NULL));
	else if (!strcmp(way, "_Fork"))
		end_after(_Fork() ?: child(NULL));
	else if (!strcmp(way, "message"))
		send_to_child();
	else if (!strcmp(way, "cancel"))
		cancel();
	else if (!strcmp(way, "threads"))
		fork_beside_threads();
	else if (!strcmp(way, "vfork"))
		vfork_beside_threads();
	else if (!strcmp(way, "limit")) {
		setrlimit(RLIMIT_FSIZE, &limit);
		if (fsync(file))
			abort();
		setrlimit(RLIMIT_FSIZE, &none);
	} else if (!strcmp(way, "signal"))
		raise(SIGRTMIN + 1);
	else
		return 2;
	return 0;
}
