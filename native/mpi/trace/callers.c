#include "callers.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MPT_NO_HOOKS
#include <gnomon/mpt.h>

#include "hooks.h"
#include "symbol_question.h"

#define FRAMES_MAX 512

/* Where the call of MPI returns to that this thread is asked about; 0: none. */
static __thread uintptr_t asked_about;

void gn_trace_ask_event(uint32_t routine, uintptr_t return_address)
{
	asked_about = return_address;
	gn_trace_hooks.event((int)routine);
	asked_about = 0;
}

__attribute__((noinline)) unsigned long MT_get_calleraddress(int level)
{
	const uintptr_t begin = asked_about ? asked_about : (uintptr_t)__builtin_return_address(0);
	void *address[FRAMES_MAX];
	int n, first = 0;

	if (level < 0 || level >= FRAMES_MAX)
		return 0;
	if (!level)
		return begin;
	n = backtrace(address, FRAMES_MAX);
	while (first < n && (uintptr_t)address[first] != begin)
		first++;
	return level < n - first ? (unsigned long)(uintptr_t)address[first + level] : 0;
}

/* The module's file and the address in it. The program itself may be named by a relative path. */
static int module_of(uintptr_t address, const char **path, uint64_t *offset)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return -1;
	*path = map->l_name && *map->l_name ? map->l_name : "/proc/self/exe";
	*offset = address - map->l_addr;
	return 0;
}

static char *or_empty(char *text)
{
	return text ? text : calloc(1, 1);
}

int MT_get_callerinfo(unsigned long address, struct MT_callerstruct *info)
{
	struct gn_trace_symbol symbol = {NULL, NULL, 0};
	char program[4096], *slash;
	const char *module;
	uint64_t offset;
	int failed = -1;

	memset(info, 0, sizeof(*info));
	/* The call, not where it returns to. */
	if (address && !module_of(address - 1, &module, &offset)) {
		if (!strcmp(module, "/proc/self/exe") && realpath(module, program))
			module = program;
		failed = gn_trace_ask_symbol(module, offset, &symbol);
	}
	slash = symbol.file ? strrchr(symbol.file, '/') : NULL;
	info->filename = or_empty(symbol.file ? strdup(slash ? slash + 1 : symbol.file) : NULL);
	info->filepath = or_empty(symbol.file);
	info->funcname = or_empty(symbol.function);
	info->lineno = symbol.line;
	/* The folder, as the file's name stands apart. */
	if (slash)
		*slash = 0;
	else if (symbol.file)
		*info->filepath = 0;
	return failed;
}
