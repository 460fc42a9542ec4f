#include "python_frames.h"

#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#include "memory_probe.h"
#include "next_symbol.h"
#include "python_layout.h"
#include "python_text.h"

#define HASHED 16u
#define OWNED_BY_C_STACK 3
/* PyBytesObject: the same in all versions. */
#define BYTES_SIZE_AT 16
#define BYTES_AT 32
/* Entries of a table of lines. Source: CPython, Objects/locations.md. */
enum { SHORT_MOST = 9, ONE_LINE_MOST = 12, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

int gn_has_python_callers;
static struct gn_python python;
static void *loop;

void gn_python_caller_begin(void)
{
	static int has_looked;

	/* In a child of a fork it is as it was; dlsym(3) is not for handlers, which may come first.
	 */
	if (has_looked)
		return;
	has_looked = 1;
	if (!gn_any_symbol("_PyRuntime") ||
	    gn_python_find(&python, RTLD_DEFAULT) != GN_PYTHON_USABLE)
		return;
	loop = gn_any_symbol("_PyEval_EvalFrameDefault");
	gn_has_python_callers = 1;
}

static uintptr_t innermost_frame(void)
{
	const struct gn_python_layout *layout = &python.layout;
	const uintptr_t thread = (uintptr_t)python.this_thread();
	uintptr_t cframe;

	if (!thread)
		return 0;
	if (!layout->thread_cframe)
		return gn_word_at(thread + layout->thread_current_frame);
	cframe = gn_word_at(thread + layout->thread_cframe);
	return cframe ? gn_word_at(cframe + layout->cframe_current_frame) : 0;
}

/* A frame that stands for C's call of the interpreter, and is no function. */
static int is_shim(uintptr_t frame)
{
	return !python.layout.frame_is_entry &&
	       gn_byte_at(frame + python.layout.frame_owner) == OWNED_BY_C_STACK;
}

uint32_t gn_python_caller_hash(void)
{
	const struct gn_python_layout *layout = &python.layout;
	uintptr_t frame = innermost_frame();
	uint64_t hash = 0;

	for (uint32_t i = 0; frame && i < HASHED; i++) {
		hash = (hash ^ gn_word_at(frame + layout->frame_instruction) ^
			gn_word_at(frame + layout->frame_code) << 20) *
		       0x9e3779b97f4a7c15u;
		frame = gn_word_at(frame + layout->frame_previous);
	}
	return (uint32_t)(hash >> 32);
}

/* --- lines ------------------------------------------------------------------------------------ */

static uint32_t take_number(const uint8_t **at, const uint8_t *end)
{
	uint32_t number = 0, shift = 0;

	while (*at < end && shift < 30) {
		const uint8_t byte = *(*at)++;

		number |= (uint32_t)(byte & 63) << shift;
		shift += 6;
		if (!(byte & 64))
			break;
	}
	return number;
}

static int32_t take_signed(const uint8_t **at, const uint8_t *end)
{
	const uint32_t number = take_number(at, end);

	return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

static uint32_t line_of(uintptr_t code, uintptr_t instruction)
{
	const uintptr_t table = gn_word_at(code + python.layout.code_line_table);
	const uint8_t *at = (const uint8_t *)table + BYTES_AT;
	const uint8_t *end = at + gn_word_at(table + BYTES_SIZE_AT);
	uintptr_t begin = code + python.layout.code_instructions;
	int32_t line = gn_int_at(code + python.layout.code_first_line);

	while (at < end) {
		const uint8_t head = *at++;
		const uint32_t kind = head >> 3 & 15;

		if (kind == LONG || kind == NO_COLUMNS)
			line += take_signed(&at, end);
		else if (kind > SHORT_MOST && kind <= ONE_LINE_MOST)
			line += (int32_t)kind - SHORT_MOST - 1;
		if (kind == LONG)
			for (int i = 0; i < 3; i++)
				take_number(&at, end);
		else if (kind <= ONE_LINE_MOST)
			at += kind <= SHORT_MOST ? 1 : 2;
		begin += 2 * ((uintptr_t)(head & 7) + 1);
		if (instruction < begin)
			return kind == NO_LINE || line < 0 ? 0 : (uint32_t)line;
	}
	return 0;
}

/* --- stacks ----------------------------------------------------------------------------------- */

uint32_t gn_python_caller_stack(struct gn_python_caller_frame *frames, uint32_t most)
{
	const struct gn_python_layout *layout = &python.layout;
	uintptr_t frame = innermost_frame();
	uint32_t n = 0;

	for (; frame && n < most; frame = gn_word_at(frame + layout->frame_previous)) {
		const uintptr_t code = gn_word_at(frame + layout->frame_code);

		if (is_shim(frame))
			continue;
		/* Whatever has not a function's code is no frame as this version has them. */
		if (gn_word_at(code + sizeof(uintptr_t)) != python.code_type)
			break;
		frames[n].code = code;
		frames[n++].line = line_of(code, gn_word_at(frame + layout->frame_instruction));
	}
	return n;
}

uint64_t gn_python_caller_identity(uintptr_t code)
{
	return gn_word_at(code + python.layout.code_line_table) * 31 +
	       gn_word_at(code + python.layout.code_name) * 7 +
	       gn_word_at(code + python.layout.code_consts) +
	       (uint32_t)gn_int_at(code + python.layout.code_first_line);
}

void gn_python_caller_name(uintptr_t code, char *text, uint32_t size)
{
	const struct gn_python_layout *layout = &python.layout;
	struct gn_probe probe = {{0}};
	size_t n;

	/* Half of it at most for the file, so that there is room for the name. */
	n = gn_python_text(layout, &probe, gn_word_at(code + layout->code_file), text, size / 2);
	text[n++] = '\n';
	n += gn_python_text(layout, &probe, gn_word_at(code + layout->code_name), text + n,
			    size - n - 1);
	text[n] = 0;
}

int gn_python_caller_is_loop(uintptr_t address)
{
	return loop && _Unwind_FindEnclosingFunction((void *)address) == loop;
}

uintptr_t gn_python_caller_address(void)
{
	return (uintptr_t)python.this_thread;
}
