#include "labels.h"

#include <stdlib.h>

/* Bytes of names that are no UTF-8 stand in str as Python's surrogate escapes. */
static int encode(struct labels *labels, PyObject *text, struct gn_label *label)
{
	PyObject *bytes;
	Py_ssize_t size;
	char *begin;

	PyErr_Clear();
	bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
	if (!bytes)
		return -1;
	if (!labels->encoded)
		labels->encoded = PyList_New(0);
	if (!labels->encoded || PyList_Append(labels->encoded, bytes) < 0 ||
	    PyBytes_AsStringAndSize(bytes, &begin, &size) < 0) {
		Py_DECREF(bytes);
		return -1;
	}
	Py_DECREF(bytes); /* the list has it */
	label->bytes = begin;
	label->size = (size_t)size;
	return 0;
}

int labels_make(struct labels *labels, PyObject *texts)
{
	*labels = (struct labels){0};
	if (!PyTuple_Check(texts)) {
		PyErr_SetString(PyExc_TypeError, "names are a tuple of str");
		return -1;
	}
	Py_INCREF(texts);
	labels->texts = texts;
	labels->n = PyTuple_Size(texts);
	labels->of = calloc((size_t)labels->n + 1, sizeof(*labels->of));
	if (!labels->of) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < labels->n; i++) {
		PyObject *text = PyTuple_GetItem(texts, i);
		struct gn_label *label = &labels->of[i];
		Py_ssize_t size;

		if (!PyUnicode_Check(text)) {
			PyErr_SetString(PyExc_TypeError, "names are a tuple of str");
			return -1;
		}
		label->characters = (size_t)PyUnicode_GetLength(text);
		label->bytes = PyUnicode_AsUTF8AndSize(text, &size);
		label->size = (size_t)size;
		if (!label->bytes && encode(labels, text, label) < 0)
			return -1;
	}
	return 0;
}

void labels_clear(struct labels *labels)
{
	free(labels->of);
	Py_XDECREF(labels->texts);
	Py_XDECREF(labels->encoded);
	*labels = (struct labels){0};
}
