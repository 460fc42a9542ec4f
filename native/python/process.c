/* Starting the program to be measured, so that it finds the world as if Gnomon were not there. */
#include "core.h"
#include "small.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * What execve is given, in pages of its own: the child gives back all others.
 */
struct words {
	char **argv, **environment;
	size_t bytes;
};

static Py_ssize_t length_of(PyObject *list, size_t *bytes)
{
	const Py_ssize_t n = PyList_Size(list);

	*bytes += ((size_t)n + 1) * sizeof(char *);
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *item = PyList_GetItem(list, i);
		const char *text = item ? PyBytes_AsString(item) : NULL;

		if (!text)
			return -1;
		*bytes += strlen(text) + 1;
	}
	return n;
}

static char *copy_strings(PyObject *list, Py_ssize_t n, char **strings, char *text)
{
	for (Py_ssize_t i = 0; i < n; i++) {
		strings[i] = text;
		text = stpcpy(text, PyBytes_AsString(PyList_GetItem(list, i))) + 1;
	}
	return text;
}

static int words_of(struct words *words, PyObject *list, PyObject *variables)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	Py_ssize_t n, n_variables;
	char *text;
	void *pages;

	words->bytes = 0;
	n = length_of(list, &words->bytes);
	n_variables = n < 0 ? -1 : length_of(variables, &words->bytes);
	if (n_variables < 0)
		return -1;
	words->bytes = (words->bytes + page - 1) / page * page;
	pages = mmap(NULL, words->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (pages == MAP_FAILED) {
		PyErr_SetFromErrno(PyExc_OSError);
		return -1;
	}
	words->argv = pages;
	words->environment = words->argv + n + 1;
	text = copy_strings(list, n, words->argv, (char *)(words->environment + n_variables + 1));
	copy_strings(variables, n_variables, words->environment, text);
	return 0;
}

/*
 * What the process had used up when it executed its program: the kernel's accounts go on over
 * that, and what was ours must come off them. Passed through a socket by recv() and send(), which
 * the kernel's I/O accounts (/proc/PID/io) leave out.
 */
struct before_exec {
	struct timespec at;
	struct rusage usage;
	char schedule[64]; /* as /proc/PID/schedstat has it; "" if it is not known */
};

static void become_program(const struct words *words, const struct small *small,
			   const sigset_t *mask, const int *dispositions, int n_dispositions,
			   long nofile, int gate)
{
	const char is_ready = 1;
	struct before_exec before = {0};
	int failed, schedule;
	ssize_t got;
	char go;

	for (int i = 0; i < n_dispositions; i++)
		signal(abs(dispositions[i]), dispositions[i] < 0 ? SIG_IGN : SIG_DFL);
	small_become(small);
	schedule = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	/* Only now: what is open until execve may be more than the program is allowed. */
	if (nofile >= 0) {
		struct rlimit limit;

		if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
			limit.rlim_cur = (rlim_t)nofile;
			setrlimit(RLIMIT_NOFILE, &limit);
		}
	}
	/* What it takes to execute a program is in memory when the peak is looked at. */
	execvp("", words->argv);
	if (send(gate, &is_ready, sizeof(is_ready), MSG_NOSIGNAL) < 0)
		_exit(127);
	/* Whoever counts gets ready now; if that process has died there is nothing to be done. */
	do
		got = recv(gate, &go, sizeof(go), 0);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(go))
		_exit(127);
	sigprocmask(SIG_SETMASK, mask, NULL);
	getrusage(RUSAGE_SELF, &before.usage);
	clock_gettime(CLOCK_MONOTONIC_RAW, &before.at);
	/* It has waited for a CPU since the gate was opened: that is not the program's. */
	if (read(schedule, before.schedule, sizeof(before.schedule) - 1) < 0)
		before.schedule[0] = '\0';
	if (send(gate, &before, sizeof(before), MSG_NOSIGNAL) < 0)
		_exit(127);
	environ = words->environment;
	execvp(words->argv[0], words->argv);
	failed = errno;
	if (send(gate, &failed, sizeof(failed), MSG_NOSIGNAL) < 0)
		_exit(127);
	_exit(failed == ENOENT ? 127 : 126);
}

