/* The table of presets that comes with the library. */
#include <string.h>

#include "preset_files.h"

static const char *text_at(uint32_t offset)
{
	return gn_preset_texts + offset;
}

static const char *nth(const char *list, int index)
{
	while (index--)
		list += strlen(list) + 1;
	return list;
}

int gn_preset_number(const char *name)
{
	for (int i = 0; i < gn_preset_meaning_count; i++)
		if (!gn_compare_folded(name, text_at(gn_preset_meanings[i].name)))
			return i;
	return -1;
}

int gn_preset_number_exactly(const char *name)
{
	const int number = gn_preset_number(name);

	return number >= 0 && !strcmp(name, text_at(gn_preset_meanings[number].name)) ? number : -1;
}

/* The first model that a family names; the last family is for any PMU. */
static int family_of(const struct gn_core *core)
{
	for (int i = 0; i < core->n_models; i++)
		for (int family = 0; family < gn_preset_family_count; family++)
			for (int pmu = 0; pmu < gn_preset_families[family].n_pmus; pmu++)
				if (!strcmp(core->model[i],
					    nth(text_at(gn_preset_families[family].pmus), pmu)))
					return family;
	return gn_preset_family_count - 1;
}

void gn_preset_shipped(int number, const struct gn_core *core, struct gn_preset *preset)
{
	const int family = family_of(core);
	const struct gn_preset_row *row =
		&gn_preset_rows[family * gn_preset_meaning_count + number];

	memset(preset, 0, sizeof(*preset));
	preset->name = text_at(gn_preset_meanings[number].name);
	preset->description = text_at(row->description);
	preset->unit = text_at(row->unit);
	preset->formula = text_at(row->formula);
	preset->reason = text_at(row->reason);
	preset->differs = text_at(row->differs);
	preset->source = text_at(gn_preset_families[family].name);
	preset->events = text_at(row->events);
	preset->n = row->n;
	preset->program.n = row->ops;
	/* Nobody writes to it: the member is not const as users' programs are given back. */
	preset->program.op = (struct gn_op *)(uintptr_t)&gn_preset_ops[row->first_op];
}
