/* gnomon.sampling._sampler: the sampler of native/sampling for Python. It works without the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <gnomon/unwind.h>
#include <stdlib.h>

#include "sampler.h"

/* More than threads of a process, or CPUs of a machine. */
#define NUMBERS_MAX (1 << 22)

/* Of what an event is told as `switches`. */
#define TELLS_SWITCHES 1u
#define IS_OF_WAITS 2u
#define APART 4u
#define ONE_IN_N 32u
#define OF_USER 8u
#define OF_KERNEL 16u

struct sampler {
	PyObject_HEAD struct gn_sampler *own; /* NULL: stopped */
};

static PyObject *start_error;

/* --- arguments -------------------------------------------------------------------------------- */

struct numbers {
	int *value;
	uint32_t n;
};

static int read_numbers(PyObject *list, struct numbers *numbers)
{
	const Py_ssize_t n = PyList_Size(list);

	if (n < 1 || n > NUMBERS_MAX) {
		PyErr_SetString(PyExc_ValueError, "there must be CPUs and targets");
		return -1;
	}
	numbers->value = calloc((size_t)n, sizeof(*numbers->value));
	if (!numbers->value) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		numbers->value[i] = (int)PyLong_AsLong(PyList_GetItem(list, i));
	numbers->n = (uint32_t)n;
	return PyErr_Occurred() ? -1 : 0;
}

struct event_list {
	struct gn_sampled_event event[GN_SAMPLED_EVENTS_MAX];
	const char *text[GN_SAMPLED_EVENTS_MAX];
	uint32_t n;
};

static int read_events(PyObject *list, struct event_list *events)
{
	const Py_ssize_t n = PyList_Size(list);

	if (n < 1 || n > GN_SAMPLED_EVENTS_MAX) {
		PyErr_Format(PyExc_ValueError, "1 to %d events can be sampled",
			     GN_SAMPLED_EVENTS_MAX);
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		struct gn_sampled_event *event = &events->event[i];
		unsigned long long config[4], period, more;
		unsigned int type, exclude, switches;

		if (!PyArg_ParseTuple(PyList_GetItem(list, i), "IKKKKIKppiKIIy", &type, &config[0],
				      &config[1], &config[2], &config[3], &exclude, &period,
				      &event->is_frequency, &event->counts_more,
				      &event->spec.leader, &more, &event->precise, &switches,
				      &events->text[i]))
			return -1;
		event->more = more;
		event->tells_switches = switches & TELLS_SWITCHES;
		event->is_of_waits = switches & IS_OF_WAITS;
		event->stage = switches & ONE_IN_N ? GN_ONE_IN_N
			       : switches & APART  ? GN_EACH_APART
						   : GN_EACH_WHOLE;
		event->part = switches & OF_USER     ? GN_STACK_OF_USER
			      : switches & OF_KERNEL ? GN_STACK_OF_KERNEL
						     : GN_STACK_WHOLE;
		event->spec.type = type;
		event->spec.config = config[0];
		event->spec.config1 = config[1];
		event->spec.config2 = config[2];
		event->spec.config3 = config[3];
		event->spec.exclude = exclude;
		event->period = period;
	}
	events->n = (uint32_t)n;
	return 0;
}

/* --- the type --------------------------------------------------------------------------------- */

static PyObject *raise_start_error(int error, const struct gn_sampling_failure *failure)
{
	PyObject *facts =
		Py_BuildValue("iiIi", -error, (int)failure->step, failure->event, failure->cpu);

	if (facts)
		PyErr_SetObject(start_error, facts);
	Py_XDECREF(facts);
	return NULL;
}

