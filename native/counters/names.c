/* Names of the kernel's software events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resolve.h"

static const struct {
	const char *name;
	uint64_t config;
	unsigned int flags;
	const char *unit;
	double scale;
} known[] = {
	{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK, GN_EVENT_EVERY_MODE, "s", 1e-9},
	{"task-clock", PERF_COUNT_SW_TASK_CLOCK, GN_EVENT_EVERY_MODE, "s", 1e-9},
	{"page-faults", PERF_COUNT_SW_PAGE_FAULTS, 0, "", 1},
	{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, GN_EVENT_KERNEL_ONLY, "", 1},
	{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, GN_EVENT_KERNEL_ONLY, "", 1},
	{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, "", 1},
	{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0, "", 1},
	{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, 0, "", 1},
	{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS, 0, "", 1},
	{"cycles", 0, GN_EVENT_HARDWARE, "", 1},
};

int gn_resolve(const char *name, struct gn_event **out, int max, int *n, struct gn_message *why)
{
	struct {
		struct gn_event event;
		struct gn_event_spec spec;
		char *native;
		int64_t factor;
	} *made;

	*n = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const size_t length = strlen(known[i].name);
		const int user = !strcmp(name + strnlen(name, length), ":u");

		if (strncmp(name, known[i].name, length) || (name[length] && !user))
			continue;
		made = max > 0 ? calloc(1, sizeof(*made)) : NULL;
		if (!made)
			return gn_say(why, GN_ENOMEM, "event '%s': out of memory; free some", name);
		made->spec.type = known[i].flags & GN_EVENT_HARDWARE ? PERF_TYPE_HARDWARE
								     : PERF_TYPE_SOFTWARE;
		made->spec.config = known[i].config;
		made->spec.exclude = user ? GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR : 0;
		made->factor = 1;
		made->native = made->event.name;
		made->event.n = 1;
		made->event.spec = &made->spec;
		made->event.native = &made->native;
		made->event.factor = &made->factor;
		made->event.code = (uint32_t)i + (user ? 100 : 0);
		made->event.domain = user ? GN_DOMAIN_USER : 0;
		made->event.flags = known[i].flags | (user ? GN_EVENT_MODIFIED : 0);
		made->event.component = known[i].flags & GN_EVENT_HARDWARE ? 0 : 1;
		made->event.scale = known[i].scale;
		snprintf(made->event.name, sizeof(made->event.name), "%s", name);
		snprintf(made->event.unit, sizeof(made->event.unit), "%s", known[i].unit);
		out[0] = &made->event;
		*n = 1;
		return GN_OK;
	}
	return gn_say(why, GN_ENOEVNT,
		      "event '%s': no event here has that name; `gnomon events` lists them", name);
}

int gn_resolve_code(uint32_t code, struct gn_event **out, int max, int *n, struct gn_message *why)
{
	const size_t i = code % 100;

	*n = 0;
	if (code < 200 && i < sizeof(known) / sizeof(known[0])) {
		char name[GN_NAME_MAX];

		snprintf(name, sizeof(name), "%s%s", known[i].name, code >= 100 ? ":u" : "");
		return gn_resolve(name, out, max, n, why);
	}
	return gn_say(why, GN_ENOEVNT,
		      "event code %#x: no event has it; take one from gn_event_code",
		      (unsigned int)code);
}

void gn_event_free(struct gn_event *event)
{
	free(event);
}
