#include "code_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code_frame.h"
#include "symbol_window.h"

#define FUNCTIONS_MAX 65536u
#define WINDOWS_MAX 4096u
/* Different ones of a function, of which few have more than twenty. */
#define FRAMES_MAX 256u
#define NOT_REACHED UINT16_MAX
/* How often each byte's instruction is followed at most: ways that meet agree soon. */
#define ROUNDS_MAX 4u

/* From an instruction on the frame is this one. */
struct frame_range {
	uint32_t offset;
	uint32_t frame;
};

struct gn_code_function {
	uint64_t start;
	uint64_t end;
	struct frame_range *ranges;
	uint32_t n_ranges;
	struct gn_code_frame *frames;
};

/* --- following the instructions --------------------------------------------------------------- */

struct flow {
	const uint8_t *code;
	uint32_t bytes;
	/* By byte: the number of the frame before the instruction that begins there. */
	uint16_t *frame_at;
	/* Where it goes on, too. */
	uint32_t *pending;
	uint32_t n_pending;
	struct gn_code_frame frames[FRAMES_MAX];
	uint32_t n_frames;
	/* That was met last, and is mostly met again. */
	uint32_t last;
};

static uint16_t number_of(struct flow *flow, const struct gn_code_frame *frame)
{
	uint32_t i = flow->last;

	if (i < flow->n_frames && !memcmp(&flow->frames[i], frame, sizeof(*frame)))
		return (uint16_t)i;
	for (i = 0; i < flow->n_frames; i++)
		if (!memcmp(&flow->frames[i], frame, sizeof(*frame)))
			break;
	if (i == FRAMES_MAX)
		return NOT_REACHED;
	if (i == flow->n_frames)
		flow->frames[flow->n_frames++] = *frame;
	flow->last = i;
	return (uint16_t)i;
}

/* Whether an instruction has to be followed, for the first time or with another frame. */
static bool reach(struct flow *flow, uint32_t offset, const struct gn_code_frame *frame)
{
	struct gn_code_frame merged = *frame;
	const uint16_t before = flow->frame_at[offset];
	uint16_t number;

	if (before != NOT_REACHED)
		gn_code_frame_merge(&merged, &flow->frames[before]);
	number = number_of(flow, &merged);
	if (number == before || number == NOT_REACHED)
		return false;
	flow->frame_at[offset] = number;
	return true;
}

static void reach_by_jump(struct flow *flow, uint64_t offset, const struct gn_code_frame *frame)
{
	if (offset < flow->bytes && flow->n_pending < flow->bytes &&
	    reach(flow, (uint32_t)offset, frame))
		flow->pending[flow->n_pending++] = (uint32_t)offset;
}

static void follow_from(struct flow *flow, uint32_t offset, uint32_t *left)
{
	while (*left) {
		struct gn_code_frame frame = flow->frames[flow->frame_at[offset]];
		struct gn_x86_instruction instruction;
		uint64_t next, target;

		--*left;
		if (!gn_x86_read(flow->code + offset, flow->bytes - offset, &instruction))
			return;
		next = offset + instruction.bytes;
		target = next + (uint64_t)(int64_t)instruction.value;
		gn_code_frame_step(&frame, &instruction);
		if (instruction.effect == GN_X86_BRANCH || instruction.effect == GN_X86_JUMP)
			reach_by_jump(flow, target, &frame);
		if (instruction.effect == GN_X86_JUMP || instruction.effect == GN_X86_END ||
		    next >= flow->bytes || !reach(flow, (uint32_t)next, &frame))
			return;
		offset = (uint32_t)next;
	}
}

static void follow_all(struct flow *flow)
{
	const struct gn_code_frame first = gn_code_frame_first();
	uint32_t left = ROUNDS_MAX * flow->bytes;

	reach_by_jump(flow, 0, &first);
	while (flow->n_pending)
		follow_from(flow, flow->pending[--flow->n_pending], &left);
}

/* What was not reached, as behind a jump by a table, has the frame of what stands before. */
static uint32_t find_ranges(const struct flow *flow, struct frame_range *ranges)
{
	uint32_t last = NOT_REACHED, n = 0;

	for (uint32_t i = 0; i < flow->bytes; i++) {
		if (flow->frame_at[i] == NOT_REACHED || flow->frame_at[i] == last)
			continue;
		last = flow->frame_at[i];
		if (ranges)
			ranges[n] = (struct frame_range){i, last};
		n++;
	}
	return n;
}

