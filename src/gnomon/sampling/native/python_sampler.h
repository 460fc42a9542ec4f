/* Samples of the Python functions of this process. */
#ifndef GNOMON_PYTHON_SAMPLER_H
#define GNOMON_PYTHON_SAMPLER_H

/*
 * Looks whether libraries have been loaded since the last time, and whether an interpreter is among
 * them. Costs next to nothing where none is.
 */
void gn_python_look(void);

/* Before another program is executed; whether there were samples to stop. And if that failed. */
int gn_python_pause(void);
void gn_python_resume(void);

#endif
