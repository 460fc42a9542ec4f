/* Calling what somebody else wrote. */
#ifndef GNOMON_HPM_GUARD_H
#define GNOMON_HPM_GUARD_H

/*
 * work(context) in this thread, for so many seconds at most; for that much longer, if the file has
 * been written to or touched meanwhile (beat_fd; -1: none). 0, the number of the signal that it
 * would have died of, or -ETIMEDOUT. The program's signal handlers and mask are as they were
 * afterwards. One call at a time.
 */
int hpm_guard(void (*work)(void *context), void *context, double seconds, int beat_fd);

/* Whether this thread is in the middle of such a call. */
int hpm_guard_is_here(void);

#endif
