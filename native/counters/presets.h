/* Presets: the table that comes with the library, users' own, and what a core makes of them. */
#ifndef GNOMON_COUNTERS_PRESETS_H
#define GNOMON_COUNTERS_PRESETS_H

#include <stdint.h>

#include "event_resolver.h"
#include "formula.h"
#include "query.h"
#include "read_file.h"
#include "sysfs_pmu.h"

/*
 * Made from src/gnomon/counters/presets/data by packaging/compile_presets_c.py. Texts are offsets
 * into gn_preset_texts, lists of names stand there one after the other. Each family has a row for
 * each of the meanings, in their order; the last family, `generic`, is for any PMU that no other
 * names. Rows without events have a reason.
 */
struct gn_preset_meaning {
	uint32_t name;
	uint32_t description;
	uint32_t unit;
};

struct gn_preset_family {
	uint32_t name;
	uint32_t title;
	uint32_t pmus;
	int n_pmus;
};

struct gn_preset_row {
	uint32_t events;
	uint32_t formula;
	uint32_t differs;
	uint32_t reason;
	uint32_t unit;
	uint32_t description;
	uint32_t first_op;
	uint16_t ops;
	uint16_t n;
};

extern const char gn_preset_texts[];
extern const struct gn_preset_meaning gn_preset_meanings[];
extern const struct gn_preset_family gn_preset_families[];
extern const struct gn_preset_row gn_preset_rows[];
extern const struct gn_op gn_preset_ops[];
extern const int gn_preset_meaning_count;
extern const int gn_preset_family_count;

/* One kind of core; most machines have one, hybrid CPUs two or three. */
#define GN_CORES_MAX 16
#define GN_MODELS_MAX 8

struct gn_core {
	struct gn_pmu pmu; /* an empty name where the kernel shows none: most virtual machines */
	int is_alone;	   /* every core is of this kind */
	int n_models;
	char model[GN_MODELS_MAX][64]; /* libpfm4's names of it, the most particular first */
};

/* The kinds of cores, at least one. Their number, or -ENOMEM. */
int gn_cores(const struct gn_places *places, struct gn_core cores[GN_CORES_MAX]);

/* What libpfm4 makes of an event on a core: 1, or 0 if it knows no such event. */
int gn_core_encode(const struct gn_core *core, const char *event, struct gn_event_spec *spec);

/* What a generic or raw name means on a core: 1, or 0 for other names. */
int gn_core_generic(const struct gn_core *core, const char *base, struct gn_event_spec *spec);

/* A definition, wherever it comes from. All texts are in the table or in a user's file. */
struct gn_preset {
	const char *name;
	const char *description;
	const char *unit;
	const char *formula;
	const char *reason;
	const char *differs;
	const char *source;	   /* the user's file, or the family's name */
	const char *const *pmus;   /* n_pmus of libpfm4's names that it holds for; any if 0 */
	const char *events;	   /* n names, one after the other */
	struct gn_program program; /* not to be freed */
	int n_pmus;
	int n;
	int is_users;
	int line;
};

/* The definition of a name on a core: 1, 0 if there is none, GN_E* for a broken user's file. */
int gn_preset_find(const char *base, const struct gn_core *core, struct gn_preset *preset,
		   struct gn_error_text *why);

/* The number of a standard preset's name, whatever its case; -1 if it is none. */
int gn_preset_number(const char *name);

/* The preset of a standard name as a core defines it. */
void gn_preset_shipped(int number, const struct gn_core *core, struct gn_preset *preset);

/* A user's preset by its place among all of them: 1, or 0 if there is none. */
int gn_user_preset_at(int number, struct gn_preset *preset);
int gn_user_preset_count(void);

/* A user's preset that holds for a core, newest file first: 1 or 0. */
int gn_user_preset_find(const char *name, const struct gn_core *core, struct gn_preset *preset);

/* The same, whatever core it holds for. */
int gn_user_preset_named(const char *name, struct gn_preset *preset);

/* Reads the files of GNOMON_PRESETS, once. GN_OK, or GN_EINVAL: one of them is broken. */
int gn_user_presets_ready(struct gn_error_text *why);

/* Makes the presets of a file known. */
int gn_user_presets_load(const char *path, struct gn_error_text *why);

/* Calls with every preset's name, users' own first. */
int gn_preset_each(gn_event_seen *seen, void *context);

#endif
