/* What an interpreter exports whose frames are not known: a version, sizes of types, offsets. */
#include <stdint.h>
#include <string.h>
#include <time.h>

struct type {
	char head[32];
	int64_t basic_size;
};

const unsigned long Py_Version = VERSION;
struct type PyCode_Type = {.basic_size = CODE_BYTES};
struct type PyFrame_Type = {.basic_size = FRAME_BYTES};
uint64_t _PyRuntime[64] = {0, VERSION, FREE_THREADED};

void *PyGILState_GetThisThreadState(void)
{
	return (void *)8;
}

int main(void)
{
	volatile unsigned long n = 0;

	memcpy(_PyRuntime, "xdebugpy", 8);
	while (clock() < CLOCKS_PER_SEC / 5)
		n++;
	return 7;
}
