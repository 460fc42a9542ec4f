#include "mio_registry.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "pf.h"
#include "wb.h"

/* Of a module: more than anybody has, so that a file of nonsense is not taken for one. */
#define OPTIONS_MAX 1024u
#define STATE_BYTES_MAX (1u << 30)

static const struct gn_mio_module *const builtin[] = {&gn_mio_top, &gn_mio_trace, &gn_mio_pf,
						      &gn_mio_wb, &gn_mio_aix};

void gn_mio_registry_begin(struct gn_mio_registry *registry)
{
	registry->n = 0;
	for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
		registry->module[registry->n++] = builtin[i];
}

const struct gn_mio_module *gn_mio_registry_find(const struct gn_mio_registry *registry,
						 const char *name, size_t length)
{
	if (length == 2 && !memcmp(name, "os", 2)) {
		name = "aix";
		length = 3;
	}
	for (uint32_t i = 0; i < registry->n; i++) {
		const char *known = registry->module[i]->name;

		if (strlen(known) == length && !memcmp(known, name, length))
			return registry->module[i];
	}
	return NULL;
}

/* One that a specification can name. */
static int is_name(const char *name)
{
	if (!name || !*name)
		return 0;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return 0;
	return 1;
}

static int options_are_sane(const struct gn_mio_module *module)
{
	if (module->n_options > OPTIONS_MAX || module->n_settings > OPTIONS_MAX ||
	    module->state_bytes > STATE_BYTES_MAX || (module->n_options && !module->option) ||
	    (module->n_settings && !module->defaults))
		return 0;
	for (uint32_t i = 0; i < module->n_options; i++) {
		const struct gn_mio_option *option = &module->option[i];

		if (!is_name(option->name) || option->setting >= module->n_settings ||
		    option->kind > GN_MIO_TEXT)
			return 0;
	}
	return 1;
}

int gn_mio_registry_add(struct gn_mio_registry *registry, const struct gn_mio_module *module,
			struct gn_mio_error *error)
{
	if (module->version != GN_MIO_VERSION)
		return gn_mio_refuse(error, 0,
				     "a module has version %u of the interface, this library has "
				     "%u; compile it with this Gnomon's mio_module.h",
				     module->version, GN_MIO_VERSION);
	if (!is_name(module->name))
		return gn_mio_refuse(error, 0,
				     "a module has no name of letters, digits and underscores");
	if (!options_are_sane(module))
		return gn_mio_refuse(error, 0,
				     "options of the module %s have no names, or change settings "
				     "that it has not",
				     module->name);
	if (gn_mio_registry_find(registry, module->name, strlen(module->name)))
		return gn_mio_refuse(error, 0, "there is a module %s already", module->name);
	if (registry->n == GN_MIO_MODULES_MAX)
		return gn_mio_refuse(error, 0, "there are more than %d modules",
				     GN_MIO_MODULES_MAX);
	registry->module[registry->n++] = module;
	return 0;
}

/* The library stays: its modules are in use as long as the process lives. */
static int load_library(struct gn_mio_registry *registry, const char *path,
			struct gn_mio_error *error)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	gn_mio_modules_function *modules;
	const struct gn_mio_module *module;
	uint32_t n = 0;
	int result = 0;

	if (!library)
		return gn_mio_refuse(error, 0, "cannot load: %s", dlerror());
	*(void **)&modules = dlsym(library, "gn_mio_modules");
	if (!modules)
		return gn_mio_refuse(error, 0, "%s exports no function gn_mio_modules", path);
	module = modules(&n);
	if (!module)
		return gn_mio_refuse(error, 0, "%s has no modules", path);
	for (uint32_t i = 0; i < n && !result; i++)
		result = gn_mio_registry_add(registry, &module[i], error);
	return result;
}

int gn_mio_registry_load(struct gn_mio_registry *registry, const char *paths,
			 struct gn_mio_error *error)
{
	size_t offset = 0;

	for (;;) {
		const size_t length = strcspn(paths + offset, ":");
		char path[PATH_MAX];
		int result = 0;

		if (length >= sizeof(path))
			return gn_mio_refuse(error, offset, "a path is too long");
		memcpy(path, paths + offset, length);
		path[length] = 0;
		if (length)
			result = load_library(registry, path, error);
		if (result) {
			error->offset = offset;
			return result;
		}
		offset += length;
		if (!paths[offset++])
			return 0;
	}
}
