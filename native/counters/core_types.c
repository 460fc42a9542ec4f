/* The kinds of CPU cores: what the kernel and libpfm4 call their PMUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpfm.h"
#include "presets.h"

/* What libpfm4 knows of every CPU of a vendor, beside the model's own table. */
#define ARCHITECTURAL "ix86arch"

static void add_model(struct gn_core *core, const char *model)
{
	const size_t size = sizeof(core->model[0]);

	if (core->n_models < GN_MODELS_MAX && strlen(model) < size)
		snprintf(core->model[core->n_models++], size, "%s", model);
}

/* Tests say which models the PMUs of a recorded tree are; with no such PMU, all of them. */
static void add_given(struct gn_core *core, const char *models)
{
	for (const char *next = models; *next; next += *next == ',') {
		const size_t length = strcspn(next, ",");
		const char *equals = memchr(next, '=', length);
		char model[64];

		if (equals) {
			const size_t name = (size_t)(equals - next);

			snprintf(model, sizeof(model), "%.*s", (int)(length - name - 1),
				 equals + 1);
			if (!*core->pmu.name || (strlen(core->pmu.name) == name &&
						 !strncmp(core->pmu.name, next, name)))
				add_model(core, model);
		}
		next += length;
	}
}

static int keep_name(void *context, const char *name, const char *description)
{
	(void)description;
	snprintf(context, GN_PFM_NAME_MAX, "%s", name);
	return 1;
}

/* Whether one of libpfm4's PMUs is the kernel's: it encodes for the kernel's number. */
static int is_same(const struct gn_pfm *pfm, const pfm_pmu_info_t *pmu, const struct gn_core *core)
{
	char name[GN_PFM_NAME_MAX] = "", full[GN_PFM_NAME_MAX];
	struct gn_event_spec spec;

	gn_pfm_each(pfm, pmu, keep_name, name);
	if (!*name || gn_pfm_encode(pfm, name, &spec, full) != PFM_SUCCESS)
		return 0;
	return spec.type == core->pmu.type;
}

static void add_found(struct gn_core *core, int is_architectural)
{
	const char *problem;
	const struct gn_pfm *pfm = gn_pfm(&problem);

	for (int id = 0; pfm && id < GN_PFM_PMUS; id++) {
		pfm_pmu_info_t pmu;

		if (!gn_pfm_pmu(pfm, id, &pmu) || !pmu.is_present ||
		    pmu.type != PFM_PMU_TYPE_CORE ||
		    (strcmp(pmu.name, ARCHITECTURAL) == 0) != is_architectural)
			continue;
		if (core->is_alone || is_same(pfm, &pmu, core))
			add_model(core, pmu.name);
	}
}

static void add_models(struct gn_core *core, const struct gn_places *places)
{
	if (places->models) {
		add_given(core, places->models);
		return;
	}
	add_found(core, 0);
	add_found(core, 1);
}

int gn_cores(const struct gn_places *places, struct gn_core cores[GN_CORES_MAX])
{
	struct gn_pmu *pmus;
	int n = gn_core_pmus(places->sysfs, &pmus);

	if (n < 0)
		return n;
	if (n > GN_CORES_MAX)
		n = GN_CORES_MAX;
	memset(cores, 0, GN_CORES_MAX * sizeof(*cores));
	for (int i = 0; i < n; i++)
		cores[i].pmu = pmus[i];
	free(pmus);
	for (int i = 0; !i || i < n; i++) {
		cores[i].is_alone = n < 2;
		add_models(&cores[i], places);
	}
	return n ? n : 1;
}

static int encode(const struct gn_pfm *pfm, const struct gn_core *core, const char *name,
		  struct gn_event_spec *spec)
{
	char full[GN_PFM_NAME_MAX];

	if (gn_pfm_encode(pfm, name, spec, full) != PFM_SUCCESS)
		return 0;
	if (spec->type == PERF_TYPE_RAW && !core->is_alone)
		spec->type = core->pmu.type;
	return 1;
}

int gn_core_encode(const struct gn_core *core, const char *event, struct gn_event_spec *spec)
{
	const char *problem;
	const struct gn_pfm *pfm = gn_pfm(&problem);

	if (!pfm)
		return 0;
	if (strstr(event, "::"))
		return encode(pfm, core, event, spec);
	for (int i = 0; i < core->n_models; i++) {
		char name[GN_PFM_NAME_MAX];

		snprintf(name, sizeof(name), "%s::%s", core->model[i], event);
		if (encode(pfm, core, name, spec))
			return 1;
	}
	return 0;
}
