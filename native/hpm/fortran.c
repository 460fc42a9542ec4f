/*
 * The same for Fortran. A character argument's length comes last, by value: as size_t in gfortran
 * from version 8 on, as int in older compilers, so that only 32 bits of it hold. Compilers differ
 * in what they append to a name; there is one for each.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gnomon/libhpm.h"
#include "section_engine.h"

#define ALIASES(name, type, arguments)                                                             \
	HPM_API type name arguments __attribute__((alias(#name "_")));                             \
	HPM_API type name##__ arguments __attribute__((alias(#name "_")));                         \
	HPM_API type name##_ arguments

static size_t length_of(size_t length)
{
	return (uint32_t)length;
}

ALIASES(f_hpminit, void, (const int *id, const char *program, size_t length));
ALIASES(f_hpmterminate, void, (const int *id));
ALIASES(f_hpmstart, void, (const int *id, const char *label, size_t length));
ALIASES(f_hpmstartx, void, (const int *id, const int *parent, const char *label, size_t length));
ALIASES(f_hpmstop, void, (const int *id));
ALIASES(f_hpmtstart, void, (const int *id, const char *label, size_t length));
ALIASES(f_hpmtstartx, void, (const int *id, const int *parent, const char *label, size_t length));
ALIASES(f_hpmtstop, void, (const int *id));
ALIASES(f_gettimeandcounters, void, (const int *n, double *time, long long *values));
ALIASES(f_hpmgettimeandcounters, void, (const int *n, double *time, long long *values));
ALIASES(f_hpmgetcounters, void, (long long *values));
ALIASES(f_hpm_error, int, (void));

void f_hpminit_(const int *id, const char *program, size_t length)
{
	char name[1024];

	length = length_of(length);
	while (length && program[length - 1] == ' ')
		length--;
	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, program, length);
	name[length] = '\0';
	hpmInit(*id, name);
}

void f_hpmterminate_(const int *id)
{
	hpmTerminate(*id);
}

void f_hpmstart_(const int *id, const char *label, size_t length)
{
	hpm_start(HPM_CALL_F_START, *id, HPM_AUTO_PARENT, label, length_of(length),
		  HPM_CALLED_FROM);
}

void f_hpmstartx_(const int *id, const int *parent, const char *label, size_t length)
{
	hpm_start(HPM_CALL_F_STARTX, *id, *parent, label, length_of(length), HPM_CALLED_FROM);
}

void f_hpmstop_(const int *id)
{
	hpm_stop(HPM_CALL_F_STOP, *id);
}

void f_hpmtstart_(const int *id, const char *label, size_t length)
{
	hpm_start(HPM_CALL_F_TSTART, *id, HPM_AUTO_PARENT, label, length_of(length),
		  HPM_CALLED_FROM);
}

void f_hpmtstartx_(const int *id, const int *parent, const char *label, size_t length)
{
	hpm_start(HPM_CALL_F_TSTARTX, *id, *parent, label, length_of(length), HPM_CALLED_FROM);
}

void f_hpmtstop_(const int *id)
{
	hpm_stop(HPM_CALL_F_TSTOP, *id);
}

void f_gettimeandcounters_(const int *n, double *time, long long *values)
{
	hpmGetTimeAndCounters(*n, time, values);
}

void f_hpmgettimeandcounters_(const int *n, double *time, long long *values)
{
	hpmGetTimeAndCounters(*n, time, values);
}

void f_hpmgetcounters_(long long *values)
{
	hpmGetCounters(values);
}

/* A default logical, which is as large as an int. */
int f_hpm_error_(void)
{
	return hpm_error_count != 0;
}