/* Read until the program has closed the gate by being executed, or has said why it was not. */
static int await_exec(int gate, struct before_exec *before)
{
	struct {
		struct before_exec before;
		int failed;
	} __attribute__((packed)) said;
	size_t got = 0;

	memset(&said, 0, sizeof(said));
	while (got < sizeof(said)) {
		ssize_t n = recv(gate, (char *)&said + got, sizeof(said) - got, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	if (got >= sizeof(said.before))
		*before = said.before;
	return got == sizeof(said) ? said.failed : 0;
}

static PyObject *core_spawn(PyObject *module, PyObject *args)
{
	PyObject *list, *variables, *signals;
	int dispositions[64], n_dispositions, gate[2], failed;
	struct words words;
	struct small small;
	sigset_t all, before;
	char is_ready;
	ssize_t got;
	long nofile;
	pid_t pid;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!O!l:spawn", &PyList_Type, &list, &PyList_Type, &variables,
			      &PyTuple_Type, &signals, &nofile))
		return NULL;
	if (PyList_Size(list) < 1) {
		PyErr_SetString(PyExc_ValueError, "a program needs a name");
		return NULL;
	}
	n_dispositions = (int)PyTuple_Size(signals);
	if (n_dispositions > 64) {
		PyErr_SetString(PyExc_ValueError, "more signals than there are");
		return NULL;
	}
	for (int i = 0; i < n_dispositions; i++) {
		dispositions[i] = (int)PyLong_AsLong(PyTuple_GetItem(signals, i));
		if (PyErr_Occurred())
			return NULL;
	}
	if (words_of(&words, list, variables) < 0)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0) {
		failed = errno;
		munmap(words.argv, words.bytes);
		return core_set_errno(-failed);
	}
	small_prepare(&small, words.argv, words.bytes);
	/* No signal may reach the child while it still has our handlers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0) {
		close(gate[0]);
		become_program(&words, &small, &before, dispositions, n_dispositions, nofile,
			       gate[1]);
	}
	failed = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(gate[1]);
	munmap(words.argv, words.bytes);
	if (pid < 0) {
		close(gate[0]);
		return core_set_errno(-failed);
	}
	/* What it still does to itself is not the program's. One that was killed says nothing. */
	do
		got = recv(gate[0], &is_ready, sizeof(is_ready), 0);
	while (got < 0 && errno == EINTR);
	return Py_BuildValue("(ii)", (int)pid, gate[0]);
}

static PyObject *core_release(PyObject *module, PyObject *args)
{
	struct before_exec before;
	const struct rusage *used = &before.usage;
	const char go = 1;
	int pid, gate, failed;

	(void)module;
	if (!PyArg_ParseTuple(args, "ii:release", &pid, &gate))
		return NULL;
	/* Should the child be killed at the gate, this is when its time began. */
	memset(&before, 0, sizeof(before));
	clock_gettime(CLOCK_MONOTONIC_RAW, &before.at);
	/* clang-format off */
	Py_BEGIN_ALLOW_THREADS
	/* A child that was killed at the gate is found dead by whoever waits for it. */
	failed = send(gate, &go, sizeof(go), MSG_NOSIGNAL) < 0 ? 0 : await_exec(gate, &before);
	close(gate);
	if (failed)
		waitpid(pid, NULL, 0);
	Py_END_ALLOW_THREADS
		/* clang-format on */
		if (failed) return core_set_errno(-failed);
	return Py_BuildValue("(L(LLlllllll)y)",
			     (long long)before.at.tv_sec * 1000000000LL + before.at.tv_nsec,
			     (long long)used->ru_utime.tv_sec * 1000000LL + used->ru_utime.tv_usec,
			     (long long)used->ru_stime.tv_sec * 1000000LL + used->ru_stime.tv_usec,
			     used->ru_minflt, used->ru_majflt, used->ru_inblock, used->ru_oublock,
			     used->ru_nvcsw, used->ru_nivcsw, used->ru_maxrss, before.schedule);
}

static PyMethodDef functions[] = {
	{"spawn", core_spawn, METH_VARARGS,
	 "spawn(argv, environment, signals, nofile) -> (pid, gate)\n\n"
	 "Make a process that will run a program (found through PATH) in an environment of\n"
	 "NAME=value entries, with the given signals at their defaults (those given as negative\n"
	 "numbers ignored) and, unless negative, the soft limit of open files. It waits at its "
	 "gate\n"
	 "until release. Raises OSError."},
	{"release", core_release, METH_VARARGS,
	 "release(pid, gate) -> (start_ns, used, schedule)\n\n"
	 "Let a spawned process execute its program; start_ns is CLOCK_MONOTONIC_RAW just before,\n"
	 "used what it had used by then: (utime_us, stime_us, minflt, majflt, inblock, oublock,\n"
	 "nvcsw, nivcsw, maxrss) of getrusage(2), and what /proc/PID/schedstat said then, or b''.\n"
	 "Raises OSError with execvp's errno if it could not be executed; the process is then "
	 "gone."},
	{NULL, NULL, 0, NULL},
};

int core_add_process(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
