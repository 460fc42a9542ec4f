#include "api_life.h"

#include <pthread.h>

#include "aio_requests.h"
#include "process_life.h"

void gn_mio_api_begin(void)
{
	gn_mio_files_begin();
	pthread_atfork(NULL, NULL, gn_mio_aio_forked);
}

static __attribute__((destructor)) void end_process(void)
{
	gn_mio_process_end();
}
