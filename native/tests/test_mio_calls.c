/* libmio as programs call it, beside what the same calls of the system do. */
#include "check.h"
#include "gnomon/MIO_user.h"
#include "random.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static char folder[] = "/tmp/gnomon-mio-XXXXXX";

static void enter_folder(void)
{
	CHECK(mkdtemp(folder) && !chdir(folder));
	setenv("MIO_STATS", "stats", 1);
	setenv("MIO_FILES", "*.t [ trace ]", 1);
	unsetenv("MIO_DEFAULTS");
	unsetenv("MIO_DEBUG");
}

static void leave_folder(void)
{
	CHECK(!chdir("/"));
	execlp("rm", "rm", "-rf", folder, NULL);
}

static const char *stats_text(void)
{
	static char text[65536];
	FILE *file = fopen("stats", "r");
	size_t n;

	CHECK(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
	return text;
}

static void calls_do_what_the_system_does(void)
{
	char data[32] = "";
	struct stat64 status;
	int fd;

	enter_folder();
	fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);
	CHECK(fd >= 0);
	CHECK_EQ(MIO_write(fd, "0123456789", 10), 10);
	CHECK_EQ(MIO_lseek64(fd, -3, SEEK_CUR), 7);
	CHECK_EQ(MIO_read(fd, data, 32), 3);
	CHECK(!memcmp(data, "789", 3));
	CHECK_EQ(MIO_lseek64(fd, 2, SEEK_END), 12);
	CHECK_EQ(MIO_write_wide(fd, "x", 1), 1);
	CHECK_EQ(MIO_fstat64(fd, &status), 0);
	CHECK_EQ(status.st_size, 13);
	CHECK(MIO_lseek64(fd, -1, SEEK_SET) == -1 && errno == EINVAL);
	CHECK(MIO_lseek64(fd, 0, 99) == -1 && errno == EINVAL);
	CHECK(MIO_read(fd, data, -1) == -1 && errno == EINVAL);
	CHECK_EQ(MIO_ftruncate64(fd, 4), 0);
	CHECK_EQ(MIO_lseek64(fd, 0, SEEK_SET), 0);
	CHECK_EQ(MIO_read_wide(fd, data, 32), 4);
	CHECK_EQ(MIO_fsync(fd), 0);
	CHECK_EQ(MIO_fcntl(fd, F_GETFL, NULL) & O_ACCMODE, O_RDWR);
	CHECK_EQ(MIO_close(fd), 0);
	CHECK(MIO_close(fd) == -1 && errno == EBADF);
	CHECK(MIO_read(fd, data, 1) == -1 && errno == EBADF);
	CHECK(MIO_open64("none/there", O_RDONLY, 0, NULL) == -1 && errno == ENOENT);
	CHECK(MIO_open64(NULL, O_RDONLY, 0, NULL) == -1 && errno == EFAULT);
	CHECK(strstr(stats_text(), "Trace close: program <-> aix: a.t: "));
	leave_folder();
}

static void what_is_not_of_mio_goes_to_the_system(void)
{
	char data[4];
	int ends[2], fd;

	enter_folder();
	CHECK(!pipe(ends));
	CHECK_EQ(MIO_write(ends[1], "ab", 2), 2);
	CHECK_EQ(MIO_read(ends[0], data, 4), 2);
	CHECK(MIO_lseek64(ends[0], 0, SEEK_SET) == -1 && errno == ESPIPE);
	CHECK_EQ(MIO_close(ends[0]), 0);
	fd = MIO_open64("/dev/null", O_RDWR, 0, NULL);
	CHECK_EQ(MIO_write(fd, "ab", 2), 2);
	CHECK_EQ(MIO_read(fd, data, 4), 0);
	CHECK_EQ(MIO_close(fd), 0);
	leave_folder();
}

