/* Runs Python code from C; with -DLATE the library is loaded while the program runs. */
#include <dlfcn.h>
#include <stdio.h>

#ifndef LATE
void Py_Initialize(void);
int PyRun_SimpleStringFlags(const char *, void *);
int Py_FinalizeEx(void);
#endif

static const char program[] = "def spin(n):\n"
			      "    total = 0\n"
			      "    for number in range(n):\n"
			      "        total ^= number\n"
			      "    return total\n"
			      "def embedded():\n"
			      "    for _ in range(300):\n"
			      "        spin(20000)\n"
			      "embedded()\n";

int main(int n, char **arguments)
{
	int status;
#ifdef LATE
	void *library = n > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void (*Py_Initialize)(void) = library ? dlsym(library, "Py_Initialize") : NULL;
	int (*PyRun_SimpleStringFlags)(const char *, void *) =
		library ? dlsym(library, "PyRun_SimpleStringFlags") : NULL;
	int (*Py_FinalizeEx)(void) = library ? dlsym(library, "Py_FinalizeEx") : NULL;

	if (!library)
		return 3;
#else
	(void)n;
	(void)arguments;
#endif
	Py_Initialize();
	status = PyRun_SimpleStringFlags(program, NULL);
	if (Py_FinalizeEx())
		return 2;
	printf("embedded %d\n", status);
	return 0;
}
