#include "resolve.h"

#include "demangle.h"
#include "dwarf_calls.h"
#include "dwarf_lines.h"
#include "dwarf_names.h"
#include "dwarf_ranges.h"
#include "elf_symbols.h"
#include "plt.h"
#include "unwind_bounds.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_UNIT UINT32_MAX
#define FRAMES_MAX ((size_t)1 << 24)
#define NAME_MAX_BYTES 65536
#define PLT_MARK "@plt"

/* What is known of one module while it is asked about. */
struct resolver {
	struct gn_elf *module;
	const struct gn_question *question;
	struct gn_answer *answer;
	struct gn_elf_symbols symbols;
	struct gn_intervals bounds;
	bool has_bounds;
	bool has_dwarf;
	struct gn_dwarf dwarf, alternate;
	uint32_t *unit_of; /* of each address */
	struct gn_line *lines;
	uint32_t *innermost;
	struct gn_vector calls;
	uint32_t *name_of_call;	  /* numbers of texts plus 1, 0: not looked up */
	uint32_t **paths_of_unit; /* by file: the same */
	char *text;
};

/* --- debug information ------------------------------------------------------------------------ */

static void read_units(struct resolver *resolver)
{
	const struct gn_question *question = resolver->question;
	struct gn_arena *arena = &resolver->answer->arena;
	struct gn_unit *units = resolver->dwarf.units.data;
	bool *is_needed = gn_arena_array(arena, resolver->dwarf.units.n, sizeof(*is_needed));
	struct gn_intervals ranges = {0};

	gn_dwarf_unit_ranges(&resolver->dwarf, &ranges);
	for (uint32_t i = 0; i < question->n; i++) {
		const struct gn_interval *range =
			gn_intervals_find(&ranges, question->addresses[i]);

		resolver->unit_of[i] = range ? range->value : NO_UNIT;
		if (range)
			is_needed[range->value] = true;
	}
	gn_intervals_free(&ranges);
	for (uint32_t i = 0; i < resolver->dwarf.units.n; i++) {
		if (!is_needed[i])
			continue;
		gn_lines(&resolver->dwarf, &units[i], i, question->addresses, resolver->unit_of,
			 question->n, resolver->lines);
		gn_dwarf_calls(&resolver->dwarf, &units[i], i, question->addresses,
			       resolver->unit_of, question->n, &resolver->calls,
			       resolver->innermost);
	}
	resolver->name_of_call =
		gn_arena_array(arena, resolver->calls.n + 1, sizeof(*resolver->name_of_call));
	resolver->paths_of_unit = gn_arena_array(arena, resolver->dwarf.units.n + 1,
						 sizeof(*resolver->paths_of_unit));
}

