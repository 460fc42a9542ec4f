/* Which functions of Python lead to a section, for libhpm, which keeps values by them. */
#ifndef GNOMON_PYTHON_PYTHON_STACK_H
#define GNOMON_PYTHON_PYTHON_STACK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Tells libhpm which functions the thread's next start is in. With the GIL; nothing is raised. */
void gn_python_stack_tell(void);

#endif
