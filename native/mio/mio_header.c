/* The form is Example 8-5's of the HPC Toolkit's manual. */
#include "mio_header.h"

#include <errno.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host_name.h"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define IS_THREADED (!__libc_single_threaded)
#else
#define IS_THREADED 1
#endif

void gn_mio_print_time(struct gn_mio_output *output)
{
	const time_t now = time(NULL);
	struct tm local;
	char text[64];

	if (!localtime_r(&now, &local) || !strftime(text, sizeof(text), "%a %b %e %T %Y", &local))
		text[0] = 0;
	gn_mio_print(output, "%s", text);
}

static void print_variable(struct gn_mio_output *output, const char *name, const char *value)
{
	gn_mio_print(output, "%s=%s\n", name, value ? value : "(null)");
}

void gn_mio_print_header(struct gn_mio_output *output, const struct gn_mio_variables *variables)
{
	char host[GN_HOST_NAME_SIZE];
	struct utsname machine;

	gn_host_name(host);
	if (uname(&machine))
		machine.machine[0] = 0;
	gn_mio_print(output, "MIO statistics file: ");
	gn_mio_print_time(output);
	gn_mio_print(output, "\nhostname=%s: with aio available\n", host);
	gn_mio_print(output, "Program=%s pid=%d (%s)\n", program_invocation_name, (int)getpid(),
		     IS_THREADED ? "threaded" : "not threaded");
	gn_mio_print(output, "MIO library libmio %s Gnomon %s %d bit addressing\n", GNOMON_VERSION,
		     machine.machine, (int)sizeof(void *) * 8);
	print_variable(output, "MIO_INCLUDE_PATH", variables->include_path);
	print_variable(output, "MIO_STATS ", variables->stats);
	print_variable(output, "MIO_DEBUG ", variables->debug);
	print_variable(output, "MIO_FILES ", variables->files);
	print_variable(output, "MIO_DEFAULTS ", variables->defaults);
	gn_mio_print(output, "\n");
}
