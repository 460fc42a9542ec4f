/* Rotation of event groups by a thread of our own. Source of the waiting: futex(2). */
#include <gnomon/rotate.h>

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (256 * 1024)
#define NS_PER_S 1000000000ull

/* Who may touch the groups: in IDLE and WAITING the caller, in TURNING the thread. */
enum state {
	IDLE,	 /* nothing rotates; the thread sleeps until it is woken */
	WAITING, /* a group counts; the thread sleeps until the end of its slice */
	TURNING, /* the thread goes from one group to the next */
	ENDING,	 /* the thread is to end */
};

struct gn_rotation {
	_Atomic uint32_t state;
	/* 0 in a child: this memory is wiped by a fork. */
	_Atomic int32_t owner;
	_Atomic uint64_t deadline;
	uint64_t even_deadline; /* where it would be if all slices were equally long */
	_Atomic uint64_t turns;
	_Atomic int failed;
	int has_thread;
	pthread_t thread;
	uint64_t slice_ns;
	int n;
	int width;
	int now;
	struct gn_group *group[GN_ROTATION_GROUPS_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Sleep while the state is `state`, until a time of CLOCK_MONOTONIC if there is one. */
static void wait_while(struct gn_rotation *r, uint32_t state, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / NS_PER_S),
		.tv_nsec = (long)(until_ns % NS_PER_S),
	};

