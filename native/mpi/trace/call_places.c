#include "call_places.h"

#include <stdlib.h>
#include <string.h>

#include "totals_file.h"

static void count(struct gn_trace_places *places, const union gn_totals_record *record, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++, record++) {
		if (record->kind == GN_TOTALS_FRAME && record->frame.frame >= places->n_frames)
			places->n_frames = record->frame.frame + 1;
		if (record->kind == GN_TOTALS_MODULE && record->module.module >= places->n_modules)
			places->n_modules = record->module.module + 1;
	}
}

/* Parts of a text come in their order. */
static void add_path(struct gn_trace_module *module, const struct gn_text_record *text)
{
	const size_t known = module->path ? strlen(module->path) : 0;
	char *longer = realloc(module->path, known + sizeof(text->text) + 1);

	if (!longer)
		return;
	memcpy(longer + known, text->text, sizeof(text->text));
	longer[known + sizeof(text->text)] = 0;
	module->path = longer;
}

static void fill(struct gn_trace_places *places, const union gn_totals_record *record, uint64_t n)
{
	for (uint32_t i = 0; i < places->n_frames; i++)
		places->frame[i] = (struct gn_trace_frame){GN_TOTALS_NONE, GN_TOTALS_NONE, 0};
	for (uint64_t i = 0; i < n; i++, record++) {
		if (record->kind == GN_TOTALS_FRAME) {
			places->frame[record->frame.frame] = (struct gn_trace_frame){
				record->frame.caller, record->frame.module, record->frame.offset};
		} else if (record->kind == GN_TOTALS_MODULE) {
			struct gn_trace_module *module = &places->module[record->module.module];

			module->build_id_bytes = record->module.build_id_bytes;
			memcpy(module->build_id, record->module.build_id, sizeof(module->build_id));
		} else if (record->kind == GN_TOTALS_TEXT && record->text.of == GN_TOTALS_MODULE &&
			   record->text.number < places->n_modules) {
			add_path(&places->module[record->text.number], &record->text);
		}
	}
}

struct gn_trace_places *gn_trace_places_read(void)
{
	struct gn_trace_places *places = calloc(1, sizeof(*places));
	const union gn_totals_record *record;
	uint64_t n;

	if (!places)
		return NULL;
	record = gn_totals_records(&n);
	count(places, record, n);
	places->frame = calloc((size_t)places->n_frames + 1, sizeof(*places->frame));
	places->module = calloc((size_t)places->n_modules + 1, sizeof(*places->module));
	if (!places->frame || !places->module) {
		gn_trace_places_free(places);
		return NULL;
	}
	fill(places, record, n);
	return places;
}

void gn_trace_places_free(struct gn_trace_places *places)
{
	if (!places)
		return;
	for (uint32_t i = 0; places->module && i < places->n_modules; i++)
		free(places->module[i].path);
	free(places->module);
	free(places->frame);
	free(places);
}

const struct gn_trace_module *gn_trace_module(const struct gn_trace_places *places, uint32_t number)
{
	return number < places->n_modules ? &places->module[number] : NULL;
}

struct gn_trace_frame gn_trace_frame_above(const struct gn_trace_places *places, uint32_t number,
					   int level)
{
	while (level-- > 0 && number < places->n_frames &&
	       places->frame[number].caller < places->n_frames)
		number = places->frame[number].caller;
	return number < places->n_frames
		       ? places->frame[number]
		       : (struct gn_trace_frame){GN_TOTALS_NONE, GN_TOTALS_NONE, 0};
}
