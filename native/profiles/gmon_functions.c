#include "gmon_functions.h"

#include "key_table.h"
#include "number_slots.h"

#include <errno.h>
#include <stdlib.h>

enum { UNIT_BYTES = 2, PAGE_BYTES = 4096, PROFIL_UNIT = 65536, PROLOGUE_BYTES = 128 };

uint64_t gn_gmon_shift(const struct gn_program *program, const struct gn_gmon *gmon)
{
	const uint64_t begin = program->functions[0].start;
	uint64_t end = 0, lowest = UINT64_MAX;

	for (uint32_t i = 0; i < program->n; i++)
		if (program->functions[i].end > end)
			end = program->functions[i].end;
	for (uint32_t i = 0; i < gmon->n_histograms; i++)
		if (gmon->histograms[i].low < lowest)
			lowest = gmon->histograms[i].low;
	if (!gmon->n_histograms || lowest < end || begin >= lowest)
		return 0;
	return lowest - begin / PAGE_BYTES * PAGE_BYTES;
}

/* A histogram may be of any range: what is too far away is at the end of all addresses. */
static int64_t address_of(const struct gn_bin_walk *walk, uint64_t bin)
{
	double offset = walk->scale * (double)bin;
	int64_t address;

	if (walk->profil_scale)
		offset =
			(double)((bin * PROFIL_UNIT + walk->profil_scale - 1) / walk->profil_scale);
	if (offset >= (double)INT64_MAX ||
	    __builtin_add_overflow(walk->low, (int64_t)offset, &address))
		return INT64_MAX;
	return address;
}

static int64_t start_of(const struct gn_program *program, uint32_t function)
{
	return (int64_t)(program->functions[function].start / UNIT_BYTES);
}

static int64_t end_of(const struct gn_program *program, uint32_t function)
{
	if (function + 1 < program->n)
		return start_of(program, function + 1);
	return (int64_t)(program->functions[function].end / UNIT_BYTES);
}

/* What profil() was given: bytes of bins by bytes of code, at most a bin for two bytes of code. */
static uint64_t profil_scale(const struct gn_histogram *histogram)
{
	const double range = (double)(histogram->high - histogram->low);
	const double scale = (double)histogram->n_bins * UNIT_BYTES / range * PROFIL_UNIT;

	if (!(scale >= 1))
		return 1;
	return scale < PROFIL_UNIT ? (uint64_t)scale : PROFIL_UNIT;
}

struct gn_bin_walk gn_bin_walk(const struct gn_program *program,
			       const struct gn_histogram *histogram, uint64_t shift,
			       enum gn_bin_rule rule)
{
	const uint64_t low = histogram->low > shift ? histogram->low - shift : 0;
	struct gn_bin_walk walk = {
		.program = program,
		.histogram = histogram,
		.low = (int64_t)(low / UNIT_BYTES),
	};

	if (histogram->n_bins)
		walk.scale = (double)((histogram->high - histogram->low) / UNIT_BYTES) /
			     histogram->n_bins;
	if (rule == GN_PROFIL_BINS)
		walk.profil_scale = profil_scale(histogram);
	return walk;
}

bool gn_next_part(struct gn_bin_walk *walk, struct gn_bin_part *part)
{
	const struct gn_program *program = walk->program;
	const struct gn_histogram *histogram = walk->histogram;

	for (; walk->bin < histogram->n_bins; walk->bin++, walk->function = 0) {
		const uint32_t count = histogram->bins[walk->bin];
		int64_t first, end;

		if (!count)
			continue;
		first = address_of(walk, walk->bin);
		end = address_of(walk, (uint64_t)walk->bin + 1);
		while (walk->first_function + 1 < program->n &&
		       end_of(program, walk->first_function) <= first)
			walk->first_function++;
		while (walk->first_function + walk->function < program->n) {
			const uint32_t function = walk->first_function + walk->function;
			const int64_t start = start_of(program, function);
			const int64_t function_end = end_of(program, function);
			const int64_t begin = first > start ? first : start;
			const int64_t overlap = (end < function_end ? end : function_end) - begin;

			if (start >= end)
				break;
			walk->function++;
			if (overlap <= 0)
				continue;
			*part = (struct gn_bin_part){
				.function = function,
				.bin = walk->bin,
				.address = (uint64_t)begin * UNIT_BYTES,
				.bytes = (uint64_t)overlap * UNIT_BYTES,
				.times = (double)(int64_t)((uint64_t)overlap * count) / walk->scale,
			};
			return true;
		}
	}
	return false;
}

/* Give the parts from `first` on, which are of one bin, their share of its samples. */
static void share(struct gn_bin_parts *parts, uint32_t first, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = first; i < parts->n; i++)
		bytes += parts->of[i].bytes;
	for (uint32_t i = first; i < parts->n; i++)
		parts->of[i].times = (double)count * ((double)parts->of[i].bytes / (double)bytes);
}

int gn_bin_parts_make(struct gn_bin_parts *parts, const struct gn_program *program,
		      const struct gn_histogram *histogram, uint64_t shift)
{
	struct gn_bin_walk walk = gn_bin_walk(program, histogram, shift, GN_PROFIL_BINS);
	struct gn_bin_part part;
	uint32_t first = 0;

	*parts = (struct gn_bin_parts){0};
	while (gn_next_part(&walk, &part)) {
		struct gn_bin_part *of =
			gn_with_room(parts->of, parts->n, &parts->room, sizeof(*of));

		if (!of)
			return -ENOMEM;
		parts->of = of;
		if (parts->n && of[first].bin != part.bin) {
			share(parts, first, histogram->bins[of[first].bin]);
			first = parts->n;
		}
		of[parts->n++] = part;
	}
	if (parts->n)
		share(parts, first, histogram->bins[parts->of[first].bin]);
	return 0;
}

