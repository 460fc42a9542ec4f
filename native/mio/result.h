/* How functions that programs call return what layers do. */
#ifndef GNOMON_MIO_RESULT_H
#define GNOMON_MIO_RESULT_H

#include <errno.h>
#include <stdint.h>

/* -1 with errno for a negative errno. */
static inline int64_t gn_mio_returned(int64_t result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

#endif
