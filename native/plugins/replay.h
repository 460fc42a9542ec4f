/* A reduction over files of ranks, in one process. */
#ifndef GNOMON_PLUGINS_REPLAY_H
#define GNOMON_PLUGINS_REPLAY_H

#include <gnomon/hpm_tree.h>

#include "item_codec.h"

#define HPM_REPLAY_WHY 1024

/*
 * Gives `print` what each printing task would print, the lowest task first. Memory is needed for
 * one file at a time, and for the partials from it up the tree. 0, or an errno with `why`.
 */
int hpm_replay(const hpm_reduction *reduction, int n_files, char *const *path,
	       int (*print)(const struct hpm_items *items, char *why), char why[HPM_REPLAY_WHY]);

/* "killed by SIGSEGV" or "status 3"; "" for what ended well. */
void hpm_outcome(const struct hpm_items *items, char *outcome, size_t size);

#endif