static int keep_ranges(struct gn_code_function *function, const struct flow *flow)
{
	function->ranges = malloc(find_ranges(flow, NULL) * sizeof(*function->ranges));
	function->frames = malloc(flow->n_frames * sizeof(*function->frames));
	if (!function->ranges || !function->frames)
		return -ENOMEM;
	memcpy(function->frames, flow->frames, flow->n_frames * sizeof(*function->frames));
	function->n_ranges = find_ranges(flow, function->ranges);
	return 0;
}

static int follow(struct gn_code_function *function, const uint8_t *code, uint32_t bytes)
{
	struct flow *flow = calloc(1, sizeof(*flow));
	int error = -ENOMEM;

	if (!flow)
		return -ENOMEM;
	flow->code = code;
	flow->bytes = bytes;
	flow->frame_at = malloc(bytes * sizeof(*flow->frame_at));
	flow->pending = malloc(bytes * sizeof(*flow->pending));
	if (flow->frame_at && flow->pending) {
		memset(flow->frame_at, 0xff, bytes * sizeof(*flow->frame_at));
		follow_all(flow);
		error = keep_ranges(function, flow);
	}
	free(flow->frame_at);
	free(flow->pending);
	free(flow);
	return error;
}

/* --- functions -------------------------------------------------------------------------------- */

static void free_function(struct gn_code_function *function)
{
	free(function->ranges);
	free(function->frames);
}

void gn_code_functions_free(struct gn_code_functions *functions)
{
	for (uint32_t i = 0; i < functions->n; i++)
		free_function(&functions->functions[i]);
	for (uint32_t i = 0; i < functions->n_windows; i++)
		free(functions->windows[i].places);
	free(functions->functions);
	free(functions->windows);
	*functions = (struct gn_code_functions){0};
}

static const struct gn_function_place *place_of(struct gn_code_functions *functions,
						const struct gn_elf_image *image, uint64_t address)
{
	const uint64_t first = gn_symbol_window_first(address);
	struct gn_symbol_window *more;

	for (uint32_t i = 0; i < functions->n_windows; i++)
		if (functions->windows[i].first == first)
			return gn_symbol_window_find(&functions->windows[i], address);
	if (functions->n_windows == WINDOWS_MAX)
		return NULL;
	more = realloc(functions->windows, (functions->n_windows + 1) * sizeof(*more));
	if (!more)
		return NULL;
	functions->windows = more;
	more += functions->n_windows;
	if (gn_symbol_window_read(more, image, first))
		return NULL;
	functions->n_windows++;
	return gn_symbol_window_find(more, address);
}

static struct gn_code_function *add_function(struct gn_code_functions *functions,
					     const struct gn_elf_image *image,
					     const struct gn_function_place *place)
{
	struct gn_code_function *function;
	uint64_t bytes = place->end - place->start;
	uint8_t *code;
	int error;

	if (functions->n == functions->capacity) {
		const uint32_t n = functions->capacity ? 2 * functions->capacity : 64;
		void *more = NULL;

		if (n <= FUNCTIONS_MAX)
			more = realloc(functions->functions, n * sizeof(*functions->functions));
		if (!more)
			return NULL;
		functions->functions = more;
		functions->capacity = n;
	}
	code = malloc(bytes);
	if (!code)
		return NULL;
	function = &functions->functions[functions->n];
	*function = (struct gn_code_function){.start = place->start, .end = place->end};
	bytes = gn_elf_image_read_at(image, place->start, code, bytes);
	error = bytes ? follow(function, code, (uint32_t)bytes) : 0;
	free(code);
	if (error) {
		free_function(function);
		return NULL;
	}
	functions->n++;
	return function;
}

static const struct gn_code_frame *frame_in(const struct gn_code_function *function,
					    uint64_t address)
{
	const uint64_t offset = address - function->start;
	uint32_t low = 0, high = function->n_ranges;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (function->ranges[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &function->frames[function->ranges[low - 1].frame] : NULL;
}

bool gn_code_functions_row(struct gn_code_functions *functions, const struct gn_elf_image *image,
			   uint64_t address, struct gn_rule_row *row)
{
	const struct gn_function_place *place;
	const struct gn_code_frame *frame;
	const struct gn_code_function *function = NULL;

	if (image->machine != GN_UNWIND_X86_64)
		return false;
	for (uint32_t i = functions->n; i-- && !function;)
		if (address - functions->functions[i].start <
		    functions->functions[i].end - functions->functions[i].start)
			function = &functions->functions[i];
	if (!function) {
		place = place_of(functions, image, address);
		function = place ? add_function(functions, image, place) : NULL;
	}
	frame = function ? frame_in(function, address) : NULL;
	return frame && gn_code_frame_row(frame, row);
}
