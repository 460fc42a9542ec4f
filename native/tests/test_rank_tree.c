/* The tree over tasks through files: totals, and what becomes of them when tasks are missing. */
#include "job.h"

/* --- everybody comes -------------------------------------------------------------------------- */

static void three_reductions(int task)
{
	/* Not all at once, and not in order. */
	sleep_ms(task * 7919 % 50);
	whole_task(task, 3);
}

static void check_whole(int tasks)
{
	const struct sum expected = expected_sum(0, tasks);

	CHECK_EQ(expected.n, tasks);
	for (int task = 0; task < tasks; task++) {
		CHECK_EQ(found[task].opened, 0);
		CHECK_EQ(found[task].reduced, 0);
		CHECK_EQ(found[task].was_root, task == 0);
		CHECK_EQ(found[task].n, tasks);
		CHECK_EQ(found[task].sum, tasks * (tasks - 1) / 2);
		CHECK_EQ(found[task].order, expected.order);
		CHECK_EQ(found[task].n_gaps, 0);
	}
}

static void run_whole(int tasks)
{
	make_job(tasks, tasks);
	for (int task = tasks - 1; task >= 0; task--)
		start_task(task, three_reductions);
	end_tasks(tasks);
	check_whole(tasks);
	check_clean();
}

static void two_tasks(void)
{
	run_whole(2);
}

static void four_tasks(void)
{
	run_whole(4);
}

static void eighteen_tasks(void)
{
	run_whole(18);
}

static void sixty_four_tasks(void)
{
	run_whole(64);
}

static void one_task(void)
{
	make_job(1, 1);
	set_task(0);
	whole_task(0, 2);
	CHECK_EQ(found[0].opened, 0);
	CHECK_EQ(found[0].n, 1);
	CHECK_EQ(found[0].was_root, 1);
	check_clean();
}

static void no_launcher(void)
{
	char why[256];

	make_job(1, 1);
	unsetenv("PMI_SIZE");
	CHECK_EQ(hpm_job_join("sections", why, sizeof(why)), -ENODATA);
	whole_task(0, 1);
	CHECK_EQ(found[0].n, 1);
	check_clean();
}

/* --- programs one after the other in one job -------------------------------------------------- */

static const char *self; /* under valgrind, /proc/self/exe is something else */

/* What main() is with arguments: a program that a task starts. */
static int program(int task, int ms)
{
	char where[256];

	found = calloc(JOB_MAX, sizeof(*found));
	CHECK(hpm_job_join("sections", where, sizeof(where)) >= 0);
	sleep_ms(ms);
	whole_task(task, 1);
	return found[task].n == 6 ? 0 : 1;
}

/* With one argument: what a launcher starts, whose own environment has the rank. */
static int script(int task)
{
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			char number[16], ms[16];

			snprintf(number, sizeof(number), "%d", task);
			snprintf(ms, sizeof(ms), "%d", i ? 5 : task * 10);
			execl(self, self, number, ms, (char *)NULL);
			_exit(2);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	return 0;
}

static void two_programs(int task)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", task);
	execl(self, self, number, (char *)NULL);
	_exit(2);
}

static void programs_that_follow_each_other(void)
{
	make_job(6, 6);
	for (int task = 0; task < 6; task++)
		start_task(task, two_programs);
	end_tasks(6);
	check_clean();
}

/* --- tasks that are missing ------------------------------------------------------------------- */

static int victim, second_victim = -1, victim_ms = 900;

static void dies_before(int task)
{
	char where[256];

	CHECK(hpm_job_join("sections", where, sizeof(where)) >= 0);
	if (task == victim || task == second_victim)
		_exit(0);
	whole_task(task, 2);
}