static PyObject *sampler_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"events",      "cpus",
				"targets",     "starts_at_exec",
				"stack_bytes", "signalled_stack_bytes",
				"ring_bytes",  "path",
				"rank",	       "signal_socket",
				"kept",	       "kept_bytes",
				"waking",      "switches_most",
				"waits",       NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct numbers cpus = {0}, targets = {0};
	struct event_list events = {0};
	struct gn_sampling_plan plan = {0};
	struct gn_sampling_output output = {0};
	struct gn_sampling_failure failure;
	struct sampler *self = NULL;
	PyObject *event_list, *cpu_list, *target_list;
	unsigned long long ring_bytes, kept_bytes, waking, switches_most;
	int result;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "O!O!O!pIIKyiiyKKKy:Sampler", names, &PyList_Type, &event_list,
		    &PyList_Type, &cpu_list, &PyList_Type, &target_list, &plan.starts_at_exec,
		    &plan.stack_bytes, &plan.signalled_stack_bytes, &ring_bytes, &output.path,
		    &output.rank, &plan.signal_socket, &output.kept, &kept_bytes, &waking,
		    &switches_most, &output.waits))
		return NULL;
	if (read_events(event_list, &events) || read_numbers(cpu_list, &cpus) ||
	    read_numbers(target_list, &targets))
		goto end;
	self = (struct sampler *)allocate(type, 0);
	if (!self)
		goto end;
	plan.event = events.event;
	plan.n_events = events.n;
	plan.cpu = cpus.value;
	plan.n_cpus = cpus.n;
	plan.target = targets.value;
	plan.n_targets = targets.n;
	plan.ring_bytes = ring_bytes;
	plan.waking = waking;
	plan.switches_most = switches_most;
	output.event = events.text;
	output.kept_bytes = kept_bytes;
	if (!*output.kept)
		output.kept = NULL;
	if (!*output.waits)
		output.waits = NULL;
	Py_BEGIN_ALLOW_THREADS result = gn_sampler_start(&self->own, &plan, &output, &failure);
	Py_END_ALLOW_THREADS if (result)
	{
		Py_DECREF(self);
		self = (struct sampler *)raise_start_error(result, &failure);
	}
end:
	free(cpus.value);
	free(targets.value);
	return (PyObject *)self;
}

static PyObject *sampler_stop(struct sampler *self, PyObject *unused)
{
	struct gn_sampling_facts facts = {0};
	struct gn_sampler *own = self->own;

	(void)unused;
	if (!own) {
		PyErr_SetString(PyExc_ValueError, "the sampler is stopped");
		return NULL;
	}
	self->own = NULL;
	Py_BEGIN_ALLOW_THREADS gn_sampler_stop(own, &facts);
	Py_END_ALLOW_THREADS return Py_BuildValue("KKKKKi", facts.samples, facts.lost, facts.kept,
						  facts.ring_bytes, facts.cpu_ns, -facts.status);
}

static void sampler_dealloc(struct sampler *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	struct gn_sampling_facts facts;

	if (self->own)
		gn_sampler_stop(self->own, &facts);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"stop", (PyCFunction)sampler_stop, METH_NOARGS,
	 "stop() -> (samples, lost, kept, ring_bytes, cpu_ns, errno)\n\n"
	 "Take what is left, close the files; how much it was, what reading it took, why recording "
	 "ended early."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
	 "Sampler(events, cpus, targets, starts_at_exec, stack_bytes, signalled_stack_bytes, "
	 "ring_bytes, path, rank, signal_socket, kept, kept_bytes, waking, "
	 "switches_most, waits)\n\n"
	 "Samples until it is stopped. Each event is (type, config, config1, config2, config3, "
	 "exclude, period, is_frequency, counts_more, leader, sample_type, precise, switches, "
	 "text). Raises "
	 "StartError."},
	{Py_tp_new, sampler_new},
	{Py_tp_dealloc, sampler_dealloc},
	{Py_tp_methods, methods},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon.sampling._sampler.Sampler",
	.basicsize = sizeof(struct sampler),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "gnomon.sampling._sampler",
	.m_doc = "The sampler: perf events of a process tree, read into a record file.",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit__sampler(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = NULL;

	if (!module)
		return NULL;
	type = PyType_FromSpec(&spec_of_type);
	start_error =
		PyErr_NewExceptionWithDoc("gnomon.sampling._sampler.StartError",
					  "Its args: errno, what failed, event, CPU.", NULL, NULL);
	if (!type || !start_error || PyModule_AddObjectRef(module, "Sampler", type) < 0 ||
	    PyModule_AddObjectRef(module, "StartError", start_error) < 0 ||
	    PyModule_AddObjectRef(module, "UNWINDS",
				  gn_unwind_own_machine() < 0 ? Py_False : Py_True) < 0 ||
	    PyModule_AddIntConstant(module, "OPEN", GN_STEP_OPEN) < 0 ||
	    PyModule_AddIntConstant(module, "MAP", GN_STEP_MAP) < 0 ||
	    PyModule_AddIntConstant(module, "FILE", GN_STEP_FILE) < 0 ||
	    PyModule_AddIntConstant(module, "THREAD", GN_STEP_THREAD) < 0)
		Py_CLEAR(module);
	Py_XDECREF(type);
	return module;
}