static void appends_go_to_the_end(void)
{
	char data[8] = "";
	int fd, other;

	enter_folder();
	fd = MIO_open64("a.t", O_RDWR | O_CREAT | O_APPEND, 0600, NULL);
	other = open("a.t", O_WRONLY | O_APPEND);
	CHECK_EQ(MIO_write(fd, "ab", 2), 2);
	CHECK_EQ(write(other, "cd", 2), 2);
	CHECK_EQ(MIO_write(fd, "e", 1), 1);
	CHECK_EQ(MIO_lseek64(fd, 0, SEEK_CUR), 5);
	CHECK_EQ(MIO_lseek64(fd, 1, SEEK_SET), 1);
	CHECK_EQ(MIO_read(fd, data, 8), 4);
	CHECK(!memcmp(data, "bcde", 4));
	CHECK_EQ(MIO_lseek64(fd, 0, SEEK_SET), 0);
	CHECK_EQ(MIO_fcntl(fd, F_SETFL, (int *)(intptr_t)0), 0);
	CHECK_EQ(MIO_write(fd, "A", 1), 1);
	CHECK_EQ(MIO_lseek64(fd, 0, SEEK_SET), 0);
	CHECK_EQ(MIO_read(fd, data, 8), 5);
	CHECK(!memcmp(data, "Abcde", 5));
	leave_folder();
}

static void duplicates_share_a_position(void)
{
	char data[8] = "";
	int fd, copy;

	enter_folder();
	fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);
	CHECK_EQ(MIO_write(fd, "abcd", 4), 4);
	copy = MIO_fcntl(fd, F_DUPFD, (int *)(intptr_t)100);
	CHECK(copy >= 100);
	CHECK_EQ(MIO_lseek64(copy, 1, SEEK_SET), 1);
	CHECK_EQ(MIO_close(fd), 0);
	CHECK(fcntl(fd, F_GETFD) == -1);
	CHECK_EQ(MIO_read(copy, data, 2), 2);
	CHECK(!memcmp(data, "bc", 2));
	CHECK(access("stats", F_OK));
	CHECK_EQ(MIO_close(copy), 0);
	CHECK(strstr(stats_text(), "Trace close"));
	leave_folder();
}

/* As without MIO: one position for both, one report of each. */
static void a_child_shares_the_position(void)
{
	char data[16] = "";
	int fd, status;
	pid_t child;

	enter_folder();
	fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);
	CHECK_EQ(MIO_write(fd, "ab", 2), 2);
	child = fork();
	if (!child) {
		CHECK_EQ(MIO_write(fd, "cd", 2), 2);
		exit(MIO_close(fd));
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK_EQ(MIO_write(fd, "ef", 2), 2);
	CHECK_EQ(MIO_lseek64(fd, 0, SEEK_SET), 0);
	CHECK_EQ(MIO_read(fd, data, 16), 6);
	CHECK(!memcmp(data, "abcdef", 6));
	CHECK_EQ(MIO_close(fd), 0);
	CHECK(strstr(stats_text(), "a.t: (2/"));
	CHECK(strstr(stats_text(), "a.t: (10/"));
	leave_folder();
}

static void extra_says_how_a_file_is_opened(void)
{
	struct mio_extra extra = {.cookie = MIO_EXTRA_COOKIE, .logical_name = "x.t"};
	struct mio_extra_old old = {.cookie = MIO_EXTRA_COOKIE_OLD, .modules = "trace/stats=old"};
	int fd;

	enter_folder();
	fd = MIO_open64("a", O_RDWR | O_CREAT, 0600, &extra);
	CHECK(fd >= 0 && extra.extra_errno == 0);
	CHECK_EQ(MIO_close(fd), 0);
	CHECK(strstr(stats_text(), "Trace close: program <-> aix: a: "));
	extra.logical_name = NULL;
	extra.modules = "trace/stats=own";
	extra.flags = (int)(MIO_EXTRA_SKIP_MIO_FILES_FLAG | MIO_EXTRA_FLAG_SCRATCH);
	fd = MIO_open64("b.t", O_RDWR | O_CREAT, 0600, &extra);
	CHECK_EQ(MIO_fsync(fd), 0);
	CHECK_EQ(MIO_close(fd), 0);
	CHECK_EQ(access("own", F_OK), 0);
	CHECK(!strstr(stats_text(), "b.t"));
	extra.flags = MIO_EXTRA_OPEN_FOR_UNLINK;
	CHECK_EQ(MIO_close(MIO_open64("c.t", O_RDWR | O_CREAT, 0600, &extra)), 0);
	CHECK(!strstr(stats_text(), "c.t"));
	fd = MIO_open64("d", O_RDWR | O_CREAT, 0600, (struct mio_extra *)&old);
	CHECK_EQ(MIO_close(fd), 0);
	CHECK_EQ(access("old", F_OK), 0);
	extra.cookie = MIO_EXTRA_COOKIE;
	extra.flags = 0;
	extra.modules = "trace|";
	CHECK(MIO_open64("d", O_RDWR, 0, &extra) == -1 && errno == EINVAL);
	CHECK_EQ(extra.extra_errno, EINVAL);
	extra.cookie = 1;
	CHECK(MIO_open64("d", O_RDWR, 0, &extra) == -1 && errno == EINVAL);
	leave_folder();
}

