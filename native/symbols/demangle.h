/*
 * Names as people wrote them: C++, Rust, Fortran.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the name into `text`; false leaves it as it is: it is not mangled, or does not fit. */
bool gn_demangle(const char *name, char *text, size_t size);

/* Rust's own scheme, names that begin with _R. */
bool gn_demangle_rust(const char *name, char *text, size_t size);
