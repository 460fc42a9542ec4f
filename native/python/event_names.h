/* What the files about names of events share. */
#ifndef GNOMON_PYTHON_EVENT_NAMES_H
#define GNOMON_PYTHON_EVENT_NAMES_H

#include "core.h"

#include "query.h"

/*
 * What people type may have any bytes: those that are no UTF-8 are Python's surrogates. NULL, with
 * no exception set, for a text that no name can be: one with a NUL or with half a character.
 */
PyObject *core_name_bytes(PyObject *name);

/* A name again; what files of the kernel, the firmware and users say, which may have any bytes. */
PyObject *core_text(const char *text);
PyObject *core_readable(const char *text);

/* Raises the exception of gnomon.errors that the sentence about a name is; always NULL. */
PyObject *core_raise_event_error(PyObject *name, const struct gn_error_text *why);

/* (type, config, config1, config2, config3, exclude) */
PyObject *core_encoding(const struct gn_event_spec *spec);

/* The places of a machine: sysfs, tracefs and CPU models, each None for this machine's. */
struct core_machine {
	PyObject *sysfs;
	PyObject *tracefs;
	PyObject *models;
	struct gn_places places;
};

/* Converts an argument into one of them, for PyArg_ParseTuple(); then they are set, then dropped.
 */
int core_to_path(PyObject *object, void *result);
void core_set_places(struct core_machine *machine);
void core_drop_places(struct core_machine *machine);

#endif
