/*
 * Event names through libpfm4, which is loaded when first asked for: a machine without it, or a
 * command that needs none of its names, never pays for it.
 */
#include "core.h"

#include <dlfcn.h>
#include <perfmon/pfmlib.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of perfmon/pfmlib_perf_event.h, whose own copy of perf_event.h cannot stand beside the
 * kernel's: the argument of PFM_OS_PERF_EVENT, ABI 0.
 */
struct perf_encode_arg {
	struct perf_event_attr *attr;
	char **fstr;
	size_t size;
	int idx;
	int cpu;
	int flags;
	int pad0;
};

static struct {
	int ready;
	int version;
	pfm_err_t (*initialize)(void);
	const char *(*strerror)(int);
	int (*get_version)(void);
	pfm_err_t (*get_pmu_info)(pfm_pmu_t, pfm_pmu_info_t *);
	pfm_err_t (*get_event_info)(int, pfm_os_t, pfm_event_info_t *);
	pfm_err_t (*get_event_attr_info)(int, int, pfm_os_t, pfm_event_attr_info_t *);
	int (*get_event_next)(int);
	pfm_err_t (*get_os_event_encoding)(const char *, int, pfm_os_t, void *);
} pfm;

static PyObject *pfm_error;

static int load(void)
{
	static const struct {
		const char *name;
		void *slot;
	} symbols[] = {
		{"pfm_initialize", &pfm.initialize},
		{"pfm_strerror", &pfm.strerror},
		{"pfm_get_version", &pfm.get_version},
		{"pfm_get_pmu_info", &pfm.get_pmu_info},
		{"pfm_get_event_info", &pfm.get_event_info},
		{"pfm_get_event_attr_info", &pfm.get_event_attr_info},
		{"pfm_get_event_next", &pfm.get_event_next},
		{"pfm_get_os_event_encoding", &pfm.get_os_event_encoding},
	};
	void *library;
	int failed;

	if (pfm.ready)
		return 0;
	library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		PyErr_Format(PyExc_ImportError, "libpfm4 is not installed: %s", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol) {
			PyErr_Format(PyExc_ImportError, "libpfm4 has no %s", symbols[i].name);
			return -1;
		}
		memcpy(symbols[i].slot, &symbol, sizeof(symbol));
	}
	failed = pfm.initialize();
	if (failed != PFM_SUCCESS) {
		PyErr_Format(PyExc_ImportError, "libpfm4 cannot start: %s", pfm.strerror(failed));
		return -1;
	}
	pfm.version = pfm.get_version();
	pfm.ready = 1;
	return 0;
}

static PyObject *raise_pfm_error(int code)
{
	PyObject *value = Py_BuildValue("is", code, pfm.strerror(code));

	if (value)
		PyErr_SetObject(pfm_error, value);
	Py_XDECREF(value);
	return NULL;
}

static PyObject *pfm_encode(PyObject *module, PyObject *args)
{
	struct perf_event_attr attr;
	struct perf_encode_arg arg;
	unsigned int exclude = 0;
	char *full = NULL;
	const char *name;
	PyObject *result;
	int code;

	(void)module;
	if (!PyArg_ParseTuple(args, "s:pfm_encode", &name) || load() < 0)
		return NULL;
	memset(&attr, 0, sizeof(attr));
	memset(&arg, 0, sizeof(arg));
	arg.attr = &attr;
	arg.fstr = &full;
	arg.size = sizeof(arg);
	code = pfm.get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3 | PFM_PLMH, PFM_OS_PERF_EVENT,
					 &arg);
	if (code != PFM_SUCCESS)
		return raise_pfm_error(code);
	exclude |= attr.exclude_user ? GN_EXCLUDE_USER : 0;
	exclude |= attr.exclude_kernel ? GN_EXCLUDE_KERNEL : 0;
	exclude |= attr.exclude_hv ? GN_EXCLUDE_HYPERVISOR : 0;
	result = Py_BuildValue("(IKKKIs)", (unsigned int)attr.type, (unsigned long long)attr.config,
			       (unsigned long long)attr.config1, (unsigned long long)attr.config2,
			       exclude, full ? full : name);
	free(full);
	return result;
}

