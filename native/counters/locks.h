/*
 * The locks of what is shared by all sets: lists, presets, codes, libpfm4, the
 * signal of overflows. They are whole in a
 * forked child, whatever the parent's other threads did at the fork. Who holds one may take those
 * that stand below it here, never one above.
 */
#ifndef GNOMON_COUNTERS_LOCKS_H
#define GNOMON_COUNTERS_LOCKS_H

enum gn_lock {
	GN_LOCK_LISTS,
	GN_LOCK_PRESETS,
	GN_LOCK_CODES,
	GN_LOCK_COMPONENTS,
	GN_LOCK_LIBPFM,
	GN_LOCK_SIGNAL,
	GN_LOCKS,
};

void gn_lock(enum gn_lock lock);
void gn_unlock(enum gn_lock lock);

#endif
