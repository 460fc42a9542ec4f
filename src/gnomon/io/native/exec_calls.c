/* A program that cannot load this library, in another root or of another user, is not told of it.
 */
#define GN_EXEC_BEGIN() 0
#define GN_EXEC_FAILED(begun) (void)(begun)

#include "exec_calls.h"
