/* odd_environment PROGRAM [ARGUMENT ...]: becomes it, in an environment that no shell would make.
 */
#include <unistd.h>

int main(int argc, char **argv)
{
	static char *environment[] = {"TWICE=1",    "TWICE=2", "without an equals sign",
				      "=nameless",  "EMPTY=",  "BYTES=\xff\xfe",
				      "LINES=a\nb", NULL};

	if (argc < 2)
		return 2;
	execve(argv[1], argv + 1, environment);
	return 127;
}
