/*
 * LD_PRELOAD of a program that is about to be executed. Where it cannot load this library (another
 * root or user, a program for another machine) the loader would say so in the program's own output:
 * none of Gnomon's libraries is named there.
 *
 * It may be called between vfork(2) and the execution: it takes no memory and changes nothing.
 */
#ifndef GNOMON_RUNTIME_LOADER_VARIABLE_H
#define GNOMON_RUNTIME_LOADER_VARIABLE_H

#include <stddef.h>

/*
 * So many bytes an environment without the libraries takes; 0: it is to stay as it is. `program`:
 * its path, NULL where that is not known.
 */
size_t gn_loader_bytes(char *const environment[], const char *program);

/* The environment without the libraries, in so many bytes. Texts but for the variable are shared.
 */
char *const *gn_loader_environment(char *const environment[], void *bytes);

#endif
