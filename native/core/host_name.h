/* What the machine is called in files and names that a measured program leaves. */
#ifndef GNOMON_CORE_HOST_NAME_H
#define GNOMON_CORE_HOST_NAME_H

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define GN_HOST_NAME_SIZE 256 /* bytes, of which Linux uses 65 at most */

/* "localhost" where it has no name. */
static inline void gn_host_name(char host[GN_HOST_NAME_SIZE])
{
	if (gethostname(host, GN_HOST_NAME_SIZE) || !host[0])
		strcpy(host, "localhost");
	host[GN_HOST_NAME_SIZE - 1] = 0;
}

#endif
