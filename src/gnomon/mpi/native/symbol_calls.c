/*
 * dlsym(3) as it is without the stub: programs ask by it whether there is an MPI, and what it can
 * do (mpi4py asks for MPI_Get_version among all that is loaded), and MPI's names are here in every
 * process. One that is found here is there if it is somewhere else, too.
 */
#include "symbol_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "next_symbol.h"

/* Other C libraries than glibc have none. */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

/* Called by the entry point at the end. */
__attribute__((visibility("hidden"))) gn_mpi_symbol_function *gn_mpi_choose_dlsym(void *handle,
										  const char *name);

gn_mpi_symbol_function *gn_mpi_dlsym(void)
{
	static gn_mpi_symbol_function *own;

	if (!__atomic_load_n(&own, __ATOMIC_RELAXED))
		__atomic_store_n(&own, (gn_mpi_symbol_function *)gn_next_symbol("dlsym"),
				 __ATOMIC_RELAXED);
	return own;
}

/* --- what programs see ------------------------------------------------------------------------ */

/* A plugin has an MPI of its own, which others do not see: what it needs is looked through. */
static int caller_has(const void *caller, const char *name)
{
	struct link_map *map = NULL;
	void *library = NULL;
	Dl_info info;
	int has;

	if (dladdr1 && dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	    map->l_name[0])
		library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	has = library && gn_mpi_dlsym()(library, name);
	if (library)
		dlclose(library);
	return has;
}

static void *find_elsewhere(void *handle, const char *name)
{
	const void *caller = __builtin_return_address(0);
	gn_mpi_symbol_function *next = gn_mpi_dlsym();
	void *symbol = next(handle, name);
	Dl_info its, ours;

	if (!symbol || !dladdr(symbol, &its) || !dladdr((void *)gn_mpi_dlsym, &ours) ||
	    its.dli_fbase != ours.dli_fbase || next(RTLD_NEXT, name))
		return symbol;
	if (handle == RTLD_DEFAULT && caller_has(caller, name)) {
		dlerror();
		return symbol;
	}
	/* dlerror() has the reason then. */
	return next(RTLD_NEXT, name);
}

/* What RTLD_NEXT means depends on who calls, so that most calls are passed on as they are. */
gn_mpi_symbol_function *gn_mpi_choose_dlsym(void *handle, const char *name)
{
	return handle != RTLD_NEXT && name &&
			       (!strncmp(name, "MPI_", 4) || !strncmp(name, "mpi_", 4))
		       ? find_elsewhere
		       : gn_mpi_dlsym();
}

/* clang-format off */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"push %rdi\n"
	".cfi_adjust_cfa_offset 8\n"
	"push %rsi\n"
	".cfi_adjust_cfa_offset 8\n"
	"sub $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"call gn_mpi_choose_dlsym\n"
	"add $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"pop %rsi\n"
	".cfi_adjust_cfa_offset -8\n"
	"pop %rdi\n"
	".cfi_adjust_cfa_offset -8\n"
	"jmp *%rax\n"
	".cfi_endproc\n"
	".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, %function\n"
	"dlsym:\n"
	".cfi_startproc\n"
	"hint #34\n"
	"stp x29, x30, [sp, #-32]!\n"
	".cfi_def_cfa_offset 32\n"
	".cfi_offset x29, -32\n"
	".cfi_offset x30, -24\n"
	"mov x29, sp\n"
	"stp x0, x1, [sp, #16]\n"
	"bl gn_mpi_choose_dlsym\n"
	"mov x16, x0\n"
	"ldp x0, x1, [sp, #16]\n"
	"ldp x29, x30, [sp], #32\n"
	".cfi_def_cfa_offset 0\n"
	"br x16\n"
	".cfi_endproc\n"
	".size dlsym, .-dlsym\n");
#endif
