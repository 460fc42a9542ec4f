/* What libgnomon knows of this machine, and of this process's place in its job, for Python. */
#include "core.h"

#include <string.h>

#include "host_facts.h"
#include "launcher_env.h"
#include "launcher_rank.h"
#include "perf_errors.h"

#include "gnomon/gnomon.h"

#define PATH_MAX_BYTES 2048

/* The path of a recorded tree, "" for this machine's: 1, or 0 with an exception set. */
static int root_of(PyObject *path, char root[PATH_MAX_BYTES])
{
	PyObject *bytes = NULL;
	Py_ssize_t length;
	char *text;
	int fits;

	if (!PyUnicode_FSConverter(path, &bytes))
		return 0;
	if (PyBytes_AsStringAndSize(bytes, &text, &length) < 0) {
		Py_DECREF(bytes);
		return 0;
	}
	while (length && text[length - 1] == '/')
		length--;
	fits = length < PATH_MAX_BYTES;
	if (fits) {
		memcpy(root, text, (size_t)length);
		root[length] = '\0';
	} else {
		PyErr_SetString(PyExc_ValueError, "the root's path is too long");
	}
	Py_DECREF(bytes);
	return fits;
}

/* Files of the kernel and the firmware have any bytes. */
static PyObject *text_of(const char *text)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *number_of(int is_known, long long number)
{
	if (!is_known)
		Py_RETURN_NONE;
	return PyLong_FromLongLong(number);
}

static PyObject *sentences_of(const struct gn_refusal *refusal)
{
	return Py_BuildValue("(NN)", text_of(refusal->reason), text_of(refusal->remedy));
}

static PyObject *refusal(PyObject *module, PyObject *args)
{
	int number, is_hardware, is_tracepoint, cpu;
	char root[PATH_MAX_BYTES];
	struct gn_refusal why;
	unsigned int flags;
	PyObject *path;

	(void)module;
	if (!PyArg_ParseTuple(args, "ippiO:refusal", &number, &is_hardware, &is_tracepoint, &cpu,
			      &path) ||
	    !root_of(path, root))
		return NULL;
	flags = (is_hardware ? GN_EVENT_HARDWARE : 0) | (is_tracepoint ? GN_EVENT_TRACEPOINT : 0);
	gn_refusal_at(root, cpu, -number, flags, &why);
	return sentences_of(&why);
}

static PyObject *no_pmu(PyObject *module, PyObject *path)
{
	char root[PATH_MAX_BYTES];
	struct gn_refusal why;

	(void)module;
	if (!root_of(path, root))
		return NULL;
	gn_no_pmu(root, &why);
	return sentences_of(&why);
}

static PyObject *rights(PyObject *module, PyObject *path)
{
	char root[PATH_MAX_BYTES];
	struct gn_rights is;

	(void)module;
	if (!root_of(path, root))
		return NULL;
	gn_rights(root, &is);
	return Py_BuildValue("(NKOONNN)", number_of(is.has_paranoid, is.paranoid),
			     (unsigned long long)is.capabilities,
			     is.is_privileged ? Py_True : Py_False,
			     is.is_in_user_namespace ? Py_True : Py_False,
			     number_of(is.seccomp >= 0, is.seccomp),
			     number_of(is.open_files >= 0, is.open_files),
			     number_of(is.open_files_hard >= 0, is.open_files_hard));
}

static PyObject *hypervisor(PyObject *module, PyObject *path)
{
	char root[PATH_MAX_BYTES];
	struct gn_hypervisor host;

	(void)module;
	if (!root_of(path, root))
		return NULL;
	if (!gn_hypervisor(root, &host))
		Py_RETURN_NONE;
	return Py_BuildValue("(NsNNs)", text_of(host.kind), host.cloud, text_of(host.evidence),
			     text_of(host.name), host.pmu_remedy);
}

static PyObject *container(PyObject *module, PyObject *path)
{
	char root[PATH_MAX_BYTES];
	struct gn_container is;

	(void)module;
	if (!root_of(path, root))
		return NULL;
	if (!gn_container(root, &is))
		Py_RETURN_NONE;
	return Py_BuildValue("(NN)", text_of(is.engine), text_of(is.evidence));
}

/* A mapping of names to texts, and the text that was asked for last. */
struct variables {
	PyObject *mapping;
	PyObject *value;
};

static const char *variable_of(const char *name, void *context)
{
	struct variables *variables = context;
	const char *text;

	Py_CLEAR(variables->value);
	variables->value = PyMapping_GetItemString(variables->mapping, name);
	text = variables->value ? PyUnicode_AsUTF8AndSize(variables->value, NULL) : NULL;
	/* It is not there, or no text: it says nothing. */
	if (!text)
		PyErr_Clear();
	return text;
}

static PyObject *rank_place(PyObject *module, PyObject *mapping)
{
	struct variables variables = {mapping, NULL};
	struct gn_rank_place place;
	const int failed = gn_rank_place_find(variable_of, &variables, &place);

	(void)module;
	Py_XDECREF(variables.value);
	if (failed)
		Py_RETURN_NONE;
	return Py_BuildValue("(lNNNN)", place.rank, number_of(place.ranks >= 0, place.ranks),
			     number_of(place.local_rank >= 0, place.local_rank),
			     number_of(place.local_ranks >= 0, place.local_ranks),
			     number_of(place.nodes >= 0, place.nodes));
}

static PyObject *launcher_process(PyObject *module, PyObject *none)
{
	unsigned long long start;
	long process;

	(void)module;
	(void)none;
	if (gn_launcher_process(&process, &start))
		Py_RETURN_NONE;
	return Py_BuildValue("(lK)", process, start);
}

static PyMethodDef functions[] = {
	{"refusal", refusal, METH_VARARGS,
	 "refusal(errno, hardware, tracepoint, cpu, root, /) -> (reason, remedy)\n\n"
	 "What an error of perf_event_open(2) means."},
	{"no_pmu", no_pmu, METH_O,
	 "no_pmu(root, /) -> (reason, remedy)\n\nWhy there is no PMU for the cores."},
	{"rights", rights, METH_O,
	 "rights(root, /) -> (paranoid, capabilities, is_privileged, is_in_user_namespace, "
	 "seccomp,\n"
	 "                    open_files, open_files_hard)\n\n"
	 "What this process may do; None where it is unlimited or not known."},
	{"hypervisor", hypervisor, METH_O,
	 "hypervisor(root, /) -> (kind, cloud, evidence, name, pmu_remedy) | None"},
	{"container", container, METH_O, "container(root, /) -> (kind, evidence) | None"},
	{"rank_place", rank_place, METH_O,
	 "rank_place(environment, /) -> (rank, ranks, local_rank, local_ranks, nodes) | None\n\n"
	 "What launchers have set of a rank and its job; None for what they do not tell."},
	{"launcher_process", launcher_process, METH_NOARGS,
	 "launcher_process() -> (pid, ticks) | None\n\n"
	 "What has started the ranks of this node, and when, in clock ticks since boot."},
	{NULL, NULL, 0, NULL},
};

int core_add_host(PyObject *module)
{
	if (PyModule_AddStringConstant(module, "ON_EMULATED", GN_ON_EMULATED) < 0 ||
	    PyModule_AddStringConstant(module, "LOWER_PARANOID", GN_LOWER_PARANOID) < 0)
		return -1;
	return PyModule_AddFunctions(module, functions);
}
