/* Names of the kernel's functions, while this kernel runs: no other has its addresses. */
#ifndef GNOMON_SAMPLING_KERNEL_NAMES_H
#define GNOMON_SAMPLING_KERNEL_NAMES_H

#include "path_tree.h"
#include "sample_file.h"

/* Writes the names of the tree's places in the kernel, of those that it tells (kptr_restrict). */
void gn_kernel_names_write(const struct gn_path_tree *tree, struct gn_sample_file *out);

#endif