	syscall(SYS_futex, &r->state, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, state,
		until_ns ? &until : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void enter(struct gn_rotation *r, uint32_t state)
{
	atomic_store(&r->state, state);
	syscall(SYS_futex, &r->state, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}

typedef int each(struct gn_group *group);

static int each_of_turn(const struct gn_rotation *r, each *apply)
{
	int failed = 0;

	for (int i = 0; i < r->width; i++) {
		const int error = apply(r->group[r->now * r->width + i]);

		failed = failed ? failed : error;
	}
	return failed;
}

static void keep_error(struct gn_rotation *r, int error)
{
	int none = 0;

	if (error)
		atomic_compare_exchange_strong(&r->failed, &none, error);
}

/*
 * A turn's end, moved by up to a quarter of a slice and by multiples of the golden ratio, which lie
 * evenly: else the kernel's tick, or what a program does over and over again, could fall on the
 * same group every time.
 */
static uint64_t moved(const struct gn_rotation *r, uint64_t turn)
{
	const uint32_t place = (uint32_t)turn * 2654435769u >> 16;
	const uint64_t half = r->slice_ns / 2;

	return r->even_deadline - half / 2 + (half >> 16) * place;
}

static void turn(struct gn_rotation *r)
{
	const uint64_t now = now_ns();
	uint64_t begun;

	/* A pause and a new start may have come before we took the groups. */
	if (now < atomic_load(&r->deadline))
		return;
	keep_error(r, each_of_turn(r, gn_group_disable));
	r->now = (r->now + 1) % r->n;
	keep_error(r, each_of_turn(r, gn_group_enable));
	begun = atomic_fetch_add(&r->turns, 1) + 1;
	r->even_deadline += r->slice_ns;
	/* Who was kept waiting for long makes up for nothing: the next turn would be too short. */
	if (r->even_deadline < now + r->slice_ns / 2)
		r->even_deadline = now + r->slice_ns;
	atomic_store(&r->deadline, moved(r, begun));
}

static void *rotate(void *argument)
{
	struct gn_rotation *r = argument;

	for (;;) {
		uint32_t state = atomic_load(&r->state);
		const uint64_t deadline = atomic_load(&r->deadline);

		if (state == ENDING)
			return NULL;
		if (state == IDLE)
			wait_while(r, IDLE, 0);
		else if (now_ns() < deadline)
			wait_while(r, WAITING, deadline);
		else if (atomic_compare_exchange_strong(&r->state, &state, TURNING)) {
			turn(r);
			enter(r, WAITING);
		}
	}
}

static int make_thread(struct gn_rotation *r)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int failed;

	failed = pthread_attr_init(&attr);
	if (failed)
		return -failed;
	/* A refusal leaves the default size, which is only larger. */
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&r->thread, &attr, rotate, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (failed)
		return -failed;
	pthread_setname_np(r->thread, "gnomon-rotate");
	r->has_thread = 1;
	return 0;
}

static void give_back(struct gn_rotation *r)
{
	munmap(r, sizeof(*r));
}

static int allocate(struct gn_rotation **rotation)
{
	struct gn_rotation *r =
		mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED)
		return -ENOMEM;
	/* Linux before 4.14 cannot do this; there the number of the process has to tell. */
	madvise(r, sizeof(*r), MADV_WIPEONFORK);
	atomic_store(&r->owner, (int32_t)getpid());
	*rotation = r;
	return 0;
}

static int is_ours(const struct gn_rotation *r)
{
	return atomic_load(&r->owner) == (int32_t)getpid();
}

int gn_rotation_prepare(struct gn_rotation **rotation)
{
	struct gn_rotation *r;
	int failed;

	failed = allocate(&r);
	if (failed)
		return failed;
	failed = make_thread(r);
	if (failed) {
		give_back(r);
		return failed;
	}
	*rotation = r;
	return 0;
}

int gn_rotation_start(struct gn_rotation **rotation, struct gn_group *const *groups, int n,
		      uint64_t slice_ns)
{
	return gn_rotation_start_wide(rotation, groups, n, 1, slice_ns);
}

int gn_rotation_start_wide(struct gn_rotation **rotation, struct gn_group *const *groups, int n,
			   int width, uint64_t slice_ns)
{
	struct gn_rotation *r = *rotation;
	int failed = 0;

	if (n < 1 || width < 1 || n > GN_ROTATION_GROUPS_MAX / width || !slice_ns ||
	    slice_ns > INT64_MAX / 2)
		return -EINVAL;
	if (r && !is_ours(r))
		return -ECHILD;
	if (r && atomic_load(&r->state) != IDLE)
		return -EALREADY;
	if (!r)
		failed = allocate(&r);
	if (!failed && n > 1 && !r->has_thread)
		failed = make_thread(r);
	if (failed)
		goto fail;
	memcpy(r->group, groups, (size_t)(n * width) * sizeof(groups[0]));
	r->n = n;
	r->width = width;
	r->now = 0;
	r->slice_ns = slice_ns;
	failed = each_of_turn(r, gn_group_enable);
	if (failed) {
		each_of_turn(r, gn_group_disable);
		goto fail;
	}
	atomic_store(&r->failed, 0);
	atomic_store(&r->turns, 1);
	r->even_deadline = now_ns() + slice_ns;
	atomic_store(&r->deadline, n > 1 ? moved(r, 1) : UINT64_MAX);
	enter(r, WAITING);
	*rotation = r;
	return 0;
fail:
	if (r && r != *rotation)
		gn_rotation_stop(r);
	return failed;
}

uint64_t gn_rotation_turns(const struct gn_rotation *rotation)
{
	return rotation ? atomic_load(&rotation->turns) : 0;
}

int gn_rotation_pause(struct gn_rotation *r)
{
	uint32_t state;

	if (!r || !is_ours(r))
		return 0;
	for (;;) {
		state = WAITING;
		if (atomic_compare_exchange_strong(&r->state, &state, IDLE))
			break;
		if (state != TURNING)
			return 0;
		wait_while(r, TURNING, 0);
	}
	keep_error(r, each_of_turn(r, gn_group_disable));
	return atomic_load(&r->failed);
}

int gn_rotation_stop(struct gn_rotation *r)
{
	int failed;

	if (!r)
		return 0;
	failed = gn_rotation_pause(r);
	if (is_ours(r) && r->has_thread) {
		enter(r, ENDING);
		pthread_join(r->thread, NULL);
	}
	give_back(r);
	return failed;
}
