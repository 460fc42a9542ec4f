/* Where a thread writes its records. */
#ifndef GNOMON_PYTHON_STREAMS_H
#define GNOMON_PYTHON_STREAMS_H

#include <gnomon/recorder.h>

#define GN_CODE_TEXT_BYTES 4096u

struct gn_code_streams {
	struct gn_record_stream code, text, lines;
	char utf8[GN_CODE_TEXT_BYTES]; /* a text on its way: a signal's stack may be small */
};

#endif
