/* Text of Python as labels of reports. */
#ifndef GNOMON_PYTHON_LABELS_H
#define GNOMON_PYTHON_LABELS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "call_profile.h"

/* Labels of a tuple of str, which they keep. */
struct labels {
	PyObject *texts;
	PyObject *encoded; /* of those that are no UTF-8: bytes */
	struct gn_label *of;
	Py_ssize_t n;
};

/* 0, or -1 with an exception set; clear it in either case. */
int labels_make(struct labels *labels, PyObject *texts);
void labels_clear(struct labels *labels);

#endif
