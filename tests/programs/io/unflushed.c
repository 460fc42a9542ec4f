/* Streams that nobody closes: what they hold is written when the process ends, in a child, too. */
#include "corpus.h"
#include <sys/wait.h>

static const struct expected EXPECTED[] = {
	{"text", "fopen", "stdio", 1, 0, 0},  {"text", "fputs", "stdio", 3, 18, 18},
	{"text", "fflush", "stdio", 2, 0, 0}, {"lost", "fopen", "stdio", 1, 0, 0},
	{"lost", "fputs", "stdio", 1, 6, 6},
};

/* Behind a pointer the compiler does not make another function of it. */
static int (*volatile put)(const char *, FILE *) = fputs;

int main(int argc, char **argv)
{
	FILE *stream;
	pid_t child;
	int status;

	TELL(argc, argv, EXPECTED);
	begin();
	stream = fopen("text", "w");
	CHECK(stream && put("first\n", stream) >= 0 && fflush(stream) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		FILE *lost = fopen("lost", "w");

		CHECK(lost && put("child\n", stream) >= 0 && put("never\n", lost) >= 0);
		fflush(stream);
		/* The other is lost. */
		_exit(5);
	}
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
	CHECK(put("third\n", stream) >= 0);
	say("unflushed: 3 lines\n");
	return 0;
}
