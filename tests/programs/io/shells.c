/* system and popen: shells between this program and itself. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/wait.h>

static const struct expected EXPECTED[] = {
	{"own", "open", "posix", 3, 0, 0},
	{"own", "write", "posix", 3, 30, 30},
	{"own", "close", "posix", 3, 0, 0},
};

static int child(const char *kind)
{
	const int fd = open("own", O_WRONLY | O_CREAT | O_APPEND, 0600);
	char byte;

	CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10 && close(fd) == 0);
	if (strcmp(kind, "speaks") == 0)
		say("spoken\n");
	if (strcmp(kind, "hears") == 0)
		CHECK(read(STDIN_FILENO, &byte, 1) == 1 && byte == 'h');
	return 21;
}

int main(int argc, char **argv)
{
	char command[4200], self[4096], line[64];
	ssize_t length;
	FILE *stream;
	int status;

	TELL(argc, argv, EXPECTED);
	if (argc > 1)
		return child(argv[1]);
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	CHECK(length > 0);
	self[length] = 0;
	begin();
	snprintf(command, sizeof(command), "'%s' silent", self);
	status = system(command);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 21);
	snprintf(command, sizeof(command), "'%s' speaks", self);
	stream = popen(command, "r");
	CHECK(stream && fgets(line, sizeof(line), stream) && strcmp(line, "spoken\n") == 0);
	status = pclose(stream);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 21);
	snprintf(command, sizeof(command), "'%s' hears", self);
	stream = popen(command, "w");
	CHECK(stream && fputc('h', stream) == 'h');
	status = pclose(stream);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 21);
	end();
	say("shells: 3 children\n");
	return 0;
}
