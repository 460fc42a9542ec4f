/*
 * dlsym(3) as it is without the stub: programs ask by it whether there is an MPI, and what it can
 * do (mpi4py asks for MPI_Get_version among all that is loaded), and MPI's names are here in every
 * process. One that is found here is there if it is somewhere else, too.
 */
#include "symbol_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Other C libraries than glibc have neither. */
extern __typeof__(dlvsym) dlvsym __attribute__((weak));
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

/* Called by the entry point at the end. */
__attribute__((visibility("hidden"))) gn_mpi_symbol_function *gn_mpi_choose_dlsym(void *handle,
										  const char *name);

/* --- the C library's own ---------------------------------------------------------------------- */

struct search {
	uintptr_t own; /* where this library is loaded */
	void *symbol;
};

/* Some loaders add the address that an object is loaded at, others do not. */
static const void *address_of(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

/* Source: elf(5); of tables of hashes any tells how many symbols there are, or where one is. */
static const ElfW(Sym) * find_dlsym(const ElfW(Sym) * symbols, const char *names,
				    const uint32_t *hash, const uint32_t *gnu_hash)
{
	const uint32_t *bucket, *chain;
	uint32_t value = 5381, number;

	for (uint32_t i = 0; hash && i < hash[1]; i++)
		if (symbols[i].st_shndx != SHN_UNDEF &&
		    !strcmp(names + symbols[i].st_name, "dlsym"))
			return &symbols[i];
	if (hash || !gnu_hash || !gnu_hash[0])
		return NULL;
	for (const char *letter = "dlsym"; *letter; letter++)
		value = value * 33 + (unsigned char)*letter;
	bucket = gnu_hash + 4 + gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chain = bucket + gnu_hash[0];
	number = bucket[value % gnu_hash[0]];
	for (; number >= gnu_hash[1] && number; number++) {
		if (!strcmp(names + symbols[number].st_name, "dlsym"))
			return &symbols[number];
		if (chain[number - gnu_hash[1]] & 1)
			break;
	}
	return NULL;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *context)
{
	const ElfW(Dyn) *entry = NULL;
	const void *symbols = NULL, *names = NULL, *hash = NULL, *gnu_hash = NULL;
	const ElfW(Sym) * symbol;
	struct search *search = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (!entry || info->dlpi_addr == search->own)
		return 0;
	for (; entry->d_tag != DT_NULL; entry++) {
		const void *place = address_of(info->dlpi_addr, entry->d_un.d_ptr);

		symbols = entry->d_tag == DT_SYMTAB ? place : symbols;
		names = entry->d_tag == DT_STRTAB ? place : names;
		hash = entry->d_tag == DT_HASH ? place : hash;
		gnu_hash = entry->d_tag == DT_GNU_HASH ? place : gnu_hash;
	}
	symbol = symbols && names ? find_dlsym(symbols, names, hash, gnu_hash) : NULL;
	if (symbol && symbol->st_shndx != SHN_UNDEF)
		search->symbol = (void *)(info->dlpi_addr + symbol->st_value);
	return search->symbol != NULL;
}

static void *find_without_versions(void)
{
	struct search search = {0, NULL};
	Dl_info ours;

	if (dladdr((void *)gn_mpi_dlsym, &ours))
		search.own = (uintptr_t)ours.dli_fbase;
	dl_iterate_phdr(look_into, &search);
	return search.symbol;
}

/* Of the oldest version that each kind of machine has. */
gn_mpi_symbol_function *gn_mpi_dlsym(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	static gn_mpi_symbol_function *own;
	void *symbol = NULL;

	if (__atomic_load_n(&own, __ATOMIC_RELAXED))
		return own;
	for (size_t i = 0; dlvsym && !symbol && i < sizeof(versions) / sizeof(*versions); i++)
		symbol = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	if (!symbol)
		symbol = find_without_versions();
	__atomic_store_n(&own, (gn_mpi_symbol_function *)symbol, __ATOMIC_RELAXED);
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