static void numbers_and_alignments(void)
{
	struct diocapbuf limits;
	int64 numbers[3];
	int fd;

	enter_folder();
	CHECK_EQ(MIO_str_to_long("64k"), 65536);
	CHECK(MIO_str_to_long("k") == -1 && errno == EINVAL);
	CHECK_EQ(MIO_str_to_long_vector("1,0x10 010", numbers, 3), 3);
	CHECK_EQ(numbers[0] + numbers[1] + numbers[2], 25);
	CHECK_EQ(MIO_str_to_long_vector("1,2,3,4", numbers, 2), 2);
	CHECK(MIO_str_to_long_vector("1,x", numbers, 3) == -1 && errno == EINVAL);
	fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);
	CHECK_EQ(MIO_ffinfo(fd, FI_DIOCAP, &limits, sizeof(limits)), 0);
	CHECK(limits.dio_offset && limits.dio_align && limits.dio_max % limits.dio_offset == 0);
	CHECK(MIO_ffinfo(fd, FI_DIOCAP, &limits, 4) == -1 && errno == EINVAL);
	CHECK(MIO_ffinfo(fd, 99, &limits, sizeof(limits)) == -1 && errno == EINVAL);
	CHECK(MIO_ffinfo(-1, FI_DIOCAP, &limits, sizeof(limits)) == -1 && errno == EBADF);
	leave_folder();
}

static void asynchronous_requests(void)
{
	char data[4][4] = {"abc", "def", "ghi", "jkl"}, back[16] = "";
	struct aiocb64 request[4], *list[4];
	struct liocb64 many[2], *in_order[3] = {&many[0], NULL, &many[1]};
	int fd, n = 0;

	enter_folder();
	fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);
	memset(request, 0, sizeof(request));
	memset(many, 0, sizeof(many));
	CHECK(MIO_aio_nwait64(4, 1, list) == -1 && errno == EINVAL);
	for (int i = 0; i < 4; i++) {
		request[i].aio_buf = data[i];
		request[i].aio_nbytes = 4;
		request[i].aio_offset = i * 4;
		CHECK_EQ(MIO_aio_write64(fd, &request[i]), 0);
	}
	while (n < 4) {
		const int more = MIO_aio_nwait64(4, 1, list);

		CHECK(more > 0);
		for (int i = 0; i < more; i++)
			CHECK_EQ(aio_return64(list[i]), 4);
		n += more;
	}
	CHECK_EQ(n, 4);
	CHECK_EQ(MIO_read(fd, back, 16), 16);
	CHECK(!memcmp(back, data, 16));
	memset(back, 0, sizeof(back));
	request[0].aio_buf = back;
	CHECK_EQ(MIO_aio_read64(fd, &request[0]), 0);
	list[0] = &request[0];
	CHECK_EQ(MIO_aio_suspend64(1, list), 0);
	CHECK_EQ(aio_return64(&request[0]), 4);
	CHECK(!memcmp(back, "abc", 4));
	CHECK(MIO_aio_cancel64(fd, NULL) >= 0);
	for (int i = 0; i < 2; i++) {
		many[i].lio_fildes = fd;
		many[i].lio_opcode = LIO_READ;
		many[i].lio_aiocb.aio_buf = back + 4 * i;
		many[i].lio_aiocb.aio_nbytes = 4;
		many[i].lio_aiocb.aio_offset = 8 + 4 * i;
	}
	CHECK_EQ(MIO_lio_listio64(LIO_WAIT, in_order, 3, NULL), 0);
	CHECK(!memcmp(back, data[2], 8));
	CHECK(MIO_aio_read64(fd, NULL) == -1 && errno == EINVAL);
	leave_folder();
}

