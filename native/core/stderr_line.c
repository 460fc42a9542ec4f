#include "stderr_line.h"

#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "signal_shield.h"

void gn_stderr_line(struct iovec *texts, int count)
{
	static const struct timespec at_once;
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	struct gn_signal_shield shield;
	sigset_t before, ours;
	int signal;

	for (int i = 0; i < count; i++)
		texts[i].iov_len = strlen(texts[i].iov_base);
	gn_signal_shield_begin(&shield);
	if (poll(&room, 1, 0) == 1 && room.revents == POLLOUT && !sigpending(&before) &&
	    writev(STDERR_FILENO, texts, count) < 0 && (errno == EPIPE || errno == EFBIG)) {
		signal = errno == EPIPE ? SIGPIPE : SIGXFSZ;
		sigemptyset(&ours);
		sigaddset(&ours, signal);
		/* What waited before is the program's own. */
		if (!sigismember(&before, signal))
			sigtimedwait(&ours, NULL, &at_once);
	}
	gn_signal_shield_end(&shield);
}
