#include "wrapper_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_name.h"
#include "launcher_rank.h"
#include "mpi_library.h"
#include "staging.h"
#include "symbol_calls.h"

#define CAPABILITY "mpi"
/* A file of that ending says why calls of MPI were not measured (mpi/mpi_tables.py). */
#define ENDING "mpi.unmeasured"
#define IDENTITY_SIZE 129
#define BUILD_ID_MOST 64
/* MPI_ERR_OTHER is 15 or 16: no program takes it for success. */
#define NO_MPI 16

struct libraries {
	void *mpi;
	void *wrappers;
	char path[PATH_MAX]; /* of the MPI */
	char identity[IDENTITY_SIZE];
};

static struct libraries here;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- the MPI ---------------------------------------------------------------------------------- */

/* The library that defines what is called may be another than the one that was named so. */
static int find_mpi(struct libraries *libraries)
{
	void *library = gn_mpi_library("PMPI_Init");
	void *symbol = library ? dlsym(library, "PMPI_Init") : NULL;
	Dl_info its;

	if (!symbol || !dladdr(symbol, &its) || !its.dli_fname)
		return 0;
	snprintf(libraries->path, sizeof(libraries->path), "%s", its.dli_fname);
	libraries->mpi = library;
	return 1;
}

static size_t align4(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

struct build_id {
	const char *path;
	char *text;
};

/* Source: elf(5), notes. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
	struct build_id *wanted = context;

	(void)size;
	if (!info->dlpi_name || strcmp(info->dlpi_name, wanted->path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *note = (const char *)(info->dlpi_addr + segment->p_vaddr);
		const char *end = note + segment->p_memsz;

		if (segment->p_type != PT_NOTE)
			continue;
		while (end - note >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *head = (const void *)note;
			const char *name = note + sizeof(*head);
			const unsigned char *bytes =
				(const unsigned char *)name + align4(head->n_namesz);

			if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4) && head->n_descsz <= BUILD_ID_MOST) {
				for (unsigned int n = 0; n < head->n_descsz; n++)
					sprintf(wanted->text + 2 * n, "%02x", bytes[n]);
				return 1;
			}
			note = (const char *)bytes + align4(head->n_descsz);
		}
	}
	return 1;
}

static void identify(struct libraries *libraries)
{
	struct build_id wanted = {libraries->path, libraries->identity};
	struct stat status;

	dl_iterate_phdr(find_build_id, &wanted);
	if (!libraries->identity[0] && !stat(libraries->path, &status))
		snprintf(libraries->identity, IDENTITY_SIZE, "%jd-%jd", (intmax_t)status.st_size,
			 (intmax_t)status.st_mtime);
}

/* --- its wrappers ----------------------------------------------------------------------------- */

/* Rank 0 says it for all; each process leaves it where `gnomon run` finds it. */
static void tell(const char *why)
{
	char host[GN_HOST_NAME_SIZE];
	const struct gn_staging_origin origin = gn_staging_here(CAPABILITY, host);

	if (gn_launcher_rank() <= 0)
		dprintf(STDERR_FILENO, "gnomon: MPI is not measured: %s\n", why);
	gn_staging_write(&origin, ENDING, why, strlen(why));
}

static void *open_named(const char *folders, const char *name, const char **error)
{
	char path[PATH_MAX];
	void *library;

	for (const char *folder = folders; *folder;) {
		const size_t length = strcspn(folder, ":");

		if (snprintf(path, sizeof(path), "%.*s/libgnomon_mpi-%s.so", (int)length, folder,
			     name) < (int)sizeof(path) &&
		    !access(path, R_OK)) {
			/* Data of the MPI that it has not, or has otherwise, is refused here. */
			library = dlopen(path, RTLD_NOW);
			if (library)
				return library;
			*error = dlerror();
		}
		folder += length + (folder[length] == ':');
	}
	return NULL;
}

static void open_wrappers(struct libraries *libraries)
{
	const char *folders = getenv(GN_MPI_WRAPPERS_VARIABLE);
	const char *slash = strrchr(libraries->path, '/'), *error = NULL;
	char why[PATH_MAX + 512];

	/* libmpitrace, which is behind this one, has wrappers of its own. */
	if (gn_mpi_dlsym()(RTLD_DEFAULT, "gnomon_mpi_is_linked"))
		return;
	if (!folders || !gn_staging_folder(CAPABILITY))
		return;
	if (libraries->identity[0])
		libraries->wrappers = open_named(folders, libraries->identity, &error);
	if (!libraries->wrappers)
		libraries->wrappers =
			open_named(folders, slash ? slash + 1 : libraries->path, &error);
	if (libraries->wrappers)
		return;
	if (error)
		snprintf(why, sizeof(why), "the wrappers for %s cannot be loaded: %.400s",
			 libraries->path, error);
	else
		snprintf(
			why, sizeof(why),
			"there are no wrappers for %s (%s); name the compiler wrapper of that MPI: "
			"MPICC=mpicc gnomon run",
			libraries->path, libraries->identity);
	tell(why);
}

/* --- what is called --------------------------------------------------------------------------- */

static int answer_no(int *flag)
{
	*flag = 0;
	return 0;
}

static int answer_not(void)
{
	return NO_MPI;
}

/* Called in processes without MPI by programs that ask whether there is any. */
static uintptr_t nothing(const char *name)
{
	return !strcasecmp(name + 4, "Initialized") || !strcasecmp(name + 4, "Finalized") ||
			       !strcmp(name, "mpi_initialized_") || !strcmp(name, "mpi_finalized_")
		       ? (uintptr_t)answer_no
		       : (uintptr_t)answer_not;
}

/* The one that comes after the stubs in the order of libraries, unless it is the MPI's own. */
static void *other_tool(const char *name)
{
	gn_mpi_symbol_function *next = gn_mpi_dlsym();
	void *function = next(RTLD_NEXT, name);
	Dl_info its, own;

	if (!function || !here.mpi || !dladdr(function, &its) ||
	    !dladdr(next(here.mpi, "PMPI_Init"), &own) || its.dli_fbase == own.dli_fbase)
		return NULL;
	return function;
}

/*
 * The same of a function for Fortran, which the MPI has once more with a p before its name. Only of
 * a wrapper that calls the MPI's library for Fortran; others come to a C function, and so to the
 * tool's.
 */
static void chain_fortran(const char *name)
{
	gn_mpi_symbol_function *next = gn_mpi_dlsym();
	char other[128];
	void *tool = next(RTLD_NEXT, name), *own, *pointer;
	Dl_info its, mpis;

	snprintf(other, sizeof(other), "p%s", name);
	own = next(RTLD_DEFAULT, other);
	if (!tool || !own || !dladdr(tool, &its) || !dladdr(own, &mpis) ||
	    its.dli_fbase == mpis.dli_fbase)
		return;
	snprintf(other, sizeof(other), "gn_next_%s", name);
	pointer = next(here.wrappers, other);
	if (pointer)
		memcpy(pointer, &tool, sizeof(tool));
}

/* Has the wrapper go on to it. */
static void chain(const char *name, void *tool)
{
	void *symbol = gn_mpi_dlsym()(here.wrappers, "gn_mpi_chain");
	void (*function)(const char *routine, void *tool);

	memcpy(&function, &symbol, sizeof(function));
	if (symbol)
		function(name, tool);
}

/* The loader has a lock of its own, which another thread may hold that comes here: ours is not held
 * while it is called. Opened twice is opened once. */
static void find_libraries(void)
{
	struct libraries own = {NULL, NULL, "", ""};
	int is_there;

	pthread_mutex_lock(&lock);
	is_there = here.mpi != NULL;
	pthread_mutex_unlock(&lock);
	if (is_there || !find_mpi(&own))
		return;
	identify(&own);
	open_wrappers(&own);
	pthread_mutex_lock(&lock);
	if (!here.mpi)
		here = own;
	pthread_mutex_unlock(&lock);
}

uintptr_t gn_mpi_find(const char *name, int *is_final)
{
	gn_mpi_symbol_function *next = gn_mpi_dlsym();
	void *symbol = NULL, *tool;

	find_libraries();
	tool = strncmp(name, "MPI_", 4) ? NULL : other_tool(name);
	if (here.wrappers)
		symbol = next(here.wrappers, name);
	if (symbol && tool)
		chain(name, tool);
	else if (tool)
		symbol = tool;
	else if (symbol && !strncmp(name, "mpi_", 4))
		chain_fortran(name);
	if (!symbol)
		symbol = next(RTLD_NEXT, name);
	if (!symbol && here.mpi)
		symbol = next(here.mpi, name);
	/* What was not there is no error that the program should hear of. */
	dlerror();
	*is_final = symbol != NULL;
	return symbol ? (uintptr_t)symbol : nothing(name);
}
