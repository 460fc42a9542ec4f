/* Texts of an interpreter in this process, read as they lie in memory. */
#ifndef GNOMON_RUNTIME_PYTHON_TEXT_H
#define GNOMON_RUNTIME_PYTHON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "memory_probe.h"
#include "python_layout.h"

/* A str in UTF-8 as far as there is room; the length, 0 where it cannot be read. */
size_t gn_python_text(const struct gn_python_layout *layout, struct gn_probe *probe, uintptr_t text,
		      char *to, size_t size);

#endif
