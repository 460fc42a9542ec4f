/* The modules that there are: those of this library, and those of libraries that a user names. */
#ifndef GNOMON_MIO_REGISTRY_H
#define GNOMON_MIO_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "mio_error.h"
#include "mio_module.h"

#define GN_MIO_MODULES_MAX 64

struct gn_mio_registry {
	uint32_t n;
	const struct gn_mio_module *module[GN_MIO_MODULES_MAX];
};

extern const struct gn_mio_module gn_mio_top, gn_mio_trace, gn_mio_aix;

/* Ours alone. */
void gn_mio_registry_begin(struct gn_mio_registry *registry);

/* 0 or -EINVAL: the module is of another version or cannot be as it describes itself. */
int gn_mio_registry_add(struct gn_mio_registry *registry, const struct gn_mio_module *module,
			struct gn_mio_error *error);

/*
 * Adds those of libraries, whose paths stand between colons. 0 or -EINVAL; `error` has the offset
 * of the library that cannot be used, and those before it are added.
 */
int gn_mio_registry_load(struct gn_mio_registry *registry, const char *paths,
			 struct gn_mio_error *error);

/* NULL: there is none of this name; "os" is another name of "aix". */
const struct gn_mio_module *gn_mio_registry_find(const struct gn_mio_registry *registry,
						 const char *name, size_t length);

#endif
