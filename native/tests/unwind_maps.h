/* The mappings of a process, as its address space is described to the unwinder. */
#ifndef GNOMON_TESTS_UNWIND_MAPS_H
#define GNOMON_TESTS_UNWIND_MAPS_H

#include <gnomon/unwind.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

static inline void map_all(struct gn_unwind_space *space, int pid)
{
	char path[64], line[4200];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	CHECK(maps);
	gn_unwind_space_clear(space);
	while (fgets(line, sizeof(line), maps)) {
		struct gn_unwind_mapping mapping = {0};
		uint64_t end;
		char rights[5];
		int name;

		CHECK(sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
			     &mapping.start, &end, rights, &mapping.file_offset, &mapping.inode,
			     &name) == 5);
		mapping.length = end - mapping.start;
		mapping.prot = rights[2] == 'x' ? PROT_EXEC : PROT_READ;
		line[strcspn(line, "\n")] = '\0';
		mapping.path = line + name;
		CHECK_EQ(gn_unwind_space_map(space, &mapping), 0);
	}
	fclose(maps);
}

#endif
