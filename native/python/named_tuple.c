/*
 * The constructor of Python's named tuples: base class of what gnomon.named_tuple makes.
 *
 * A class of `typing` compiles a constructor of its own, which a short command may never call.
 * This reads the fields of the class, `_fields` and `_field_defaults`, when an object is made.
 */
#include "core.h"

static newfunc new_tuple;
static PyObject *fields_name, *defaults_name;

/* The argument for a field that no position gave; NULL with an exception set. */
static PyObject *argument(PyTypeObject *type, PyObject *field, PyObject *named, PyObject *defaults,
			  Py_ssize_t *n_named)
{
	PyObject *value = named ? PyDict_GetItemWithError(named, field) : NULL;

	if (value)
		++*n_named;
	else if (!PyErr_Occurred())
		value = PyDict_GetItemWithError(defaults, field);
	if (!value && !PyErr_Occurred())
		PyErr_Format(PyExc_TypeError, "%S is missing its argument '%U'", type, field);
	return Py_XNewRef(value);
}

static PyObject *complete(PyTypeObject *type, PyObject *fields, PyObject *args, PyObject *named)
{
	const Py_ssize_t n = PyTuple_Size(fields), n_args = PyTuple_Size(args);
	PyObject *values = PyTuple_New(n),
		 *defaults = PyObject_GetAttr((PyObject *)type, defaults_name);
	Py_ssize_t n_named = 0;

	for (Py_ssize_t i = 0; values && defaults && i < n; i++) {
		PyObject *value = i < n_args ? Py_NewRef(PyTuple_GetItem(args, i))
					     : argument(type, PyTuple_GetItem(fields, i), named,
							defaults, &n_named);

		if (!value || PyTuple_SetItem(values, i, value) < 0)
			Py_CLEAR(values);
	}
	if (values && defaults && named && PyDict_Size(named) > n_named) {
		PyObject *names = PyDict_Keys(named);

		PyErr_Format(PyExc_TypeError,
			     "%S: of the arguments %S some are no fields, or there twice", type,
			     names);
		Py_XDECREF(names);
		Py_CLEAR(values);
	}
	if (!defaults)
		Py_CLEAR(values);
	Py_XDECREF(defaults);
	return values;
}

static PyObject *named_tuple_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	PyObject *fields = PyObject_GetAttr((PyObject *)type, fields_name), *values, *arguments,
		 *tuple = NULL;

	if (!fields)
		return NULL;
	if (!PyTuple_Check(fields) || PyTuple_Size(args) > PyTuple_Size(fields)) {
		PyErr_Format(PyExc_TypeError, "%S takes %zd arguments, not %zd", type,
			     PyTuple_Check(fields) ? PyTuple_Size(fields) : 0, PyTuple_Size(args));
		Py_DECREF(fields);
		return NULL;
	}
	if (PyTuple_Size(args) == PyTuple_Size(fields) && (!named || PyDict_Size(named) == 0))
		values = Py_NewRef(args);
	else
		values = complete(type, fields, args, named);
	Py_DECREF(fields);
	arguments = values ? PyTuple_Pack(1, values) : NULL;
	if (arguments)
		tuple = new_tuple(type, arguments, NULL);
	Py_XDECREF(arguments);
	Py_XDECREF(values);
	return tuple;
}

static PyType_Slot slots[] = {
	{Py_tp_new, named_tuple_new},
	{Py_tp_doc, "A tuple whose class has `_fields` and `_field_defaults`."},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "gnomon._core.NamedTuple",
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};

int core_add_named_tuple(PyObject *module)
{
	PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyTuple_Type), *type;

	fields_name = PyUnicode_InternFromString("_fields");
	defaults_name = PyUnicode_InternFromString("_field_defaults");
	new_tuple = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
	type = bases && fields_name && defaults_name ? PyType_FromSpecWithBases(&spec, bases)
						     : NULL;
	Py_XDECREF(bases);
	if (!type || PyModule_AddObjectRef(module, "NamedTuple", type) < 0) {
		Py_XDECREF(type);
		return -1;
	}
	Py_DECREF(type);
	return 0;
}