int gn_function_times(double *times, const struct gn_program *program, const struct gn_gmon *gmon,
		      uint64_t shift)
{
	double *of_histogram = malloc(program->n * sizeof(*of_histogram));

	if (!of_histogram)
		return -ENOMEM;
	for (uint32_t i = 0; i < gmon->n_histograms; i++) {
		struct gn_bin_walk walk =
			gn_bin_walk(program, &gmon->histograms[i], shift, GN_GPROF_BINS);
		struct gn_bin_part part;

		for (uint32_t function = 0; function < program->n; function++)
			of_histogram[function] = 0;
		while (gn_next_part(&walk, &part))
			of_histogram[part.function] += part.times;
		for (uint32_t function = 0; function < program->n; function++)
			times[function] += of_histogram[function];
	}
	free(of_histogram);
	return 0;
}

/* The function that an address is in, -1 for none. */
static int32_t function_at(const struct gn_program *program, const uint64_t *starts,
			   uint64_t address)
{
	uint32_t first = 0, n = program->n;

	/* The last function that begins there or before. */
	while (n > 1) {
		const uint32_t half = n / 2;

		first += starts[first + half] <= address ? half : 0;
		n -= half;
	}
	if (starts[first] > address || address >= program->functions[first].end)
		return -1;
	return (int32_t)first;
}

static uint64_t *starts_of(const struct gn_program *program)
{
	uint64_t *starts = malloc(program->n * sizeof(*starts));

	for (uint32_t i = 0; starts && i < program->n; i++)
		starts[i] = program->functions[i].start;
	return starts;
}

int gn_function_arcs_make(struct gn_function_arcs *arcs, const struct gn_program *program,
			  const struct gn_gmon *gmon, uint64_t shift)
{
	const struct gn_counts *of_file = &gmon->arcs;
	const size_t n = of_file->n ? of_file->n : 1;
	uint64_t *starts = starts_of(program);
	struct gn_key_table pairs = {0};
	int failed = -ENOMEM;

	*arcs = (struct gn_function_arcs){
		.caller = malloc(n * sizeof(*arcs->caller)),
		.callee = malloc(n * sizeof(*arcs->callee)),
		.counts = malloc(n * sizeof(*arcs->counts)),
	};
	if (!starts || !arcs->caller || !arcs->callee || !arcs->counts)
		goto end;
	for (uint32_t i = 0; i < of_file->n; i++) {
		const int32_t caller = function_at(program, starts, of_file->callers[i] - shift);
		const int32_t callee = function_at(program, starts, of_file->callees[i] - shift);
		int64_t number;

		if (caller < 0 || callee < 0)
			continue;
		number = gn_key_number(&pairs,
				       (struct gn_key){{(uint32_t)caller, (uint32_t)callee, 0}});
		if (number < 0)
			goto end;
		if (number == arcs->n) {
			arcs->caller[arcs->n] = caller;
			arcs->callee[arcs->n] = callee;
			arcs->counts[arcs->n++] = 0;
		}
		arcs->counts[number] =
			(int64_t)((uint64_t)arcs->counts[number] + (uint64_t)of_file->counts[i]);
	}
	failed = 0;
end:
	free(starts);
	gn_key_table_free(&pairs);
	return failed;
}

void gn_function_arcs_free(struct gn_function_arcs *arcs)
{
	free(arcs->caller);
	free(arcs->callee);
	free(arcs->counts);
	*arcs = (struct gn_function_arcs){0};
}

/* Add the samples of a histogram, and those of them that are in no function. */
static int add_samples(struct gn_gmon_misfit *misfit, const struct gn_program *program,
		       const struct gn_histogram *histogram, uint64_t shift)
{
	const uint64_t samples = gn_samples_of(histogram);
	struct gn_bin_parts parts;
	const int failed = gn_bin_parts_make(&parts, program, histogram, shift);

	misfit->samples += samples;
	misfit->misplaced_samples += samples;
	for (uint32_t i = 0; i < parts.n; i++)
		if (!i || parts.of[i].bin != parts.of[i - 1].bin)
			misfit->misplaced_samples -= histogram->bins[parts.of[i].bin];
	free(parts.of);
	return failed;
}

int gn_gmon_misfit(struct gn_gmon_misfit *misfit, const struct gn_program *program,
		   const struct gn_gmon *gmon, uint64_t shift)
{
	uint64_t *starts = starts_of(program);
	uint64_t *counted = calloc(program->n, sizeof(*counted));
	int failed = starts && counted ? 0 : -ENOMEM;

	*misfit = (struct gn_gmon_misfit){.arcs = gmon->arcs.n};
	for (uint32_t i = 0; !failed && i < gmon->arcs.n; i++) {
		const uint64_t address = gmon->arcs.callees[i] - shift;
		const int32_t function = function_at(program, starts, address);
		bool is_misplaced = function < 0 || address - starts[function] > PROLOGUE_BYTES;

		if (!is_misplaced && counted[function])
			is_misplaced = counted[function] != address;
		else if (!is_misplaced)
			counted[function] = address;
		misfit->misplaced_arcs += is_misplaced;
	}
	for (uint32_t i = 0; !failed && i < gmon->n_histograms; i++)
		failed = add_samples(misfit, program, &gmon->histograms[i], shift);
	free(starts);
	free(counted);
	return failed;
}