static PyObject *pfm_pmus(PyObject *module, PyObject *unused)
{
	PyObject *all;

	(void)module;
	(void)unused;
	if (load() < 0)
		return NULL;
	all = PyList_New(0);
	for (int id = 0; all && id < PFM_PMU_MAX; id++) {
		pfm_pmu_info_t info;
		PyObject *one;

		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm.get_pmu_info(id, &info) != PFM_SUCCESS || !info.name)
			continue;
		one = Py_BuildValue("(isssiiiO)", id, info.name, info.desc ? info.desc : "",
				    info.type == PFM_PMU_TYPE_CORE ? "core" : "other", info.nevents,
				    info.num_cntrs, info.num_fixed_cntrs,
				    info.is_present ? Py_True : Py_False);
		if (!one || PyList_Append(all, one) < 0)
			Py_CLEAR(all);
		Py_XDECREF(one);
	}
	return all;
}

static PyObject *unit_masks(int event, int n)
{
	PyObject *all = PyList_New(0);

	for (int i = 0; all && i < n; i++) {
		pfm_event_attr_info_t info;
		PyObject *one;

		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm.get_event_attr_info(event, i, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS ||
		    info.type != PFM_ATTR_UMASK)
			continue;
		one = Py_BuildValue("(ss)", info.name, info.desc ? info.desc : "");
		if (!one || PyList_Append(all, one) < 0)
			Py_CLEAR(all);
		Py_XDECREF(one);
	}
	return all;
}

static PyObject *pfm_events(PyObject *module, PyObject *arg)
{
	pfm_pmu_info_t pmu;
	PyObject *all;
	int code;

	(void)module;
	memset(&pmu, 0, sizeof(pmu));
	pmu.size = sizeof(pmu);
	if (load() < 0)
		return NULL;
	code = pfm.get_pmu_info((pfm_pmu_t)PyLong_AsLong(arg), &pmu);
	if (PyErr_Occurred())
		return NULL;
	if (code != PFM_SUCCESS)
		return raise_pfm_error(code);
	all = PyList_New(0);
	for (int i = pmu.first_event; all && i != -1; i = pfm.get_event_next(i)) {
		pfm_event_info_t info;
		PyObject *masks, *one;

		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm.get_event_info(i, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
			continue;
		masks = unit_masks(i, info.nattrs);
		one = masks ? Py_BuildValue("(ssN)", info.name, info.desc ? info.desc : "", masks)
			    : NULL;
		if (!one || PyList_Append(all, one) < 0)
			Py_CLEAR(all);
		Py_XDECREF(one);
	}
	return all;
}

static PyObject *pfm_version(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (load() < 0)
		return NULL;
	return Py_BuildValue("(ii)", PFM_MAJ_VERSION(pfm.version), PFM_MIN_VERSION(pfm.version));
}

static PyMethodDef functions[] = {
	{"pfm_encode", pfm_encode, METH_VARARGS,
	 "pfm_encode(name) -> (type, config, config1, config2, exclude, full_name)\n\n"
	 "What libpfm4 makes of an event name. Raises PfmError(code, message), or ImportError\n"
	 "where libpfm4 is not installed."},
	{"pfm_pmus", pfm_pmus, METH_NOARGS,
	 "pfm_pmus() -> [(id, name, description, kind, events, counters, fixed, present)]\n\n"
	 "Every PMU in libpfm4's tables."},
	{"pfm_events", pfm_events, METH_O,
	 "pfm_events(pmu_id) -> [(name, description, [(unit_mask, description)])]\n\n"
	 "The events of a PMU, present or not."},
	{"pfm_version", pfm_version, METH_NOARGS, "pfm_version() -> (major, minor)\n\nOf libpfm4."},
	{NULL, NULL, 0, NULL},
};

int core_add_events(PyObject *module)
{
	pfm_error = PyErr_NewExceptionWithDoc("gnomon._core.PfmError",
					      "libpfm4 refused a name; args are (code, message).",
					      NULL, NULL);
	if (!pfm_error || PyModule_AddObjectRef(module, "PfmError", pfm_error) < 0)
		return -1;
	return PyModule_AddFunctions(module, functions);
}
