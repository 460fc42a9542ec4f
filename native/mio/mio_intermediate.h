/* Intermediate statistics, at a signal. */
#ifndef GNOMON_MIO_INTERMEDIATE_H
#define GNOMON_MIO_INTERMEDIATE_H

/*
 * Has a thread call `tell` whenever the signal comes. A signal that the program handles or ignores
 * stays the program's: then, and where there can be no thread, one line on stderr says so. All that
 * ask later ask for the same `tell`.
 */
void gn_mio_intermediate_at(int number, void (*tell)(void));

/* In a child that was forked, which has no such thread. */
void gn_mio_intermediate_forked(void);

#endif
