/* Starting the program to be measured, so that it finds the world as if Gnomon were not there. */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **copy_strings(PyObject *list, Py_ssize_t n)
{
	char **strings = calloc((size_t)n + 1, sizeof(*strings));

	for (Py_ssize_t i = 0; strings && i < n; i++) {
		/* The bytes live as long as the list, which the caller holds. */
		PyObject *item = PyList_GetItem(list, i);

		strings[i] = item ? PyBytes_AsString(item) : NULL;
		if (!strings[i]) {
			free(strings);
			return NULL;
		}
	}
	if (!strings)
		PyErr_NoMemory();
	return strings;
}

static void become_program(char **argv, char **environment, const sigset_t *mask,
			   const int *defaults, int n_defaults, long nofile, int report)
{
	struct timespec now;
	int failed;

	for (int i = 0; i < n_defaults; i++)
		signal(defaults[i], SIG_DFL);
	if (nofile >= 0) {
		struct rlimit limit;

		if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
			limit.rlim_cur = (rlim_t)nofile;
			setrlimit(RLIMIT_NOFILE, &limit);
		}
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	if (write(report, &now, sizeof(now)) < 0)
		_exit(127);
	environ = environment;
	execvp(argv[0], argv);
	failed = errno;
	if (write(report, &failed, sizeof(failed)) < 0)
		_exit(127);
	_exit(failed == ENOENT ? 127 : 126);
}

/* Read until the program has closed the pipe by being executed, or has said why it was not. */
static int await_exec(int report, struct timespec *started)
{
	struct {
		struct timespec started;
		int failed;
	} __attribute__((packed)) said = {.failed = 0};
	size_t got = 0;

	while (got < sizeof(said)) {
		ssize_t n = read(report, (char *)&said + got, sizeof(said) - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	*started = said.started;
	return got == sizeof(said) ? said.failed : 0;
}

static PyObject *core_spawn(PyObject *module, PyObject *args)
{
	PyObject *list, *variables, *signals;
	int defaults[64], n_defaults, report[2], failed;
	struct timespec started = {0, 0};
	sigset_t all, before;
	char **argv, **environment;
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
	n_defaults = (int)PyTuple_Size(signals);
	if (n_defaults > 64) {
		PyErr_SetString(PyExc_ValueError, "more signals than there are");
		return NULL;
	}
	for (int i = 0; i < n_defaults; i++) {
		defaults[i] = (int)PyLong_AsLong(PyTuple_GetItem(signals, i));
		if (PyErr_Occurred())
			return NULL;
	}
	argv = copy_strings(list, PyList_Size(list));
	environment = argv ? copy_strings(variables, PyList_Size(variables)) : NULL;
	if (!environment || pipe2(report, O_CLOEXEC) < 0) {
		free(argv);
		free(environment);
		return PyErr_Occurred() ? NULL : PyErr_SetFromErrno(PyExc_OSError);
	}
	/* No signal may reach the child while it still has our handlers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0)
		become_program(argv, environment, &before, defaults, n_defaults, nofile, report[1]);
	failed = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(report[1]);
	free(argv);
	free(environment);
	if (pid < 0) {
		close(report[0]);
		return core_set_errno(-failed);
	}
	Py_BEGIN_ALLOW_THREADS failed = await_exec(report[0], &started);
	close(report[0]);
	if (failed)
		waitpid(pid, NULL, 0);
	Py_END_ALLOW_THREADS if (failed) return core_set_errno(-failed);
	return Py_BuildValue("(iL)", (int)pid,
			     (long long)started.tv_sec * 1000000000LL + started.tv_nsec);
}

static PyMethodDef functions[] = {
	{"spawn", core_spawn, METH_VARARGS,
	 "spawn(argv, environment, default_signals, nofile) -> (pid, start_ns)\n\n"
	 "Run a program (found through PATH) in an environment of NAME=value entries, with the\n"
	 "named signals at their defaults and, unless negative, the soft limit of open files; "
	 "start_ns is CLOCK_MONOTONIC_RAW just before it\n"
	 "was executed. Raises OSError with execvp's errno if it could not be."},
	{NULL, NULL, 0, NULL},
};

int core_add_process(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
