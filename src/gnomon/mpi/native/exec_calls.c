/* A program that cannot load the stub, in another root or of another user, is not told of it. */
#define GN_EXEC_BEGIN(path) 0
#define GN_EXEC_FAILED(begun) (void)(begun)
#define GN_SPAWN_BEGIN(actions) (void)0

#include "exec_calls.h"
