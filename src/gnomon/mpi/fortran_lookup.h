/*
 * Where an MPI's own function for Fortran is. A program of C has no library for Fortran, so that
 * references to it are weak; one that was loaded later, by dlopen(), is looked for by its file.
 */
static __attribute__((noinline, unused)) void *gn_f_find(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	for (struct link_map *map = _r_debug.r_map; map && !function; map = map->l_next) {
		void *library;

		if (!map->l_name || !strstr(map->l_name, "mpi"))
			continue;
		library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (library) {
			function = dlsym(library, name);
			dlclose(library);
		}
	}
	if (!function) {
		fprintf(stderr,
			"gnomon: no library of this MPI has the function %s; "
			"run without the MPI profiler\n",
			name);
		abort();
	}
	return function;
}

#define GN_F_OWN(function)                                                                         \
	((__typeof__(&(function)))(__builtin_expect(!!(function), 1) ? (void *)(function)          \
								     : gn_f_find(#function)))

/*
 * Another tool's function, which the stub sets by this variable's name where there is one
 * (native/wrapper_library.c).
 */
#define GN_F_NEXT __attribute__((visibility("protected")))
