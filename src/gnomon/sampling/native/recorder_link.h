/*
 * What the library says to the recorder, which opens and stops the events of its process: by a
 * socket in the staging folder, one connection for each message.
 */
#ifndef GNOMON_RECORDER_LINK_H
#define GNOMON_RECORDER_LINK_H

#include <stdint.h>

/* The variable that has its name. */
#define GN_PYTHON_SOCKET "GNOMON_PYTHON_SOCKET"

/* Who sends is known by the connection (SO_PEERCRED). */
enum gn_python_request {
	GN_PYTHON_BEGIN = 1, /* open events whose signals this process takes */
	GN_PYTHON_END,	     /* stop them: the process is about to execute another program */
};

/* struct perf_event_attr.sig_data, by which a signal of ours is known: "gnomon" and a number. */
#define GN_PYTHON_SIGNAL_DATA 0x676e6f6d6f6e0001u

/* Whether there is a recorder that wants to know. */
int gn_recorder_is_there(void);

/* What the recorder answers: 0 or a negative errno; or why there is no answer. */
int gn_recorder_ask(enum gn_python_request request);

#endif