/* All but the victims get the total of all but the victims; the lowest of them is the root. */
static void check_without(int tasks, const char *why)
{
	const int lost = second_victim >= 0 ? 2 : 1;
	const int sum = tasks * (tasks - 1) / 2 - victim - (lost == 2 ? second_victim : 0);
	int roots = 0;

	for (int task = 0; task < tasks; task++) {
		if (task == victim || task == second_victim)
			continue;
		CHECK_EQ(found[task].opened, 0);
		CHECK_EQ(found[task].reduced, 0);
		CHECK_EQ(found[task].n, tasks - lost);
		CHECK_EQ(found[task].sum, sum);
		CHECK_EQ(found[task].n_gaps, 1);
		if (strcmp(found[task].gaps, why))
			fprintf(stderr, "task %d: %s\n", task, found[task].gaps);
		CHECK(!strcmp(found[task].gaps, why));
		roots += found[task].was_root;
	}
	CHECK_EQ(roots, 1);
	CHECK(!victim || found[0].was_root);
}

static void run_dead(int tasks, int first, int second, const char *why)
{
	make_job(tasks, tasks);
	victim = first;
	second_victim = second;
	for (int task = 0; task < tasks; task++)
		start_task(task, dies_before);
	end_tasks(tasks);
	check_without(tasks, why);
	check_clean();
}

static void a_leaf_that_died(void)
{
	run_dead(4, 2, -1, "2-2 ended without hpmTerminate|");
}

static void an_inner_task_that_died(void)
{
	run_dead(40, 2, -1, "2-2 ended without hpmTerminate|");
}

static void the_root_that_died(void)
{
	run_dead(20, 0, -1, "0-0 ended without hpmTerminate|");
}

static void the_root_and_the_next_that_died(void)
{
	run_dead(40, 0, 1, "0-1 ended without hpmTerminate|");
}

/* Dies in the middle of the second reduction. */
static int merge_and_die(hpm_blob *into, const hpm_blob *other, void *context)
{
	(void)context;
	merge_sums(into, other, NULL);
	_exit(0);
}

static void dies_in_second(int task)
{
	struct found *my = &found[task];
	hpm_tree *tree;

	if (task != victim) {
		whole_task(task, 2);
		return;
	}
	my->opened = hpm_tree_open(&tree);
	CHECK(one_reduction(tree, my));
	CHECK_EQ(my->n, 40);
	hpm_blob blob = own_sum(task);

	hpm_tree_reduce(tree, &blob, merge_and_die, NULL);
	CHECK(!"never comes here");
}

/* Its own values were there already, and nothing is lost. */
static void run_dying(int who)
{
	make_job(40, 40);
	victim = who;
	for (int task = 0; task < 40; task++)
		start_task(task, dies_in_second);
	end_tasks(40);
	for (int task = 0; task < 40; task++) {
		if (task == victim)
			continue;
		CHECK_EQ(found[task].reduced, 0);
		CHECK_EQ(found[task].n, 40);
		CHECK_EQ(found[task].sum, 780);
		CHECK_EQ(found[task].n_gaps, 0);
	}
}

static void a_root_that_dies_while_it_merges(void)
{
	run_dying(0);
	check_clean();
}

static void an_inner_task_that_dies_while_it_merges(void)
{
	run_dying(1);
	check_clean();
}

/* Long enough for tasks that are there: valgrind makes everything many times slower. */
static const char *patience(void)
{
	return check_work(100) < 20 ? "12" : check_work(100) < 100 ? "6" : "3";
}

/* "TASK-TASK did not ... within SECONDS s|" */
static const char *in_vain(int task, const char *what)
{
	static char said[128];

	snprintf(said, sizeof(said), "%d-%d did not %s within %s s|", task, task, what, patience());
	return said;
}

static void never_comes(int task)
{
	if (task == victim)
		return;
	come_together(19);
	whole_task(task, 2);
}

static void run_absent(int who)
{
	make_job(20, 20);
	setenv("HPM_AGGREGATE_TIMEOUT", patience(), 1);
	victim = who;
	for (int task = 0; task < 20; task++)
		start_task(task, never_comes);
	end_tasks(20);
	check_without(20, in_vain(who, "start"));
	check_clean();
}

