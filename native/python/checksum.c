/* The checksum of record files and record blocks, as the core makes it. */
#include "core.h"

#include "crc32c.h"

static PyObject *crc32c(PyObject *module, PyObject *args)
{
	unsigned int crc = 0;
	PyThreadState *others;
	Py_buffer data;

	(void)module;
	if (!PyArg_ParseTuple(args, "y*|I:crc32c", &data, &crc))
		return NULL;
	others = PyEval_SaveThread();
	crc = gn_crc32c(crc, data.buf, (size_t)data.len);
	PyEval_RestoreThread(others);
	PyBuffer_Release(&data);
	return PyLong_FromUnsignedLong(crc);
}

static PyMethodDef functions[] = {
	{"crc32c", crc32c, METH_VARARGS,
	 "crc32c(data, crc=0, /) -> int\n\n"
	 "The CRC-32C of these bytes behind those whose checksum is `crc`."},
	{NULL, NULL, 0, NULL},
};

int core_add_checksum(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