/* The same operations on two files, by MIO and by the system, have the same results. */
static void random_operations(void)
{
	static char data[300], ours[300], theirs[300];
	int fd, other;

	enter_folder();
	fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);
	other = open("b", O_RDWR | O_CREAT, 0600);
	for (unsigned int i = 0; i < check_work(50000); i++) {
		const int bytes = (int)random_below(300);
		const int64_t offset = (int64_t)random_below(5000) - 100;
		const int whence = (int)random_below(3);

		memset(data, (int)i, sizeof(data));
		memset(ours, 0, sizeof(ours));
		memset(theirs, 0, sizeof(theirs));
		switch (random_below(5)) {
		case 0:
			CHECK_EQ(MIO_write(fd, data, bytes), write(other, data, (size_t)bytes));
			break;
		case 1:
			CHECK_EQ(MIO_read(fd, ours, bytes), read(other, theirs, (size_t)bytes));
			CHECK(!memcmp(ours, theirs, sizeof(ours)));
			break;
		case 2:
			CHECK_EQ(MIO_lseek64(fd, offset, whence), lseek(other, offset, whence));
			break;
		case 3:
			if (random_below(20) == 0)
				CHECK_EQ(MIO_ftruncate64(fd, offset), ftruncate(other, offset));
			break;
		default:
			CHECK_EQ(MIO_lseek64(fd, 0, SEEK_CUR), lseek(other, 0, SEEK_CUR));
		}
	}
	leave_folder();
}

static void *open_and_write(void *name)
{
	for (int i = 0; i < (int)check_work(300); i++) {
		const int fd = MIO_open64(name, O_RDWR | O_CREAT | O_APPEND, 0600, NULL);

		CHECK(fd >= 0);
		CHECK_EQ(MIO_write(fd, "0123456789abcdef", 16), 16);
		CHECK_EQ(MIO_close(fd), 0);
	}
	return NULL;
}

static void threads_open_and_close(void)
{
	static char name[4][8] = {"a.t", "b.t", "c", "a.t"};
	pthread_t thread[4];
	struct stat status;

	enter_folder();
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, open_and_write, name[i]));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(thread[i], NULL));
	CHECK(!stat("a.t", &status));
	CHECK_EQ(status.st_size, 2 * 16 * check_work(300));
	leave_folder();
}

static void intermediate_statistics_at_a_signal(void)
{
	int fd;

	enter_folder();
	setenv("MIO_FILES", "*.t [ trace/inter ] *.u [ trace/inter=10 ]", 1);
	signal(SIGUSR1, SIG_IGN);
	fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);
	CHECK_EQ(MIO_write(fd, "ab", 2), 2);
	CHECK(!raise(SIGPWR));
	while (access("stats", F_OK) || !strstr(stats_text(), "Trace inter: program <-> aix: a.t"))
		usleep(1000);
	CHECK(MIO_open64("b.u", O_RDWR | O_CREAT, 0600, NULL) >= 0);
	CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	leave_folder();
}

/* What is open at the end has a report too, and the file is whole. */
static void a_file_that_is_never_closed(void)
{
	int status;
	pid_t child;

	enter_folder();
	child = fork();
	if (!child) {
		const int fd = MIO_open64("a.t", O_RDWR | O_CREAT, 0600, NULL);

		CHECK_EQ(MIO_write(fd, "abc", 3), 3);
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK(strstr(stats_text(), "Trace close: program <-> aix: a.t: (3/"));
	leave_folder();
}

int main(void)
{
	RUN(calls_do_what_the_system_does);
	RUN(what_is_not_of_mio_goes_to_the_system);
	RUN(appends_go_to_the_end);
	RUN(duplicates_share_a_position);
	RUN(a_child_shares_the_position);
	RUN(extra_says_how_a_file_is_opened);
	RUN(numbers_and_alignments);
	RUN(asynchronous_requests);
	RUN(random_operations);
	RUN(threads_open_and_close);
	RUN(intermediate_statistics_at_a_signal);
	RUN(a_file_that_is_never_closed);
	return check_result;
}