static void a_leaf_that_never_came(void)
{
	run_absent(3);
}

static void an_inner_task_that_never_came(void)
{
	run_absent(1);
}

static void the_root_that_never_came(void)
{
	run_absent(0);
}

static void comes_late(int task)
{
	char where[256];

	CHECK(hpm_job_join("sections", where, sizeof(where)) >= 0);
	come_together(20);
	if (task == victim)
		wait_for(20 + 19);
	whole_task(task, 2);
	++*here_now;
}

/* Lives, but reaches its end after the others' patience. */
static void run_late(int who)
{
	make_job(20, 20);
	setenv("HPM_AGGREGATE_TIMEOUT", patience(), 1);
	victim = who;
	for (int task = 0; task < 20; task++)
		start_task(task, comes_late);
	end_tasks(20);
	check_without(20, in_vain(who, "come to its end"));
	CHECK_EQ(found[who].reduced, ESTALE);
	CHECK(strstr(found[who].error, "the other tasks went on without task"));
	check_clean();
}

static void a_leaf_that_comes_late(void)
{
	run_late(7);
}

static void an_inner_task_that_comes_late(void)
{
	run_late(1);
}

static void the_root_that_comes_late(void)
{
	run_late(0);
}

/* --- hpmcount's tasks ------------------------------------------------------------------------- */

static void counts_for_long(int task)
{
	char where[256];

	CHECK(hpm_job_join("count", where, sizeof(where)) >= 0);
	++*here_now;
	sleep_ms(task == victim ? victim_ms : 0);
	whole_task(task, 2);
}

/* Who lives is waited for, beyond the deadline. */
static void a_living_task_of_hpmcount(void)
{
	make_job(4, 4);
	setenv("HPM_AGGREGATE_TIMEOUT", "0.2", 1);
	victim = 2;
	for (int task = 0; task < 4; task++)
		start_task(task, counts_for_long);
	end_tasks(4);
	for (int task = 0; task < 4; task++)
		CHECK_EQ(found[task].n, 4);
	check_clean();
}

static void hurry(int number)
{
	(void)number;
	hpm_job_hurry();
}

static void is_hurried(int task)
{
	struct sigaction action = {.sa_handler = hurry};

	sigaction(SIGTERM, &action, NULL);
	counts_for_long(task);
}

/* The launcher tells all to end, and kills soon: who has nothing yet is left out. */
static void a_job_that_is_told_to_end(void)
{
	int status;

	make_job(5, 5);
	victim = 1;
	victim_ms = 60000;
	for (int task = 0; task < 5; task++)
		start_task(task, is_hurried);
	wait_for(5);
	/* Until the others wait for it: from the signal on, nobody has long. */
	sleep_ms(1000);
	for (int task = 0; task < 5; task++)
		if (task != victim)
			kill(task_process[task], SIGTERM);
	for (int task = 0; task < 5; task++)
		if (task != victim)
			CHECK_EQ(waitpid(task_process[task], &status, 0), task_process[task]);
	kill(task_process[victim], SIGKILL);
	waitpid(task_process[victim], &status, 0);
	check_without(5, "1-1 was not done when the job was ended|");
	remove_job();
}

static void has_an_outcome(int task)
{
	char where[256];

	CHECK(hpm_job_join("count", where, sizeof(where)) >= 0);
	if (task == 2)
		setenv("HPM_JOB_OUTCOME", "killed by SIGSEGV", 1);
	if (task == 3)
		setenv("HPM_JOB_OUTCOME", "status 3", 1);
	whole_task(task, 1);
}

