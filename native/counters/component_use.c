/* Which components a program has left out. */
#include "locks.h"
#include "query.h"

static int is_disabled[GN_COMPONENTS];
static int is_used;

int gn_component_leave_out(int component)
{
	int is_early;

	gn_lock(GN_LOCK_COMPONENTS);
	is_early = !is_used;
	if (is_early)
		is_disabled[component] = 1;
	gn_unlock(GN_LOCK_COMPONENTS);
	return is_early;
}

int gn_component_is_left_out(int component)
{
	int is_left_out;

	gn_lock(GN_LOCK_COMPONENTS);
	is_left_out = is_disabled[component];
	gn_unlock(GN_LOCK_COMPONENTS);
	return is_left_out;
}

int gn_component_is_used(int component)
{
	int is_enabled;

	gn_lock(GN_LOCK_COMPONENTS);
	is_used = 1;
	is_enabled = !is_disabled[component];
	gn_unlock(GN_LOCK_COMPONENTS);
	return is_enabled;
}
