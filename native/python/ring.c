/* Ring: the kernel's ring buffer into which exiting threads write their counts. */
#include "core.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

struct ring {
	PyObject_HEAD struct perf_event_mmap_page *page;
	size_t size;
	int fd;
};

static PyObject *ring_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"fds", "pages", NULL};
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct ring *self;
	PyObject *fds;
	unsigned int pages;
	void *mapped;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!I:Ring", names, &PyTuple_Type, &fds,
					 &pages))
		return NULL;
	if (PyTuple_Size(fds) < 1 || !pages || (pages & (pages - 1)) || pages > 1u << 16) {
		PyErr_SetString(PyExc_ValueError, "a ring has a descriptor and 2^n pages");
		return NULL;
	}
	self = (struct ring *)allocate(type, 0);
	if (!self)
		return NULL;
	self->fd = (int)PyLong_AsLong(PyTuple_GetItem(fds, 0));
	self->size = ((size_t)pages + 1) * page_size;
	mapped = PyErr_Occurred()
			 ? MAP_FAILED
			 : mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	if (mapped == MAP_FAILED) {
		if (!PyErr_Occurred())
			PyErr_SetFromErrno(PyExc_OSError);
		Py_DECREF(self);
		return NULL;
	}
	self->page = mapped;
	for (Py_ssize_t i = 1; i < PyTuple_Size(fds); i++) {
		int fd = (int)PyLong_AsLong(PyTuple_GetItem(fds, i));

		if (PyErr_Occurred() || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, self->fd) < 0) {
			if (!PyErr_Occurred())
				PyErr_SetFromErrno(PyExc_OSError);
			Py_DECREF(self);
			return NULL;
		}
	}
	return (PyObject *)self;
}

static PyObject *ring_close(struct ring *self, PyObject *unused)
{
	(void)unused;
	if (self->page)
		munmap(self->page, self->size);
	self->page = NULL;
	Py_RETURN_NONE;
}

static void ring_dealloc(struct ring *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(ring_close(self, NULL));
	release(self);
	Py_DECREF(type);
}

static PyObject *ring_drain(struct ring *self, PyObject *unused)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t head, tail, capacity, first;
	const char *data;
	PyObject *bytes;

	(void)unused;
	if (!self->page) {
		PyErr_SetString(PyExc_ValueError, "the ring is closed");
		return NULL;
	}
	capacity = self->size - page_size;
	data = (const char *)self->page + page_size;
	head = __atomic_load_n(&self->page->data_head, __ATOMIC_ACQUIRE);
	tail = self->page->data_tail;
	/*
	 * Two CPUs that write at once can move the head back or over what was not read; what lies
	 * between is then no sequence of records any more.
	 */
	if (head - tail > capacity) {
		__atomic_store_n(&self->page->data_tail, head, __ATOMIC_RELEASE);
		return PyBytes_FromStringAndSize(NULL, 0);
	}
	/* One copy where the data does not wrap, two parts joined where it does. */
	first = capacity - tail % capacity;
	if (head - tail <= first) {
		bytes = PyBytes_FromStringAndSize(data + tail % capacity,
						  (Py_ssize_t)(head - tail));
	} else {
		PyObject *rest = PyBytes_FromStringAndSize(data, (Py_ssize_t)(head - tail - first));
		PyObject *start =
			PyBytes_FromStringAndSize(data + tail % capacity, (Py_ssize_t)first);

		bytes = start && rest ? PySequence_Concat(start, rest) : NULL;
		Py_XDECREF(start);
		Py_XDECREF(rest);
	}
	if (bytes)
		__atomic_store_n(&self->page->data_tail, head, __ATOMIC_RELEASE);
	return bytes;
}

static PyObject *event_id(PyObject *module, PyObject *arg)
{
	int fd = (int)PyLong_AsLong(arg);
	uint64_t id;

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	return PyLong_FromUnsignedLongLong(id);
}

static PyMethodDef methods[] = {
	{"drain", (PyCFunction)ring_drain, METH_NOARGS,
	 "drain() -> bytes\n\nThe whole records written since the last call."},
	{"close", (PyCFunction)ring_close, METH_NOARGS, "close()\n\nUnmap the buffer."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "Ring(fds, pages)\n\nThe ring buffer of fds[0], into which the others write "
		    "too; pages is a power of two. Raises OSError."},
	{Py_tp_new, ring_new},
	{Py_tp_dealloc, ring_dealloc},
	{Py_tp_methods, methods},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon._core.Ring",
	.basicsize = sizeof(struct ring),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static PyMethodDef functions[] = {
	{"event_id", event_id, METH_O,
	 "event_id(fd) -> int\n\nThe kernel's number of an event, as its records carry it."},
	{NULL, NULL, 0, NULL},
};

int core_add_ring(PyObject *module)
{
	PyObject *type = PyType_FromModuleAndSpec(module, &spec_of_type, NULL);
	int failed = !type || PyModule_AddType(module, (PyTypeObject *)type) < 0;

	Py_XDECREF(type);
	return failed ? -1 : PyModule_AddFunctions(module, functions);
}