static uint32_t path_number(struct resolver *resolver, uint32_t unit_number, uint64_t file)
{
	struct gn_unit *unit = (struct gn_unit *)resolver->dwarf.units.data + unit_number;
	const struct gn_line_files *files = gn_line_files(&resolver->dwarf, unit);
	uint32_t **paths = &resolver->paths_of_unit[unit_number], *number;
	char path[PATH_MAX];

	if (!files || file - files->first >= files->files.n)
		return 0;
	if (!*paths)
		*paths = gn_arena_array(&resolver->answer->arena, files->files.n, sizeof(**paths));
	number = &(*paths)[file - files->first];
	if (!*number)
		*number = 1 + (gn_line_path(unit, files, file, path, sizeof(path))
				       ? gn_texts_number(&resolver->answer->texts, path)
				       : 0);
	return *number - 1;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Demangled, without the version in memcpy@@GLIBC_2.14, but with the mark of a stub: memcpy@plt. */
static uint32_t symbol_name(struct resolver *resolver, const struct gn_function *function)
{
	struct gn_texts *texts = &resolver->answer->texts;
	const char *mark = strchr(function->name + 1, '@');
	const size_t length = mark ? (size_t)(mark - function->name) : strlen(function->name);
	char *name;

	if (length >= NAME_MAX_BYTES - sizeof(PLT_MARK))
		return 0;
	name = memcpy(gn_arena_alloc(&resolver->answer->arena, length + 1), function->name, length);
	if (!gn_demangle(name, resolver->text, NAME_MAX_BYTES - sizeof(PLT_MARK)))
		memcpy(resolver->text, name, length + 1);
	if (mark && !strcmp(mark, PLT_MARK))
		strcat(resolver->text, PLT_MARK);
	return gn_texts_number(texts, resolver->text);
}

/* A function that only its symbol or its unwind entry tells of. */
static void set_function(struct resolver *resolver, uint64_t address, struct gn_frame *frame)
{
	const struct gn_function *function = gn_elf_symbols_find(&resolver->symbols, address);
	const struct gn_interval *entry;
	const char *slash;

	if (function) {
		frame->function = symbol_name(resolver, function);
		frame->start = function->start;
		return;
	}
	if (!resolver->has_bounds)
		gn_unwind_bounds(&resolver->bounds, resolver->module);
	resolver->has_bounds = true;
	entry = gn_intervals_find(&resolver->bounds, address);
	if (!entry)
		return;
	slash = strrchr(resolver->question->path, '/');
	snprintf(resolver->text, NAME_MAX_BYTES, "%s+0x%llx",
		 slash ? slash + 1 : resolver->question->path, (unsigned long long)entry->start);
	frame->function = gn_texts_number(&resolver->answer->texts, resolver->text);
	frame->start = entry->start;
	frame->flags |= GN_FRAME_FROM_BOUNDS;
}

static uint32_t call_name(struct resolver *resolver, uint32_t number)
{
	const struct gn_call *call = (struct gn_call *)resolver->calls.data + number;
	uint32_t *name = &resolver->name_of_call[number];

	if (!*name)
		*name = 1 + (gn_dwarf_name(&resolver->dwarf, call->entry, resolver->text,
					   NAME_MAX_BYTES)
				     ? gn_texts_number(&resolver->answer->texts, resolver->text)
				     : 0);
	return *name - 1;
}

static void answer_address(struct resolver *resolver, uint32_t i)
{
	const uint64_t address = resolver->question->addresses[i];
	const struct gn_call *calls = resolver->calls.data;
	uint32_t number = resolver->has_dwarf ? resolver->innermost[i] : GN_NO_CALL;
	struct gn_frame frame = {0};

	if (resolver->has_dwarf && resolver->lines[i].is_set) {
		frame.line = resolver->lines[i].line;
		frame.file = path_number(resolver, resolver->unit_of[i], resolver->lines[i].file);
	}
	for (; number != GN_NO_CALL; number = calls[number].parent) {
		const struct gn_call *call = &calls[number];

		frame.function = call_name(resolver, number);
		frame.start = call->start;
		if (call->parent == GN_NO_CALL)
			break;
		frame.flags = GN_FRAME_INLINED;
		frame.start = 0;
		memcpy(gn_vector_push(&resolver->answer->frames, sizeof(frame)), &frame,
		       sizeof(frame));
		frame = (struct gn_frame){.line = call->line,
					  .file = path_number(resolver, call->unit, call->file)};
	}
	if (!frame.function)
		set_function(resolver, address, &frame);
	memcpy(gn_vector_push(&resolver->answer->frames, sizeof(frame)), &frame, sizeof(frame));
}

/* --- a module --------------------------------------------------------------------------------- */

void gn_resolve_files(struct gn_elf *module, struct gn_elf *debug, struct gn_elf *alternate,
		      const struct gn_question *question, struct gn_answer *answer)
{
	struct gn_arena *arena = &answer->arena;
	struct resolver resolver = {.module = module, .question = question, .answer = answer};

	gn_elf_symbols_add(&resolver.symbols, module, module);
	if (debug)
		gn_elf_symbols_add(&resolver.symbols, debug, module);
	else
		gn_elf_symbols_add_mini(&resolver.symbols, module);
	answer->has_symbols = resolver.symbols.functions.n;
	gn_plt_add(&resolver.symbols, module);
	gn_elf_symbols_sort(&resolver.symbols);
	resolver.text = gn_arena_alloc(arena, NAME_MAX_BYTES);
	if (!gn_elf_section(module, ".debug_info") && debug)
		resolver.has_dwarf = gn_elf_section(debug, ".debug_info");
	else
		debug = NULL, resolver.has_dwarf = gn_elf_section(module, ".debug_info");
	if (resolver.has_dwarf) {
		if (alternate)
			gn_dwarf_open(&resolver.alternate, alternate, module, NULL);
		gn_dwarf_open(&resolver.dwarf, debug ? debug : module, module,
			      alternate ? &resolver.alternate : NULL);
		resolver.unit_of = gn_arena_array(arena, question->n, sizeof(uint32_t));
		resolver.lines = gn_arena_array(arena, question->n, sizeof(struct gn_line));
		resolver.innermost = gn_arena_array(arena, question->n, sizeof(uint32_t));
		memset(resolver.innermost, 0xff, question->n * sizeof(uint32_t));
		read_units(&resolver);
	}
	answer->has_debug = resolver.has_dwarf;
	for (uint32_t i = 0; i < question->n; i++) {
		*(uint32_t *)gn_vector_push(&answer->first, sizeof(uint32_t)) =
			(uint32_t)answer->frames.n;
		if (answer->frames.n < FRAMES_MAX)
			answer_address(&resolver, i);
		else
			answer->outcome = GN_TOO_MANY;
	}
	*(uint32_t *)gn_vector_push(&answer->first, sizeof(uint32_t)) = (uint32_t)answer->frames.n;
	if (resolver.has_dwarf)
		gn_dwarf_close(&resolver.dwarf);
	if (resolver.has_dwarf && alternate)
		gn_dwarf_close(&resolver.alternate);
	gn_vector_free(&resolver.calls);
	gn_intervals_free(&resolver.bounds);
	gn_elf_symbols_free(&resolver.symbols);
}

static bool is_build(const struct gn_elf *module, const char *digits)
{
	char its[2 * GN_BUILD_ID_MAX + 1] = "";

	for (uint32_t i = 0; i < module->build_id_size; i++)
		snprintf(its + 2 * i, 3, "%02x", module->build_id[i]);
	return !*digits || !strcmp(its, digits);
}

enum gn_outcome gn_open_module(struct gn_elf *module, struct gn_arena *arena,
			       const struct gn_question *question, int *error)
{
	*error = gn_elf_open(module, arena, question->path);
	if (*error)
		return *error == -ENOEXEC ? GN_NOT_ELF : GN_UNREADABLE;
	if (is_build(module, question->build_id))
		return GN_RESOLVED;
	gn_elf_close(module);
	return GN_OTHER_BUILD;
}

void gn_resolve(const struct gn_question *question, struct gn_answer *answer)
{
	struct gn_elf module, debug, alternate;
	bool has_debug = false, has_alternate = false;
	const char *path = question->path;

	answer->outcome = gn_open_module(&module, &answer->arena, question, &answer->error);
	if (answer->outcome != GN_RESOLVED)
		return;
	if (*question->debug_path) {
		has_debug = !gn_elf_open(&debug, &answer->arena, question->debug_path);
		path = question->debug_path;
	} else if (!gn_elf_section(&module, ".debug_info")) {
		has_debug = gn_debug_file_open(&debug, &module, path, question->folders,
					       &answer->inputs);
		if (has_debug)
			path = gn_inputs_last(&answer->inputs);
	}
	has_alternate = gn_debug_alternate_open(&alternate, has_debug ? &debug : &module, path,
						question->folders, &answer->inputs);
	gn_resolve_files(&module, has_debug ? &debug : NULL, has_alternate ? &alternate : NULL,
			 question, answer);
	if (has_alternate)
		gn_elf_close(&alternate);
	if (has_debug)
		gn_elf_close(&debug);
	gn_elf_close(&module);
}

void gn_answer_init(struct gn_answer *answer)
{
	*answer = (struct gn_answer){.outcome = GN_RESOLVED};
	gn_texts_init(&answer->texts);
}

void gn_answer_free(struct gn_answer *answer)
{
	gn_vector_free(&answer->first);
	gn_vector_free(&answer->frames);
	gn_vector_free(&answer->inputs.paths);
	gn_texts_free(&answer->texts);
	gn_arena_free(&answer->arena);
}
