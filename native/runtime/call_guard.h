/* Calling what somebody else wrote. */
#ifndef GNOMON_RUNTIME_CALL_GUARD_H
#define GNOMON_RUNTIME_CALL_GUARD_H

/*
 * work(context) in this thread, for so many seconds at most; for that much longer, if the file has
 * been written to or touched meanwhile (beat_fd; -1: none). 0, the number of the signal that it
 * would have died of, or -ETIMEDOUT. The program's signal handlers and mask are as they were
 * afterwards. One call at a time.
 */
int gn_call_guarded(void (*work)(void *context), void *context, double seconds, int beat_fd);

/* Returns whether this thread is in the middle of such a call; if it is, the call is not guarded
 * any more and will not come back: the program exits. */
int gn_call_guard_leave(void);

#endif