static void outcomes_of_programs(void)
{
	make_job(5, 5);
	for (int task = 0; task < 5; task++)
		start_task(task, has_an_outcome);
	end_tasks(5);
	for (int task = 0; task < 5; task++) {
		CHECK_EQ(found[task].n, 4);
		CHECK_EQ(found[task].sum, 8);
		CHECK(!strcmp(found[task].gaps,
			      "2-2 was killed by SIGSEGV|3-3 (in) ended with exit "
			      "status 3|"));
	}
	check_clean();
}

/* --- several nodes ---------------------------------------------------------------------------- */

static void is_on_this_node(int task)
{
	whole_task(task, 1);
}

/* Without a directory that nodes share each reports for itself, at once. */
static void tasks_on_other_nodes(void)
{
	const int here[] = {5, 9, 2};
	int roots = 0;

	make_job(3, 12);
	for (int i = 0; i < 3; i++)
		start_task(here[i], is_on_this_node);
	end_tasks(12);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(found[here[i]].n, 3);
		CHECK_EQ(found[here[i]].sum, 16);
		roots += found[here[i]].was_root;
		CHECK_EQ(found[here[i]].n_gaps, 4);
		CHECK(!strncmp(
			found[here[i]].gaps,
			"0-1 is on another node: set HPM_AGGREGATE_DIR to a directory that all "
			"nodes share|3-4 ",
			85));
	}
	/* Whichever came first of them: task 0, which would be it, is not here. */
	CHECK_EQ(roots, 1);
	check_clean();
}

/* --- directories ------------------------------------------------------------------------------ */

static void expects_refusal(int task)
{
	whole_task(task, 1);
	CHECK(found[task].opened);
	CHECK(strstr(found[task].error, "HPM_AGGREGATE_DIR"));
}

/* The directory's name, as one task makes it. */
static void learn_name(char name[PATH_MAX])
{
	int tell[2];
	ssize_t bytes;

	CHECK(!pipe(tell));
	fflush(NULL);
	if (!fork()) {
		char where[PATH_MAX];

		set_task(0);
		CHECK(hpm_job_join("sections", where, sizeof(where)) >= 0);
		CHECK(write(tell[1], where, strlen(where) + 1) > 0);
		hpm_job_end();
		_exit(0);
	}
	CHECK_EQ(wait(NULL) > 0, 1);
	bytes = read(tell[0], name, PATH_MAX);
	CHECK(bytes > 0);
	*strrchr(name, '/') = 0;
	CHECK_EQ(entries_in(job_folder), 0);
}

static void a_directory_that_is_a_link(void)
{
	char name[PATH_MAX], other[PATH_MAX + 8];

	make_job(2, 2);
	learn_name(name);
	snprintf(other, sizeof(other), "%s.other", name);
	CHECK(!mkdir(other, 0700));
	CHECK(!symlink(other, name));
	start_task(0, expects_refusal);
	end_tasks(1);
	CHECK(strstr(found[0].error, "a link or a file has its name"));
	CHECK_EQ(entries_in(other), 0);
	unlink(name);
	rmdir(other);
	check_clean();
}

static void a_directory_that_is_open_to_others(void)
{
	char name[PATH_MAX];

	make_job(2, 2);
	learn_name(name);
	CHECK(!mkdir(name, 0700));
	CHECK(!chmod(name, 0750));
	start_task(0, expects_refusal);
	end_tasks(1);
	CHECK(strstr(found[0].error, "is open to other users"));
	CHECK_EQ(entries_in(name), 0);
	rmdir(name);
	check_clean();
}

static void a_directory_of_another_user(void)
{
	char name[PATH_MAX];

	if (geteuid())
		return; /* only root can make one */
	make_job(2, 2);
	learn_name(name);
	CHECK(!mkdir(name, 0700));
	CHECK(!chown(name, 12345, 12345));
	start_task(0, expects_refusal);
	end_tasks(1);
	CHECK(strstr(found[0].error, "is another user's"));
	CHECK_EQ(entries_in(name), 0);
	rmdir(name);
	check_clean();
}

