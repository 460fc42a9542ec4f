/*
 * Where CPython keeps what a stack of Python functions is read from. Such offsets hold for a minor
 * version, of which 3.13 and newer say most themselves (`_Py_DebugOffsets`). Every size that the
 * interpreter exports is compared before anything is read.
 */
#ifndef GNOMON_PYTHON_LAYOUT_H
#define GNOMON_PYTHON_LAYOUT_H

#include <stdint.h>

/* Offsets in bytes; names as in CPython's sources. */
struct gn_python_layout {
	uint32_t minor; /* of version 3 */
	/* PyThreadState. Its frame is in a _PyCFrame up to 3.12. */
	uint16_t thread_cframe, thread_current_frame, thread_id, datastack_chunk, datastack_top;
	uint16_t cframe_current_frame, cframe_previous;
	/* _PyInterpreterFrame; is_entry in 3.11 only, shims of C calls have an owner since 3.12. */
	uint16_t frame_code, frame_previous, frame_instruction, frame_owner, frame_is_entry;
	uint16_t frame_bytes; /* without locals and stack */
	/* PyCodeObject */
	uint16_t code_first_line, code_locals, code_stack, code_consts, code_file, code_name,
		code_line_table, code_instructions;
	/* PyUnicodeObject: where the characters begin. */
	uint16_t ascii_text, other_text;
	/* What PyCode_Type and PyFrame_Type say of their size. */
	uint16_t code_bytes, frame_object_bytes;
};

/* An interpreter in this process. */
struct gn_python {
	struct gn_python_layout layout;
	uint32_t version;	    /* as in Py_Version */
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	void *(*running)(void);	    /* _PyThreadState_UncheckedGet; NULL: not needed */
	uintptr_t code_type;
};

enum {
	GN_PYTHON_NONE, /* no interpreter here */
	GN_PYTHON_USABLE,
	GN_PYTHON_UNKNOWN, /* one whose frames are not known; its version is filled in */
};

/* Looks in a library (dlsym(3)), by the names that an interpreter exports. */
int gn_python_find(struct gn_python *python, void *library);

#endif
