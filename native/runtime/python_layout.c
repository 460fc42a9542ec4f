#include "python_layout.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* PyTypeObject: tp_basicsize, the same in all versions. */
#define TYPE_SIZE_AT 32

/* From the headers of 3.11.2 and 3.11.7. */
static const struct gn_python_layout layout_3_11 = {
	.minor = 11,
	.thread_cframe = 56,
	.thread_id = 152,
	.datastack_chunk = 296,
	.datastack_top = 304,
	.cframe_current_frame = 8,
	.cframe_previous = 16,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_instruction = 56,
	.frame_is_entry = 68,
	.frame_owner = 69,
	.frame_bytes = 72,
	.code_consts = 24,
	.code_stack = 68,
	.code_first_line = 72,
	.code_locals = 76,
	.code_file = 112,
	.code_name = 128,
	.code_line_table = 136,
	.code_instructions = 184,
	.ascii_text = 48,
	.other_text = 72,
	.code_bytes = 184,
	.frame_object_bytes = 120,
};

/* From the headers of 3.12.1. */
static const struct gn_python_layout layout_3_12 = {
	.minor = 12,
	.thread_cframe = 56,
	.thread_id = 136,
	.datastack_chunk = 232,
	.datastack_top = 240,
	.cframe_current_frame = 0,
	.cframe_previous = 8,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instruction = 56,
	.frame_owner = 70,
	.frame_bytes = 72,
	.code_consts = 24,
	.code_stack = 64,
	.code_first_line = 68,
	.code_locals = 72,
	.code_file = 112,
	.code_name = 128,
	.code_line_table = 136,
	.code_instructions = 192,
	.ascii_text = 40,
	.other_text = 56,
	.code_bytes = 192,
	.frame_object_bytes = 120,
};

/* From the headers of 3.13.0; what the interpreter publishes is compared. */
static const struct gn_python_layout layout_3_13 = {
	.minor = 13,
	.thread_current_frame = 72,
	.thread_id = 152,
	.datastack_chunk = 232,
	.datastack_top = 240,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instruction = 56,
	.frame_owner = 70,
	.frame_bytes = 72,
	.code_consts = 24,
	.code_stack = 64,
	.code_first_line = 68,
	.code_locals = 72,
	.code_file = 112,
	.code_name = 128,
	.code_line_table = 136,
	.code_instructions = 200,
	.ascii_text = 40,
	.other_text = 56,
	.code_bytes = 200,
	.frame_object_bytes = 136,
};

static const struct gn_python_layout *const layouts[] = {&layout_3_11, &layout_3_12, &layout_3_13};

/* _Py_DebugOffsets of 3.13 as words: cookie, version, free_threaded, then structs of offsets. */
#define DEBUG_COOKIE "xdebugpy"
enum {
	DEBUG_VERSION = 1,
	DEBUG_FREE_THREADED = 2,
	DEBUG_THREAD = 19,
	DEBUG_FRAME = 28,
	DEBUG_CODE = 34,
};

/* Whether the interpreter publishes the offsets that we go by. */
static int is_as_published(const struct gn_python_layout *layout, void *library, uint32_t version)
{
	const uint64_t *word = dlsym(library, "_PyRuntime");
	const uint64_t *thread, *frame, *code;

	if (!word || memcmp(word, DEBUG_COOKIE, sizeof(DEBUG_COOKIE) - 1) ||
	    word[DEBUG_VERSION] != version || word[DEBUG_FREE_THREADED])
		return 0;
	thread = word + DEBUG_THREAD;
	frame = word + DEBUG_FRAME;
	code = word + DEBUG_CODE;
	return thread[4] == layout->thread_current_frame && thread[5] == layout->thread_id &&
	       thread[7] == layout->datastack_chunk && frame[1] == layout->frame_previous &&
	       frame[2] == layout->frame_code && frame[3] == layout->frame_instruction &&
	       frame[4] == layout->frame_bytes && frame[5] == layout->frame_owner &&
	       code[1] == layout->code_file && code[3] == layout->code_name &&
	       code[4] == layout->code_line_table && code[5] == layout->code_first_line &&
	       code[9] == layout->code_instructions;
}

static int64_t type_size(void *library, const char *name)
{
	const char *type = dlsym(library, name);
	int64_t bytes = -1;

	if (type)
		memcpy(&bytes, type + TYPE_SIZE_AT, sizeof(bytes));
	return bytes;
}

static int is_as_expected(const struct gn_python_layout *layout, void *library, uint32_t version)
{
	return type_size(library, "PyCode_Type") == layout->code_bytes &&
	       type_size(library, "PyFrame_Type") == layout->frame_object_bytes &&
	       (layout->thread_cframe || is_as_published(layout, library, version));
}

static int find_older(struct gn_python *python, void *library)
{
	const char *(*version)(void);
	unsigned int major, minor, micro;

	*(void **)&version = dlsym(library, "Py_GetVersion");
	if (!version || sscanf(version(), "%u.%u.%u", &major, &minor, &micro) != 3)
		return GN_PYTHON_NONE;
	python->version = major << 24 | (minor & 255) << 16 | (micro & 255) << 8;
	return GN_PYTHON_UNKNOWN;
}

int gn_python_find(struct gn_python *python, void *library)
{
	/* Since 3.11, the first version whose frames can be read like this. */
	const unsigned long *version = dlsym(library, "Py_Version");

	memset(python, 0, sizeof(*python));
	if (!version)
		return find_older(python, library);
	python->version = (uint32_t)*version;
	*(void **)&python->this_thread = dlsym(library, "PyGILState_GetThisThreadState");
	python->code_type = (uintptr_t)dlsym(library, "PyCode_Type");
	if (!python->this_thread || python->version >> 24 != 3)
		return GN_PYTHON_UNKNOWN;
	for (unsigned int i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (layouts[i]->minor != (python->version >> 16 & 255) ||
		    !is_as_expected(layouts[i], library, python->version))
			continue;
		python->layout = *layouts[i];
		/* Before 3.12 the other one is always that of the main interpreter. */
		if (layouts[i]->minor == 11)
			*(void **)&python->running = dlsym(library, "_PyThreadState_UncheckedGet");
		return GN_PYTHON_USABLE;
	}
	return GN_PYTHON_UNKNOWN;
}
