/* Sections of libhpm against a PMU: instructions of known work, turns, and no system call. */
#include "../programs/spin.h"
#include "hpm.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ROUNDS 100000u
#define PER_ROUND 2

#if defined(__aarch64__)
#define INSTRUCTIONS "instructions:u"
/* The starts and stops of sections within a section are part of it. */
#define TOLERATED 8000
#else
/* The emulated PMU of POWER counts every mode, so a count holds some of the kernel's work too. */
#define INSTRUCTIONS "PM_INST_CMPL"
#define TOLERATED 300000
#endif

static void begin(const char *events)
{
	unsetenv("HPM_EVENT_SET");
	setenv("GNOMON_EVENTS", events, 1);
	setenv("HPM_EXCLUSIVE_VALUES", "yes", 1);
	enter_folder();
	hpmInit(0, "hardware");
}

static void check_rounds(int id, int is_exclusive, unsigned int rounds)
{
	const double more =
		value_of(item_of(id, is_exclusive), INSTRUCTIONS) - (double)PER_ROUND * rounds;

	printf("  section %d%s: %u rounds, %+.0f instructions\n", id,
	       is_exclusive ? ", exclusive" : "", rounds, more);
	CHECK(more >= 0 && more <= TOLERATED);
}

static void test_instructions_of_sections(void)
{
	begin(INSTRUCTIONS);
	hpmTstart(1, "outer");
	hpmTstop(1);
	hpmTstart(2, "inner");
	hpmTstop(2);
	hpmTstart(1, "outer");
	spin(ROUNDS);
	hpmTstart(2, "inner");
	spin(4 * ROUNDS);
	hpmTstop(2);
	spin(ROUNDS);
	hpmTstop(1);
	finish();
	check_rounds(1, 0, 6 * ROUNDS);
	check_rounds(1, 1, 2 * ROUNDS);
	check_rounds(2, 0, 4 * ROUNDS);
	clean();
}

static void test_instructions_of_all_threads(void)
{
	begin(INSTRUCTIONS);
	hpmStart(1, "all");
	hpmStop(1);
	hpmStart(1, "all");
	spin(ROUNDS);
	hpmStop(1);
	finish();
	check_rounds(1, 0, ROUNDS);
	clean();
}

#if defined(__aarch64__)

/* From now on every system call but these ends the process. */
static void forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static int status_of_sections(const char *events)
{
	const pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		char path[4096];

		begin(events);
		CHECK(getcwd(path, sizeof(path)));
		/* Opened, warm, and asked for the CPU time as often as it will be. */
		for (int i = 0; i < 100; i++) {
			hpmTstart(1, "outer");
			hpmTstart(2, "inner");
			hpmTstop(2);
			hpmTstop(1);
		}
		unlink("hardware.hpmraw");
		rmdir(path);
		forbid_system_calls();
		for (int i = 0; i < 50; i++) {
			hpmTstart(1, "outer");
			hpmTstart(2, "inner");
			hpmTstop(2);
			hpmTstop(1);
		}
		syscall(SYS_exit_group, 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status;
}

/* Hardware counters are read by the program itself; software events by the kernel. */
static void test_no_system_call(void)
{
	const int status = status_of_sections("page-faults");
	int without = -1;

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	/* The CPU time is asked for now and then; a machine may be slow. */
	for (int attempt = 0; attempt < 10 && without; attempt++)
		without = status_of_sections("instructions:u,cycles:u");
	CHECK_EQ(without, 0);
	printf("  50 starts and stops in 50 others: no system call\n");
}

/* More events than counters, as two groups. */
static void test_groups_take_turns(void)
{
	int scaled = 0;

	setenv("HPM_SLICE_DURATION", "10", 1);
	unsetenv("HPM_EXCLUSIVE_VALUES");
	setenv("HPM_EVENT_SET", "BRANCH", 1);
	setenv("GNOMON_EVENTS", INSTRUCTIONS ",cycles:u,r8:u,r11:u,r0:u,r1:u,r3:u", 1);
	enter_folder();
	listen();
	hpmInit(0, "hardware");
	hpmTstart(1, "turns");
	for (int i = 0; i < 40; i++)
		spin(10 * ROUNDS);
	hpmTstop(1);
	hpmTerminate(0);
	said();
	for (int i = 1; i < measured_n; i++) {
		for (int e = 0; e < measured[i].num_data; e++) {
			const hpm_event_info *event = &measured[i].data[e];

			scaled += event->how == HPM_SCALED;
			if (strcmp(event->name, INSTRUCTIONS) != 0 || event->how != HPM_SCALED)
				continue;
			printf("  scaled: %.0f of %u instructions\n", event->value,
			       400 * PER_ROUND * ROUNDS);
			CHECK(fabs(event->value / (400.0 * PER_ROUND * ROUNDS) - 1) < 0.3);
		}
	}
	printf("  %d values are scaled\n", scaled);
	clean();
}

#endif

int main(void)
{
	RUN(test_instructions_of_sections);
	RUN(test_instructions_of_all_threads);
#if defined(__aarch64__)
	RUN(test_no_system_call);
	RUN(test_groups_take_turns);
#endif
	return check_result;
}