static void a_directory_that_is_not_there(void)
{
	make_job(2, 2);
	setenv("HPM_AGGREGATE_DIR", "/not/there", 1);
	start_task(0, expects_refusal);
	end_tasks(1);
	CHECK(strstr(found[0].error, "No such file or directory"));
	check_clean();
}

static void is_task_0(int task)
{
	char where[1024];

	set_task(0);
	CHECK(hpm_job_join("sections", where, sizeof(where)) >= 0);
	found[task].n = atoi(strrchr(where, '/') + 1);
	sleep_ms(200);
}

/* A program that a task starts has its rank, too, and comes to a run of its own. */
static void processes_of_one_task(void)
{
	int turns = 0;

	make_job(2, 2);
	for (int i = 0; i < 5; i++)
		start_task(i, is_task_0);
	end_tasks(5);
	for (int i = 0; i < 5; i++)
		turns |= 1 << found[i].n;
	CHECK_EQ(turns, 31);
	remove_job();
}

/* --- locks that other nodes do not see -------------------------------------------------------- */

/* What is not known to be dead is waited for, and what was there is not lost. */
static void dead_tasks_that_nobody_sees(void)
{
	make_job(20, 20);
	setenv("HPM_AGGREGATE_TIMEOUT", patience(), 1);
	victim = 1;
	for (int task = 0; task < 20; task++)
		start_task(task, dies_before);
	end_tasks(20);
	check_without(20, in_vain(1, "come to its end"));
	remove_job();
}

static void a_late_task_that_nobody_sees(void)
{
	run_late(0);
}

/* The library of one of the two programs was built so: see CMakeLists.txt. */
#ifdef GN_LOCKS_ARE_NOT_SEEN
static const int has_locks = 0;
#else
static const int has_locks = 1;
#endif

int main(int n_arguments, char **argument)
{
	/*
	 * Not under valgrind: those that wait longest take the ways that the others take too, and a
	 * launcher that ends a job gives it less time than valgrind takes on a busy machine.
	 */
	const int is_whole = check_work(100) >= 10;

	self = argument[0];
	if (n_arguments == 2)
		return script(atoi(argument[1]));
	if (n_arguments == 3)
		return program(atoi(argument[1]), atoi(argument[2]));
	if (!has_locks) {
		RUN(two_tasks);
		RUN(eighteen_tasks);
		RUN(dead_tasks_that_nobody_sees);
		RUN(outcomes_of_programs);
		if (is_whole) {
			RUN(sixty_four_tasks);
			RUN(a_late_task_that_nobody_sees);
			RUN(an_inner_task_that_never_came);
		}
		return check_result;
	}
	RUN(no_launcher);
	RUN(one_task);
	RUN(two_tasks);
	RUN(four_tasks);
	RUN(eighteen_tasks);
	RUN(programs_that_follow_each_other);
	RUN(a_leaf_that_died);
	RUN(an_inner_task_that_died);
	RUN(the_root_that_died);
	RUN(the_root_and_the_next_that_died);
	RUN(a_root_that_dies_while_it_merges);
	RUN(an_inner_task_that_dies_while_it_merges);
	RUN(a_leaf_that_never_came);
	RUN(a_leaf_that_comes_late);
	RUN(outcomes_of_programs);
	RUN(tasks_on_other_nodes);
	RUN(a_directory_that_is_a_link);
	RUN(a_directory_that_is_open_to_others);
	RUN(a_directory_of_another_user);
	RUN(a_directory_that_is_not_there);
	RUN(processes_of_one_task);
	if (is_whole) {
		RUN(sixty_four_tasks);
		RUN(an_inner_task_that_never_came);
		RUN(the_root_that_never_came);
		RUN(an_inner_task_that_comes_late);
		RUN(the_root_that_comes_late);
		RUN(a_living_task_of_hpmcount);
		RUN(a_job_that_is_told_to_end);
	}
	return check_result;
}
