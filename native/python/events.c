/* Event names through libpfm4, for Python. */
#include "core.h"

#include <string.h>

#include "libpfm.h"

static PyObject *pfm_error;

/* libpfm4's functions; NULL, with ImportError set, where it cannot be had. */
static const struct gn_pfm *load(void)
{
	const char *problem;
	const struct gn_pfm *pfm = gn_pfm(&problem);

	if (!pfm)
		PyErr_SetString(PyExc_ImportError, problem);
	return pfm;
}

static PyObject *raise_pfm_error(const struct gn_pfm *pfm, int code)
{
	PyObject *value = Py_BuildValue("is", code, pfm->strerror(code));

	if (value)
		PyErr_SetObject(pfm_error, value);
	Py_XDECREF(value);
	return NULL;
}

static PyObject *pfm_encode(PyObject *module, PyObject *args)
{
	char full[GN_PFM_NAME_MAX];
	const struct gn_pfm *pfm;
	struct gn_event_spec spec;
	const char *name;
	int code;

	(void)module;
	if (!PyArg_ParseTuple(args, "s:pfm_encode", &name))
		return NULL;
	pfm = load();
	if (!pfm)
		return NULL;
	code = gn_pfm_encode(pfm, name, &spec, full);
	if (code != PFM_SUCCESS)
		return raise_pfm_error(pfm, code);
	return Py_BuildValue("(IKKKIs)", (unsigned int)spec.type, (unsigned long long)spec.config,
			     (unsigned long long)spec.config1, (unsigned long long)spec.config2,
			     (unsigned int)spec.exclude, full);
}

static PyObject *pfm_pmus(PyObject *module, PyObject *unused)
{
	const struct gn_pfm *pfm = load();
	PyObject *all;

	(void)module;
	(void)unused;
	if (!pfm)
		return NULL;
	all = PyList_New(0);
	for (int id = 0; all && id < GN_PFM_PMUS; id++) {
		pfm_pmu_info_t info;
		PyObject *row;

		if (!gn_pfm_pmu(pfm, id, &info))
			continue;
		row = Py_BuildValue("(isssiiiO)", id, info.name, info.desc ? info.desc : "",
				    info.type == PFM_PMU_TYPE_CORE ? "core" : "other", info.nevents,
				    info.num_cntrs, info.num_fixed_cntrs,
				    info.is_present ? Py_True : Py_False);
		if (!row || PyList_Append(all, row) < 0)
			Py_CLEAR(all);
		Py_XDECREF(row);
	}
	return all;
}

static PyObject *unit_masks(const struct gn_pfm *pfm, int event, int n)
{
	PyObject *all = PyList_New(0);

	for (int i = 0; all && i < n; i++) {
		pfm_event_attr_info_t info;
		PyObject *row;

		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm->get_event_attr_info(event, i, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS ||
		    info.type != PFM_ATTR_UMASK)
			continue;
		row = Py_BuildValue("(ss)", info.name, info.desc ? info.desc : "");
		if (!row || PyList_Append(all, row) < 0)
			Py_CLEAR(all);
		Py_XDECREF(row);
	}
	return all;
}

static PyObject *pfm_events(PyObject *module, PyObject *arg)
{
	const struct gn_pfm *pfm = load();
	pfm_pmu_info_t pmu;
	PyObject *all;
	long id;

	(void)module;
	if (!pfm)
		return NULL;
	id = PyLong_AsLong(arg);
	if (PyErr_Occurred())
		return NULL;
	if (id < 0 || id >= GN_PFM_PMUS || !gn_pfm_pmu(pfm, (int)id, &pmu))
		return raise_pfm_error(pfm, PFM_ERR_NOTSUPP);
	all = PyList_New(0);
	for (int i = pmu.first_event; all && i != -1; i = pfm->get_event_next(i)) {
		pfm_event_info_t info;
		PyObject *masks, *row;

		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm->get_event_info(i, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
			continue;
		masks = unit_masks(pfm, i, info.nattrs);
		row = masks ? Py_BuildValue("(ssN)", info.name, info.desc ? info.desc : "", masks)
			    : NULL;
		if (!row || PyList_Append(all, row) < 0)
			Py_CLEAR(all);
		Py_XDECREF(row);
	}
	return all;
}

static PyObject *pfm_version(PyObject *module, PyObject *unused)
{
	const struct gn_pfm *pfm = load();

	(void)module;
	(void)unused;
	if (!pfm)
		return NULL;
	return Py_BuildValue("(ii)", PFM_MAJ_VERSION(pfm->version), PFM_MIN_VERSION(pfm->version));
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
