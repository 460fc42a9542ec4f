/*
 * Rotation of event groups that do not fit on the counters together: one is enabled at a time, and
 * after each slice the next one.
 *
 * The kernel rotates by itself, but at an interval that only root can set. Here a thread of our
 * own does it. That thread has every signal blocked, and all it does is to sleep, disable one group
 * and enable the next. Slices are uneven, by up to a third of a slice, so that nothing that repeats
 * itself stays in step with them; their mean is what was asked for.
 *
 * Each group's own running time says how much of the time it had; how long counting lasted must
 * come from an event that is always enabled (PERF_COUNT_SW_DUMMY) on the same thread, process or
 * CPU, read after the groups. Before Linux 6.2 it must also be in the groups' context: an event of
 * a PMU that joins it and leaves again brings it there. The clock of software events stands still
 * while a PMU is programmed, at every change of context, and that of the groups does not.
 *
 * Every function returns 0 or a negative errno. A rotation is used by one thread at a time. After a
 * fork it belongs to the parent: in the child nothing turns, and gn_rotation_stop() only gives the
 * memory back.
 */
#ifndef GNOMON_ROTATE_H
#define GNOMON_ROTATE_H

#include <gnomon/perf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GN_ROTATION_GROUPS_MAX 4096

struct gn_rotation;

/*
 * Make the thread, which sleeps until gn_rotation_start(). Where events are inherited this comes
 * before they are opened: a thread that is made later would itself be counted.
 * Errors: -ENOMEM, -EAGAIN (no more threads), or what else pthread_create() says.
 */
int gn_rotation_prepare(struct gn_rotation **rotation);

/*
 * Enable groups[0] and rotate: each of the n groups, in turn, for slice_ns. The groups are disabled
 * when this is called and stay where they are until the rotation has stopped or is paused.
 * *rotation is NULL, or what gn_rotation_prepare() made. With one group nothing turns, and no
 * thread is made. On failure no group is enabled, and *rotation is as it was. Errors: -EINVAL (n
 * out of range, no slice), -EALREADY (it rotates), as gn_rotation_prepare(), or the kernel's.
 */
int gn_rotation_start(struct gn_rotation **rotation, struct gn_group *const *groups, int n,
		      uint64_t slice_ns);

/*
 * The same for n turns of `width` groups each, which follow one another in `groups`: one group on
 * each of several threads, say. n * width is at most GN_ROTATION_GROUPS_MAX.
 */
int gn_rotation_start_wide(struct gn_rotation **rotation, struct gn_group *const *groups, int n,
			   int width, uint64_t slice_ns);

/* How many slices have begun since gn_rotation_start(), the present one included. */
uint64_t gn_rotation_turns(const struct gn_rotation *rotation);

/*
 * Disable the group whose turn it is and keep the thread for another gn_rotation_start(). Returns
 * the first error that the kernel gave to the thread, if any.
 */
int gn_rotation_pause(struct gn_rotation *rotation);

/* As gn_rotation_pause(), if it rotates; then end the thread and free the rotation (or NULL). */
int gn_rotation_stop(struct gn_rotation *rotation);

#ifdef __cplusplus
}
#endif

#endif
