/* libpfm4 through dlopen(3). Source: pfm_get_os_event_encoding(3), pfm_initialize(3). */
#include "libpfm.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks.h"

/*
 * Of perfmon/pfmlib_perf_event.h, whose own copy of perf_event.h cannot stand beside the
 * kernel's: the argument of PFM_OS_PERF_EVENT, ABI 0.
 */
struct perf_encode_arg {
	struct perf_event_attr *attr;
	char **fstr;
	size_t size;
	int idx;
	int cpu;
	int flags;
	int pad0;
};

static struct gn_pfm table;
static char trouble[512];
static int is_loaded;
static int is_for_inactive;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void gn_pfm_encode_inactive(void)
{
	is_for_inactive = 1;
}

/* libpfm4 reads its variables once, here. Source: pfm_initialize(3). */
static int initialize(void)
{
	static const char variable[] = "LIBPFM_ENCODE_INACTIVE";
	const int is_ours = is_for_inactive && !getenv(variable);
	int failed;

	if (is_ours)
		setenv(variable, "1", 1);
	failed = table.initialize();
	if (is_ours)
		unsetenv(variable);
	return failed;
}

static void load(void)
{
	static const struct {
		const char *name;
		void *slot;
	} symbols[] = {
		{"pfm_initialize", &table.initialize},
		{"pfm_strerror", &table.strerror},
		{"pfm_get_version", &table.get_version},
		{"pfm_get_pmu_info", &table.get_pmu_info},
		{"pfm_get_event_info", &table.get_event_info},
		{"pfm_get_event_attr_info", &table.get_event_attr_info},
		{"pfm_get_event_next", &table.get_event_next},
		{"pfm_get_os_event_encoding", &table.get_os_event_encoding},
	};
	void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	int failed;

	if (!library) {
		snprintf(trouble, sizeof(trouble), "libpfm4 is not installed: %s", dlerror());
		return;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol) {
			snprintf(trouble, sizeof(trouble), "libpfm4 has no %s", symbols[i].name);
			return;
		}
		memcpy(symbols[i].slot, &symbol, sizeof(symbol));
	}
	failed = initialize();
	if (failed != PFM_SUCCESS) {
		snprintf(trouble, sizeof(trouble), "libpfm4 cannot start: %s",
			 table.strerror(failed));
		return;
	}
	table.version = table.get_version();
	is_loaded = 1;
}

const struct gn_pfm *gn_pfm(const char **problem)
{
	/* The lock keeps a fork from happening within dlopen(3), whose own lock would stay taken.
	 */
	gn_lock(GN_LOCK_LIBPFM);
	pthread_once(&once, load);
	gn_unlock(GN_LOCK_LIBPFM);
	*problem = trouble;
	return is_loaded ? &table : NULL;
}

int gn_pfm_encode(const struct gn_pfm *pfm, const char *name, struct gn_event_spec *spec,
		  char full[GN_PFM_NAME_MAX])
{
	struct perf_event_attr attr;
	struct perf_encode_arg arg;
	char *written = NULL;
	int code;

	memset(&attr, 0, sizeof(attr));
	memset(&arg, 0, sizeof(arg));
	arg.attr = &attr;
	arg.fstr = &written;
	arg.size = sizeof(arg);
	gn_lock(GN_LOCK_LIBPFM);
	/* It takes another call's error for one of its own in raw codes (perf_raw::r3c). */
	errno = 0;
	code = pfm->get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3 | PFM_PLMH, PFM_OS_PERF_EVENT,
					  &arg);
	gn_unlock(GN_LOCK_LIBPFM);
	memset(spec, 0, sizeof(*spec));
	snprintf(full, GN_PFM_NAME_MAX, "%s", code == PFM_SUCCESS && written ? written : name);
	free(written);
	if (code != PFM_SUCCESS)
		return code;
	spec->type = attr.type;
	spec->config = attr.config;
	spec->config1 = attr.config1;
	spec->config2 = attr.config2;
	spec->exclude |= attr.exclude_user ? GN_EXCLUDE_USER : 0;
	spec->exclude |= attr.exclude_kernel ? GN_EXCLUDE_KERNEL : 0;
	spec->exclude |= attr.exclude_hv ? GN_EXCLUDE_HYPERVISOR : 0;
	return PFM_SUCCESS;
}

int gn_pfm_pmu(const struct gn_pfm *pfm, int id, pfm_pmu_info_t *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return pfm->get_pmu_info((pfm_pmu_t)id, info) == PFM_SUCCESS && info->name;
}

static int each_mask(const struct gn_pfm *pfm, const char *pmu, int event, gn_pfm_seen *seen,
		     void *context)
{
	char name[GN_PFM_NAME_MAX], description[2 * GN_PFM_NAME_MAX];
	pfm_event_info_t info;
	int stop = 0, masks = 0;

	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	if (pfm->get_event_info(event, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
		return 0;
	for (int i = 0; !stop && i < info.nattrs; i++) {
		pfm_event_attr_info_t mask;

		memset(&mask, 0, sizeof(mask));
		mask.size = sizeof(mask);
		if (pfm->get_event_attr_info(event, i, PFM_OS_PERF_EVENT, &mask) != PFM_SUCCESS ||
		    mask.type != PFM_ATTR_UMASK)
			continue;
		masks++;
		snprintf(name, sizeof(name), "%s::%s:%s", pmu, info.name, mask.name);
		snprintf(description, sizeof(description), "%s: %s", info.desc ? info.desc : "",
			 mask.desc ? mask.desc : "");
		stop = seen(context, name, description);
	}
	if (masks)
		return stop;
	snprintf(name, sizeof(name), "%s::%s", pmu, info.name);
	return seen(context, name, info.desc ? info.desc : "");
}

int gn_pfm_each(const struct gn_pfm *pfm, const pfm_pmu_info_t *pmu, gn_pfm_seen *seen,
		void *context)
{
	int stop = 0;

	for (int event = pmu->first_event; !stop && event != -1; event = pfm->get_event_next(event))
		stop = each_mask(pfm, pmu->name, event, seen, context);
	return stop;
}
