/* Distributor and aggregator: linked into the program, of a plug-in, or none. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "gnomon/hpm_agg.h"

/* Those of a program that is linked with a plug-in go before HPM_AGGREGATE (3.13.2). */
__attribute__((weak)) int distributor(void);
__attribute__((weak)) int aggregator(int num_in, hpm_event_vector in, int *num_out,
				     hpm_event_vector *out, int *is_print_task);

typedef int distribute(void);
typedef int aggregate(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
		      int *is_print_task);

static struct {
	void *library;
	aggregate *aggregate;
} plugin;

static const char *said(int failed)
{
	return failed > 0 ? strerror(failed) : "it returned a negative number";
}

/* dlsym(3) has no type for functions. */
static void *symbol(const char *name)
{
	void *found = dlsym(plugin.library, name);

	if (!found)
		hpm_error(NULL, HPM_BAD_PLUGIN,
			  "Dynamic link error at dlsym(): %s; HPM_AGGREGATE names a plug-in with "
			  "the functions distributor and aggregator",
			  dlerror());
	return found;
}

static void load(const char *name)
{
	void *found;

	plugin.library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	/* What is done without a plug-in, and whose file nobody needs (3.12.4). */
	if (!plugin.library && (!strcmp(name, "mirror.so") || !strcmp(name, "mirror")))
		return;
	if (!plugin.library) {
		hpm_error(NULL, HPM_BAD_PLUGIN, "Dynamic link error at dlopen():\n%s", dlerror());
		return;
	}
	found = symbol("aggregator");
	memcpy(&plugin.aggregate, &found, sizeof(found));
}

void hpm_distribute(void)
{
	/* A set-user-ID program loads nothing that its user names. */
	const char *name = secure_getenv("HPM_AGGREGATE");
	distribute *function = distributor;
	int failed;

	if (!function && !aggregator && name && *name && !plugin.library) {
		load(name);
		if (plugin.library) {
			void *found = symbol("distributor");

			memcpy(&function, &found, sizeof(found));
		}
	}
	if (!function)
		return;
	failed = function();
	if (failed)
		hpm_error(NULL, HPM_BAD_PLUGIN, "the distributor failed: %s; measuring goes on",
			  said(failed));
}

int hpm_aggregate(int n, hpm_event_vector items, int *n_out, hpm_event_vector *out)
{
	aggregate *function = aggregator ? aggregator : plugin.aggregate;
	int is_print_task = 1, failed;

	*n_out = n;
	*out = items;
	if (!function)
		return 1;
	failed = function(n, items, n_out, out, &is_print_task);
	if (failed || *n_out < 0 || (*n_out && !*out)) {
		hpm_error(NULL, HPM_BAD_PLUGIN,
			  "the aggregator failed: %s; what was measured is written as it is",
			  failed ? said(failed) : "it gave no items");
		*n_out = n;
		*out = items;
		return 1;
	}
	return is_print_task;
}
