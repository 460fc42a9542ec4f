#include "tree.h"
#include <errno.h>
int hpm_tree_open_files(hpm_tree *tree)
{
	(void)tree;
	return ENODATA;
}
