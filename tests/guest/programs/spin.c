/* The work of spin.h as a library, for tests in Python. */
#include "spin.h"

void spin_rounds(uint64_t n);

void spin_rounds(uint64_t n)
{
	spin(n);
}
