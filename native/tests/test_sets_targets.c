/* Event sets and what they count: threads, processes, CPUs; forks, executions and signals. */
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 8

static void *count_own_pages(void *argument)
{
	const size_t pages = *(const size_t *)argument;
	gn_set set = set_of("page-faults", "minor-faults");
	int64_t count[2];

	for (int run = 0; run < 20; run++) {
		OK(gn_set_start(set));
		touch_pages(pages);
		OK(gn_set_read(set, count));
		CHECK(count[0] >= (int64_t)pages);
		OK(gn_set_stop(set, count));
		/* Those of the other threads would be thousands. */
		CHECK(count[0] < (int64_t)pages + 100 + 2 * slack());
	}
	end_set(set);
	return NULL;
}

static void test_threads_are_isolated(void)
{
	pthread_t thread[THREADS];
	size_t pages[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		pages[i] = 100 + 50 * i;
		CHECK_EQ(pthread_create(&thread[i], NULL, count_own_pages, &pages[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

static void *make_and_end_sets(void *argument)
{
	(void)argument;
	for (unsigned int i = 0; i < check_work(500); i++)
		end_set(set_of("page-faults", "task-clock"));
	return NULL;
}

static void test_threads_make_sets_at_once(void)
{
	pthread_t thread[THREADS];
	const int files = open_descriptors();

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, make_and_end_sets, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	CHECK_EQ(open_descriptors(), files);
}

struct handover {
	gn_set set;
	int64_t count[2];
	_Atomic int stage;
};

static void *use_anothers_set(void *argument)
{
	struct handover *handover = argument;
	gn_set own = set_of("page-faults", NULL);

	touch_pages(3000);
	OK(gn_set_read(handover->set, handover->count));
	/* Its own set runs beside the other thread's. */
	OK(gn_set_start(own));
	OK(gn_set_stop(own, NULL));
	OK(gn_set_stop(handover->set, handover->count));
	OK(gn_set_add(handover->set, "minor-faults"));
	OK(gn_set_start(handover->set));
	touch_pages(3000);
	end_set(own);
	return NULL;
}

static void test_a_set_counts_its_maker_whoever_uses_it(void)
{
	struct handover handover = {.set = set_of("page-faults", NULL)};
	pthread_t thread;

	OK(gn_set_start(handover.set));
	touch_pages(50);
	CHECK_EQ(pthread_create(&thread, NULL, use_anothers_set, &handover), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(handover.count[0] >= 50);
	CHECK(handover.count[0] < 3000);
	touch_pages(60);
	OK(gn_set_stop(handover.set, handover.count));
	CHECK(handover.count[0] >= 60);
	CHECK(handover.count[0] < 3000);
	CHECK_ABOUT(handover.count[0], handover.count[1]);
	end_set(handover.set);
}

static void *leave_a_set_running(void *argument)
{
	gn_set *set = argument;

	*set = set_of("page-faults", NULL);
	OK(gn_set_start(*set));
	touch_pages(70);
	return NULL;
}

static void test_a_set_outlives_its_thread(void)
{
	/* Numbers of threads come again; a new thread is not hindered by what an old one left. */
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		int64_t count;
		gn_set set;

		CHECK_EQ(pthread_create(&thread, NULL, leave_a_set_running, &set), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		OK(gn_set_read(set, &count));
		CHECK(count >= 70);
		if (i % 2) {
			OK(gn_set_stop(set, &count));
			CHECK(count >= 70);
			end_set(set);
		}
	}
}

static int status_of(pid_t child)
{
	int status;

	CHECK_EQ(waitpid(child, &status, 0), child);
	return status;
}

static void test_a_child_leaves_its_parents_set_alone(void)
{
	gn_set set = set_of("page-faults", "minor-faults");
	gn_set idle = set_of("task-clock", NULL);
	int64_t count[2] = {0, 0};
	pid_t child;

	OK(gn_set_start(set));
	touch_pages(100);
	child = fork();
	if (!child) {
		const int files = open_descriptors();
		gn_set own;

		FAILS(gn_set_read(set, count), GN_ENOEVST, "forked");
		FAILS(gn_set_stop(set, count), GN_ENOEVST, "forked");
		FAILS(gn_set_reset(set), GN_ENOEVST, "forked");
		FAILS(gn_set_accumulate(set, count), GN_ENOEVST, "forked");
		FAILS(gn_set_values(set, NULL), GN_ENOEVST, "forked");
		FAILS(gn_set_start(idle), GN_ENOEVST, "forked");
		FAILS(gn_set_add(idle, "page-faults"), GN_ENOEVST, "forked");
		FAILS(gn_set_clear(set), GN_ENOEVST, "forked");
		CHECK(!gn_set_name(set, 0));
		own = set_of("page-faults", "minor-faults");
		OK(gn_set_start(own));
		touch_pages(300);
		OK(gn_set_stop(own, count));
		CHECK(count[0] >= 300);
		end_set(own);
		CHECK_EQ(open_descriptors(), files);
		OK(gn_set_destroy(&set));
		CHECK_EQ(open_descriptors(), files - 2);
		OK(gn_set_destroy(&idle));
		/* And a child of the child is again another process. */
		own = set_of("page-faults", NULL);
		child = fork();
		if (!child) {
			FAILS(gn_set_start(own), GN_ENOEVST, "forked");
			end_set(set_of("page-faults", NULL));
			_exit(0);
		}
		CHECK_EQ(status_of(child), 0);
		end_set(own);
		_exit(0);
	}
	CHECK_EQ(status_of(child), 0);
	touch_pages(100);
	OK(gn_set_stop(set, count));
	CHECK(count[0] >= 200);
	CHECK(count[0] < 500 + slack());
	end_set(set);
	end_set(idle);
}

static void *fork_all_the_time(void *argument)
{
	(void)argument;
	for (unsigned int i = 0; i < check_work(100); i++) {
		pid_t child = fork();

		if (!child) {
			end_set(set_of("page-faults", "task-clock"));
			/* An exit would have valgrind miss what the other threads held. */
			execl("/bin/true", "true", (char *)NULL);
		}
		CHECK_EQ(status_of(child), 0);
	}
	return NULL;
}

/* A lock that another thread held at the fork must not hang the child. */
static void test_forks_while_other_threads_make_sets(void)
{
	pthread_t forking, making[2];

#ifdef __SANITIZE_ADDRESS__
	/* GCC 12's AddressSanitizer has an allocator whose own locks hang a child. */
	return;
#endif
	CHECK_EQ(pthread_create(&forking, NULL, fork_all_the_time, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&making[i], NULL, make_and_end_sets, NULL), 0);
	CHECK_EQ(pthread_join(forking, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(making[i], NULL), 0);
}

static void test_inherit_counts_children(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	int64_t count[2];
	gn_set set;

	options.inherit = 1;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_add(set, "minor-faults"));
	for (int run = 0; run < 2; run++) {
		pid_t child;

		OK(gn_set_start(set));
		child = fork();
		if (!child) {
			touch_pages(1000);
			_exit(0);
		}
		CHECK_EQ(status_of(child), 0);
		OK(gn_set_read(set, count));
		CHECK(count[0] >= 1000);
		/* A reset forgets children that have ended too. */
		OK(gn_set_reset(set));
		OK(gn_set_read(set, count));
		CHECK_ABOUT(count[0], 0);
		touch_pages(10);
		OK(gn_set_stop(set, count));
		CHECK(count[0] >= 10 && count[0] < 500 + slack());
		CHECK_ABOUT(count[0], count[1]);
	}
	end_set(set);
}

static void *touch_on_command(void *argument)
{
	_Atomic int *go = argument;

	while (!*go)
		sched_yield();
	touch_pages(2000);
	return NULL;
}

static void test_a_process_is_all_its_threads(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	_Atomic int go = 0;
	pthread_t thread;
	pid_t child;
	int64_t count[2];
	gn_set set;

	CHECK_EQ(pthread_create(&thread, NULL, touch_on_command, &go), 0);
	options.granularity = GN_GRANULARITY_PROCESS;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_start(set));
	go = 1;
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(pthread_create(&thread, NULL, touch_on_command, &go), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	/* Its threads, not the processes that it makes. */
	child = fork();
	if (!child) {
		touch_pages(20000);
		_exit(0);
	}
	CHECK_EQ(status_of(child), 0);
	touch_pages(100);
	OK(gn_set_stop(set, count));
	CHECK(count[0] >= 4100 && count[0] < 20000);
	/* What ended threads had counted is not part of the next run. */
	OK(gn_set_add(set, "minor-faults"));
	OK(gn_set_start(set));
	OK(gn_set_stop(set, count));
	CHECK(count[0] >= 0 && count[0] < 1000);
	end_set(set);
}

static gn_set set_around(int pid, int granularity)
{
	struct gn_options options = GN_OPTIONS_INIT;
	gn_set set;

	options.pid = pid;
	options.granularity = granularity;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, "page-faults"));
	return set;
}

static void check_exclude(gn_set one, gn_set other)
{
	OK(gn_set_start(one));
	FAILS(gn_set_start(other), GN_EISRUN, "another set with component 'kernel'");
	OK(gn_set_stop(one, NULL));
	OK(gn_set_start(other));
	FAILS(gn_set_start(one), GN_EISRUN, "all around it; stop that one first");
	OK(gn_set_stop(other, NULL));
}

static void *exclude_process(void *argument)
{
	const gn_set own = set_of("minor-faults", NULL);

	check_exclude(own, *(gn_set *)argument);
	end_set(own);
	return NULL;
}

static void check_beside(gn_set one, gn_set other)
{
	OK(gn_set_start(one));
	OK(gn_set_start(other));
	OK(gn_set_stop(one, NULL));
	OK(gn_set_stop(other, NULL));
}

static void test_a_process_and_its_threads_share_counters(void)
{
	const pid_t child = make_sleeper();
	gn_set own, process, group, there, of_child;
	pthread_t thread;

	own = set_of("minor-faults", NULL);
	process = set_around(0, GN_GRANULARITY_PROCESS);
	group = set_around(0, GN_GRANULARITY_PROCESS_GROUP);
	there = set_around(child, GN_GRANULARITY_THREAD);
	of_child = set_around(child, GN_GRANULARITY_PROCESS);
	check_exclude(own, process);
	CHECK_EQ(pthread_create(&thread, NULL, exclude_process, &process), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	check_exclude(process, group);
	check_exclude(own, group);
	check_exclude(there, of_child);
	check_exclude(there, group);
	check_exclude(of_child, group);
	check_beside(own, there);
	check_beside(own, of_child);
	check_beside(process, of_child);
	/* Where only one CPU is counted, it is the same thread. */
	OK(gn_set_attach(own, 0, 0));
	check_exclude(own, process);
	CHECK_EQ(kill(child, SIGKILL), 0);
	status_of(child);
	end_set(own);
	end_set(process);
	end_set(group);
	end_set(there);
	end_set(of_child);
}

/* A child that touches 5000 pages between the first byte and the second of `go`. */
static pid_t make_worker(int go[2])
{
	int ready[2];
	char byte = 0;
	pid_t child;

	CHECK_EQ(pipe(go), 0);
	CHECK_EQ(pipe(ready), 0);
	child = fork();
	if (!child) {
		touch_pages(3000);
		CHECK_EQ(write(ready[1], &byte, 1), 1);
		CHECK_EQ(read(go[0], &byte, 1), 1);
		touch_pages(5000);
		CHECK_EQ(write(ready[1], &byte, 1), 1);
		CHECK_EQ(read(go[0], &byte, 1), 1);
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	go[0] = ready[0];
	return child;
}

static void worker_turn(int go[2])
{
	char byte = 0;

	CHECK_EQ(write(go[1], &byte, 1), 1);
	CHECK_EQ(read(go[0], &byte, 1), 1);
}

static void test_attach_counts_the_target_only(void)
{
	for (int filled = 0; filled < 2; filled++) {
		int go[2];
		const pid_t child = make_worker(go);
		gn_set set, own = set_of("page-faults", NULL);
		int64_t count[2];

		OK(gn_set_create(&set, NULL));
		if (filled)
			OK(gn_set_add(set, "page-faults"));
		OK(gn_set_attach(set, child, -1));
		CHECK(gn_set_state(set) & GN_STATE_ATTACHED);
		FAILS(gn_set_attach(set, child, -1), GN_EINVAL, "attached");
		if (!filled)
			OK(gn_set_add(set, "page-faults"));
		OK(gn_set_add(set, "minor-faults"));
		OK(gn_set_start(set));
		/* The caller's own set does not stand in its way. */
		OK(gn_set_start(own));
		touch_pages(1000);
		worker_turn(go);
		OK(gn_set_stop(own, count));
		CHECK(count[0] >= 1000 && count[0] < 4000);
		OK(gn_set_stop(set, count));
		CHECK(count[0] >= 5000);
		CHECK(count[0] < 6000 + slack());
		CHECK_EQ(write(go[1], "", 1), 1);
		CHECK_EQ(status_of(child), 0);
		OK(gn_set_detach(set));
		FAILS(gn_set_detach(set), GN_EINVAL, "not attached");
		OK(gn_set_start(set));
		touch_pages(200);
		OK(gn_set_stop(set, count));
		CHECK(count[0] >= 200 && count[0] < 1000);
		FAILS(gn_set_attach(set, child, -1), GN_ESYS, "does not exist");
		CHECK_EQ(gn_set_state(set), GN_STATE_STOPPED);
		OK(gn_set_start(set));
		OK(gn_set_stop(set, count));
		end_set(set);
		end_set(own);
		close(go[0]);
		close(go[1]);
	}
}

static void test_attach_to_nobody(void)
{
	gn_set set;

	OK(gn_set_create(&set, NULL));
	FAILS(gn_set_attach(set, 0x3fffffff, -1), GN_ESYS, "does not exist");
	FAILS(gn_set_attach(set, -1, -1), GN_EINVAL, "CPU");
	FAILS(gn_set_attach(set, -7, 0), GN_EINVAL, "-7");
	CHECK(gn_set_attach(set, 0, 100000) < 0);
	CHECK_EQ(gn_set_state(set), GN_STATE_STOPPED);
	OK(gn_set_destroy(&set));
}

static int may_count_cpus(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	gn_set set;
	int error;

	options.granularity = GN_GRANULARITY_CPU;
	options.cpu = 0;
	OK(gn_set_create(&set, &options));
	error = gn_set_add(set, "page-faults");
	if (error) {
		CHECK_EQ(error, GN_EPERM);
		printf("  may not count whole CPUs here: %s\n", gn_message());
	} else {
		OK(gn_set_clear(set));
	}
	OK(gn_set_destroy(&set));
	return !error;
}

static void test_cpus_and_the_system(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	cpu_set_t first;
	int64_t count[2];
	gn_set cpu, all;

	if (!may_count_cpus())
		return;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	CHECK_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
	OK(gn_set_create(&cpu, NULL));
	OK(gn_set_attach(cpu, -1, 0));
	OK(gn_set_add(cpu, "page-faults"));
	OK(gn_set_add(cpu, "context-switches"));
	options.granularity = GN_GRANULARITY_SYSTEM;
	OK(gn_set_create(&all, &options));
	OK(gn_set_add(all, "page-faults"));
	OK(gn_set_start(cpu));
	/* One of its CPUs is taken; and then all are. */
	FAILS(gn_set_start(all), GN_EISRUN, "another set");
	touch_pages(1000);
	OK(gn_set_stop(cpu, count));
	CHECK(count[0] >= 1000);
	OK(gn_set_start(all));
	FAILS(gn_set_start(cpu), GN_EISRUN, "another set");
	touch_pages(1000);
	OK(gn_set_stop(all, count));
	CHECK(count[0] >= 1000);
	end_set(cpu);
	end_set(all);
}

static void test_a_thread_on_one_cpu(void)
{
	cpu_set_t first;
	int64_t count;
	gn_set set = set_of("page-faults", NULL);

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	CHECK_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
	OK(gn_set_attach(set, 0, 0));
	OK(gn_set_start(set));
	touch_pages(100);
	OK(gn_set_stop(set, &count));
	CHECK(count >= 100);
	CHECK(count < 1000);
	end_set(set);
}

static void test_without_rights_user_mode_is_counted_and_said_so(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	struct gn_value value[2];
	int paranoid = 0;
	gn_set set;

	CHECK(file && fscanf(file, "%d", &paranoid) == 1);
	fclose(file);
	if (geteuid() != 0 || paranoid != 2) {
		printf("  needs root, to give up its rights, and perf_event_paranoid 2\n");
		return;
	}
	CHECK_EQ(setresgid(65534, 65534, 65534), 0);
	CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	set = set_of("page-faults", NULL);
	OK(gn_set_start(set));
	touch_pages(20);
	OK(gn_set_values(set, value));
	CHECK_EQ(value[0].domain, GN_DOMAIN_USER);
	CHECK_EQ(value[0].flags, GN_VALUE_NARROWED);
	CHECK(value[0].raw >= 20);
	OK(gn_set_stop(set, NULL));
	/* What happens in the kernel would be 0 in user mode: it is refused instead. */
	FAILS(gn_set_add(set, "context-switches"), GN_EPERM, "perf_event_paranoid");
	CHECK_EQ(gn_set_size(set), 1);
	end_set(set);
	options.domain = GN_DOMAIN_ALL;
	OK(gn_set_create(&set, &options));
	FAILS(gn_set_add(set, "page-faults"), GN_EPERM, "perf_event_paranoid");
	OK(gn_set_destroy(&set));
	FAILS(gn_set_attach(set_of("page-faults", NULL), 1, -1), GN_EPERM, "; ");
	CHECK(!may_count_cpus());
}

static void test_descriptors_end_at_an_execution(void)
{
	gn_set set = set_of("page-faults", "task-clock");

	for (int fd = 0; fd < 64; fd++) {
		char path[64], name[64];
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, name, sizeof(name) - 1);
		if (length < 0)
			continue;
		name[length] = '\0';
		if (strstr(name, "perf_event"))
			CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	end_set(set);
}

static void test_inherit_goes_through_an_execution(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	int64_t count = 0;
	pid_t child;
	gn_set set;

	options.inherit = 1;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_start(set));
	child = fork();
	if (!child) {
		execl("/bin/sh", "sh", "-c", "for i in 0 1 2 3 4 5 6 7 8 9; do (:); (:); (:); done",
		      (char *)NULL);
		_exit(1);
	}
	CHECK_EQ(status_of(child), 0);
	OK(gn_set_stop(set, &count));
	/* Every subshell copies some dozens of pages. */
	CHECK(count >= 600);
	end_set(set);
}

static _Atomic int alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void test_signals_in_the_middle(void)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {0};
	gn_set set = set_of("page-faults", "task-clock");
	int64_t count[2], before = 0;

	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	OK(gn_set_start(set));
	for (unsigned int i = 0; i < check_work(20000) || alarms < 5; i++) {
		OK(gn_set_read(set, count));
		CHECK(count[0] >= before);
		before = count[0];
		OK(gn_set_stop(set, count));
		OK(gn_set_start(set));
		before = 0;
	}
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	OK(gn_set_stop(set, count));
	end_set(set);
}

int main(void)
{
	RUN(test_threads_are_isolated);
	RUN(test_threads_make_sets_at_once);
	RUN(test_a_set_counts_its_maker_whoever_uses_it);
	RUN(test_a_set_outlives_its_thread);
	RUN(test_a_child_leaves_its_parents_set_alone);
	RUN(test_forks_while_other_threads_make_sets);
	RUN(test_inherit_counts_children);
	RUN(test_a_process_is_all_its_threads);
	RUN(test_a_process_and_its_threads_share_counters);
	RUN(test_attach_counts_the_target_only);
	RUN(test_attach_to_nobody);
	RUN(test_cpus_and_the_system);
	RUN(test_a_thread_on_one_cpu);
	RUN(test_without_rights_user_mode_is_counted_and_said_so);
	RUN(test_descriptors_end_at_an_execution);
	RUN(test_inherit_goes_through_an_execution);
	RUN(test_signals_in_the_middle);
	return check_result;
}
