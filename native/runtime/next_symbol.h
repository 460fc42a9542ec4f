/*
 * What other libraries have by a name, as dlsym(3) finds it with RTLD_NEXT and RTLD_DEFAULT. That
 * one frees the message that dlerror(3) has for the program, and is not for a handler that
 * interrupts it, or malloc(3). These keep nothing, take no memory, and wait for no lock, which a
 * child of a fork would wait for for ever: what is closed by dlclose(3) meanwhile is behind the C
 * library, where calls are found.
 */
#ifndef GNOMON_RUNTIME_NEXT_SYMBOL_H
#define GNOMON_RUNTIME_NEXT_SYMBOL_H

/* Of the libraries behind the one that this is a part of; NULL: none has it. */
void *gn_next_symbol(const char *name);

/* Of the program and all libraries; NULL: none has it. */
void *gn_any_symbol(const char *name);

#endif
