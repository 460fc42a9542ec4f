/* What the processor says of itself: the instruction cpuid of x86. */
#include "core.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define HAS_CPUID 1
#define HYPERVISOR_LEAVES 0x400000u

static int has_hypervisor(void)
{
	unsigned int eax, ebx, ecx = 0, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx >> 31;
}
#else
#define HAS_CPUID 0
#endif

static PyObject *cpuid(PyObject *module, PyObject *args)
{
	unsigned int leaf, subleaf;

	(void)module;
	if (!PyArg_ParseTuple(args, "II:cpuid", &leaf, &subleaf))
		return NULL;
#if HAS_CPUID
	{
		unsigned int eax, ebx, ecx, edx;

		/* A hypervisor's own leaves; without one they are beyond the last leaf. */
		if (leaf >> 8 == HYPERVISOR_LEAVES && has_hypervisor()) {
			__cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
			return Py_BuildValue("(IIII)", eax, ebx, ecx, edx);
		}
		/* Beyond the last leaf Intel's processors answer as to the last one. */
		if (__get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx))
			return Py_BuildValue("(IIII)", eax, ebx, ecx, edx);
	}
#endif
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"cpuid", cpuid, METH_VARARGS,
	 "cpuid(leaf, subleaf) -> (eax, ebx, ecx, edx) | None\n\n"
	 "What the CPU that the caller runs on says of itself; None for a leaf that it does not\n"
	 "have, and on processors other than x86."},
	{NULL, NULL, 0, NULL},
};

int core_add_cpuid(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
